"""The rules on totals, by cases that can be checked by hand."""

from __future__ import annotations

import pandas as pd

from caveat.outputs.checking import check_table
from caveat.outputs.statbarns import Checked, Rules, Verdict


def check(rules: Rules | None = None, **columns: list[object]) -> Checked:
    return check_table(pd.DataFrame(columns), rules)


def said(found: Checked) -> dict[str, tuple[Verdict, list[int]]]:
    return {one.rule: (one.verdict, [row for row, _ in one.cells]) for one in found.findings}


def test_totals_that_do_not_add_up_are_named() -> None:
    found = check(sex=["f", "m", "Total"], count=[20, 30, 51])
    assert said(found) == {"totals": (Verdict.REVIEW, [2])}
    assert found.findings[0].reason == "row 3: the total is not the sum of its cells"
    assert check(sex=["f", "m", "Total"], count=[20, 30, 50]).verdict is Verdict.SAFE
    called = Rules(totals=frozenset({"insgesamt"}))
    assert said(check(called, sex=["f", "m", "Insgesamt"], count=[20, 30, 51]))["totals"]


def test_totals_of_rounded_counts_may_miss_a_little() -> None:
    columns = {"region": [*"abcdef", "total"], "count": [15, 20, 35, 10, 20, 45, 140]}
    assert check(**columns).verdict is Verdict.SAFE
    assert said(check(**{**columns, "count": [15, 20, 35, 10, 20, 45, 240]}))["totals"]


def test_a_hidden_cell_is_not_hidden_by_one_blank() -> None:
    assert said(check(sex=["f", "m", "total"], count=[20, None, 27])) == {
        "recomputed": (Verdict.REFUSE, [1])
    }
    two = check(sex=["f", "m", "x", "total"], count=[20, None, None, 36])
    assert two.verdict is Verdict.SAFE
    none_left = check(sex=["f", "m", "x", "total"], count=[20, None, None, 20])
    assert said(none_left)["recomputed"] == (Verdict.REFUSE, [1, 2])


def test_of_totals_that_are_less_than_their_cells_nothing_is_computed() -> None:
    """A1 and A2 are in A: the total is no sum of all rows."""
    found = check(code=["A", "A1", "A2", "B", "Total"], count=[120, 61, None, 83, 203])
    assert said(found) == {"pattern": (Verdict.REVIEW, []), "totals": (Verdict.REVIEW, [4])}
