"""A release of several tables: what comes out, whose numbers are measured, and what is refused."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused
from tests.release.tables import SMALL, by_name

from caveat import evidence
from caveat.attack.groups import group_membership, group_posterior
from caveat.evidence.external import external
from caveat.release import Release
from caveat.release.folder import Outcome
from caveat.release.material import synthesise_tables
from caveat.spec.against_data import check_tables
from caveat.spec.spec import ReleaseSpec
from caveat.table import Table, read, write
from caveat.table.identifying import judge


def frames(tables_outcome: Outcome, copy: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    inside = tables_outcome.folder / f"inside/synthetic-{copy}"
    return tuple(read(inside / f"{n}.csv").to_frame("pandas") for n in ("patients", "visits"))


@pytest.mark.parametrize("copy", [1, 2])
def test_each_copy_has_the_same_files_with_fresh_keys(
    tables_folder: Path, tables_outcome: Outcome, copy: int
) -> None:
    people, visits = frames(tables_outcome, copy)
    ours = [read(tables_folder / f"{n}.csv").to_frame("pandas") for n in ("patients", "visits")]
    assert [list(f) for f in (people, visits)] == [list(f) for f in ours]
    assert visits["patient"].isin(people["patient"]).all()
    assert not people["patient"].isin(visits["patient"]).all()  # some have no visit
    for fresh, real in zip((people, visits), ours, strict=True):
        key = next(iter(fresh))
        assert not set(fresh[key]) & set(real[key])
    assert visits.groupby("patient")["date"].is_monotonic_increasing.all()


def test_the_folder_says_what_it_holds(tables_outcome: Outcome) -> None:
    manifest = json.loads((tables_outcome.folder / "manifest.json").read_text())["files"]
    assert all(f["confidential"] for f in manifest)  # a seed without a key: a trial
    assert [f["name"] for f in manifest][:4] == [
        "inside/synthetic-1/patients.csv", "inside/synthetic-1/visits.csv",
        "inside/synthetic-2/patients.csv", "inside/synthetic-2/visits.csv",
    ]  # fmt: skip
    for file in manifest:
        content = (tables_outcome.folder / file["name"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest()
    listed = tables_outcome.evidence["release"]["files"]
    assert [(f["copy"], f["table"]) for f in listed] == [
        (1, "patients"), (1, "visits"), (2, "patients"), (2, "visits"),
    ]  # fmt: skip
    assert listed[1]["rows"] == len(frames(tables_outcome, 1)[1])
    evidence.check(json.loads((tables_outcome.folder / "inside/evidence.json").read_text()))


def test_a_scenario_is_about_the_first_table_with_its_columns(tables_outcome: Outcome) -> None:
    found = by_name(tables_outcome)
    visits = tables_outcome.evidence["release"]["tables"][1]["fitted"]
    n = {
        name: {m["n"] for m in s["measurements"] if m["measure"] == "repU"}
        for name, s in found.items()
    }
    assert found["a neighbour"]["table"] == "patients"
    assert n["a neighbour"] == {120}
    assert found["a nurse"]["table"] == "visits"
    assert n["a nurse"] == {visits}
    assert n["of the same columns, by visits"] == {visits}
    assert found["ordinary"]["table"] == "visits"
    group = found["a nurse who knows the patient"]
    assert (group["table"], group["unit"]) == ("visits", "group")
    (remark,) = group["remarks"][-1:]
    assert remark.startswith("groups are rows of patients with all their rows of visits: ")
    (filled,) = n["a nurse who knows the patient"]
    assert f" {filled} of 120 have any" in remark
    for m in found["with and without"]["measurements"]:
        assert m["value"] is None
        assert m["notes"][0]["code"] == "whole-groups"


def test_the_strong_attacker_is_after_a_patient_with_all_her_visits(
    tables_folder: Path, tables_outcome: Outcome
) -> None:
    strong = by_name(tables_outcome)["everybody else"]
    assert strong["unit"] == "row of patients"
    found = {(m["measure"], m["target"]): m for m in strong["measurements"]}
    assert {(key, m["per"]) for key, m in found.items()} == {
        (("strongShare", "smoker"), "group"),
        (("strongWorst", "smoker"), "group"),
        (("strongGain", "smoker"), "group"),
        (("strongShare", "diagnosis"), "row of visits"),
        (("strongWorst", "diagnosis"), "row of visits"),
        (("strongGain", "diagnosis"), "row of visits"),
        (("membershipShare", None), "group"),
    }
    # The same from the parts of the library.
    spec = ReleaseSpec.from_toml(tables_folder / "release.toml")
    linked = spec.read_linked()
    judged = {n: j for t in linked.sequence for n, j in judge(linked.tables[t]).items()}
    object.__setattr__(spec, "synthesis", {"judged": judged})
    made = synthesise_tables(
        spec, linked, check_tables(spec, linked), 1, None, lambda _: lambda _: None
    )
    members = group_membership(made.fitted, list(made.releases), made.model)
    share = np.mean(1 / (1 + np.exp(-members.log_ratio)) >= 0.9)
    assert found["membershipShare", None]["value"] == pytest.approx(float(share))
    assert found["membershipShare", None]["n"] == 120
    worst = group_posterior(made.fitted, list(made.releases), made.model, "diagnosis")
    assert found["strongWorst", "diagnosis"]["value"] == pytest.approx(worst.probability.max())


def test_rows_at_risk_are_those_of_their_table(
    tables_folder: Path, tables_outcome: Outcome
) -> None:
    rows = {n: len(read(tables_folder / f"{n}.csv")) for n in ("patients", "visits")}
    records = tables_outcome.evidence["records_at_risk"]
    assert {r["table"] for r in records} == {"patients", "visits"}
    for record in records:
        assert 1 <= record["row"] <= rows[record["table"]]
        if record["target"] == "diagnosis":
            assert record["table"] == "visits"


def test_a_limit_holds_for_every_table(tables_outcome: Outcome) -> None:
    assert [m["measure"] for m in tables_outcome.broken] == ["repU", "repU"]
    limited = [
        m for m in tables_outcome.evidence["utility"]["measurements"] if m["limit"] is not None
    ]
    assert [m["table"] for m in limited] == ["patients", "visits"]


def test_the_reports_say_which_rows_a_number_is_about(tables_outcome: Outcome) -> None:
    text = (tables_outcome.folder / "inside/report.md").read_text()
    public = (tables_outcome.folder / "inside/report-external.md").read_text()
    for page in (text, public):
        assert "2 synthetic copies of 2 tables that belong together, patients (120 rows)" in page
        assert "**Rows**: those of visits, with the columns of what they belong to" in page
        assert "strongShare per row of visits" in page
        assert "**Unit**: one row of patients: all its rows leave or change together" in page
        assert "How far tables of two variables are off (1 is expected), of visits" in page
    assert "### Rows that belong together: visits" in text
    assert "Rows that belong together" not in public
    shown = external(dict(tables_outcome.evidence))
    assert external(shown) == shown
    assert "number of visits" in shown["scenarios"][0]["keys"]


def test_the_same_seed_gives_the_same_bytes(tables_folder: Path, tables_outcome: Outcome) -> None:
    again = Release.from_toml(tables_folder / "release.toml").run(
        tables_folder / "again", threads=2, date="2026-01-01"
    )
    for name in ("synthetic-2/visits.csv", "evidence.json", "report.html"):
        made = [(found.folder / "inside" / name) for found in (again, tables_outcome)]
        assert made[0].read_bytes() == made[1].read_bytes()


def test_an_earlier_release_is_replaced_and_nothing_else(tables_folder: Path) -> None:
    path = tables_folder / "small.toml"
    path.write_text(SMALL)
    release = Release.from_toml(path)
    release.run(tables_folder / "small", date="2026-01-01")
    release.run(tables_folder / "small", date="2026-01-02", force=True)
    mine = tables_folder / "small" / "inside" / "synthetic-1" / "mine.csv"
    mine.write_text("a\n1\n")
    with refused("release.folder.refused"):
        release.run(tables_folder / "small", force=True)
    assert mine.exists()


def test_other_formats_and_numbers_of_rows(tables_folder: Path) -> None:
    path = tables_folder / "formats.toml"
    text = SMALL.replace("seed = 1", "seed = 1\nrows = 40")
    path.write_text(f'{text}[output]\nformats = ["csv", "parquet"]\n')
    made = Release.from_toml(path).run(tables_folder / "formats", date="2026-01-01")
    assert sorted(p.name for p in (made.folder / "inside/synthetic-1").iterdir()) == [
        "patients.csv", "patients.parquet", "visits.csv", "visits.parquet",
    ]  # fmt: skip
    assert len(read(made.folder / "inside/synthetic-1" / "patients.parquet")) == 40


def test_tables_that_were_made_elsewhere_are_refused(tables_folder: Path) -> None:
    path = tables_folder / "small.toml"
    path.write_text(SMALL)
    with refused("spec.entry.unsupported", where="small.toml, line 4"):
        Release.from_toml(path).run(tables_folder / "nothing", only="audit", synthetic=["x.csv"])


def test_a_number_by_which_children_stand_is_no_reason_to_drop_that_of_others(
    tables_folder: Path,
) -> None:
    visits = read(tables_folder / "visits.csv").to_frame("pandas")
    number = np.arange(len(visits)) + 100_001
    write(Table.from_frame(visits.assign(no=number)), tables_folder / "each.csv")
    pays = pd.DataFrame({"patient": visits["patient"], "no": number % 3})
    write(Table.from_frame(pays), tables_folder / "pays.csv")
    path = tables_folder / "numbers.toml"
    more = '[tables.pays]\nfile = "pays.csv"\nlinks = { patient = "patients" }\n\n[[scenario]]'
    text = SMALL.replace('"visits.csv"', '"each.csv"').replace("[[scenario]]", more)
    path.write_text(text.replace('order = "date"', 'order = "no"'))
    made = Release.from_toml(path).run(tables_folder / "numbers", date="2026-01-01")
    assert made.evidence["release"]["not_released"] == []
    assert [c["column"] for c in made.evidence["release"]["identifying"]] == ["visits.no"]
    assert {"visits.no", "pays.no"} < {v["name"] for v in made.evidence["utility"]["variables"]}


DEEP = """\
[release]
seed = 1
control = 0.25
rows = "population"

