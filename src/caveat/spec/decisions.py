"""What a finding of the look asks for, as entries of a specification: accept it, or take it back.

A finding that asks for nothing in a specification is accepted as it is. That, and that a finding
was set aside, leaves a comment, so that the file says what was decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from caveat.errors import CaveatError
from caveat.findings.shape import FINDINGS
from caveat.spec.edit import edited, entry_in
from caveat.spec.lines import Entry
from caveat.spec.toml import comment
from caveat.table.toml import loads

__all__ = [
    "AS_IT_IS",
    "Choice",
    "choices",
    "decide",
    "how_made",
    "is_released",
    "is_set_aside",
    "made_so",
    "state_of",
]

Found = Mapping[str, Any]
"""A finding as plain values, as ``Finding.to_dict`` gives it; of several tables with its table."""

Choice = tuple[str, Mapping[Entry, Any]]
"""What can be done about a finding: in words, and as entries with their values."""

ACCEPTED = "accepted"
SYNTHESIS, ORDER, DROP = ("synthesis",), ("synthesis", "order"), ("synthesis", "drop")
RULES, REPLACE = ("synthesis", "rules"), ("synthesis", "replace")
_LEFT_OUT = (*FINDINGS.values(), "group-id", "all-missing")
_INVENTED = {FINDINGS["identifier"]: "id", FINDINGS["person-name"]: "name"}
# What else is said of how a column comes about.
_WITH_SOURCE = ("computed", "looked up", "replaced")


AS_IT_IS: Choice = ("as it is", {})
"""What can be done about a finding that asks for no entry."""


def choices(found: Found, content: Mapping[str, Any]) -> list[Choice]:
    """Return what can be accepted, each with the entries that say so.

    Parameters
    ----------
    found
        The finding.
    content
        The specification as it is.
    """
    return _asked_for(found, content) or [AS_IT_IS]


def _asked_for(found: Found, content: Mapping[str, Any]) -> list[Choice]:
    """Return the choices with entries; none for a finding that asks for none."""
    code, columns, asked = found["code"], found["columns"], found["suggestion"]
    if not columns:
        return []
    name, several = columns[0], _of_table(found)
    hangs = entry_in(content, (*several, "links")) if several else None
    if code in _LEFT_OUT or (code == "survey-weights" and hangs):  # weights are of whole groups
        out = ("leave it out", _left_out(content, name))
        if code not in _INVENTED:
            return [out]
        by = _INVENTED[code]
        return [out, ("replace it by invented values", _replaced(content, name, by))]
    if code == "survey-weights":
        weights = {("synthesis", "weights"): name, **_left_out(content, name)}
        return [("use it as weights", weights)]
    if code == "groups":
        if several:  # links say which rows belong together
            return []
        section = asked["groups"]
        return [("synthesise whole groups", {("groups", key): section[key] for key in section
                                             if section[key]})]  # fmt: skip
    if asked.get("rules"):
        had = list(entry_in(content, RULES, []))
        new = [rule for rule in asked["rules"] if rule not in had]
        return [("make it a rule", {RULES: [*had, *new]})]
    if "formula" in asked or "from" in asked:
        how = asked["formula"] if "formula" in asked else {"lookup": asked["from"]}
        words = "compute it again" if "formula" in asked else "look it up"
        return [(words, {("synthesis", "derived", name): how, **_moved(content, name, asked)})]
    return _about_column(code, columns, asked, content, (*several, "columns"))


def _of_table(found: Found) -> Entry:
    """Return the section of the table that a finding is about; nothing if there is only one."""
    return ("tables", found["table"]) if found.get("table") else ()


def _about_column(
    code: str,
    columns: Sequence[str],
    asked: Mapping[str, Any],
    content: Mapping[str, Any],
    section: Entry,
) -> list[Choice]:
    entry: Entry = (*section, columns[0])
    if code == "few-numbers":
        kinds = {"codes without order": "category", "codes with an order": "ordered"}
        return [(word, {(*section, name, "kind"): kind for name in columns})
                for word, kind in kinds.items()]  # fmt: skip
    if "missing" in asked:
        had = entry_in(content, (*entry, "missing"), [])
        new = [each for each in asked["missing"] if each not in had and str(each) not in had]
        both: Any = [*had, *new]
        if isinstance(had, Mapping):
            both = {**had, **{str(each): "" for each in new}}
        return [("declare it as missing", {(*entry, "missing"): both})]
    if "kind" in asked:
        kind = {(*entry, key): asked[key] for key in ("kind", "format") if key in asked}
        return [(f"declare the kind {asked['kind']}", kind)]
    if "formats" in asked:
        return [(f"dates as {form}", {(*entry, "kind"): "date", (*entry, "format"): form})
                for form in asked["formats"]]  # fmt: skip
    if "recode" in asked:
        return [("make them one level", {(*entry, "recode"): dict(asked["recode"])})]
    return []


def _left_out(content: Mapping[str, Any], name: str) -> dict[Entry, Any]:
    dropped = list(entry_in(content, DROP, []))
    order = entry_in(content, ORDER)
    new = dropped if name in dropped else [*dropped, name]
    kept: dict[Entry, Any] = {DROP: new, **_not_replaced(content, name)}
    if order is not None and name in order:
        kept[ORDER] = [other for other in order if other != name]
    return kept


def _replaced(content: Mapping[str, Any], name: str, by: str) -> dict[Entry, Any]:
    changes = {**_left_out(content, name), **_not_dropped(content, name)}
    return {**changes, REPLACE: {**entry_in(content, REPLACE, {}), name: by}}


def _not_dropped(content: Mapping[str, Any], name: str) -> dict[Entry, Any]:
    return {DROP: [other for other in entry_in(content, DROP, []) if other != name] or None}


def _not_replaced(content: Mapping[str, Any], name: str) -> dict[Entry, Any]:
    replaced = dict(entry_in(content, REPLACE, {}))
    if replaced.pop(name, None) is None:
        return {}
    return {REPLACE: replaced or None}


def _moved(content: Mapping[str, Any], name: str, asked: Mapping[str, Any]) -> dict[Entry, Any]:
    """Return the order with a derived column in its place: none, or behind its source."""
    order = entry_in(content, ORDER)
    if order is None:
        return {}
    rest = [other for other in order if other != name]
    if "formula" in asked:
        return {ORDER: rest} if name in order else {}
    source = asked["from"]
    if source not in order or (name in order and order.index(source) < order.index(name)):
        return {}
    at = rest.index(source) + 1
    return {ORDER: [*rest[:at], name, *rest[at:]]}


def state_of(found: Found, content: Mapping[str, Any], text: str) -> str:
    """Return what was decided: "in force" with the words of the choice, "set aside" or ""."""
    for words, changes in choices(found, content):
        if not changes and _note(found, ACCEPTED) not in text.splitlines():
            continue
        if all(entry_in(content, entry) == value for entry, value in changes.items()):
            return f"in force: {words}"
    return "set aside" if is_set_aside(found, text) else ""


def is_set_aside(found: Found, text: str) -> bool:
    """Whether a comment of the specification says that a finding is ignored."""
    return _note(found) in text.splitlines()


def decide(text: str, found: Found, choice: int | None, sequence: Sequence[str] = ()) -> str:
    """Return the specification after a decision.

    Parameters
    ----------
    text
        The specification.
    found
        The finding.
    choice
        Which of the choices is accepted; None to ignore the finding, and to take back what it has
        brought, or no longer to ignore it.
    sequence
        The columns of the file: one that is drawn again comes back to its place among them.
    """
    content, note = loads(text), _note(found)
    lines = [line for line in text.splitlines() if line not in (note, _note(found, ACCEPTED))]
    bare = "\n".join(lines) + "\n"
    if choice is not None:
        known = choices(found, content)
        if not 0 <= choice < len(known):
            raise CaveatError(
                "there is no such choice", do="load the page again", code="app.choice.unknown"
            )
        changes = known[choice][1]
        return edited(bare, changes) if changes else f"{bare.rstrip()}\n{_note(found, ACCEPTED)}\n"
    for _, changes in choices(found, content):
        if all(entry_in(content, entry) == value for entry, value in changes.items()):
            bare = edited(bare, _taken_back(found, content, changes, sequence))
    if is_set_aside(found, text):
        return bare
    return f"{bare.rstrip()}\n{note}\n"


def _taken_back(
    found: Found,
    content: Mapping[str, Any],
    changes: Mapping[Entry, Any],
    sequence: Sequence[str],
) -> dict[Entry, Any]:
    """Return the entries without what a finding has brought."""
    asked, back = found["suggestion"], {}
    gone = [*asked.get("rules", ()), *asked.get("missing", ()), found["columns"][0]]
    gone += [str(code) for code in asked.get("missing", ())]
    for entry, value in changes.items():
        if entry == ORDER or value is None:
            continue
        if isinstance(value, list):
            left: Any = [each for each in value if each not in gone]
        elif isinstance(value, dict) and (entry[-1] == "missing" or entry == REPLACE):
            left = {key: word for key, word in value.items() if key not in gone}
        else:
            left = None
        back[entry] = left or None
    order, name = entry_in(content, ORDER), found["columns"][0]
    drawn = DROP in changes or any(entry[:2] == ("synthesis", "derived") for entry in changes)
    if order is not None and drawn and name not in order:
        back[ORDER] = _returned(order, name, sequence)
    return back


def _returned(order: Sequence[str], name: str, sequence: Sequence[str]) -> list[str]:
    """Return the order with a column at its place in the file, or at the end if that is unknown."""
    places = {column: place for place, column in enumerate(sequence)}
    here = places.get(name, len(places))
    behind = (at for at, other in enumerate(order) if places.get(other, -1) > here)
    at = next(behind, len(order))
    return [*order[:at], name, *order[at:]]


def _note(found: Found, decided: str = "set aside") -> str:
    table = found.get("table")
    names = ", ".join(f"{table}.{name}" if table else name for name in found["columns"])
    return comment(f"{decided} after the look: {found['code']}: {names}")


def how_made(content: Mapping[str, Any], name: str) -> tuple[str, str]:
    """Return how a column comes about, and from what.

    It is drawn, replaced, left out, computed or looked up.
    """
    replaced = entry_in(content, REPLACE, {})
    if isinstance(replaced, Mapping) and name in replaced:
        return "replaced", str(replaced[name])
    derived = entry_in(content, ("synthesis", "derived", name))
    if isinstance(derived, str):
        return "computed", derived
    if isinstance(derived, Mapping):
        source = derived.get("lookup", "")
        return "looked up", source if isinstance(source, str) else ", ".join(source)
    return ("left out" if name in entry_in(content, DROP, []) else "drawn"), ""


def is_released(content: Mapping[str, Any], name: str) -> bool:
    """Whether a column is released and measured: not left out or invented, no weight, no key."""
    apart = (entry_in(content, ("synthesis", "weights")), entry_in(content, ("groups", "key")))
    return how_made(content, name)[0] not in ("left out", "replaced") and name not in apart


def made_so(
    content: Mapping[str, Any], name: str, how: str, source: str, sequence: Sequence[str] = ()
) -> dict[Entry, Any]:
    """Return the entries that let a column come about in another way; see :func:`how_made`.

    ``sequence`` are the columns of the file: one that is drawn again comes back to its place.
    """
    if (how, source if how in _WITH_SOURCE else "") == how_made(content, name):
        return {}
    order = entry_in(content, ORDER)
    changes: dict[Entry, Any] = {}
    if how == "left out":
        changes = _left_out(content, name)
    elif how == "replaced":
        changes = _replaced(content, name, source or "id")
    else:
        changes = _not_replaced(content, name)
        if name in entry_in(content, DROP, []):
            changes |= _not_dropped(content, name)
    if how in ("computed", "looked up"):
        asked = {"formula": source} if how == "computed" else {"from": source}
        value = source if how == "computed" else {"lookup": source}
        changes |= {("synthesis", "derived", name): value, **_moved(content, name, asked)}
    elif entry_in(content, ("synthesis", "derived", name)) is not None:
        changes[("synthesis", "derived", name)] = None
    if how in ("drawn", "looked up") and order is not None and name not in order:
        changes.setdefault(ORDER, _returned(order, name, sequence))
    return changes
