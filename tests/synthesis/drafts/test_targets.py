"""Targets: how far off the rows are, and that shares of rows tell what moves them."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.expressions import Expression
from caveat.synthesis.drafts import (
    Category,
    Correlations,
    Derived,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
)
from caveat.synthesis.drafts.columns import with_derived
from caveat.synthesis.drafts.draft import start_rows
from caveat.synthesis.drafts.targets import Nearness, targets_of

ROWS = 400
PLAN = DraftPlan(
    {
        "x": Numeric(1, 2),
        "y": Numeric(5, 3, least=0),
        "t": Derived(Expression("x + y"), mean=6, sd=4),
        "g": Category(("a", "b"), (0.4, 0.6)),
        "h": Category(("p", "q"), (0.5, 0.5)),
    },
    (PublishedTable(("g", "h"), {("a", "p"): 10, ("a", "q"): 30, ("b", "p"): 40, ("b", "q"): 20}),),
    (Correlations(("x", "y", "g"), np.array([[1, 0.3, 0.1], [0.3, 1, 0], [0.1, 0, 1]])),),
    (
        Model("h ~ x + g", {"x": 0.5, "g[T.b]": -1}, {"x": 0.1}),
        Model("y ~ x + g", {"x": 0.4, "Intercept": 2.0}, {"x": 0.08}),
        Model("poisson: y ~ x", {"x": 0.1}, {"x": 0.02}),
    ),
    rows=ROWS,
)


def test_shares_of_rows_are_the_slopes_of_the_distances() -> None:
    """A small change of one number moves each distance by what its share says."""
    rows = start_rows(PLAN, ROWS, np.random.default_rng(3))
    for target in targets_of(PLAN, ROWS):
        for name in ("x", "y"):
            moved = {**rows, name: rows[name].copy()}
            moved[name][7] += 1e-4
            before, after = (with_derived(PLAN.columns, r) for r in (rows, moved))
            there = target.distance(after)
            here = target.distance(before)
            told = (target.shares(after) - target.shares(before)).sum(axis=0)
            if type(target).__name__ == "ModelTarget":
                # The weights that coefficients are seen with move too: far off, a second order.
                assert told == pytest.approx(there - here, abs=2e-3 * 1e-4 * 1e3)
            else:
                assert told == pytest.approx(there - here, rel=1e-3, abs=1e-8)


def test_every_published_number_is_reported_once() -> None:
    rows = with_derived(PLAN.columns, start_rows(PLAN, ROWS, np.random.default_rng(3)))
    kinds = [one.kind for target in targets_of(PLAN, ROWS) for one in target.report(rows)]
    assert {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)} == {
        "share": 8, "mean": 3, "sd": 3, "correlation": 3, "coefficient": 5, "standard error": 3
    }  # fmt: skip


def test_distances_are_in_units_of_sampling_error() -> None:
    plan = DraftPlan({"x": Numeric(0, 2)}, rows=100)
    mean, sd = targets_of(plan, 100)
    x = np.linspace(-1, 1, 100)
    x *= 2.2 / x.std(ddof=1)
    # 0.4 is two standard errors of 2/√100; 2.2 is 0.2 / (2/√200) above 2.
    assert mean.distance({"x": x + 0.4}).tolist() == pytest.approx([2])
    assert sd.distance({"x": x}).tolist() == pytest.approx([np.sqrt(2)])


@pytest.mark.parametrize(
    ("got", "units", "words"),
    [
        (0.5, 0.0, "met"),
        (0.5001, 0.01, "very near"),
        (0.51, 0.6, "near"),
        (0.6, 4.0, "missed"),
        (None, None, "cannot be computed"),
    ],
)
def test_nearness_in_words(got: float | None, units: float | None, words: str) -> None:
    assert Nearness("share", "x", 0.5, got, units).words == words


@pytest.mark.parametrize(
    ("wanted", "got", "units", "words"),
    [
        (9e-7, 5e-7, -0.09, "near"),
        (1e-7, 5e-7, 0.09, "near"),
        (1e-7, 5e-7, 4.0, "missed"),
        (1e-7, 1.0000005e-7, 0.1, "met"),
        (0.0, 1e-17, 1e-15, "met"),
        (0.0, 5e-7, 0.01, "very near"),
        (450_000.0, 450_000.4, 0.1, "met"),
        (450_000.0, 450_000.5, 0.1, "near"),
    ],
)
def test_small_numbers_are_met_by_their_own_digits(
    wanted: float, got: float, units: float, words: str
) -> None:
    assert Nearness("coefficient", "x", wanted, got, units).words == words


def test_what_is_no_number_cannot_be_computed() -> None:
    plan = DraftPlan({"x": Numeric(1, 1, least=0), "t": Derived(Expression("x * x"), 2)}, rows=4)
    rows = {"x": np.array([0.0, 1, 1, 2]), "t": np.array([0.0, 1, 1, np.inf])}
    found = [one for target in targets_of(plan, 4) for one in target.report(rows)]
    assert [(one.got, one.words, one.why) for one in found if one.what == "t"] == [
        (None, "cannot be computed", "it is no number")
    ]
    assert [one.got for one in found if one.what == "x"] == pytest.approx([1, np.sqrt(2 / 3)])


def test_published_shares_are_reported_as_they_are_published() -> None:
    """They miss 1 by rounding; the rows have the nearest shares that do not."""
    cells = {("p", "c"): 0.25, ("p", "d"): 0.25, ("q", "c"): 0.25, ("q", "d"): 0.246}
    columns = {"g": Category(("a", "b"), (0.5, 0.496)), "h": Category(()), "i": Category(())}
    plan = DraftPlan(columns, (PublishedTable(("h", "i"), cells),), rows=1000)
    rows = start_rows(plan, 1000, np.random.default_rng(1))
    found = [one for target in targets_of(plan, 1000) for one in target.report(rows)]
    assert [one.wanted for one in found] == [0.25, 0.25, 0.25, 0.246, 0.5, 0.496]
    assert [one.got for one in found] == [0.251, 0.251, 0.251, 0.247, 0.502, 0.498]
    assert found[-1].units == pytest.approx(0.002 / np.sqrt(0.498 * 0.502 / 1000), rel=1e-3)
    assert {one.words for one in found} == {"near"}
    counts = PublishedTable(("h",), {("p",): 30, ("q",): 10})
    (target,) = targets_of(DraftPlan({"h": Category(())}, (counts,)), 40)
    assert [one.wanted for one in target.report({"h": np.repeat([0, 1], 20)})] == [0.75, 0.25]
