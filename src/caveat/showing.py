"""How objects are shown: results where people work, and never the values of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from dataclasses import Field, fields
from html import escape
from typing import Any, NamedTuple

from caveat.errors import CaveatError


def without_values(instance: Any) -> str:
    """Return the name of a dataclass and the sizes of its fields; meant to be its ``__repr__``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Donors:
    ...     names: list[str]
    ...     n_rows: int
    ...     __repr__ = without_values
    >>> Donors(["Ann", "Bob"], 7)
    <Donors: names of 2, n_rows 7>
    """
    sizes = [_size(item, getattr(instance, item.name)) for item in fields(instance)]
    known = ", ".join(size for size in sizes if size)
    return f"<{type(instance).__name__}{': ' if known else ''}{known}>"


def _size(item: Field[Any], value: Any) -> str:
    if item.type in ("int", "bool", int, bool):  # a count; a number in a field of any type is data
        return f"{item.name} {value}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{item.name} of {' x '.join(map(str, shape)) or 1}"
    if isinstance(value, Sized) and not isinstance(value, str | bytes):
        return f"{item.name} of {len(value)}"
    return ""


# -------------------------------------------------------------------------------------------------
# How results are shown where people work: one line, a small table in a notebook, a frame.
#
# A class says in ``_summary`` what it is and what a notebook shows of it. Notebooks are saved
# with their output and sent about: as in ``repr``, no value of the data is shown, but for what a
# look has found, which is asked for to see it. Frames are asked for too, and hold what there is.


MOST_ROWS = 60


class Summary(NamedTuple):
    """What is shown of a result.

    Attributes
    ----------
    title
        What it is, in one line.
    header, rows
        A table; texts stand left, numbers right.
    notes
        Sentences below it.
    folded
        Further tables, each of which a notebook shows when its title is opened.
    """

    title: str
    header: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    notes: Sequence[str] = ()
    folded: Sequence[Summary] = ()


def in_short(instance: Any) -> str:
    """Return one line about a result; meant to be its ``__repr__``.

    Examples
    --------
    >>> class Answer:
    ...     _summary = lambda self: Summary("Answer: 2 of 4 limits are met")
    ...     __repr__ = in_short
    >>> Answer()
    <Answer: 2 of 4 limits are met>
    """
    return f"<{instance._summary().title}>"


def as_table(summary: Summary) -> str:
    """Return a result as a table in plain text, for its ``__str__``.

    Examples
    --------
    >>> print(as_table(Summary("Two answers", ("what", "value"), [("a", 1.5), ("b", None)])))
    Two answers
    <BLANKLINE>
    what  value
    a       1.5
    b         –
    """
    title, header, rows, notes, _ = summary
    lines = [title]
    if rows:
        cells = [list(header), *([_text(value) for value in row] for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        left = [all(isinstance(row[i], str) for row in rows) for i in range(len(header))]
        lines += ["", *(_line(row, widths, left) for row in cells)]
    lines += ["", *notes] if notes else []
    return "\n".join(lines)


def _line(cells: Sequence[str], widths: Sequence[int], left: Sequence[bool]) -> str:
    """Return a row of a table: texts left, numbers right."""
    padded = [
        text.ljust(width) if is_left else text.rjust(width)
        for text, width, is_left in zip(cells, widths, left, strict=True)
    ]
    return "  ".join(padded).rstrip()


def on_page(instance: Any) -> str:
    """Return a result as a small table of a notebook; meant to be its ``_repr_html_``."""
    summary: Summary = instance._summary()
    lines = [f"<p><strong>{escape(summary.title)}</strong></p>", *_parts(summary)]
    for part in summary.folded:
        inside = "".join(_parts(part))
        lines.append(f"<details><summary>{escape(part.title)}</summary>{inside}</details>")
    return f"<div>{''.join(lines)}</div>"


def _parts(summary: Summary) -> list[str]:
    _, header, rows, notes, _ = summary
    lines = []
    if rows:
        head = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
        body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
        lines.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    if len(rows) > MOST_ROWS:
        lines.append(f"<p>… {len(rows) - MOST_ROWS:,} more: see <code>to_frame()</code></p>")
    return [*lines, *(f"<p>{escape(note)}</p>" for note in notes)]


def _cell(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return f'<td style="text-align:left">{escape(value or "")}</td>'
    return f'<td style="text-align:right">{_text(value)}</td>'


def _text(value: Any) -> str:
    """Return a value of a table as text."""
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def frame_of(columns: Mapping[str, Any], backend: str = "pandas") -> Any:
    """Return columns of a result as a pandas or polars frame.

    Examples
    --------
    >>> frame_of({"record": [0, 1], "posterior": [0.5, 0.9]}, "polars").shape
    (2, 2)
    """
    if backend == "polars":
        import polars as pl

        return pl.DataFrame(dict(columns), strict=False)
    if backend != "pandas":
        raise CaveatError(
            f"there is no frame of kind {backend!r}",
            do="choose pandas or polars",
            code="data.backend.unknown",
        )
    import pandas as pd

    return pd.DataFrame(dict(columns))