[tables.firms]
file = "firms.csv"
key = "firm"

[tables.people]
file = "people.csv"
key = "person"
links = { firm = "firms" }

[tables.pays]
file = "pays.csv"
links = { person = "people", code = "codes" }

[tables.cards]
file = "cards.csv"
links = { person = "people" }

[tables.codes]
file = "codes.csv"
key = "code"
lookup = true

[synthesis]
weights = "weight"

[[scenario]]
name = "a colleague"
keys = ["firms.region", "people.region", "code"]
targets = ["pay"]
measures = ["repU", "DiSCO"]

[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["people.region", "pay"]

[utility]
measures = ["S_pMSE one-way", "group sizes", "S_pMSE two-way joined"]
"""


def test_deep_tables_with_weights_lookups_and_names_that_several_have(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    people = rng.integers(1, 5, 90)
    firm = np.repeat(np.arange(90), people)
    pays = rng.integers(0, 4, len(firm))
    person = np.repeat(np.arange(len(firm)), pays)
    some = np.flatnonzero(rng.random(len(firm)) < 0.5)
    tables = {
        "firms": {"firm": np.arange(90) + 10_000, "region": rng.choice(["N", "S"], 90),
                  "weight": rng.choice([1.5, 3.0], 90)},
        "people": {"person": np.arange(len(firm)) + 50_000, "firm": firm + 10_000,
                   "region": rng.choice(["N", "S"], len(firm)), "age": rng.integers(18, 66,
                                                                                    len(firm))},
        "pays": {"person": person + 50_000, "code": rng.choice(["a", "b"], len(person)),
                 "pay": rng.integers(10, 60, len(person)) * 100},
        "cards": {"person": some + 50_000, "colour": rng.choice(["red", "blue"], len(some))},
        "codes": {"code": ["a", "b", "c"], "says": ["base", "extra", "bonus"]},
    }  # fmt: skip
    for name, columns in tables.items():
        write(Table.from_frame(columns), tmp_path / f"{name}.csv")
    (tmp_path / "release.toml").write_text(DEEP)
    made = Release.from_toml(tmp_path / "release.toml").run(tmp_path / "out", date="2026-01-01")
    content, out = made.evidence, made.folder / "inside/synthetic-1"
    assert (out / "codes.csv").read_text().split() == ["code,says", "a,base", "b,extra", "c,bonus"]
    frame = {n: read(out / f"{n}.csv").to_frame("pandas") for n in tables}
    assert frame["people"]["firm"].isin(frame["firms"]["firm"]).all()
    assert frame["pays"]["person"].isin(frame["people"]["person"]).all()
    assert frame["cards"]["person"].is_unique
    assert list(frame["firms"]) == ["firm", "region"]
    kept = content["release"]["fitted_rows"]
    assert 1.5 * kept < content["release"]["rows"][0] < 3 * kept
    assert content["release"]["not_released"] == ["weight"]
    assert [t["lookup"] for t in content["release"]["tables"]] == [False] * 4 + [True]
    colleague, strong = content["scenarios"]
    assert colleague["table"] == "pays"
    assert {m["per"] for m in strong["measurements"]} == {"row of people", "row of pays", "group"}
    assert all(m["value"] is not None for m in strong["measurements"])
    found = {(m["measure"], m["table"]) for m in content["utility"]["measurements"]}
    assert {("group sizes", t) for t in ("people", "pays", "cards")} < found
    assert [s["table"] for s in content["utility"]["structures"]] == ["people", "pays", "cards"]


def test_replaced_columns_of_tables_are_written_and_not_measured(tables_folder: Path) -> None:
    path = tables_folder / "replaced.toml"
    path.write_text(
        SMALL.replace("seed = 1", "").replace(
            "[[scenario]]", '[synthesis]\nreplace = { diagnosis = "name" }\n\n[[scenario]]'
        )
    )
    made = Release.from_toml(path).run(tables_folder / "replaced", date="2026-01-01")
    assert made.evidence["release"]["replaced"] == [
        {"column": "diagnosis", "by": "name", "is": "invented names"}
    ]
    assert "diagnosis" in made.evidence["release"]["columns"]
    visits = read(made.folder / "public/synthetic-1/visits.csv")
    original = read(tables_folder / "visits.csv")
    assert visits.names == original.names
    assert not set(visits["diagnosis"].values) & set(original["diagnosis"].values)
