"""Short pages: one record in plain words, and what changed from one release to the next."""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from caveat.errors import CaveatError
from caveat.evidence.verdict import state_of
from caveat.report.blocks import Block, Cell, Field, Grid, Items, Section, Text, cell
from caveat.report.verdict import CODES
from caveat.report.wording import count, limit_text, number, percent, plain

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


# -------------------------------------------------------------------------------------------------
# One record in plain words: what an attacker believes, what gives it away, what would help.


Content = Mapping[str, Any]

NOTICE = "INTERNAL. About one record of the original: keep it as you keep the data."
MOST_COLUMNS = 5
"""Columns that a table names; the others are added up."""
NOTHING = 0.005
"""A log ratio below this is called nothing."""


def explain_page(content: Content) -> Page:
    """Return the page about one record.

    Parameters
    ----------
    content
        What :func:`caveat.release.explain_row` returns.
    """
    row = content["row"]
    sections = [
        Section("short", "In short", [Items(list(_short(content)))]),
        Section("columns", "What gives it away", list(_columns(content))),
        *(_target(content, belief, i) for i, belief in enumerate(content["targets"], 1)),
        Section("change", "What would change it", list(_changes(content))),
        Section("read", "How to read this", [Items([("", t) for t in _reading(content)])]),
    ]
    if "values" in content:
        grid = Grid("Row as it stands in the original", [Field("column"), Field("value")],
                    [[cell(n), cell(v)] for n, v in content["values"].items()])  # fmt: skip
        sections.append(Section("values", "Its values", [grid]))
    return Page(NOTICE, f"{content['title']}: row {row:,}", sections)


def _short(content: Content) -> Iterator[tuple[str, str]]:
    member = content["membership"]
    sure = (
        "certain: without it the release is impossible"
        if member["impossible_without"]
        else f"{percent(member['posterior'])} sure"
    )
    yield (
        "Was it in the data?",
        (
            "somebody who knows all other records and how the release was made, and would have "
            f"said 50 % before, is {sure}."
        ),
    )
    for belief in content["targets"]:
        rank = (
            "The best guess is right."
            if belief["correct"]
            else f"The truth is in place {belief['rank']} of her guesses."
            if belief["rank"] > 1
            else "The truth is one of several best guesses."
        )
        yield (
            f"{belief['target']}",
            (
                f"she gives the truth {percent(belief['prior'])} before the release and "
                f"{percent(belief['posterior'])} after it. {rank}"
            ),
        )
    for target, reason in content["refused"].items():
        yield f"{target}", f"no answer: {reason}."
    yield "What gives it away most", _most(member["parts"], content["leaves"])


def _most(parts: Sequence[Content], leaves: Sequence[Content]) -> str:
    first = parts[0]
    if first["log_ratio"] is not None and first["log_ratio"] < NOTHING:
        speaking = [p for p in parts if (p["log_ratio"] or 0) >= NOTHING]
        if not speaking:
            return "nothing: no column makes it look as if it had been in the data."
        first = speaking[0]
    found = _leaf(leaves, first["column"])
    says = f"{first['column']}: this column of the release is {_says(first, 'it', '', leaves)}"
    return f"{says}. {found[0].upper()}{found[1:]}." if found else f"{says}."


def _says(part: Content, what: str, other: str = "", leaves: Sequence[Content] = ()) -> str:
    """Return in words what a column does to a log ratio."""
    instead = other or f"without {what}"
    if part["log_ratio"] is None:
        own = [leaf for leaf in leaves if leaf["column"] == part.get("column")]
        # In the same tree only a value that nobody else has in its leaf would be missing.
        missing = sum(leaf["released_alike"] for leaf in own if leaf["alike"] == 1)
        other_tree = own and part["impossible"] > missing
        why = "; the tree would have another shape" if other_tree else ""
        return f"impossible {instead} ({count(part['impossible'], 'cell')}{why})"
    ratio = part["log_ratio"]
    if abs(ratio) < NOTHING:
        return "as probable either way"
    factor = plain(math.exp(min(abs(ratio), 700)))
    one, two = (f"with {what}", instead) if ratio > 0 else (instead, f"with {what}")
    return f"{factor} times as probable {one} as {two}"


