"""The evidence file: what it must hold, and what is said about a file that does not hold it."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from tests.refusals import refused

from caveat import evidence
from caveat.errors import CaveatError

SAMPLE = Path(__file__).parents[1] / "evidence-sample.json"


@pytest.fixture
def sample() -> dict:
    return evidence.read(SAMPLE)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(evidence.schema())


def test_what_is_read_is_written_as_the_same_bytes(sample, tmp_path):
    evidence.write(tmp_path / "evidence.json", sample)
    assert (tmp_path / "evidence.json").read_bytes() == SAMPLE.read_bytes()
    with refused("command.output.exists"):
        evidence.write(tmp_path / "evidence.json", sample)


def _path(content: dict, *path: str | int) -> dict:
    for part in path:
        content = content[part]
    return content


@pytest.mark.parametrize(
    ("path", "change", "where"),
    [
        ((), {"date": "2024-01-01"}, ""),
        ((), {"seed": 12}, "seed"),
        (("release",), {"synthesised_by": "nobody"}, "release, synthesised_by"),
        (("inputs", "data"), {"sha256": "abc"}, "inputs, data, sha256"),
        (("scenarios", 0), {"attacker": "weak"}, "scenarios, 1, attacker"),
        (("scenarios", 0, "measurements", 1), {"excess": -1.0}, "measurements, 2, excess"),
        (("scenarios", 1, "measurements", 3), {"notes": []}, "measurements, 4, notes"),
        (("utility", "measurements", 0), {"value": None}, "utility, measurements, 1, notes"),
        (("records_at_risk", 0), {"row": 0}, "records_at_risk, 1, row"),
    ],
)
def test_a_place_that_breaks_the_schema_is_named(sample, path, change, where):
    broken = copy.deepcopy(sample)
    _path(broken, *path).update(change)
    with refused("evidence.entry.malformed") as caught:
        evidence.text_of(broken)
    assert where in str(caught.value.where)


def test_a_number_that_is_none_is_not_written(sample):
    sample["utility"]["pairs"][0]["S_pMSE"] = float("nan")
    with pytest.raises(ValueError, match="not JSON compliant"):
        evidence.text_of(sample)


def test_messages_hold_no_value_of_the_file(sample, tmp_path):
    sample["utility"]["variables"][3]["groups"][3]["original"] = "MARKER"
    (tmp_path / "evidence.json").write_text(json.dumps(sample))
    with pytest.raises(CaveatError) as caught:
        evidence.read(tmp_path / "evidence.json")
    assert "MARKER" not in str(caught.value)
    assert "utility, variables, 4, groups, 4, original" in str(caught.value)


def test_another_version_and_other_files_are_refused_in_one_sentence(sample, tmp_path):
    file = tmp_path / "evidence.json"
    for content, said in [
        (json.dumps({**sample, "format": 1}), "another format than version 2"),
        ("[1, 2]", "no evidence of a release"),
        ("{", "no JSON file"),
        ("\xff", "no JSON file"),
    ]:
        file.write_bytes(content.encode("latin-1"))
        with pytest.raises(CaveatError, match=said) as caught:
            evidence.read(file)
        assert "\n" not in str(caught.value)
    with refused("data.file.absent"):
        evidence.read(tmp_path / "absent.json")
