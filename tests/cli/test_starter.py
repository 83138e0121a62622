"""What ``caveat look --out`` writes can be used by ``caveat synth --spec`` as it stands."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import households, survey
from caveat.expressions import Expression
from caveat.findings import look
from caveat.release import ReleaseSpec
from caveat.spec.against_data import is_of_groups
from caveat.spec.forms import Answers
from caveat.spec.starter import starter
from caveat.synthesis import Synthesizer
from caveat.synthesis.options import Fixed, parse_rule
from caveat.table import Schema, Table, read, write
from caveat.table.identifying import K
from caveat.table.table import decimals_of

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
FILES = sorted(DATA.glob("*.csv"))
# A code of so many rows is all but sure (1 - exp(-30)) to come up again.
COMMON = 30


def invoke(*arguments: object) -> None:
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def with_rules(text: str) -> str:
    """Return a starter with its block of rules put in force, as an editor would."""
    block = re.search(r"^(?:# )?rules = \[\n((?:# )?  .*\n)+(?:# )?\]\n", text, re.MULTILINE)
    if block is None:
        return text
    return text.replace(block[0], re.sub("^# ", "", block[0], flags=re.MULTILINE))


def declared(content: Mapping[str, Any], names: Table) -> Schema:
    return Schema.from_mapping({n: c for n, c in content.get("columns", {}).items() if n in names})


def check(file: Path, folder: Path) -> dict[str, Any]:
    """Look, synthesise as it stands, synthesise with all rules, and compare with the original."""
    spec, strict = folder / "release.toml", folder / "rules.toml"
    invoke("look", file, "--out", spec)
    strict.write_text(with_rules(spec.read_text("utf-8")), "utf-8")
    for name in (spec, strict):
        content = tomllib.loads(name.read_text("utf-8"))
        whole = ReleaseSpec.from_toml(name)
        whole.check(whole.read_data())
        original = read(file, schema=declared(content, read(file)))
        Synthesizer(groups=content.get("groups"), **content["synthesis"]).plan(original)
        out = folder / f"{name.stem}.csv"
        invoke("synth", file, "--spec", name, "-o", out, "--seed", 7, "--anyway")
        check_output(content, original, read(out, schema=declared(content, read(out))))
    return content


def check_output(content: Mapping[str, Any], original: Table, synthetic: Table) -> None:
    plan = content["synthesis"]
    derived = plan.get("derived", {})
    assert set(synthetic) == set(original) - set(plan.get("drop", ()))
    key = content.get("groups", {}).get("key")
    if key is None:
        assert synthetic.n_rows == original.n_rows
    else:
        assert len(synthetic[key].levels) == len(original[key].levels)
        assert not set(synthetic[key].levels.tolist()) & set(original[key].levels.tolist())
    for name, how in derived.items():
        if isinstance(how, str):
            check_formula(how, original, synthetic, name, key)
        else:
            check_lookup(how["lookup"], original, synthetic, name)
    for name in set(content.get("columns", {})) & set(synthetic) - set(derived):
        common = original[name].counts[len(original[name].levels) :] >= COMMON
        ways = [m for m, often in zip(original[name].missing, common, strict=True) if often]
        back = synthetic[name]
        present = [
            m for m, n in zip(back.missing, back.counts[len(back.levels) :], strict=True) if n
        ]
        assert set(ways) <= set(present), name
    for text in plan.get("rules", ()):
        if is_of_groups(text):
            codes = synthetic[key].codes
            met = Expression(text).evaluate(synthetic.columns, codes)
            assert met.all(), text
        else:
            assert violations(parse_rule(text), synthetic) == 0, text


def test_households_are_made_whole_with_every_rule(tmp_path: Path) -> None:
    write(households(number=300), tmp_path / "people.csv")
    content = check(tmp_path / "people.csv", tmp_path)
    assert content["groups"]["key"] == "household"
    assert "order" not in content["synthesis"]  # role, sex and age come first by themselves
    assert content["synthesis"]["derived"] == {"hhincome": "sum(income)"}
    rules = content["synthesis"]["rules"]
    assert rules[0] == "any(age >= 18)"
    assert "if role == 'child' then marital = 'single'" in rules
    assert content["utility"]["rules"]["adult"] == {"then": "age >= 18", "group": "household"}


def check_formula(
    formula: str, original: Table, synthetic: Table, name: str, key: str | None
) -> None:
    groups = None if key is None else synthetic[key].codes
    computed = Expression(formula).evaluate(synthetic.columns, groups)
    computed = np.round(computed.astype(float), decimals_of(original[name]))
    column = synthetic[name]
    written = np.append(column.numbers, [np.nan] * len(column.missing))[column.codes]
    np.testing.assert_allclose(written, np.where(np.isfinite(computed), computed, np.nan), 1e-12)


def check_lookup(source: str, original: Table, synthetic: Table, name: str) -> None:
    """Each source has one value: the commonest of the original, if the source is there.

    Guarded trees draw numbers that the original does not have.
    """

    def pairs(table: Table) -> pl.DataFrame:
        text = {n: [str(v) for v in table[n].values.tolist()] for n in (source, name)}
        return pl.DataFrame(text).group_by(source, name).len()

    made, known = pairs(synthetic), pairs(original)
    assert made[source].n_unique() == len(made)
    commonest = known.filter(pl.col("len") == pl.col("len").max().over(source))
    rare = known.filter(pl.col("len").sum().over(name) < K)  # pooled before they are looked up
    seen = made.join(known, on=source, how="semi").join(rare, on=source, how="anti")
    assert len(seen) > 0.3 * len(made)
    assert seen.join(commonest, on=[source, name], how="anti").is_empty()


def violations(rule: Any, table: Table) -> int:
    if not isinstance(rule, Fixed):
        return int(rule.broken(table).sum())
    holds = rule.condition.evaluate(table.columns).astype(bool)
    column = table[rule.column]
    if rule.value is None:
        return int((~column.is_missing[holds]).sum())
    return sum(value != rule.value for value in column.values[holds].tolist())


def test_the_survey(tmp_path: Path) -> None:
    write(survey(), tmp_path / "survey.csv")
    content = check(tmp_path / "survey.csv", tmp_path)
    assert content["scenario"] == [
        {
            "name": "someone who knows a few facts",
            "attacker": "release",
            "keys": ["sex", "age", "region"],
            "limits": {"DiSCO": {"above": 2}},
        },
        {
            "name": "someone who knows everybody else",
            "attacker": "strong",
            "limits": {"membershipShare": 20},
        },
    ]
    assert content["release"]["access"] == "secure"
    plan = content["synthesis"]
    assert plan["method"] == "guarded"
    assert plan["replace"] == {"person": "id"}
    assert plan["derived"] == {"bmi": "weight / (height / 100) ** 2"}


def test_awkward_names_and_all_sorts_of_relations(tmp_path: Path) -> None:
    rng = np.random.default_rng(27)
    n = 1500
    age, smokes = rng.integers(10, 90, n), rng.random(n) < 0.3
    low, net, tax = rng.integers(0, 900, n), rng.integers(500, 2000, n), rng.integers(50, 900, n)
    status = rng.choice(["it's a `child`", "a then b = 1", 'say "c"'], n)
    pl.DataFrame(
        {
            "no": np.arange(n) + 10_000,
            "half": np.where(age < 45, "young", "old"),
            "age group": np.searchsorted([19, 34, 59], age),
            "age": age,
            "name of group": np.array(list("dbca"))[np.searchsorted([19, 34, 59], age)],
            "class": status,
            "school": pl.Series(rng.choice(["u", "v"], n)).set(
                pl.Series(np.char.find(status, "then") >= 0), None
            ),
            "job in 2011": pl.Series(rng.choice(["x", "y", "z"], n)).set(pl.Series(age < 16), None),
            "log": np.where(smokes, rng.integers(1, 41, n), -8),
            "smokes": smokes,
            "low value": low,
            "high value": low + rng.integers(0, 500, n),
            "net pay": net,
            "tax": tax,
            "gross": net + tax,
            "unit": ["EUR"] * n,
            "nothing": pl.Series([None] * n, dtype=pl.String),
        }
    ).write_csv(tmp_path / "awkward.csv")
    content = check(tmp_path / "awkward.csv", tmp_path)
    plan = content["synthesis"]
    assert content["columns"]["log"] == {"missing": [-8]}
    assert plan["replace"] == {"no": "id"}
    assert plan["derived"] == {
        "gross": "`net pay` + tax",
        "half": {"lookup": "age"},
        "age group": {"lookup": "age"},
        "name of group": {"lookup": "age group"},
    }
    assert set(plan["rules"]) == {
        "if age <= 15 then `job in 2011` = missing",
        r"if `class` == 'a \x74hen b = 1' then school = missing",
        "if `log` == -8 then smokes = False",
        "`low value` <= `high value`",
    }


def test_a_starter_names_the_file_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "specs").mkdir()
    write(survey(rows=50), tmp_path / "data" / "survey.csv")
    out = tmp_path / "specs" / "release.toml"
    invoke("look", tmp_path / "data" / "survey.csv", "--out", out)
    assert tomllib.loads(out.read_text("utf-8"))["data"]["path"] == "../data/survey.csv"
    assert ReleaseSpec.from_toml(out).read_data().n_rows == 50


def test_what_stands_in_comments_can_be_put_in_force(tmp_path: Path) -> None:
    write(survey(rows=300), tmp_path / "survey.csv")
    out = tmp_path / "release.toml"
    invoke("look", tmp_path / "survey.csv", "--out", out)
    text = out.read_text("utf-8").replace('"…"', '"income"')
    text = re.sub(r"(?m)^# (?=targets|limits|models|control|seed|\[\[scen|name|attacker)", "", text)
    out.write_text(text, "utf-8")
    spec = ReleaseSpec.from_toml(out)
    spec.check(spec.read_data())
    assert [s.attacker for s in spec.scenarios] == ["release", "strong"]
    assert [str(limit) for limit in spec.scenarios[0].limits] == ["DiSCO above control ≤ 2 points"]
    assert (spec.release.seed, spec.release.control) == (1, 0.2)
    assert spec.utility.models == ("income ~ age + sex",)


@pytest.mark.skipif(not FILES, reason="../shared (data and reference values) is not here")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_survey_files(file: Path, tmp_path: Path) -> None:
    check(file, tmp_path)


@pytest.mark.parametrize("access", ["public", "registered", "secure"])
def test_every_starter_is_guarded_and_plain_trees_are_one_line_away(access: str) -> None:
    for rows in (200, 600):
        text = starter(look(survey(rows=rows)), "survey.csv", answers=Answers(access=access))
        assert tomllib.loads(text)["synthesis"]["method"] == "guarded"
        line = next(x for x in text.splitlines() if x.startswith('# method = "cart"'))
        swapped = text.replace('\nmethod = "guarded"\n', "\n")
        swapped = swapped.replace(line, line.removeprefix("# "))
        assert tomllib.loads(swapped)["synthesis"]["method"] == "cart"
        assert all(len(x) <= 100 for x in text.splitlines() if x.startswith("#"))


def firms(number: int = 60) -> dict[str, list[Any]]:
    """Return employees in firms: names and codes of one thing, in firms and in people."""
    rng = np.random.default_rng(3)
    firm = np.repeat(np.arange(number), rng.geometric(0.2, number))
    town, job = rng.integers(0, 12, number)[firm], rng.integers(0, 15, len(firm))
    columns = {
        "firm": firm,
        "town": town + 100,
        "region": town // 3,
        "weight": np.round(rng.uniform(1, 4, number), 3)[firm],
        "age": rng.integers(18, 65, len(firm)),
        "job": job,
        "grade": job // 5 + 2,
        "gradecode": 3 - job // 5,
        "pay": np.round(rng.lognormal(7.5, 0.4, len(firm))),
    }
    return {name: values.tolist() for name, values in columns.items()}


@pytest.mark.parametrize("arranged", [list, lambda n: list(n)[::-1], sorted])
def test_columns_that_follow_from_others_come_behind_them_in_groups(
    tmp_path: Path, arranged: Any
) -> None:
    table = Table.from_frame(firms())
    table = table.select(arranged(table.names))
    write(table, tmp_path / "firms.csv")
    content = check(tmp_path / "firms.csv", tmp_path)
    assert content["groups"]["key"] == "firm"
    assert content["synthesis"]["derived"]["region"] == {"lookup": "town"}


def test_a_weight_that_is_constant_in_a_group_is_left_out_and_counts(tmp_path: Path) -> None:
    write(Table.from_frame(firms()), tmp_path / "firms.csv")
    invoke("look", tmp_path / "firms.csv", "--out", tmp_path / "release.toml")
    spec = ReleaseSpec.from_toml(tmp_path / "release.toml")
    assert (spec.synthesis["weights"], spec.synthesis["drop"]) == ("weight", ["weight"])
    assert "weight" in spec.groups.constant
    out = tmp_path / "out.csv"
    invoke("synth", tmp_path / "release.toml", "-o", out, "--seed", 1)
    assert "weight" not in read(out)


def test_a_file_that_is_large_enough_has_a_control() -> None:
    content = tomllib.loads(starter(look(survey(rows=600)), "survey.csv"))
    assert content["release"]["control"] == 0.2


def test_a_small_file_has_no_control_and_says_why() -> None:
    text = starter(look(survey(rows=300)), "survey.csv")
    assert "control" not in tomllib.loads(text)["release"]
    assert "# control = 0.2  # off, as fewer than 500 records" in text


def test_something_is_left_to_learn() -> None:
    columns = {"sex": list("fm") * 40, "age": [n % 40 for n in range(80)]}
    content = tomllib.loads(starter(look(Table.from_frame(columns)), "two.csv"))
    assert content["scenario"][0]["keys"] == ["sex"]


def test_ids_are_replaced_and_names_may_be(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    patients = {
        "patient_no": np.arange(100_001, 100_301),
        "first": rng.choice(["Anna", "John", "Maria", "Peter", "Linda"], 300),
        "ward": rng.choice(["eye", "ear"], 300),
        "nights": rng.poisson(4, 300),
    }
    pl.DataFrame(patients).write_csv(tmp_path / "patients.csv")
    spec = tmp_path / "release.toml"
    invoke("look", tmp_path / "patients.csv", "--out", spec)
    text = spec.read_text("utf-8")
    synthesis = tomllib.loads(text)["synthesis"]
    assert synthesis["replace"] == {"patient_no": "id"}
    assert synthesis["drop"] == ["first"]
    invoke("synth", spec, "--out", tmp_path / "ids.csv")
    made = pl.read_csv(tmp_path / "ids.csv")
    assert made.columns == ["patient_no", "ward", "nights"]
    assert made["patient_no"].n_unique() == 300
    more = text.replace('drop = ["first"]', "").replace('replace = { patient_no = "id" }\n', "")
    spec.write_text(more.replace("# replace = ", "replace = "), "utf-8")
    invoke("synth", spec, "--out", tmp_path / "names.csv")
    assert pl.read_csv(tmp_path / "names.csv").columns == list(patients)
    assert not set(pl.read_csv(tmp_path / "names.csv")["first"]) & set(patients["first"])
