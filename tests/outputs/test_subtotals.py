"""Groups of codes among the rows of a table."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.outputs.hidden_cells import path_of, subtotals_of

NAN = float("nan")
TOTAL = frozenset({"total"})


def groups(**counts: float) -> dict[str, str]:
    return subtotals_of([(name,) for name in counts], np.array(list(counts.values())), 0, TOTAL)


def test_a_group_is_the_sum_of_what_follows_it() -> None:
    assert groups(total=100, a=30, b=70, c=40, d=30) == {"c": "b", "d": "b"}
    # Or of what stands before it.
    assert groups(a=30, c=40, d=30, b=70, total=100) == {"d": "b", "c": "b"}
    # Groups of groups.
    assert groups(total=100, a=30, b=70, c=40, x=15, y=25, d=30) == {
        "x": "c", "y": "c", "c": "b", "d": "b",
    }  # fmt: skip


@pytest.mark.parametrize(
    "counts",
    [
        {"total": 100, "a": 30, "b": 70},  # right as it is
        {"a": 30, "b": 70, "c": 40, "d": 30},  # no total
        {"total": 101, "a": 30, "b": 70, "c": 40, "d": 30},  # wrong with groups too
        {"total": 100, "a": 30, "b": 70, "c": 41, "d": 30},
        {"total": 100, "a": 30, "b": 70, "c": NAN, "d": 30},  # no line shows it
        {"total": NAN, "a": 30, "b": 70, "c": 40, "d": 30},
    ],
)
def test_other_sums_are_no_groups(counts: dict[str, float]) -> None:
    assert groups(**counts) == {}


def test_lines_with_hidden_cells_deny_nothing() -> None:
    cells = [(code, sex) for code in ("total", "a", "b", "c", "d") for sex in "fm"]
    counts = np.array([100, 50, 30, 20, 70, 30, 40, NAN, 30, NAN])
    assert subtotals_of(cells, counts, 0, TOTAL) == {"c": "b", "d": "b"}
    counts[7] = 31  # more than its group
    assert subtotals_of(cells, counts, 0, TOTAL) == {}


def test_paths() -> None:
    parents = {"x": "c", "c": "b"}
    assert path_of("x", parents) == ("b", "c", "x")
    assert path_of("c", parents) == ("b", "c", None)
    assert path_of("b", parents) == ("b", None, None)
    assert path_of("a", parents) == ("a", "a", "a")
    assert path_of("a", {}) == ("a",)
