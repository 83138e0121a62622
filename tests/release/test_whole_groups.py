"""A release of whole groups: what comes out, what is measured, and whose number it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused
from tests.release.tables import TABLES

from caveat.datasets import households
from caveat.errors import CaveatError
from caveat.release import Release
from caveat.release.folder import Outcome
from caveat.spec.draft_spec import BenchmarkSpec
from caveat.table import Table, read, write

SPEC = """\
[release]
unit = "person"
seed = 1
control = 0.2

[data]
path = "people.csv"

[columns.income]
missing = [-8]

[groups]
key = "household"
role = "role"

[synthesis]
weights = "weight"
derived = { hhincome = "sum(income)" }

[[scenario]]
name = "a neighbour"
keys = ["region", "sex", "age"]
targets = ["marital"]
measures = ["repU", "DiSCO"]

[[scenario]]
name = "a neighbour of the household"
unit = "group"
keys = ["region", "sex"]
targets = ["tenure", "marital"]
measures = ["repU", "DiSCO"]

[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["marital"]

[[scenario]]
name = "with and without"
attacker = "simulated"

[utility]
measures = ["S_pMSE one-way", "group sizes", "one value per group", "size column"]
rules.adult = { then = "age >= 18", group = "household" }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    write(households(number=250), folder / "people.csv")
    (folder / "release.toml").write_text(SPEC)
    return folder


@pytest.fixture(scope="module")
def outcome(folder: Path) -> Outcome:
    return Release.from_toml(folder / "release.toml").run(folder / "release", date="2026-01-01")


def test_the_release_has_whole_groups_with_fresh_keys(folder: Path, outcome: Outcome) -> None:
    original = read(folder / "people.csv").to_frame("pandas")
    made = read(outcome.folder / "inside/synthetic-1.csv").to_frame("pandas")
    homes = made.groupby("household")
    assert (homes["hhsize"].first() == homes.size()).all()
    assert homes["age"].max().min() >= 18
    assert not set(made["household"]) & set(original["household"])
    said = outcome.evidence["release"]["groups"]
    assert said["key"] == "household"
    assert said["fitted"] + said["control"] == 250
    assert said["released"] == [homes.ngroups] == [said["fitted"]]


def test_the_fresh_key_names_nobody_and_is_no_data(outcome: Outcome) -> None:
    content = outcome.evidence
    assert "household" in content["release"]["columns"]
    assert content["release"]["identifying"] == []
    assert "household" not in [v["name"] for v in content["utility"]["variables"]]
    assert "household" not in [c["name"] for c in content["synthesis"]["columns"]]


def test_the_control_is_held_out_by_groups(outcome: Outcome) -> None:
    (remark,) = [r for r in outcome.evidence["remarks"] if "held out" in r]
    assert "records, whole groups, were drawn at random" in remark
    assert outcome.evidence["release"]["groups"]["control"] > 30


def test_a_number_says_whom_it_is_about(outcome: Outcome) -> None:
    rows, groups, _, simulated = outcome.evidence["scenarios"]
    assert "unit" not in rows
    assert groups["unit"] == "group"
    assert all("per" not in m for m in rows["measurements"])
    assert all(m["per"] == "group" for m in groups["measurements"])
    targets = {m["target"] for m in groups["measurements"] if m["target"]}
    assert "tenure" in targets
    assert "number of marital married" in targets
    fitted = outcome.evidence["release"]["groups"]["fitted"]
    assert {m["n"] for m in groups["measurements"] if m["measure"] == "repU"} == {fitted}
    for m in simulated["measurements"]:
        assert m["value"] is None
        assert m["notes"][0]["code"] == "whole-groups"


def test_the_strong_attacker_is_after_groups_and_their_members(outcome: Outcome) -> None:
    strong = outcome.evidence["scenarios"][2]["measurements"]
    asked = {(m["measure"], m["target"], m["per"]) for m in strong}
    assert asked == {
        ("strongShare", "marital", "person"),
        ("strongWorst", "marital", "person"),
        ("strongGain", "marital", "person"),
        ("membershipShare", None, "group"),
        ("membershipShare", None, "person"),
    }
    groups, persons = [m for m in strong if m["measure"] == "membershipShare"]
    assert groups["n"] == outcome.evidence["release"]["groups"]["fitted"]
    assert persons["n"] == outcome.evidence["release"]["fitted_rows"]
    assert {note["code"] for note in groups["notes"]} >= {"all-groups"}
    text = (outcome.folder / "inside/report.md").read_text()
    assert "**Groups examined**: as each result says" in text


def test_the_structure_is_measured(outcome: Outcome) -> None:
    found = {m["measure"]: m["value"] for m in outcome.evidence["utility"]["measurements"]}
    assert found["one value per group"] == 1
    assert found["size column"] == 1
    assert 0 <= found["group sizes"] < 0.2
    (rule,) = outcome.evidence["utility"]["rules"]
    assert (rule["original"], rule["synthetic"]) == (0, 0)
    text = (outcome.folder / "inside/report.md").read_text()
    fitted = outcome.evidence["release"]["groups"]["fitted"]
    assert f"{fitted} whole groups by household, with fresh keys" in text


def test_the_same_seed_gives_the_same_release(folder: Path, outcome: Outcome) -> None:
    again = Release.from_toml(folder / "release.toml").run(
        folder / "again", threads=2, date="2026-01-01"
    )
    for name in ("inside/synthetic-1.csv", "inside/evidence.json"):
        assert (again.folder / name).read_bytes() == (outcome.folder / name).read_bytes()


def test_groups_that_were_made_elsewhere_are_measured_so(folder: Path, outcome: Outcome) -> None:
    made = [outcome.folder / "inside/synthetic-1.csv"]
    release = Release.from_toml(folder / "release.toml")
    found = release.run(folder / "audit", only="audit", synthetic=made, date="2026-01-01").evidence
    measured = {m["measure"]: m["value"] for m in found["utility"]["measurements"]}
    assert measured["size column"] == 1
    assert (
        found["release"]["groups"]["released"] == outcome.evidence["release"]["groups"]["released"]
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('key = "household"', 'key = "houshold"', "line 13: groups.key: the data have no column "
         "'houshold'; perhaps household"),
        ('role = "role"', 'constant = ["age"]', "line 14: groups.constant, column age: it is "
         "not constant in 172 of 250 groups"),
        ('keys = ["region", "sex", "age"]', 'keys = ["household"]', "line 22: scenario.keys: "
         "household is not released"),
        ("[groups]\nkey", "[utility.rules.x]\nthen", "scenario.unit: no group is named; add"),
        ('unit = "group"\n', 'unit = "group"\ntolerance = { age = 1 }\n', "scenario.tolerance: a "
         "group as a whole has no such column"),
        ("[synthesis]\n", '[synthesis]\nrules = ["any(agee > 3)"]\n', "synthesis.rules: the data "
         "have no column 'agee'"),
        ("seed = 1", 'seed = 1\nrows = "populations"', "line 4: release.rows must be a whole "
         "number, 1 or more, or \"population\""),
    ],
)  # fmt: skip
def test_mistakes_have_their_line(folder: Path, old: str, new: str, message: str) -> None:
    assert SPEC.count(old) == 1
    path = folder / "broken.toml"
    text = SPEC.replace(old, new)
    path.write_text(text.replace('role = "role"\n', "") if "utility.rules.x" in new else text)
    with pytest.raises(CaveatError) as caught:
        Release.from_toml(path).run(folder / "nothing")
    assert message in str(caught.value)
    assert not (folder / "nothing").exists()


