"""Primary rules, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.outputs.primary import PrimaryRules, Reason, contributors_of, primary_cells
from caveat.outputs.tables import Hierarchy, Layout, cells_of

TREE = Hierarchy.of(["a", "b", "c"])
NONE = PrimaryRules(least=None, singles=False)


def reasons(codes, amounts, rules, **more):
    cells = cells_of({"k": np.array(codes)}, {"k": TREE}, [Layout("t", ("k",))], every=True)
    given = contributors_of(cells.row_of, amounts=amounts and np.array(amounts, float), **more)
    found, owner, row_owner = primary_cells(cells, given, rules)
    names = [cells.words(j)[-1] if j else "T" for j in range(cells.n_cells)]
    return dict(zip(names, found, strict=True)), owner.tolist(), row_owner.tolist()


def test_thresholds_singles_and_zeros() -> None:
    found, owner, row_owner = reasons([0, 0, 0, 1], None, PrimaryRules(least=3, zeros=True))
    assert found == {"T": None, "a": None, "b": Reason.SINGLE, "c": Reason.ZERO}
    assert owner == [-1, -1, 3, -1]
    assert row_owner == [-1, 3, -1]
    found, *_ = reasons([0, 0, 1, 1, 1], None, PrimaryRules(least=3))
    assert found == {"T": None, "a": Reason.THRESHOLD, "b": None, "c": None}


def test_dominance_and_p_percent_by_hand() -> None:
    # a: 90 + 8 of 100 is more than 0.9; b: 50 + 30 of 100 is not.
    codes, amounts = [0, 0, 0, 1, 1, 1], [90, 8, 2, 50, 30, 20]
    found, *_ = reasons(codes, amounts, PrimaryRules(None, (2, 0.9), singles=False))
    assert found == {"T": None, "a": Reason.DOMINANCE, "b": None, "c": None}
    # a: what is left without the two largest is 2, below 10 per cent of 90; b: 20 is not below 5.
    found, *_ = reasons(codes, amounts, PrimaryRules(None, p_percent=10, singles=False))
    assert found == {"T": None, "a": Reason.P_PERCENT, "b": None, "c": None}


def test_a_record_that_stands_for_several_is_several_contributors() -> None:
    codes, amounts = [0, 0, 0], [50, 30, 20]
    rules = PrimaryRules(None, (2, 0.75), singles=False)
    assert reasons(codes, amounts, rules)[0]["a"] is Reason.DOMINANCE
    weights = np.array([3.0, 1.0, 1.0])  # the two largest have 100 of 200
    assert reasons(codes, amounts, rules, weights=weights)[0]["a"] is None


def test_records_of_one_contributor_are_one() -> None:
    found, owner, _ = reasons([0, 0, 0, 1, 1], [5, 5, 5, 1, 1], PrimaryRules(least=2),
                              who=np.array([7, 7, 7, 7, 3]))  # fmt: skip
    assert found == {"T": None, "a": Reason.SINGLE, "b": None, "c": None}
    assert owner[1] == 7


def test_records_without_a_value_contribute_nothing() -> None:
    found, *_ = reasons([0, 0], [5, np.nan], PrimaryRules(least=2))
    assert found["a"] is Reason.SINGLE


def test_negative_magnitudes_are_refused_under_rules_that_compare_them() -> None:
    with refused("outputs.rule.unsupported", where="tables"):
        reasons([0, 1], [5, -1], PrimaryRules(dominance=(1, 0.5)))
    with refused("outputs.rule.unsupported", where="tables"):  # though the sum of the two is not
        reasons([0, 0, 0], [5, -1, 2], PrimaryRules(p_percent=5), who=np.array([1, 1, 2]))
    assert reasons([0, 0, 0], [5, -1, 2], PrimaryRules())[0]["a"] is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"least": 0},
        {"dominance": (0, 0.5)},
        {"dominance": (1, 1.5)},
        {"dominance": (2.7, 0.9)},
        {"p_percent": 0},
    ],
)
def test_rules_that_are_none(wrong) -> None:
    with pytest.raises(CaveatError):
        PrimaryRules(**wrong)


def test_who_has_no_weight_is_no_contributor():
    """One firm with 1000 and two of weight 0: the cell is that firm's value."""
    codes, amounts = [0, 0, 0, 1, 1, 1], [1000, 5, 5, 10, 20, 30]
    weights = np.array([1.0, 0, 0, 1, 1, 1])
    found, _, _ = reasons(codes, amounts, PrimaryRules(least=3), weights=weights)
    assert found["a"] != found["b"]
    unweighted, _, _ = reasons(codes, amounts, PrimaryRules(least=3))
    assert unweighted["a"] == unweighted["b"]
