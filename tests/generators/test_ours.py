"""The settings of our own generator."""

from __future__ import annotations

from pathlib import Path

from tests.refusals import refused

from caveat.datasets import survey
from caveat.generators import Setting
from caveat.privacy import Budget


def test_only_numbers_and_names_of_protections_may_be_published() -> None:
    steps = ({"name": "round_numbers", "columns": {"income": 10}},)
    options = {"method": "cart", "minbucket": 5, "prune": False, "strata": "region"}
    plain = Setting(options, steps, ("minbucket",))
    assert str(plain) == "minbucket 5, round numbers"
    assert plain.is_public
    assert Setting({"cp": 1e-8, "prune": False}, steps).is_public
    assert Setting().is_public
    for option in ({"strata": "region"}, {"special": {"income": [0]}}, {"derived": {"a": "b"}}):
        assert not Setting({"minbucket": 5, **option}, steps).is_public


def test_a_budget_is_not_spent_release_by_release(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    setting = Setting({"method": "margins", "epsilon": 1.0, "budget": budget})
    with refused("attack.generator.unsupported"):
        setting.again(survey(rows=50))
    assert not any(tmp_path.iterdir())
