"""One budget for all releases of the same data."""

from __future__ import annotations

from pathlib import Path

from tests.refusals import refused

from caveat.privacy import Budget, Ledger, Limit, Spent

ALONE = Limit(1.0, 1e-6)


def spend(budget: Budget) -> None:
    with budget.spending(Spent(epsilon=1.0, delta=1e-6), alone=ALONE):
        pass


def test_without_a_limit_one_release_is_all(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    spend(budget)
    with refused("privacy.budget.refused"):
        spend(budget)
    assert Ledger(budget.ledger).spent("survey", 1e-6) == 1


def test_a_limit_is_shared_by_name(tmp_path: Path) -> None:
    budget = Budget(tmp_path / "ledger.jsonl", "survey", Limit(2.0, 2e-6))
    spend(budget)
    spend(budget)
    spend(Budget(budget.ledger, "another", Limit(1.0, 1e-6)))
    with refused("privacy.budget.refused"):
        spend(budget)
    assert len(Ledger(budget.ledger).entries("survey")) == 2
