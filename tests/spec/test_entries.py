"""The table of entries: what is read, the schema for editors and the documentation agree."""

from __future__ import annotations

import importlib.util
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.spec.broken import BROKEN, GOOD

from caveat.attack.registry import ATTACKS
from caveat.datasets import survey
from caveat.privacy import Budget
from caveat.release import ReleaseSpec
from caveat.risk import MEASURES, Scenario
from caveat.spec._kinds import Group, Many, Named, lines_of
from caveat.spec.data_entries import OutputSpec, TableSpec
from caveat.spec.entries import (
    ATTACKERS,
    SCENARIO,
    SPECIFICATION,
    SYNTHESIS,
    json_schema,
    measures_of,
    own_options,
)
from caveat.spec.scenarios import MapSpec, ScenarioSpec, UtilitySpec
from caveat.spec.spec import DataSpec, ReleasePart
from caveat.synthesis.margins.promise import OPTIONS
from caveat.synthesis.methods import Settings
from caveat.synthesis.options import DIAL, PLAIN, TOP_LEVEL
from caveat.synthesis.plan import make_plan
from caveat.table.files import ColumnSchema
from caveat.table.grouping import Groups

DOCS = Path(__file__).resolve().parents[2] / "docs"


def section(name: str) -> Group:
    kind = SPECIFICATION.keys[name].kind
    while not isinstance(kind, Group):
        assert isinstance(kind, Many | Named)
        kind = kind.item
    return kind


def test_every_key_is_read_and_nothing_else() -> None:
    def names(kind: type) -> set[str]:
        return {item.name for item in fields(kind)}

    assert set(section("release").keys) == names(ReleasePart)
    assert set(section("data").keys) == names(DataSpec) - {"name"}
    assert set(section("groups").keys) == names(Groups)
    assert set(section("tables").keys) == names(TableSpec) - {"name", "path", "schema"} | {
        "columns"
    }
    assert set(section("output").keys) == names(OutputSpec)
    assert set(section("map").keys) == names(MapSpec)
    assert set(section("utility").keys) == names(UtilitySpec)
    circumstances = names(Scenario) - {"keys", "target"}
    read = names(ScenarioSpec) - {"circumstances", "options"} | {*own_options()}
    assert set(SCENARIO.keys) == read | circumstances
    assert set(section("columns").keys) == names(ColumnSchema) - {"date_format"} | {"format"}
    assert set(SYNTHESIS.keys) == {*TOP_LEVEL, *names(Settings), *OPTIONS, "replace"}
    assert set(section("privacy").keys) == names(Budget)


def test_defaults_are_those_of_the_code() -> None:
    for name, kind in (
        ("release", ReleasePart), ("output", OutputSpec), ("map", MapSpec),
        ("scenario", ScenarioSpec), ("synthesis", Settings),
    ):  # fmt: skip
        defaults = {item.name: item.default for item in fields(kind)}
        for key, entry in section(name).keys.items():
            if (
                entry.default is not None
                and key in defaults
                and (name, key) != ("output", "folder")
            ):
                assert defaults[key] == entry.default, (name, key)


