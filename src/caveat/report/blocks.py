"""The pieces a report is made of; the HTML and the Markdown are two ways to print the same pieces.

All texts are plain: what prints them escapes them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = [
    "Block",
    "Box",
    "Cell",
    "Code",
    "Field",
    "Figure",
    "Grid",
    "Heading",
    "Headline",
    "Items",
    "Line",
    "Notes",
    "Remark",
    "Section",
    "Text",
    "cell",
]


@dataclass(frozen=True)
class Text:
    """A paragraph, with a few words in bold in front of it."""

    text: str
    lead: str = ""
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Headline:
    """What it all comes to, and below it what must be known first: words in bold, and the text."""

    text: str
    items: Sequence[tuple[str, str]] = ()
    kind: ClassVar[str] = "headline"


@dataclass(frozen=True)
class Line:
    """A line of a form.

    Parameters
    ----------
    label
        What is asked.
    texts
        The answers; none if it is to be written by hand.
    choices
        What can be chosen, each with whether it was; none if the answer is free.
    room
        How many lines there are to write on.
    """

    label: str
    texts: Sequence[str] = ()
    choices: Sequence[tuple[str, bool]] = ()
    room: int = 1


@dataclass(frozen=True)
class Box:
    """A form, filled or to be filled by hand."""

    title: str
    text: str
    lines: Sequence[Line]
    small: str = ""
    kind: ClassVar[str] = "box"


@dataclass(frozen=True)
class Items:
    """A list: of each item the words in bold, and the text."""

    items: Sequence[tuple[str, str]]
    numbered: bool = False
    kind: ClassVar[str] = "items"


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str
    id: str
    kind: ClassVar[str] = "heading"


@dataclass(frozen=True)
class Remark:
    """Something set apart: a title, a text, and what explains it."""

    title: str
    text: str
    items: Sequence[tuple[str, str]] = ()
    kind: ClassVar[str] = "remark"


@dataclass(frozen=True)
class Code:
    """Lines to be typed."""

    text: str
    kind: ClassVar[str] = "code"


@dataclass(frozen=True)
class Field:
    """A column of a table.

    Parameters
    ----------
    title
        Its heading.
    numeric
        Whether it is set to the right and sorted by number.
    wide
        Whether it holds sentences.
    """

    title: str
    numeric: bool = False
    wide: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell: what is printed, what it is sorted by, small print below, and marks of notes."""

    text: str
    sort: float | str | None = None
    small: str = ""
    marks: str = ""


@dataclass(frozen=True)
class Grid:
    """A table.

    Parameters
    ----------
    caption
        What it shows.
    columns, rows
        The columns, and the cells by row.
    folded
        Whether the page shows it only when asked; Markdown has it in full.
    notes
        What is said below it; cells refer to them by their place, from 1.
    name
        What a style sheet calls it.
    """

    caption: str
    columns: Sequence[Field]
    rows: Sequence[Sequence[Cell]]
    folded: bool = False
    notes: Sequence[str] = ()
    name: str = ""
    kind: ClassVar[str] = "table"


@dataclass(frozen=True)
class Figure:
    """One or more charts.

    Parameters
    ----------
    id
        A name, unique in the report.
    caption
        What they show and how to read them.
    summary
        What can be seen, in words: for those who cannot see it.
    charts
        Title and Altair chart of each.
    key
        What the signs mean: (sign, colour, words).
    table
        The same numbers; it takes the place of the charts in Markdown.
    layout
        "one" chart over the full width, a "grid" of small ones, or "scroll" if its width is fixed.
    reading
        How its signs are read, in small print.
    """

    id: str
    caption: str
    summary: str
    charts: Sequence[tuple[str, Any]]
    table: Grid
    key: Sequence[tuple[str, str, str]] = ()
    layout: str = "one"
    reading: str = ""
    kind: ClassVar[str] = "figure"


Block = Text | Headline | Box | Items | Heading | Remark | Code | Grid | Figure


@dataclass(frozen=True)
class Section:
    """A part of the report with an entry in the table of contents; an annex has a letter."""

    id: str
    title: str
    blocks: Sequence[Block] = field(default_factory=tuple)
    annex: bool = False


class Notes:
    """The notes below a table: the same text is one note."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def mark(self, *texts: str) -> str:
        """Return the marks of these notes.

        Examples
        --------
        >>> notes = Notes()
        >>> notes.mark("of all records"), notes.mark("a bound", "of all records")
        ('1', '2,1')
        """
        for text in texts:
            if text and text not in self.texts:
                self.texts.append(text)
        return ",".join(str(self.texts.index(text) + 1) for text in texts if text)


def cell(text: object, sort: float | str | None = None, small: str = "", marks: str = "") -> Cell:
    """Return a cell; what is not there sorts last.

    Examples
    --------
    >>> cell("repU").text, cell(None).text
    ('repU', '')
    """
    return Cell("" if text is None else str(text), sort, small, marks)
