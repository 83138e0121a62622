"""The printed numbers of a paper as a table: ours beside theirs."""

from __future__ import annotations

from collections.abc import Sequence

from caveat.studies.study import Grid, Number

__all__ = ["beside"]


def beside(title: str, numbers: Sequence[Number], note: str = "") -> Grid:
    """Return a table of numbers; empty where ours cannot be had.

    Examples
    --------
    >>> beside("", [Number("rows", "Sect. 3", 22910, 22910.0)]).rows
    (('rows', '22,910', '22,910'),)
    """
    rows = [
        (one.what, "" if one.ours is None else _text(one.ours), _text(one.printed))
        for one in numbers
    ]
    return Grid(title, ("what", "ours", "printed"), tuple(rows), note)


def _text(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:.5g}"
