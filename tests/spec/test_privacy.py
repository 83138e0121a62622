"""The budget of a guarantee in a specification."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.errors import CaveatError
from caveat.privacy import Budget, Limit
from caveat.release import ReleaseSpec

SPEC = """
[data]
path = "survey.csv"

[columns.income]
missing = { "-8" = "refused" }

[synthesis]
epsilon = 1.0
columns = { income = { range = [0, 100, 1] } }

[[scenario]]
name = "x"
keys = ["income"]
"""
SECTION = (
    '[privacy]\nledger = "all.jsonl"\ndataset = "waves"\nlimit = { epsilon = 2, delta = 1e-6 }'
)


def read(folder: Path, text: str) -> ReleaseSpec:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    return ReleaseSpec.from_toml(path)


def test_without_a_section_one_release_is_written_down_beside_the_file(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC)
    assert spec.options["budget"] == Budget(tmp_path / "ledger.jsonl", "survey.csv")
    assert "budget" not in spec.synthesis


def test_the_section_names_ledger_data_and_limit(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC + SECTION)
    assert spec.options["budget"] == Budget(tmp_path / "all.jsonl", "waves", Limit(2, 1e-6))


def test_codes_that_mean_missing_are_declared_already(tmp_path: Path) -> None:
    assert read(tmp_path, SPEC).options["columns"]["income"]["missing"] == ["-8"]


def test_without_a_guarantee_there_is_no_budget(tmp_path: Path) -> None:
    text = SPEC.replace("epsilon = 1.0\n", "")
    assert "budget" not in read(tmp_path, text).options
    with pytest.raises(CaveatError, match="line 14: a budget is for a guarantee"):
        read(tmp_path, text + SECTION)


def test_epsilon_cannot_be_varied_by_a_map(tmp_path: Path) -> None:
    with pytest.raises(CaveatError, match="there is no setting 'epsilon'"):
        read(tmp_path, SPEC + "[map]\nsettings = { epsilon = [1, 2] }\n")


@pytest.mark.parametrize(
    "asks", ["epsilon = 1.0", 'method = "margins"\nclearing = { multiple = 5 }']
)
def test_a_protection_that_looks_at_records_is_refused(tmp_path: Path, asks: str) -> None:
    text = SPEC.replace("epsilon = 1.0", asks)
    step = '[[protect]]\nname = "remove_replicated_uniques"\nkeys = ["income"]\n'
    with pytest.raises(CaveatError, match="looks at original records"):
        read(tmp_path, text + step)
    read(tmp_path, text + '[[protect]]\nname = "round_numbers"\nbase = { income = 5 }\n')
