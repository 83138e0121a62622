"""Forms as entries of a specification: which field is which entry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat.errors import CaveatError
from caveat.spec.decisions import made_so
from caveat.spec.edit import content_of, edited, entry_in
from caveat.spec.lines import Entry
from caveat.table.hosts import allow_source
from caveat.table.source import shown, source_of

__all__ = [
    "DIAL",
    "KINDS",
    "READ_AS",
    "WHO",
    "Form",
    "allow_servers",
    "attacked",
    "mapped",
    "planned",
    "read_as",
    "read_so",
    "servers_of",
    "unmapped",
]

KINDS = ("numeric", "integer", "boolean", "category", "ordered", "date", "datetime", "text", "id")
READ_AS = ("encoding", "delimiter", "decimal")
DIAL = {
    "light": "follows the data more closely and hides single records less",
    "standard": "what holds if nothing is said",
    "strong": "hides single records more and follows the data less closely",
}
WHO = {
    "release": "has the released table only",
    "strong": "knows how the release is made, and everybody else",
    "simulated": "fits many models of her own",
    "ordinary": "works with common tools",
}
_WORDS = ("title", "unit", "purpose", "recipients", "access")
_EMPTY = ("purpose", "recipients")  # may be said to be nothing


class Form:
    """What was filled in: every field can be there several times."""

    def __init__(self, fields: Mapping[str, list[str]]) -> None:
        self.fields = fields

    def get(self, name: str, default: str = "") -> str:
        """Return a field, without spaces around it."""
        found = self.fields.get(name)
        return found[-1].strip() if found else default

    def names(self, field: str) -> list[str]:
        """Return every value of a field as it is, in order: names may have blanks at their ends.

        A browser sends line breaks in a way of its own.
        """
        return [value.replace("\r\n", "\n") for value in self.fields.get(field, []) if value]

    def __contains__(self, name: object) -> bool:
        return name in self.fields


def planned(text: str, form: Form) -> str:
    """Return a specification with what the form of the plan says."""
    text = edited(text, _release(form))
    if "method" in form:
        text = edited(text, {("synthesis", "method"): form.get("method") or None})
        guard = form.get("guard") if form.get("method") == "guarded" else ""
        text = edited(text, {("synthesis", "guard"): guard or None})
    if "rules" in form:
        rules = [line.strip() for line in form.get("rules").splitlines() if line.strip()]
        text = edited(text, {("synthesis", "rules"): rules or None})
    if "groups" in form:
        key = "".join(form.names("groups"))
        gone: Entry = ("groups", "key") if key else ("groups",)
        text = edited(text, {gone: key or None})
    before = content_of(text) or {}
    for i, name in enumerate(form.names("column")):
        kind, table = form.get(f"kind-{i}") or None, "".join(form.names(f"table-{i}"))
        entry: Entry = (*(("tables", table) if table else ()), "columns", name, "kind")
        if entry_in(before, entry) != kind:  # of many columns few change
            text = edited(text, {entry: kind})
        made = (form.get(f"made-{i}"), form.get(f"from-{i}"))
        # What is said of a column holds in all tables that have it: who changes it in one, has.
        if made_so(before, name, *made):
            order = form.names("column")
            text = edited(text, made_so(content_of(text) or {}, name, *made, order))
    return text


def read_as(form: Form) -> dict[str, str]:
    """Return how text files are read; what is not said is found out, or the usual."""
    given = {name: form.get(name) for name in READ_AS if form.get(name)}
    return {name: "\t" if value == "tab" else value for name, value in given.items()}


def read_so(text: str, form: Form) -> str:
    """Return a specification that says how text files are read."""
    told = read_as(form)
    return edited(text, {("data", name): told.get(name) for name in READ_AS})


def _release(form: Form) -> dict[Entry, Any]:
    changes: dict[Entry, Any] = {}
    for name in _WORDS:
        if name in form:
            changes["release", name] = form.get(name) or ("" if name in _EMPTY else None)
    for name, number in (("copies", int), ("seed", int), ("control", float)):
        if name in form:
            changes["release", name] = _number(form.get(name), name, number)
    return changes


def _number(typed: str, name: str, number: type[int] | type[float] = float) -> int | float | None:
    """Return what was typed as a number; nothing for nothing."""
    if not typed:
        return None
    try:
        found = number(typed.removesuffix("%").strip().replace(",", "."))
        if found != found or found in (float("inf"), float("-inf")):
            raise ValueError
    except (ValueError, OverflowError):
        what = "a whole number" if number is int else "a number"
        raise CaveatError(
            f"{what} is expected", where=name, do="go back and mend it", code="app.value.type"
        ) from None
    return int(found) if number is float and found == int(found) and found >= 1 else found


def attacked(text: str, form: Form) -> str:
    """Return a specification with what the form of the attackers says, of one of them."""
    place = _place(form.get("scenario"), text)
    if form.get("do") == "remove":
        return edited(text, {("scenario", place): None})
    scenario: Entry = ("scenario", place)
    fields: dict[Entry, Any] = {
        (*scenario, "name"): form.get("name") or "someone",
        (*scenario, "attacker"): form.get("attacker") or "release",
    }
    for name in ("keys", "targets"):
        chosen = list(dict.fromkeys(form.names(name)))
        had = entry_in(content_of(text) or {}, (*scenario, name))
        if had is not None and set(had) == set(chosen):
            continue  # in the order in which somebody has written them
        fields[(*scenario, name)] = chosen or None
    limits = dict(entry_in(content_of(text) or {}, (*scenario, "limits"), {}))
    had = entry_in(content_of(text) or {}, (*scenario, "attacker"), "release")
    other = had != fields[(*scenario, "attacker")]  # whose measures are others
    for name in form.fields.get("measure", []):
        typed = None if other else _number(form.get(f"limit-{name}"), name)
        kept = limits.get(name)
        above = isinstance(kept, dict) and set(kept) == {"above"}
        if typed is not None:
            limits[name] = {"above": typed} if above else typed
        elif above or not isinstance(kept, dict):
            limits.pop(name, None)
    fields[(*scenario, "limits")] = limits or None
    return edited(text, fields)


def mapped(text: str) -> str:
    """Return a specification whose run tries plain trees and every position of the dial.

    The risk is what the strong attacker finds, if there is one; else what the first one does.
    """
    scenarios = entry_in(content_of(text) or {}, ("scenario",), [])
    strong = next((s for s in scenarios if s.get("attacker") == "strong"), None)
    first = strong or next(iter(scenarios), None)
    if first is None or "name" not in first:
        raise CaveatError(
            "nobody attacks",
            do="say who does first: Attackers and limits",
            code="spec.entry.absent",
        )
    return edited(
        text,
        {
            ("map", "scenario"): first["name"],
            ("map", "risk"): None if strong is None else "membershipShare",
            ("map", "settings"): {"method": ["cart", "guarded"], "guard": list(DIAL)},
        },
    )


def unmapped(text: str) -> str:
    """Return a specification whose run tries no other settings."""
    return edited(text, {("map",): None})


def servers_of(content: Mapping[str, Any]) -> list[str]:
    """Return where a specification reads from servers: nobody is asked before somebody says so."""
    tables = content.get("tables")
    named = [entry_in(content, ("data", "path"))]
    synthetic = entry_in(content, ("data", "synthetic"))
    named += synthetic if isinstance(synthetic, list) else []
    if isinstance(tables, Mapping):
        named += [entry_in(tables, (name, "file")) for name in tables]
    found = {name: source_of(name) for name in named if isinstance(name, str)}
    return [shown(name) for name, source in found.items() if source and not source.is_file]


def allow_servers(text: str) -> None:
    """Allow the servers that a specification names: its user has read them and gone on."""
    for name in servers_of(content_of(text) or {}):
        allow_source(name)


def _place(typed: str, text: str) -> int:
    known = len(entry_in(content_of(text) or {}, ("scenario",), []))
    place = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 6 else -1
    if not 0 <= place <= known:
        raise CaveatError(
            "there is no such attacker", do="load the page again", code="app.choice.unknown"
        )
    return place