def _leaf(leaves: Sequence[Content], column: str) -> str:
    """Return the leaf of a column in words; of two that with fewer who share the value."""
    own = [leaf for leaf in leaves if leaf["column"] == column]
    if not own:
        return ""
    leaf = min(own, key=lambda one: one["alike"])
    others = leaf["alike"] - 1
    has = "is a cell of its sort" if leaf["is_kind"] else "has its value"
    have = "are cells of its sort" if leaf["is_kind"] else "have its value"
    if leaf["size"] == 1:
        who = "it is alone in its leaf"
    else:
        share = f"none of the others {has}" if not others else (
            f"1 of the others {has}" if others == 1 else f"{others:,} of the others {have}"
        )  # fmt: skip
        who = f"its leaf has {leaf['size']:,} records; {share}"
    way = f", reached by {', '.join(leaf['path'])}" if leaf["path"] else ", the whole table"
    return f"{who}{way}"


def _drawn(leaves: Sequence[Content], column: str) -> str:
    own = [leaf for leaf in leaves if leaf["column"] == column]
    if not own:
        return ""
    leaf = min(own, key=lambda one: one["alike"])
    return f"{count(leaf['released'], 'row')}, {leaf['released_alike']:,} with its value"


def _columns(content: Content) -> Iterator[Block]:
    parts, leaves = content["membership"]["parts"], content["leaves"]
    yield Text(
        "The release was drawn column by column, each value from the records in a leaf of a tree. "
        "So what it says about this record is the product of what its columns say."
    )
    rows = [
        [cell(p["column"]), cell(_says(p, "it", "", leaves)), cell(_leaf(leaves, p["column"])),
         cell(_drawn(leaves, p["column"]))]
        for p in parts[:MOST_COLUMNS]
    ]  # fmt: skip
    yield _with_rest(
        "Was it in the data? The columns that say most",
        ("column", "this column of the release is", "where it lies", "drawn from there"),
        rows,
        parts[MOST_COLUMNS:],
        "it",
    )


def _with_rest(
    caption: str,
    titles: Sequence[str],
    rows: list[list[Cell]],
    rest: Sequence[Content],
    what: str,
    other: str = "",
) -> Grid:
    if rest:
        together = {
            "log_ratio": None
            if any(p["log_ratio"] is None for p in rest)
            else math.fsum(p["log_ratio"] for p in rest),
            "impossible": sum(p["impossible"] for p in rest),
        }
        words = _says(together, what, other)
        rows.append([cell(f"{count(len(rest), 'other column')}"), cell(words),
                     *(cell("") for _ in titles[2:])])  # fmt: skip
    return Grid(caption, [Field(title, wide=i > 0) for i, title in enumerate(titles)], rows)


def _target(content: Content, belief: Content, number: int) -> Section:
    rival = f" ({belief['rival']})" if belief.get("rival") else ""
    blocks: list[Block] = [
        Text(
            f"She knows everything else about it, and considers {belief['candidates']:,} values, "
            f"of which the release rules out {belief['excluded']:,}. The most probable other value"
            f"{rival} had {percent(belief['rival_prior'])} before and has "
            f"{percent(belief['rival_posterior'])} after it."
        )
    ]
    parts = belief["parts"]
    if parts:
        leaves = content["leaves"]
        rows = [
            [cell(p["column"]), cell(_says(p, "the truth", "with the other value", leaves)),
             cell(_leaf(leaves, p["column"]))]
            for p in parts[:MOST_COLUMNS]
        ]  # fmt: skip
        blocks.append(
            _with_rest(
                "The truth against that value: the columns that say most",
                ("column", "this column of the release is", "where it lies"),
                rows,
                parts[MOST_COLUMNS:],
                "the truth",
                "with the other value",
            )
        )
    return Section(f"target-{number}", f"How sure she is of {belief['target']}", blocks)


PRIORS = {
    "conditional": "what the other records suggest that are like it in all she knows",
    "marginal": "what the other records suggest, whatever they are like",
    "uniform": "that all values are equally probable",
}
WAYS = {
    "as it is": "made as it is",
    "guarded trees": "guarded trees instead of plain ones",
    "guard": 'guard = "{to}"',
    "leaf size": "leaves of about {to} records and more",
    "without": "without the column {to}",
}