def test_a_protection_that_replaces_records_is_refused(folder: Path) -> None:
    path = folder / "protected.toml"
    path.write_text(
        SPEC + '[[protect]]\nname = "remove_replicated_uniques"\nkeys = ["age", "sex"]\n'
    )
    with refused("protection.group.conflict", where="protect"):
        Release.from_toml(path).run(folder / "nothing")


def test_protections_that_change_values_leave_the_keys_alone(folder: Path) -> None:
    path = folder / "protected.toml"
    path.write_text(SPEC + '[[protect]]\nname = "code_extremes"\ntop = { age = 60 }\n')
    made = Release.from_toml(path).run(folder / "coded", date="2026-01-01")
    table = read(made.folder / "inside/synthetic-1.csv").to_frame("pandas")
    assert table["age"].max() == 60
    homes = table.groupby("household")
    assert (homes["hhsize"].first() == homes.size()).all()
    assert next(iter(table)) == "household"


POPULATION = """\
[release]
seed = 1
rows = "population"
[data]
path = "people.csv"
[groups]
key = "household"
[synthesis]
weights = "weight"
[[scenario]]
name = "a neighbour"
keys = ["region", "sex"]
targets = ["marital"]
measures = ["repU"]
[utility]
measures = ["group sizes"]
"""


