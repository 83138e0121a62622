"""One new entry is one line in the table and its use: everything between follows by itself."""

from __future__ import annotations

import runpy
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import pytest
from tests.pages import DOCS, examples
from tests.refusals import refused
from tests.spec.broken import GOOD

from caveat.release import ReleaseSpec
from caveat.spec import scenarios
from caveat.spec._kinds import Key, Whole
from caveat.spec.document import Document
from caveat.spec.entries import SCENARIO, TUNE, json_schema
from caveat.spec.spec import TuneSpec
from caveat.table.files import loads

STRONG = 'attacker = "strong"\n'


@dataclass(frozen=True)
class PatientScenario(scenarios.ScenarioSpec):
    """The use of a new entry: the field that somebody reads."""

    patience: int = 3


@dataclass(frozen=True)
class PatientTune(TuneSpec):
    """The same of a search."""

    patience: int = 3


@pytest.fixture
def entry(monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = examples("develop/entry.md")
    line = eval(code, {"Key": Key, "Whole": Whole})
    monkeypatch.setitem(SCENARIO.keys, "patience", Key(line.kind, line.says, 3, only=("strong",)))  # type: ignore[arg-type]
    monkeypatch.setitem(TUNE.keys, "patience", line)  # type: ignore[arg-type]
    monkeypatch.setattr(scenarios, "ScenarioSpec", PatientScenario)


def read(folder: Path, text: str) -> ReleaseSpec:
    path = folder / "release.toml"
    path.write_text(text, "utf-8")
    return ReleaseSpec.from_toml(path)


@pytest.mark.usefixtures("entry")
def test_of_a_scenario(tmp_path: Path) -> None:
    text = GOOD.replace(STRONG, f"{STRONG}patience = 7\n")
    colleague, strong, _ = read(tmp_path, text).scenarios
    assert strong.told == {"records": 50, "prior": "conditional", "membership": True, "patience": 7}
    assert "patience" not in colleague.told
    jsonschema.validate(loads(text), json_schema())
    wrong = text.replace("patience = 7", "patience = 0")
    with refused("spec.entry.range", where="release.toml, line 38"):
        read(tmp_path, wrong)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(loads(wrong), json_schema())
    with refused("spec.entry.conflict", where="release.toml, line 31"):
        read(tmp_path, GOOD.replace('name = "a colleague"', 'name = "a"\npatience = 7'))


@pytest.mark.usefixtures("entry")
def test_of_a_search(tmp_path: Path) -> None:
    given = {"limits": {"DiSCO": 5}, "objective": "S_pMSE", "settings": {"depth": [3]}}
    spec = PatientTune.from_mapping({"tune": {**given, "patience": 7}})
    assert isinstance(spec, PatientTune)
    assert spec.patience == 7
    with refused("spec.entry.type", entry=("patience",)):
        PatientTune.from_mapping({"tune": {**given, "patience": "long"}})
    path = tmp_path / "release.toml"
    path.write_text("[tune]\nobjective = 'S_pMSE'\npatience = 0\n", "utf-8")
    with refused("spec.entry.range", where="release.toml, line 3"):
        Document.read(path).check(("tune",))


@pytest.mark.usefixtures("entry")
def test_it_is_documented() -> None:
    schema = json_schema()["properties"]
    expected = {"type": "integer", "minimum": 1, "description": "How long she waits.", "default": 3}
    assert schema["tune"]["properties"]["patience"] == expected
    assert schema["scenario"]["items"]["properties"]["patience"] == expected
    page = runpy.run_path(str(DOCS / "make_release_spec.py"))["page"]()
    assert page.count("| `patience` | a whole number, 1 or more | `3` | How long she waits.") == 2
