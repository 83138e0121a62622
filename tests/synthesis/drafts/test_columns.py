"""Columns of a draft: shapes, bounds, and what follows from others."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.expressions import Expression
from caveat.synthesis.drafts.columns import Category, Derived, Numeric, with_derived, worth


@pytest.mark.parametrize(
    ("column", "skewed"),
    [
        (Numeric(10, 4), False),
        (Numeric(10, 4, least=0), True),
        (Numeric(10, 8, least=0, family="lognormal"), True),
        (Numeric(10, 4, least=0, most=20), False),
    ],
)
def test_quantiles_have_the_mean_and_the_spread(column: Numeric, skewed: bool) -> None:
    values = column.quantiles((np.arange(100_000) + 0.5) / 100_000)
    assert values.mean() == pytest.approx(10, abs=0.01)
    assert values.std() == pytest.approx(column.sd, rel=0.01)
    assert bool(np.median(values) < 9.9) is skewed
    assert values.min() >= column.bounds[0]
    assert values.max() <= column.bounds[1]


def test_what_is_not_said_is_uniform_between_the_bounds() -> None:
    values = Numeric(least=50, most=95).quantiles(np.array([0.25, 0.5, 0.75]))
    assert values.tolist() == pytest.approx([61.25, 72.5, 83.75])


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"mean": 1, "sd": -1}, "draft.entry.range"),
        ({"mean": 1}, "draft.entry.absent"),
        ({"mean": float("nan"), "sd": 1}, "draft.entry.range"),
        ({"mean": 1, "sd": float("inf")}, "draft.entry.range"),
        ({"mean": 5, "sd": 1, "least": 6}, "draft.entry.conflict"),
        ({"mean": 5, "sd": 1, "least": 9, "most": 6}, "draft.entry.conflict"),
        ({"mean": 5, "sd": 6, "least": 0, "most": 10}, "draft.entry.conflict"),
        ({"mean": 5, "sd": 6, "family": "gamma"}, "draft.entry.absent"),
        ({"mean": 5, "sd": 6, "least": 0, "family": "beta"}, "draft.entry.absent"),
    ],
)
def test_numbers_that_cannot_be(given: dict[str, float], says: str) -> None:
    with refused(says):
        Numeric(**given)  # type: ignore[arg-type]


def test_shares_add_up_but_for_rounding() -> None:
    assert Category(("a", "b", "c"), (0.333, 0.333, 0.333)).shares is not None
    with refused("draft.share.mismatch", entry=("shares",)):
        Category(("a", "b"), (0.5, 0.4))
    with refused("draft.entry.range", entry=("shares",)):
        Category(("a", "b"), (1.5, -0.5))


def test_levels_are_worth_themselves_or_zero_and_one() -> None:
    codes = np.array([1, 0])
    assert worth(Category(("2", "5")), codes).tolist() == [5, 2]
    assert worth(Category(("no", "yes")), codes).tolist() == [1, 0]
    assert Category(("a", "b", "c")).values is None
    assert worth(Category(("nan", "inf")), codes).tolist() == [1, 0]
    assert worth(Category(("1e400", "2")), codes).tolist() == [1, 0]
    assert Category(("1", "nan", "3")).values is None


def test_digits_hide_no_target() -> None:
    assert Numeric(0, 1).digits == 6
    assert Numeric(0, 1000).digits == 3
    assert Numeric(0, 1, decimals=2).digits == 2
    assert Numeric(0, 30, whole=True).digits == 0


def test_totals_of_totals_in_any_order() -> None:
    plans = {
        "all": Derived(Expression("part * 2 + c")),
        "part": Derived(Expression("a + b")),
        "a": Numeric(0, 1), "b": Numeric(0, 1), "c": Numeric(0, 1),
    }  # fmt: skip
    rows = {"a": np.array([1.0]), "b": np.array([2.0]), "c": np.array([4.0])}
    assert with_derived(plans, rows)["all"].tolist() == [10]
    with refused("draft.entry.range", entry=("sd",)):
        Derived(Expression("a"), sd=0)


@pytest.mark.parametrize(
    ("given", "bounds"),
    [
        ({"least": 0.4, "most": 9.6, "whole": True}, (1, 9)),
        ({"least": 0, "most": 9, "whole": True}, (0, 9)),
        ({"least": -0.4, "most": 9.6, "whole": True}, (0, 9)),
        ({"least": 0.004, "most": 8.999, "decimals": 2}, (0.01, 8.99)),
        ({"least": 0.29, "most": 8.57, "decimals": 2}, (0.29, 8.57)),
        ({"least": 0.4, "whole": True}, (1, np.inf)),
    ],
)
def test_bounds_move_inwards_to_numbers_that_occur(
    given: dict[str, float], bounds: tuple[float, float]
) -> None:
    assert Numeric(4, 2, **given).bounds == bounds  # type: ignore[arg-type]


def test_bounds_without_numbers_between_them() -> None:
    with refused("draft.entry.conflict", entry=("least",)):
        Numeric(0.9, 0.1, least=0.4, most=1.4, whole=True)
    assert Numeric(0.9, 0.1, least=0.4, most=1.4).bounds == (0.4, 1.4)
    assert Numeric(0.9, 0.1, least=0.123456789, most=1.4).ends == (0.1234568, 1.4)