def _changes(content: Content) -> Iterator[Block]:
    tried = content["tried"]
    if not tried:
        yield Text("Nothing was tried.")
        return
    draws = max((len(one["membership"]) for one in tried), default=0)
    yield Text(
        f"Each way was carried out: {count(draws, 'fresh release')}, each attacked in the same "
        "way. The numbers are the least and the most over them: from one release to the next they "
        "differ by chance."
    )
    targets = [belief["target"] for belief in content["targets"]]
    titles = ["was it in the data?", *(f"the truth about {target}" for target in targets)]
    rows = []
    for one in tried:
        words = WAYS[one["kind"]].format(to=one["to"])
        if one["refused"]:
            rows.append([cell(words), cell(f"cannot be done: {one['refused']}"),
                         *(cell("") for _ in targets)])  # fmt: skip
            continue
        found = [one["membership"], *(one["posteriors"].get(t, ()) for t in targets)]
        rows.append([cell(words), *(cell(_span(values)) for values in found)])
    columns = [Field("a release"), *(Field(title, wide=True) for title in titles)]
    yield Grid("How sure she would be", columns, rows)


def _span(values: Sequence[float]) -> str:
    if not values:
        return ""
    low, high = percent(min(values)), percent(max(values))
    return low if low == high else f"{low} to {high}"


def _reading(content: Content) -> Iterator[str]:
    yield (
        "The attacker knows how the release was made, every other record, and of this one all but "
        "what she asks for. Few people know so much; what others learn, who know less or other "
        "things, is not computed here."
    )
    yield (
        f"Before the release she believes {PRIORS[content['prior']]}. What the "
        f"{content['records'] - 1:,} other records say is no doing of the release."
    )
    yield (
        "All numbers are exact for this release; nothing is simulated but the fresh releases of "
        "the last table."
    )
    yield from content["notes"]


# -------------------------------------------------------------------------------------------------
# What changed from one release to the next, in words first.


DIFFERENCE_NOTICE = "INTERNAL. From the evidence of two releases: keep it as you keep the evidence."
NOT_THERE = "not there"
INPUTS = {
    "data": "the data file is another one (its checksum differs)",
    "original_rows": "records of the original",
    "columns": "released columns",
    "caveat": "version of Caveat",
    "seed": "the seed is another one",
}


def difference_page(content: Content) -> Page:
    """Return the page about two releases.

    Parameters
    ----------
    content
        What :func:`caveat.release.diff_releases` returns.
    """
    sections = [Section("short", "In short", [Items(list(_short_difference(content)))])]
    if content["spec"]:
        sections.append(Section("spec", "The specification", [_entries(content["spec"])]))
    for part, title in (("risk", "Risk"), ("utility", "Utility")):
        if content[part]["changed"]:
            sections.append(Section(part, title, list(_values(content[part]))))
    if content["files"]["changed"]:
        sections.append(Section("files", "Files", [_files(content["files"]["changed"])]))
    return Page(DIFFERENCE_NOTICE, " and ".join(_names(content)), sections)


def _names(content: Content) -> list[str]:
    return [
        f"{title} ({name})" if title else name
        for title, name in zip(content["titles"], content["names"], strict=True)
    ]


def _short_difference(content: Content) -> Iterator[tuple[str, str]]:
    if content["same"]:
        yield "", "Nothing differs: specification, inputs, measurements and files are the same."
        return
    if all(content["verdicts"]):
        ours, theirs = (CODES[code] for code in content["verdicts"])
        changed = f"before, {ours}; now, {theirs}."
        yield "Verdict", f"{ours}, as before." if ours == theirs else changed
    yield "Limits", _limits(content["limits"])
    if content["spec"] is None:
        yield "Specification", "not compared: a release.toml is not there."
    else:
        n = len(content["spec"])
        yield "Specification", f"{_differ(n, 'entry', 'entries')}."
    inputs = "; ".join(_input(one) for one in content["inputs"])
    yield "Inputs", f"{inputs}." if inputs else "the same data, seed, columns and version."
    for part, title in (("risk", "Risk"), ("utility", "Utility")):
        yield title, _turns(content[part])
    ours, theirs = content["records"]
    yield "Records at risk", f"{ours:,} were named before, {theirs:,} are now."
    files = content["files"]
    yield "Files", f"{_differ(len(files['changed']), 'table')}, {files['same']:,} the same."


def _differ(n: int, one: str, many: str = "") -> str:
    return f"{count(n, one, many)} {'differs' if n == 1 else 'differ'}"


