"""Totals that are called otherwise."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.outputs.hidden_cells import totals_of
from caveat.outputs.statbarns import Rules

NAN = float("nan")
NAMES = Rules().totals


def line(
    name: str, values: tuple[float, ...], others: tuple[str, ...] = ("1", "2")
) -> tuple[str, list[str]]:
    """Return whether a value is a total of one line: sure, perhaps or not; and the doubtful."""
    cells = [(other,) for other in (*others, name)]
    found = totals_of(cells, np.array(values), NAMES)
    said = "sure" if name in found.sure[0] else "perhaps" if name in found.perhaps[0] else "no"
    return said, found.doubtful


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Total", "sure"), ("Total:", "sure"), ("TOTAL (all regions)", "sure"),
        ("Total, all regions", "sure"), ("All persons", "sure"), ("", "perhaps"),
        ("both sexes", "perhaps"), ("Ensemble", "perhaps"), ("99", "perhaps"), ("_T", "perhaps"),
        ("All other regions", "no"), ("north", "no"), ("9", "no"), ("0", "no"), ("t", "no"),
        ("allowance", "no"), ("totally", "no"),
    ],
)  # fmt: skip
def test_names(name: str, said: str) -> None:
    assert line(name, (50, NAN, 55)) == (said, [name] if said == "perhaps" else [])


def test_what_is_less_than_its_cells_is_no_total() -> None:
    for name in ("Total:", "both sexes", "", "99"):
        assert line(name, (50, NAN, 45))[0] == "no"
    # What is called so by the rules is one whatever it holds: that it is wrong is said elsewhere.
    assert line("total", (50, NAN, 45))[0] == "sure"


def test_only_names_count_where_nothing_is_hidden() -> None:
    assert line("both sexes", (50, 5, 55))[0] == "no"
    assert line("Total", (50, 5, 55))[0] == "sure"
    assert line(" Total", (50, 5, 55))[0] == "sure"


def test_a_code_is_a_total_among_codes_only() -> None:
    assert line("99", (50, NAN, 55), ("north", "south"))[0] == "no"


def test_sums_in_other_lines_confirm_a_total() -> None:
    cells = [(region, sex) for region in "abc" for sex in ("f", "m", "x")]
    one = totals_of(cells, np.array([50, NAN, 55, 40, 60, 100, NAN, 20, 51.0]), NAMES)
    assert (one.sure[1], one.perhaps[1]) == (frozenset(), frozenset("x"))
    two = totals_of(cells, np.array([50, NAN, 55, 40, 60, 100, 31, 20, 51.0]), NAMES)
    assert (two.sure[1], two.perhaps[1]) == (frozenset("x"), frozenset("x"))
    assert two.place(("a", "x")) == ("a", None)
    denied = totals_of(cells, np.array([50, NAN, 55, 40, 60, 100, 31, 20, 52.0]), NAMES)
    assert denied.perhaps == (frozenset(), frozenset())
    # One line of 0 + 100 confirms nothing: the two are equal, no more.
    equal = totals_of(cells[:6], np.array([50, NAN, 55, 0, 100, 100.0]), NAMES)
    assert equal.doubtful == []


def test_an_empty_key_is_a_total_if_a_line_confirms_it() -> None:
    cells = [(region, sex) for region in "ab" for sex in ("f", "m", "")]
    found = totals_of(cells, np.array([50, NAN, 55, 40, 60, 100.0]), NAMES)
    assert (found.sure[1], found.doubtful) == (frozenset([""]), [])
