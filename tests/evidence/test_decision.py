"""The file of a decision: what it holds, how it is refused, which evidence it was made on."""

from __future__ import annotations

import hashlib
import json
import re

import pytest
from tests.refusals import refused
from tests.report.sample import small

from caveat.errors import CaveatError
from caveat.evidence import (
    DECISION,
    Decision,
    decision_beside,
    decision_schema,
    evidence_sha256,
    read_decision,
    text_of,
    write_decision,
)

SHA = "0" * 63 + "a"
FILE = {
    "format": 1,
    "evidence_sha256": SHA,
    "decision": "release",
    "names": ["A. Chair", "B. Member"],
    "date": "2026-11-17",
    "conditions": ["for registered students only"],
    "next_review": "2027-11-17",
}


def written(tmp_path, **changes):
    path = tmp_path / DECISION
    content = {**FILE, **changes}
    path.write_text(json.dumps({k: v for k, v in content.items() if v != "left out"}))
    return path


def test_what_is_written_is_read_again(tmp_path):
    made = Decision(SHA, "change", ["A. Chair"], "2026-11-17")
    write_decision(tmp_path / DECISION, made)
    assert decision_beside(tmp_path / "evidence.json") == made
    assert json.loads((tmp_path / DECISION).read_text()) == {
        **FILE, "decision": "change", "names": ["A. Chair"], "conditions": [], "next_review": None,
    }  # fmt: skip
    with refused("command.output.exists"):
        write_decision(tmp_path / DECISION, made)


def test_without_a_file_there_is_no_decision(tmp_path):
    assert decision_beside(tmp_path / "evidence.json") is None


def test_the_checksum_is_that_of_the_file(tmp_path):
    content = small()
    assert evidence_sha256(content) == hashlib.sha256(text_of(content).encode()).hexdigest()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"decision": "perhaps"},
            "decision is not as it should be; give release, change or refuse",
        ),
        ({"names": []}, "names is not as it should be; give a list of at least one name"),
        ({"names": "A. Chair"}, "names is not as it should be"),
        ({"names": "left out"}, "names is missing; give a list of at least one name"),
        ({"date": "17.11.2026"}, "date is not as it should be; give a day as 2026-11-17"),
        ({"date": "2026-02-30"}, "date is not as it should be"),
        (
            {"next_review": "soon"},
            "next_review is not as it should be; give a day as 2027-11-17, or null",
        ),
        ({"next_review": "2026-13-01"}, "next_review is not as it should be"),
        ({"evidence_sha256": "abc"}, "evidence_sha256 is not as it should be; give the SHA-256"),
        ({"format": 2}, "format is not as it should be; give the number 1"),
        ({"why": "x"}, "a decision has no field 'why'"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, changes, said):
    with pytest.raises(CaveatError) as caught:
        read_decision(written(tmp_path, **changes))
    text = str(caught.value)
    assert "\n" not in text
    assert DECISION in text
    assert re.search(said, text), text


@pytest.mark.parametrize("text", ["[]", "7", "{", ""])
def test_what_is_no_decision(tmp_path, text):
    path = tmp_path / DECISION
    path.write_text(text)
    with refused("decision.file.malformed"):
        read_decision(path)
    with refused("data.file.absent"):
        read_decision(tmp_path / "other.json")


def test_the_schema_says_the_same():
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(decision_schema())
    assert validator.is_valid(FILE)
    assert not validator.is_valid({**FILE, "decision": "perhaps"})
    assert not validator.is_valid({**FILE, "why": "x"})
    assert decision_schema()["properties"]["decision"]["description"] == (
        "Release, change or refuse."
    )


def test_a_decision_is_checked_where_it_is_made():
    with refused("decision.entry.malformed", where="decision"):
        Decision(SHA, "maybe", ["A"], "2026-11-17")
