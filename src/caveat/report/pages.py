"""Short pages: a title, a line that says how to keep it, sections; as text, Markdown or HTML."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from caveat.errors import CaveatError
from caveat.report.blocks import Block, Cell, Grid, Items, Section, Text

__all__ = ["Page", "as_html", "as_markdown", "as_text", "written"]

WIDTH = 88
MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_{}[]<>|#~$"})


@dataclass(frozen=True)
class Page:
    """A page.

    Parameters
    ----------
    notice
        Its first line: whom it is for.
    title
        What it is about.
    sections
        What it says: paragraphs, lists and tables.
    """

    notice: str
    title: str
    sections: Sequence[Section]


def as_text(page: Page) -> str:
    """Return a page for the terminal."""
    lines = [page.notice, "", page.title]
    for section in page.sections:
        lines += ["", section.title.upper()]
        for block in section.blocks:
            lines += _lines(block)
    return "\n".join(lines) + "\n"


def _lines(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        lead = f"{block.lead} " if block.lead else ""
        yield from _wrapped(f"{lead}{block.text}", "")
    elif isinstance(block, Items):
        for lead, text in block.items:
            yield from _wrapped(f"{_led(lead)} {text}" if lead else text, "- ")
    elif isinstance(block, Grid):
        yield from _wrapped(f"{block.caption}:", "")
        for row in block.rows:
            yield from _wrapped(_whole(row[0]), "  ")
            for column, cell in zip(block.columns[1:], row[1:], strict=True):
                if cell.text:
                    yield from _wrapped(f"{_led(column.title)} {_whole(cell)}", "      ")


def _whole(cell: Cell) -> str:
    """Return a cell with its second line."""
    return f"{cell.text} ({cell.small})" if cell.small else cell.text


def _led(words: str) -> str:
    """Return words that something follows: with a colon, unless they ask."""
    return words if words.endswith("?") else f"{words}:"


def _wrapped(text: str, before: str) -> list[str]:
    flat = " ".join(text.split())
    return textwrap.wrap(
        flat, WIDTH, initial_indent=before, subsequent_indent=" " * len(before),
        break_long_words=False,
    )  # fmt: skip


def as_markdown(page: Page) -> str:
    """Return a page as Markdown."""
    parts = [f"**{_md(page.notice)}**", f"# {_md(page.title)}"]
    for section in page.sections:
        parts.append(f"## {_md(section.title)}")
        parts += ["\n".join(_marked(block)) for block in section.blocks]
    return "\n\n".join(parts) + "\n"


def _marked(block: Block) -> Iterator[str]:
    if isinstance(block, Text):
        yield f"**{_md(block.lead)}** {_md(block.text)}" if block.lead else _md(block.text)
    elif isinstance(block, Items):
        for lead, text in block.items:
            yield f"- **{_md(_led(lead))}** {_md(text)}" if lead else f"- {_md(text)}"
    elif isinstance(block, Grid):
        yield f"{_md(block.caption)}:"
        yield ""
        yield f"| {' | '.join(_md(column.title) for column in block.columns)} |"
        yield f"|{'|'.join(' ---: ' if c.numeric else ' --- ' for c in block.columns)}|"
        for row in block.rows:
            yield f"| {' | '.join(_md(_whole(cell)) for cell in row)} |"


def _md(text: str) -> str:
    return " ".join(text.split()).translate(MARKS)


def as_html(page: Page) -> str:
    """Return a page as HTML that needs nothing else."""
    return _environment().get_template("page.html.j2").render(page=page, led=_led)


def written(path: Path) -> Callable[[Page], str]:
    """Return what writes a page, by the ending of its file; refuse other endings."""
    forms = {".html": as_html, ".md": as_markdown, ".txt": as_text}
    found = forms.get(path.suffix.lower())
    if found is None:
        raise CaveatError(
            "a page is written as HTML, Markdown or text",
            where=str(path),
            do=f"let the name end in {', '.join(forms)}",
            code="release.format.unknown",
        )
    return found


@cache
def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("caveat.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
