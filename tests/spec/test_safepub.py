"""The specification of ``caveat safepub``: what it says, and mistakes with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.privacy import Budget, Limit
from caveat.spec.document import Document
from caveat.spec.tables_spec import SafepubSpec

SPEC = """\
[safepub]
epsilon = 1
delta = 1e-4
beta = 0.4
response = "satisfied"
[safepub.levels.age]
widths = [10, 20]
origin = 16
[safepub.levels.region]
groups = [{ coast = ["north", "west"], inland = ["south", "east"] }]
[safepub.levels.sex]
[columns]
age.kind = "integer"
region.kind = "category"
sex.kind = "category"
satisfied.kind = "category"
[privacy]
ledger = "ledger.jsonl"
dataset = "survey 2026"
limit = { epsilon = 3, delta = 1e-3 }
"""


def read(folder: Path, text: str) -> SafepubSpec:
    (folder / "safepub.toml").write_text(text, encoding="utf-8")
    return SafepubSpec.from_document(Document.read(folder / "safepub.toml"))


def test_everything_is_there_before_any_data(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC)
    assert spec.promise.columns == ("age", "region", "sex", "satisfied")
    assert (spec.promise.k, spec.promise.beta, spec.promise.anonymisation) == (22, 0.4, 0.9)
    assert spec.options == {"epsilon": 1, "delta": 1e-4, "beta": 0.4}
    assert spec.levels["age"].widths == [10, 20]
    assert spec.levels["age"].words(2) == "intervals of 20"
    assert spec.levels["region"].words(1) == "grouping 1"
    assert spec.levels["sex"].words(1) == "hidden"
    assert spec.budget == Budget(tmp_path / "ledger.jsonl", "survey 2026", Limit(3, 1e-3))
    assert read(tmp_path, SPEC.split("[privacy]")[0]).budget is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("epsilon = 1\n", "epsilon = 0\n", "line 2: safepub.epsilon must be a number above 0"),
        ("delta = 1e-4", "delta = 1.5", "line 3: safepub.delta must be a share"),
        ("beta = 0.4", "beta = 0.7", "line 1: safepub: the sampling rate must lie between 0 and"),
        ('response = "satisfied"', "", "line 1: safepub.response is missing"),
        ('response = "satisfied"', 'response = "sex"', "line 11: safepub.levels.sex: the response"),
        ("[10, 20]", "[10, 25]", "the width 25 is no multiple of 10"),
        ("[10, 20]", "[0]", "line 7: safepub.levels.age.widths: item 1 must be a number above 0"),
        ("origin", "start", "line 8: there is no key 'start' in"),
        ("[safepub]", "[safe]", "there is no section 'safe'"),
        ('sex.kind = "category"\n', "", "columns.sex.kind is missing, and a kind found from the"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in SPEC
    with pytest.raises(CaveatError) as error:
        read(tmp_path, SPEC.replace(old, new))
    assert says in str(error.value)


def test_a_file_without_the_section(tmp_path: Path) -> None:
    with refused("spec.entry.absent", where="safepub.toml, line 1"):
        read(tmp_path, "[columns]\n")
