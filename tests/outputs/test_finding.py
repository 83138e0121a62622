"""Findings and the verdict that they come to."""

from __future__ import annotations

from caveat.outputs.statbarns import Checked, Finding, Verdict, cells_in_words


def test_the_verdict_is_the_worst() -> None:
    one = Finding("a", Verdict.REVIEW, "", "")
    other = Finding("b", Verdict.REFUSE, "", "")
    assert Checked("x", "table").verdict is Verdict.SAFE
    assert Checked("x", "table", findings=(one,)).verdict is Verdict.REVIEW
    assert Checked("x", "table", findings=(one, other, one)).verdict is Verdict.REFUSE


def test_many_cells_are_named_by_the_first_ones() -> None:
    cells = [(row, "n") for row in range(1200, 1210)]
    assert cells_in_words(cells) == "rows 1,201, 1,202, 1,203, 1,204, 1,205, 1,206 and 4 more"
    assert cells_in_words([(0, "north")], columns=True) == "row 1 of north"
