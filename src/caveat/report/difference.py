"""What changed from one release to the next, in words first."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.evidence.verdict import state_of
from caveat.report.blocks import Block, Cell, Field, Grid, Items, Section, Text, cell
from caveat.report.numbers import count, limit_text, number
from caveat.report.pages import Page
from caveat.report.verdict import CODES

__all__ = ["difference_page"]

Content = Mapping[str, Any]

NOTICE = "INTERNAL. From the evidence of two releases: keep it as you keep the evidence."
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
    sections = [Section("short", "In short", [Items(list(_short(content)))])]
    if content["spec"]:
        sections.append(Section("spec", "The specification", [_entries(content["spec"])]))
    for part, title in (("risk", "Risk"), ("utility", "Utility")):
        if content[part]["changed"]:
            sections.append(Section(part, title, list(_values(content[part]))))
    if content["files"]["changed"]:
        sections.append(Section("files", "Files", [_files(content["files"]["changed"])]))
    return Page(NOTICE, " and ".join(_names(content)), sections)


def _names(content: Content) -> list[str]:
    return [
        f"{title} ({name})" if title else name
        for title, name in zip(content["titles"], content["names"], strict=True)
    ]


def _short(content: Content) -> Iterator[tuple[str, str]]:
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