def test_a_population_has_as_many_groups_as_the_weights_stand_for(folder: Path) -> None:
    path = folder / "population.toml"
    path.write_text(POPULATION)
    made = Release.from_toml(path).run(folder / "population", date="2026-01-01")
    people = read(folder / "people.csv").to_frame("pandas")
    expected = people.groupby("household")["weight"].first().sum()
    assert made.evidence["release"]["groups"]["released"] == [round(expected)]
    path.write_text(POPULATION.replace('weights = "weight"\n', ""))
    with refused("spec.entry.absent", where="population.toml, line 3"):
        Release.from_toml(path)


def test_weights_are_calibrated_to_what_is_known(folder: Path) -> None:
    known = {"region": ["north", "east", "south", "west", "centre"],
             "groups": [100, 200, 300, 50, 350]}  # fmt: skip
    write(Table.from_frame(known), folder / "regions.csv")
    path = folder / "margins.toml"
    text = POPULATION.replace('key = "household"', 'key = "household"\nmargins = ["regions.csv"]')
    path.write_text(text)
    made = Release.from_toml(path).run(folder / "calibrated", date="2026-01-01")
    assert made.evidence["release"]["groups"]["released"] == [1000]
    table = read(made.folder / "inside/synthetic-1.csv").to_frame("pandas")
    share = table.groupby("household")["region"].first().value_counts(normalize=True)
    assert share["centre"] == pytest.approx(0.35, abs=0.06)
    path.write_text(text.replace("regions.csv", "no.csv"))
    with refused("data.file.absent", where="margins.toml, line 8"):
        Release.from_toml(path)


def test_commands_that_work_row_by_row_say_so(folder: Path) -> None:
    path = folder / "benchmark.toml"
    path.write_text(SPEC + '[[generator]]\nname = "copy"\n')
    with refused("spec.entry.unsupported", where="benchmark.toml, line 12"):
        BenchmarkSpec.from_toml(path)
    path.write_text(
        TABLES + '[[scenario]]\nname = "x"\nkeys = ["sex"]\n[[generator]]\nname = "copy"\n'
    )
    with refused("spec.entry.unsupported", where="benchmark.toml, line 1"):
        BenchmarkSpec.from_toml(path)


def test_a_map_of_whole_groups(folder: Path) -> None:
    path = folder / "map.toml"
    text = POPULATION.replace('rows = "population"\n', "")
    path.write_text(f'{text}[map]\nsettings = {{ guard = ["light", "strong"] }}\nseeds = 1\n')
    found = Release.from_toml(path).run(folder / "map", date="2026-01-01").evidence["map"]
    assert [point["setting"] for point in found["points"]] == [
        "guard light", "guard strong", "guard standard",
    ]  # fmt: skip
    for point in found["points"]:
        assert 0 < point["utility_mean"] < 50
        assert point["risk_mean"] is not None