def test_options_of_attacks_are_told(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text(
        "[release]\ncontrol = 0.5\n[data]\npath = 'x.csv'\n[[scenario]]\nname = 'x'\n"
        "attacker = 'ordinary'\nkeys = ['a', 'b']\nsecond = ['c']\ntargets = ['d']\nsubsets = 1\n"
        "columns = 2\nneighbours = 3\nfraction = 0.1\nn_attacks = 7\ntolerance = { a = 2 }\n"
    )
    (scenario,) = ReleaseSpec.from_toml(path).scenarios
    told = {name: scenario.arguments(ATTACKS[name], "d", "people", 5) for name in ATTACKS}
    both = {"control": "people", "seed": 5}
    assert told["prediction"] == both | {
        "keys": ("a", "b"), "target": "d", "tolerance": None, "subsets": 1,
    }  # fmt: skip
    assert told["outliers"] == both | {"keys": ("a", "b"), "target": "d", "tolerance": {"a": 2}}
    assert told["singling-out"] == both | {"columns": 2, "n_attacks": 7}
    assert told["linkability"] == both | {
        "keys": ("a", "b"), "second": ("c",), "neighbours": 3, "n_attacks": 7,
    }  # fmt: skip
    assert told["membership"] == both | {"fraction": 0.1, "n_attacks": 7}
    assert told["distances"] == {"control": "people"}
    assert scenario.attacks == (
        "singling-out", "inference", "outliers", "linkability", "membership"
    )  # fmt: skip
    assert scenario.measures == (
        "singlingOut", "inference", "outlierLinks", "linkability", "membershipScore", "membershipF1"
    )  # fmt: skip


def test_every_measure_belongs_to_one_attacker() -> None:
    of = {name: [a for a in ATTACKERS if name in measures_of(a)] for name in MEASURES}
    assert {name for name, attackers in of.items() if len(attackers) != 1} == set()


def test_default_measures_are_those_of_an_audit(tmp_path: Path) -> None:
    from caveat.risk import audit

    path = tmp_path / "release.toml"
    text = "[data]\npath = 'x.csv'\n[[scenario]]\nname = 'x'\nkeys = ['sex', 'age']\n"
    table = survey(rows=60)
    for more in ("", "tolerance = { age = 2 }\n"):
        path.write_text(text + more)
        (scenario,) = ReleaseSpec.from_toml(path).scenarios
        circumstances = scenario.circumstances
        found = audit(table, table, keys=scenario.keys, targets=["marital"], **circumstances)
        assert set(scenario.measures) == {row.measure for row in found.rows}


def test_the_plan_knows_every_setting() -> None:
    table = survey(rows=60).select(["sex", "age", "income"])
    settings = {k: v.default for k, v in SYNTHESIS.keys.items() if v.default is not None}
    plain = {k: v for k, v in settings.items() if k not in DIAL}
    made = make_plan(table, {**plain, "method": "cart"})
    assert made == make_plan(table, {"method": "cart"})
    guarded = {k: v for k, v in settings.items() if k not in PLAIN}
    assert make_plan(table, guarded) == make_plan(table)


SCHEMA = json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
# What needs the data, several entries at once, or the file itself.
BEYOND_THE_SCHEMA = {
    "control of all", "missing file", "column not in the data", "kind does not fit",
    "column of a rule", "rule cannot be read", "value of a rule never occurs",
    "derived from an unknown column", "formula cannot be read", "cyclic derived columns",
    "settings of an unknown column", "dropped column unknown", "column of a protection",
    "scenario names twice", "no keys", "key not in the data", "key not released",
    "key twice named", "target is a key", "limit out of range", "limits contradict",
    "measure of another attacker", "measure that needs more",
    "attack without what it needs", "no family of models", "model cannot be read",
    "model without a formula", "model of an unknown column",
    "utility without a model", "edit rule of an unknown column", "map of an unknown scenario",
    "map of a bad value", "map of another attacker", "pair of three",
    "groups and tolerance", "tune with a bad value", "tune with a word for a flag",
    "temperature that cannot be tried", "range without points", "data beyond the range",
    "range of words", "guard of plain trees", "leaves of guarded trees",
    "leaves of one guarded column",
}  # fmt: skip


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert list(VALIDATOR.iter_errors(tomllib.loads(GOOD))) == []


@pytest.mark.parametrize("name", BROKEN)
def test_an_editor_sees_what_can_be_seen(name: str) -> None:
    old, new, *_ = BROKEN[name]
    try:
        content = tomllib.loads(GOOD.replace(old, new))
    except tomllib.TOMLDecodeError:
        return
    assert (not VALIDATOR.is_valid(content)) == (name not in BEYOND_THE_SCHEMA)


def described(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, entry in schema.get("properties", {}).items():
        yield name, entry.get("description")
        yield from described(entry)


def test_every_key_is_described() -> None:
    assert [name for name, text in described(SCHEMA) if not text] == []


def test_the_page_of_the_documentation_is_fresh() -> None:
    path = DOCS / "make_release_spec.py"
    loader = importlib.util.spec_from_file_location("make_release_spec", path)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(module)
    assert (DOCS / "release-spec.md").read_text("utf-8") == module.page()


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    text = (DOCS / "release-spec.md").read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    path = tmp_path / "release.toml"
    path.write_text(example, encoding="utf-8")
    spec = ReleaseSpec.from_toml(path)
    spec.check(survey(rows=500))
    assert set(tomllib.loads(example)) == set(SPECIFICATION.keys) - {
        "tune",
        "generator",
        "benchmark",
        "groups",
        "tables",
        "privacy",
    }
    assert lines_of(example)["release",] == 1
