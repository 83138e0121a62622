"""The run: what its evidence says is what the parts say, and the same seed gives the same bytes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import Release, evidence
from caveat.attack import attributes
from caveat.cli import app
from caveat.datasets import buyer_beware, survey
from caveat.release.again import made_again as again
from caveat.release.material import hold_out, hold_out_each
from caveat.risk import audit
from caveat.seeds import TRIAL, ReleaseKey
from caveat.table import Table, read, write
from caveat.table.files import read_into
from caveat.utility import compare

DATE = "2024-05-01"


def files_of(folder: Path) -> dict[str, bytes]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def tables_of(folder: Path) -> dict[str, bytes]:
    return {name: held for name, held in files_of(folder).items() if "/synthetic-" in name}


def measured(content: dict, scenario: str, measure: str, target: str | None = None) -> list[dict]:
    (found,) = (s for s in content["scenarios"] if s["name"] == scenario)
    return [m for m in found["measurements"] if m["measure"] == measure and m["target"] == target]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory, survey_file):
    from tests.release.conftest import SPEC

    folder = tmp_path_factory.mktemp("run")
    (folder / "survey.csv").write_bytes(survey_file.read_bytes())
    (folder / "release.toml").write_text(SPEC)
    return Release.from_toml(folder / "release.toml").run(threads=1, date=DATE)


@pytest.fixture(scope="module")
def parts(outcome):
    """The tables behind the outcome, made by hand."""
    release = Release.from_toml(outcome.folder.parent / "release.toml")
    rows, fitted, control = hold_out(release.spec.read_data(), 100, 1)
    return rows, fitted, control, release.spec


def test_the_folder_holds_what_the_manifest_says(outcome):
    files = files_of(outcome.folder)
    manifest = json.loads(files.pop("manifest.json"))
    assert {name.removeprefix("inside/") for name in files} == {  # a trial: nothing may leave
        "dictionary.csv", "dictionary.html", "dictionary.xml",
        "evidence.json", "release.toml", "report-external.html", "report-external.md",
        "report.html", "report.md", "synthetic-1.csv", "synthetic-1.parquet",
    }  # fmt: skip
    assert sorted(path.name for path in outcome.folder.iterdir()) == ["inside", "manifest.json"]
    assert {entry["name"] for entry in manifest["files"]} == set(files)
    for entry in manifest["files"]:
        content = files[entry["name"]]
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["bytes"] == len(content)
    spec = outcome.folder.parent / "release.toml"
    assert files["inside/release.toml"] == spec.read_bytes()
    content = evidence.read(outcome.folder / "inside/evidence.json")
    assert content == outcome.evidence
    assert content["inputs"]["spec"]["sha256"] == hashlib.sha256(spec.read_bytes()).hexdigest()
    tables = [read(outcome.folder / f"inside/synthetic-1.{form}") for form in ("csv", "parquet")]
    for entry in content["release"]["files"]:
        assert entry["sha256"] == hashlib.sha256(files[f"inside/{entry['name']}"]).hexdigest()
    assert [table.n_rows for table in tables] == content["release"]["rows"] * 2 == [300, 300]
    assert tables[0].names == tuple(content["release"]["columns"])
    assert content["release"]["not_released"] == ["person", "interviewed", "occupation", "bmi"]


def test_the_evidence_holds_no_path_and_no_date(outcome):
    text = (outcome.folder / "inside/evidence.json").read_text()
    assert str(outcome.folder.parent) not in text
    assert DATE not in text


def test_two_runs_and_other_threads_give_the_same_bytes(outcome, tmp_path):
    release = Release.from_toml(outcome.folder.parent / "release.toml")
    again = release.run(tmp_path / "again", threads=2, date=DATE)
    assert files_of(again.folder) == files_of(outcome.folder)


def test_only_the_reports_know_the_date(outcome, tmp_path):
    release = Release.from_toml(outcome.folder.parent / "release.toml")
    other = files_of(release.run(tmp_path / "later", date="2031-01-01").folder)
    for name, content in files_of(outcome.folder).items():
        if name.startswith("inside/report"):
            assert content.replace(DATE.encode(), b"2031-01-01") == other[name], name
        elif name != "manifest.json":
            assert other[name] == content, name


def test_the_control_is_made_of_whole_groups():
    home = np.random.default_rng(1).integers(0, 150, 400)
    table = Table.from_frame({"home": home, "x": range(400)})
    rows, fitted, control = hold_out(table, 100, 1, "home")
    assert 90 < control.n_rows <= 100
    assert fitted.n_rows == len(rows) == 400 - control.n_rows
    assert not set(home[rows]) & set(np.delete(home, rows))
    assert control["home"].levels.tolist() == sorted(set(np.delete(home, rows).tolist()))
    again, _, _ = hold_out(table, 100, 1, "home")
    assert again.tolist() == rows.tolist()


def test_the_control_is_drawn_by_the_seed_and_takes_no_part(parts, outcome):
    rows, fitted, control, _ = parts
    assert (fitted.n_rows, control.n_rows) == (300, 100)
    assert len(np.unique(rows)) == 300
    other, _, _ = hold_out(Table.from_frame({"x": range(400)}), 100, 2)
    assert len(np.intersect1d(rows, other)) < 300
    assert outcome.evidence["release"]["control_rows"] == 100
    assert any("held out" in remark for remark in outcome.evidence["remarks"])


def test_a_private_control_is_drawn_record_by_record_without_a_seed() -> None:
    table = Table.from_frame({"x": range(400)})
    rows, fitted, control = hold_out_each(table, 0.25)
    assert control is not None
    assert fitted.n_rows + control.n_rows == 400
    assert fitted["x"].values.tolist() == rows.tolist()
    assert 50 <= control.n_rows <= 150  # 100 give or take 5.8 standard deviations
    again, _, _ = hold_out_each(table, 0.25)
    assert rows.tolist() != again.tolist()
    assert hold_out_each(table, 1e-12)[2] is None


def test_the_attacker_with_the_release_has_the_numbers_of_an_audit(parts, outcome):
    _, fitted, control, _ = parts
    release = read(outcome.folder / "inside/synthetic-1.csv")
    found = audit(fitted, release, keys=["sex", "age", "region"], targets=["marital"],
                  control=control)  # fmt: skip
    for measure in ("DiSCO", "TCAP"):
        (entry,) = measured(outcome.evidence, "a neighbour", measure, "marital")
        expected = found[measure, "marital"]
        assert entry["value"] == expected.value
        assert entry["control"] == expected.control is not None
        assert entry["interval"] == list(expected.interval)
    (entry,) = measured(outcome.evidence, "a neighbour", "DiSCO", "marital")
    assert entry["limit"] == {"most": 0.05, "least": None}
    assert entry["excess"] == pytest.approx((entry["value"] - 0.05) / 0.05)
    assert entry["excess"] > 0
    assert measured(outcome.evidence, "a neighbour", "repU")[0]["excess"] == 0


def test_the_strong_attacker_has_the_exact_posterior(parts, outcome):
    _, fitted, _, spec = parts
    release = read(outcome.folder / "inside/synthetic-1.csv")
    found = attributes(fitted, release, "marital", generator=dict(spec.synthesis),
                       prior="conditional")  # fmt: skip
    (worst,) = measured(outcome.evidence, "everything else", "strongWorst", "marital")
    (share,) = measured(outcome.evidence, "everything else", "strongShare", "marital")
    assert share["n"] == 60
    assert 60 <= worst["n"] <= 80  # and the 20 most vulnerable, some of whom are among the 60
    assert worst["value"] <= found.probability.max()
    named = [r for r in outcome.evidence["records_at_risk"] if r["measure"] == "strongWorst"]
    assert named
    rows = {int(row) + 1: i for i, row in enumerate(parts[0])}
    for record in named:
        i = rows[record["row"]]
        assert record["value"] == pytest.approx(found.probability[i], abs=1e-6)
        assert record["prior"] == pytest.approx(found.prior_probability[i])
    assert max(record["value"] for record in named) == worst["value"]
    # The sample is drawn at random: its share is near that of everybody.
    everyone = (found.probability >= 0.9).mean()
    assert share["interval"][0] <= everyone <= share["interval"][1]


def test_utility_stands_beside_its_references(parts, outcome):
    _, fitted, _, _ = parts
    release = read(outcome.folder / "inside/synthetic-1.csv")
    names = release.names
    found = compare(fitted.select(names), release, measures=["S_pMSE two-way"], resamples=0)
    utility = outcome.evidence["utility"]
    (entry,) = (m for m in utility["measurements"] if m["measure"] == "S_pMSE two-way")
    assert entry["value"] == pytest.approx(found["S_pMSE two-way"].value)
    assert entry["resample"] is not None
    assert entry["control"] is not None
    assert entry["excess"] == 0
    assert len(utility["pairs"]) == len(names) * (len(names) - 1) / 2
    assert [pair["S_pMSE"] for pair in utility["pairs"]] == sorted(
        (pair["S_pMSE"] for pair in utility["pairs"]), reverse=True
    )
    for variable in utility["variables"]:
        for side in ("original", "synthetic"):
            assert sum(group[side] for group in variable["groups"]) == pytest.approx(1)
    (model,) = utility["models"]
    assert [c["term"] for c in model["coefficients"]] == ["Intercept", "sex[T.male]", "age"]
    assert utility["rules"][0]["name"] == "minor"


def test_buyer_beware_gives_the_same_bytes_and_finds_the_record(tmp_path):
    write(buyer_beware(), tmp_path / "data.csv")
    (tmp_path / "release.toml").write_text(
        "[release]\nseed = 3\ncopies = 2\n[data]\npath = 'data.csv'\n[synthesis]\nmethod = 'cart'\n"
        "[[scenario]]\nname = 'strong'\nattacker = 'strong'\ntargets = ['var4']\nrecords = 'all'\n"
        "[utility]\nmeasures = ['S_pMSE two-way']\n"
        "[map]\nsettings = { minbucket = [5, 75] }\nseeds = 2\n"
    )
    release = Release.from_toml(tmp_path / "release.toml")
    one, two = (release.run(tmp_path / f"run{n}", threads=n, date=DATE) for n in (1, 2))
    assert files_of(one.folder) == files_of(two.folder)
    (worst,) = measured(one.evidence, "strong", "strongWorst", "var4")
    assert worst["value"] == pytest.approx(1)
    assert worst["n"] == 1000
    # Record 1111 is the last row and the only one of its kind (Latner, Neunhoeffer, Drechsler).
    assert one.evidence["records_at_risk"][0]["row"] == 1000
    assert [p["chosen"] for p in one.evidence["map"]["points"]] == [True, False]


def test_a_release_has_a_key_that_repeats_it_and_another_key_makes_another(specification, tmp_path):
    bare = specification(("seed = 1\n", ""))
    first = Release.from_toml(bare).run(tmp_path / "first", date=DATE)
    key = ReleaseKey.read(bare.with_suffix(".key"))
    assert (first.evidence["seed"], first.evidence["key"]) == ("0", key.text)
    again = Release.from_toml(bare).run(tmp_path / "again", date=DATE)
    assert files_of(again.folder) == files_of(first.folder)
    other = Release.from_toml(bare).run(tmp_path / "b", date=DATE, key=tmp_path / "b.key")
    assert tables_of(other.folder) != tables_of(first.folder)
    assert other.evidence["key"] != key.text


def test_what_may_leave_a_release_holds_neither_seed_nor_key(specification, tmp_path):
    spec = specification(("seed = 1\n", "seed = 7_654_321_987\n"))
    made = Release.from_toml(spec).run(tmp_path / "a", date=DATE, key=tmp_path / "a.key")
    assert made.evidence["trial"] is False
    key = made.evidence["key"]
    roots = (key, str(ReleaseKey(key).root(7654321987)), "7654321987", "7_654_321_987")
    entries = json.loads((made.folder / "manifest.json").read_text())["files"]
    public = [entry["name"] for entry in entries if not entry["confidential"]]
    assert sorted(public) == [
        "public/dictionary.csv", "public/dictionary.html", "public/dictionary.xml",
        "public/synthetic-1.csv", "public/synthetic-1.parquet",
    ]  # fmt: skip
    leaving = json.dumps(evidence.external(made.evidence))
    assert not [root for root in roots if root in leaving]
    for name in public:
        content = (made.folder / name).read_bytes()
        assert not [root for root in roots if root.encode() in content]


def test_a_seed_without_a_key_is_marked_as_a_trial_everywhere(outcome):
    assert outcome.evidence["trial"] is True
    assert outcome.evidence["key"] is None
    manifest = json.loads((outcome.folder / "manifest.json").read_text())
    assert manifest["notice"] == TRIAL
    assert all(entry["confidential"] for entry in manifest["files"])
    for name in ("report.html", "report-external.html", "report.md", "report-external.md"):
        assert "Trial, not for release" in (outcome.folder / "inside" / name).read_text()
    external = evidence.external(outcome.evidence)
    assert (external["trial"], external["seed"], external["key"]) == (True, None, None)


def test_the_terminal_says_that_a_trial_is_no_release(specification, tmp_path):
    spec = str(specification())
    trial = CliRunner().invoke(app, ["run", spec, "--folder", str(tmp_path / "a")])
    assert TRIAL in trial.output.replace("\n", " ")
    key = ["--key", str(tmp_path / "a.key")]
    release = CliRunner().invoke(app, ["run", spec, "--folder", str(tmp_path / "b"), *key])
    assert TRIAL not in release.output.replace("\n", " ")


def test_what_has_no_likelihood_has_no_value_but_a_reason(specification):
    path = specification(
        ('[[scenario]]\nname = "a n', '[[protect]]\nname = "remove_replicated_uniques"\n'
         'keys = ["sex", "age"]\n\n[[scenario]]\nname = "a n'),
    )  # fmt: skip
    content = Release.from_toml(path).run().evidence
    for measure in ("strongShare", "strongGain"):
        (entry,) = measured(content, "everything else", measure, "marital")
        assert entry["value"] is None
        assert "remove_replicated_uniques looks at the original" in entry["notes"][0]["text"]
    (worst,) = measured(content, "everything else", "strongWorst", "marital")
    assert worst["value"] is None or worst["details"]["Monte Carlo error"] >= 0
    assert worst["value"] is not None or worst["excess"] is None
    (member,) = measured(content, "everything else", "membershipShare")
    assert member["value"] is None
    assert content["protection"][0]["name"] == "remove_replicated_uniques"


def test_where_every_column_is_a_key_nothing_is_left_to_learn(tmp_path):
    write(survey(rows=200).select(["sex", "region"]), tmp_path / "two.csv")
    path = tmp_path / "release.toml"
    path.write_text(
        '[release]\nseed = 1\n[data]\npath = "two.csv"\n[[scenario]]\nname = "a neighbour"\n'
        'keys = ["sex", "region"]\nlimits = { DiSCO = 5 }\n'
    )
    content = Release.from_toml(path).run().evidence
    (entry,) = measured(content, "a neighbour", "DiSCO")
    assert (entry["value"], entry["notes"][0]["code"]) == (None, "no-target")
    (entry,) = measured(content, "a neighbour", "repU")
    assert entry["value"] is not None


def test_protections_that_look_at_the_release_alone_are_bounded(specification):
    path = specification(
        ('[[scenario]]\nname = "a n', '[[protect]]\nname = "round_numbers"\nbase = { age = 5 }\n\n'
         '[[scenario]]\nname = "a n'),
    )  # fmt: skip
    content = Release.from_toml(path).run().evidence
    (worst,) = measured(content, "everything else", "strongWorst", "marital")
    assert worst["value"] > 0
    assert any("a bound" in note["text"] for note in worst["notes"])


def test_a_filter_compares_what_is_released(specification):
    path = specification(
        ('[[scenario]]\nname = "a n', '[[protect]]\nname = "distance_filter"\n'
         'metric = "gower"\n\n[[scenario]]\nname = "a n'),
    )  # fmt: skip
    content = Release.from_toml(path).run().evidence
    assert content["protection"][0]["name"] == "distance_filter"
    assert content["release"]["rows"] == [300]


def test_steps_are_told_in_order_and_nothing_confidential(specification):
    marker = 987_654
    path = specification()
    data = path.parent / "survey.csv"
    lines = data.read_text().splitlines()
    at = lines[0].split(",").index("income")
    cells = lines[1].split(",")
    cells[at] = str(marker)
    data.write_text("\n".join([lines[0], ",".join(cells), *lines[2:]]) + "\n")
    told = []
    Release.from_toml(path).run(progress=lambda step, share: told.append((step, share)))
    steps = list(dict.fromkeys(step for step, _ in told))
    assert steps == [
        "read", "hold out", "fit", "draw", "protect", "scenario: a neighbour",
        "scenario: everything else", "scenario: ordinary means", "utility", "other settings",
        "write",
    ]  # fmt: skip
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    assert shares[0] == 0
    assert shares[-1] < 1
    assert str(marker) not in str(told)


def test_tables_made_elsewhere_are_audited(specification, outcome, tmp_path):
    theirs = outcome.folder / "inside/synthetic-1.csv"
    release = Release.from_toml(specification())
    found = release.run(tmp_path / "audit", only="audit", synthetic=[theirs], date=DATE)
    content = found.evidence
    assert content["release"]["synthesised_by"] == "elsewhere"
    assert (
        content["release"]["files"][0]["sha256"] == hashlib.sha256(theirs.read_bytes()).hexdigest()
    )
    assert (content["synthesis"], content["map"], content["release"]["fitted_rows"]) == (None,) * 3
    assert any("made elsewhere" in r or "synthesised elsewhere" in r for r in content["remarks"])
    for measure in ("strongShare", "strongWorst", "strongGain"):
        (entry,) = measured(content, "everything else", measure, "marital")
        assert entry["value"] is None
        assert "how is not known" in entry["notes"][0]["text"]
    (entry,) = measured(content, "a neighbour", "DiSCO", "marital")
    expected = audit(
        release.spec.read_data(), read(theirs), keys=["sex", "age", "region"], targets=["marital"]
    )
    assert entry["value"] == expected["DiSCO", "marital"].value
    assert entry["control"] is None
    assert not list(found.folder.glob("synthetic*"))
    with refused("spec.entry.absent", where="release.toml, line 8"):
        release.run(tmp_path / "none", only="audit")
    with refused("release.setting.conflict", where="synthetic"):
        release.run(tmp_path / "none", synthetic=[theirs])


def test_the_command_prints_the_limits_and_exits_with_3(specification, tmp_path):
    path = specification()
    result = CliRunner().invoke(app, ["run", str(path), "--folder", str(tmp_path / "a b")])
    assert result.exit_code == 3, result.output
    assert "DiSCO" in result.output
    assert "not met" in result.output
    assert (tmp_path / "a b" / "inside/evidence.json").exists()
    met = specification(("DiSCO = 5, ", ""), ("limits = { strongWorst = 50 }\n", ""))
    result = CliRunner().invoke(app, ["run", str(met), "--folder", str(tmp_path / "met")])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("escape", [False, True])
def test_text_that_a_spreadsheet_computes_is_in_the_remarks_or_escaped(tmp_path, escape):
    rows = "".join(f"{'=1+1' if i % 2 else 'plain'},{i % 7}\n" for i in range(200))
    (tmp_path / "sums.csv").write_text(f"text,number\n{rows}")
    path = tmp_path / "release.toml"
    path.write_text(
        '[release]\nseed = 1\n[data]\npath = "sums.csv"\n'
        '[[scenario]]\nname = "n"\nkeys = ["number"]\ntargets = ["text"]\n'
        '[utility]\nmeasures = ["total variation"]\n'
        f'[output]\nformats = ["csv", "parquet"]\nescape_formulas = {str(escape).lower()}\n'
    )
    found = Release.from_toml(path).run(date=DATE)
    said = [r for r in found.evidence["remarks"] if "like a formula" in r]
    lines = (found.folder / "inside/synthetic-1.csv").read_text("utf-8").splitlines()
    texts = [line.split(",")[0] for line in lines]
    if escape:
        assert said == []
        assert set(texts) == {"text", "'=1+1", "plain"}
    else:
        (remark,) = said
        assert remark.startswith(f"synthetic-1.csv: {texts.count('=1+1')} text cells begin")
        assert set(texts) == {"text", "=1+1", "plain"}


CLEARED = """
[release]
seed = 1
[data]
path = "survey.csv"
[synthesis]
method = "margins"
drop = ["person"]
margins = [["sex", "marital"], ["marital", "age"]]
clearing = { threshold = 10, multiple = 5 }
[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["marital"]
"""


def test_cleared_tables_are_in_the_folder_and_may_leave_it(tmp_path):
    table = Table.from_frame(survey(rows=400)).select(["person", "sex", "age", "marital"])
    write(table, tmp_path / "survey.csv")
    (tmp_path / "release.toml").write_text(CLEARED)
    release = Release.from_toml(tmp_path / "release.toml")
    key = tmp_path / "release.key"
    folder = release.run(threads=1, date=DATE, key=key).folder
    manifest = json.loads((folder / "manifest.json").read_text())
    listed = {entry["name"]: entry["confidential"] for entry in manifest["files"]}
    tables = ["01-sex-marital.csv", "02-marital-age.csv", "manifest.csv"]
    assert [listed[f"public/margins/{name}"] for name in tables] == [False, False, False]
    assert sorted(path.name for path in (folder / "public" / "margins").iterdir()) == tables
    pairs = read(folder / "public" / "margins" / tables[0])
    published = set(zip(pairs["sex"].values, pairs["marital"].values, strict=True))
    drawn = read(folder / "public/synthetic-1.csv")
    assert set(zip(drawn["sex"].values, drawn["marital"].values, strict=True)) <= published
    before = {name: (folder / "public" / "margins" / name).read_bytes() for name in tables}
    again = release.run(threads=2, date=DATE, force=True).folder
    assert {name: (again / "public" / "margins" / name).read_bytes() for name in tables} == before


def test_what_is_constant_or_looked_up_by_a_key_is_no_target(tmp_path: Path) -> None:
    rng = np.random.default_rng(12)
    people = {"sex": rng.integers(1, 3, 300), "pay": rng.integers(0, 6, 300), "wave": [3] * 300}
    people["title"] = 3 - people["sex"]
    write(Table.from_frame(people), tmp_path / "people.csv", confidential=True)
    (tmp_path / "release.toml").write_text(
        "[release]\nseed = 1\n[data]\npath = 'people.csv'\n[synthesis]\nmethod = 'sample'\n"
        "derived = { title = { lookup = 'sex' } }\n"
        "[[scenario]]\nname = 'n'\nattacker = 'release'\nkeys = ['sex']\n"
    )
    content = Release.from_toml(tmp_path / "release.toml").run(threads=1, date=DATE).evidence
    targets = {m["target"] for s in content["scenarios"] for m in s["measurements"]}
    assert targets - {None} == {"pay"}


def test_replaced_columns_leave_unmeasured_and_repairs_are_noted(specification) -> None:
    drop = 'drop = ["person", "interviewed", "occupation", "bmi"]'
    wanted = ('drop = ["interviewed", "bmi"]\n'
              'replace = { person = "id", occupation = "name" }')  # fmt: skip
    target = specification(
        (drop, wanted),
        ("seed = 1\n", ""),
        *[(f"records = {n}", "records = 5") for n in (60,)],
    )
    survey_csv = target.parent / "survey.csv"
    header, first, *rest = survey_csv.read_text("utf-8").splitlines()
    cells = dict(zip(header.split(","), first.split(","), strict=True)) | {"income": "k.A."}
    survey_csv.write_text("\n".join([header, ",".join(cells.values()), *rest, ""]), "utf-8")
    original = read_into(None, survey_csv)
    outcome = Release.from_toml(target).run(target.parent / "release", threads=1, date=DATE)
    release = outcome.evidence["release"]
    assert [(one["column"], one["by"]) for one in release["replaced"]] == [
        ("person", "id"),
        ("occupation", "name"),
    ]
    assert {"person", "occupation"} <= set(release["columns"])
    assert set(release["not_released"]) == {"interviewed", "bmi"}
    assert release["identifying"] == []
    for scenario in outcome.evidence["scenarios"]:
        assert not {"person", "occupation"} & {*scenario["targets"]}
    (note,) = outcome.evidence["inputs"]["data"]["notes"]  # what the reader repaired
    assert note["code"] == "words-as-missing"
    assert note["text"] in outcome.evidence["remarks"]
    public = outcome.folder / "public"  # nothing keeps the tables inside
    for form in ("csv", "parquet"):
        table = read_into(None, public / f"synthetic-1.{form}")
        assert list(table) == [n for n in original if n not in ("interviewed", "bmi")]
        assert not set(table["person"].values) & set(original["person"].values)
    listed = read_into(None, public / "dictionary.csv").to_frame("pandas")
    done = dict(zip(listed["column"], listed["done"], strict=True))
    assert done["person"] == done["occupation"] == "replaced by invented values"
    assert again(Release.from_toml(target).spec, outcome.folder).plan is not None
