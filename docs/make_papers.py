"""Write papers.md from what the studies give back: python docs/make_papers.py [NAME ...] [FOLDER].

Without names all studies are run, which takes hours; the sections of others stay as they are. The
folder holds the data sets that some studies need.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from caveat.studies import STUDIES, Number, Study, StudyResult
from caveat.studies.study import Output

PAGE = Path(__file__).parent / "papers.md"
FRAME = PAGE.with_suffix(".in")


def section(study: Study, result: StudyResult) -> str:
    """Return what a study has to say: its numbers, and what should be known about them."""
    command = f"`caveat study {study.name}`, {study.takes}"
    lines = [f"## {study.name}", "", f"{study.paper}: {study.says}. {command}.", ""]
    if result.beside:
        lines.append("| what | where | printed | ours | difference | why |")
        lines.append("| --- | --- | ---: | ---: | ---: | --- |")
        lines += [_row(number) for number in result.beside]
        lines.append("")
    else:
        lines += ["The paper prints no number that could stand here.", ""]
    notes: dict[str, list[str]] = {}
    for grid in result.grids:
        if grid.note:
            notes.setdefault(_plain(grid.note), []).append(_plain(grid.where))
    lines += [f"- {', '.join(places)}: {note}" for note, places in notes.items()]
    lines += [f"- {_plain(remark)}" for remark in result.remarks]
    return "\n".join(lines).rstrip() + "\n"


def _row(number: Number) -> str:
    ours, apart = "", ""
    if number.ours is not None:
        ours, apart = _figure(number.ours), _figure(round(number.ours - number.printed, 6) + 0.0, 3)
    cells = (number.what, number.where, _figure(number.printed), ours, apart, number.why)
    return "| " + " | ".join(_plain(cell) for cell in cells) + " |"


def _figure(value: float, digits: int = 6) -> str:
    """Return a whole or large number whole, and others with so many digits."""
    whole = value == round(value) or abs(value) >= 10_000
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("<", "&lt;")


def sections(text: str) -> dict[str, str]:
    """Return the sections that a page has, by name."""
    parts = re.split(r"^## ", text, flags=re.MULTILINE)[1:]
    return {part.split("\n")[0]: f"## {part.rstrip()}\n" for part in parts}


def page(known: dict[str, str]) -> str:
    """Return the page: the studies in their order, within what is written by hand."""
    studies = "\n".join(known[name] for name in STUDIES if name in known)
    return FRAME.read_text("utf-8").replace("{studies}", studies)


if __name__ == "__main__":
    words = sys.argv[1:]
    data = Path(words.pop()) if words and words[-1] not in STUDIES else None
    known = sections(PAGE.read_text("utf-8")) if PAGE.exists() else {}
    for name in words or STUDIES:
        known[name] = section(STUDIES[name], STUDIES[name].run(Output(None, read=data), data))
        PAGE.write_text(page(known), "utf-8")