def _limits(limits: Sequence[Content]) -> str:
    before, after = ({tuple(key) for key in one["broken"]} for one in limits)
    words = [_met(one["all"], len(one["broken"])) for one in limits]
    text = f"before, {words[0]}; now, {words[1]}."
    for title, keys in (("Now met or gone", before - after), ("Not met now only", after - before)):
        if keys:
            text += f" {title}: {'; '.join(sorted(_called(*key) for key in keys))}."
    return text


def _met(limits: int, broken: int) -> str:
    if not limits:
        return "none is set"
    return f"{broken:,} of {limits:,} not met" if broken else f"all {limits:,} met"


def _called(scenario: str, measure: str, *apart: Any) -> str:
    target, model, label, copy, table = apart
    own = label if label != measure else ""
    more = [part for part in (target, model, own, table) if part]
    more += [f"table {copy}"] if (copy or 1) > 1 else []
    name = f"{measure} of {', '.join(more)}" if more else measure
    return f"{scenario}: {name}" if scenario else name


def _input(one: Content) -> str:
    words = INPUTS[one["what"]]
    if one["what"] in ("data", "seed"):
        return words
    if one["what"] == "columns":
        ours, theirs = (set(one[side] or ()) for side in ("before", "after"))
        gone, new = sorted(ours - theirs), sorted(theirs - ours)
        parts = [f"no longer {', '.join(gone)}"] if gone else []
        parts += [f"now also {', '.join(new)}"] if new else []
        return f"{words}: {'; '.join(parts) or 'in another order'}"
    return f"{words}: {one['before']} before, {one['after']} now"


def _turns(part: Content) -> str:
    turns = [one["turn"] for one in part["changed"]]
    better, worse = turns.count("better"), turns.count("worse")
    higher, lower = turns.count("higher"), turns.count("lower")
    other = len(turns) - better - worse - higher - lower
    text = f"{count(better, 'value')} better, {worse:,} worse, {part['same']:,} the same"
    if higher or lower:
        text += (
            f", {higher:,} higher and {lower:,} lower (data or keys are others, and so neither "
            "better nor worse)"
        )
    return f"{text}, {other:,} new, gone or without a direction." if other else f"{text}."


def _entries(entries: Sequence[Content]) -> Grid:
    rows = [
        [cell(one["entry"]), cell(_plain(one["before"])), cell(_plain(one["after"]))]
        for one in entries
    ]
    columns = [Field("entry"), Field("before", wide=True), Field("now", wide=True)]
    return Grid("Entries that differ", columns, rows)


def _plain(value: Any) -> str:
    if value is None:
        return NOT_THERE
    return json.dumps(value, ensure_ascii=False, default=str)


def _values(part: Content) -> Iterator[Block]:
    yield Text("Values with the limit that each has; an interval is what chance allows.")
    rows = []
    for one in part["changed"]:
        key = (one["target"], one["model"], one["label"], one["copy"], one["table"])
        called = _called(one["scenario"], one["measure"], *key)
        sides = [_side(one, side) for side in ("before", "after")]
        rows.append([cell(called, small=one["says"]), *sides, cell(one["turn"] + _inside(one))])
    columns = [Field("measure"), Field("before", wide=True), Field("now", wide=True), Field("turn")]
    yield Grid("Measurements that differ", columns, rows)


def _side(one: Content, side: str) -> Cell:
    found = one[side]
    if found is None:
        return cell(NOT_THERE)
    text = number(found["value"], one["measure"], one["unit"])
    limit = limit_text(found["limit"], one["measure"], one["unit"])
    return cell(f"{text} ({limit}: {state_of(found)})" if limit else text)


def _inside(one: Content) -> str:
    """Say where the new value lies within the interval of the old one."""
    before, after = one["before"], one["after"]
    if not one["turn"] or before["interval"] is None:
        return ""
    low, high = before["interval"]
    return ", within the interval" if low <= after["value"] <= high else ""


def _files(files: Sequence[Content]) -> Grid:
    rows = [
        [cell(one["name"]), *(
            cell(NOT_THERE if one[side] is None else count(one[side], "row"))
            for side in ("before", "after")
        )]
        for one in files
    ]  # fmt: skip
    return Grid("Tables that differ", [Field("table"), Field("before"), Field("now")], rows)
