"""One record in plain words: what an attacker believes, what gives it away, what would help."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.report.blocks import Block, Cell, Field, Grid, Items, Section, Text, cell
from caveat.report.numbers import count, percent, plain
from caveat.report.pages import Page

__all__ = ["explain_page"]

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
