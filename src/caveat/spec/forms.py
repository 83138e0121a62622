"""What people answer and decide about findings, also by forms, as entries of a specification."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from caveat.errors import CaveatError
from caveat.findings.shape import FINDINGS
from caveat.spec._kinds import Entry
from caveat.spec.document import comment, content_of, edited, entry_in, toml_value
from caveat.table.files import loads
from caveat.table.source import allow_source, shown, source_of

CONTROL = 0.2
LEAST_RECORDS, LEAST_GROUPS = 500, 100
"""Records, and groups where there are some, from which on a control is held out."""
DISCLOSURE: Mapping[str, Mapping[str, float]] = {"DiSCO": {"above": 2}}
MEMBERSHIP: Mapping[str, float] = {"membershipShare": 20}
ATTRIBUTES: Mapping[str, Mapping[str, float]] = {"strongShare": {"above": 2}}
"""Usual limits: DiSCO, members known, and answers known, in per cent or points."""


Most = float | Mapping[str, float]
"""The most that a measure may come to, or by how much it may be above its comparison."""


@dataclass(frozen=True)
class Answers:
    """What the user wants; whatever is not said has a line that does no harm.

    Parameters
    ----------
    title, unit, purpose, recipients, access
        What is released, for what, for whom and how.
    copies
        Number of synthetic tables.
    control
        Share of the records to hold out, 0 for none; None for the usual one.
    keys
        Columns that an attacker may know; None for a proposal.
    targets
        Columns that the attacker wants to learn; empty for all others.
    limits, strong_limits
        The most that measures of the attacker who knows the keys, and of the strong attacker, may
        come to, by name; None for the usual ones.
    groups
        Whether groups that the look found are synthesised whole.
    strong
        Columns that the strong attacker wants to learn; without any, only who was in the data.
    models
        Analyses that must give the same results on the synthetic data, as formulas.
    """

    title: str = ""
    unit: str = "record"
    purpose: str = ""
    recipients: str = ""
    access: str = "secure"
    copies: int = 1
    control: float | None = None
    keys: tuple[str, ...] | None = None
    targets: tuple[str, ...] = ()
    limits: Mapping[str, Most] | None = None
    strong_limits: Mapping[str, Most] | None = None
    strong: tuple[str, ...] = ()
    groups: bool = True
    models: tuple[str, ...] = ()


def usual_control(records: int, groups: int | None = None) -> float | None:
    """Return the share of records to hold out; None where they would be too few to compare with.

    Parameters
    ----------
    records
        Records of the file.
    groups
        Groups of records that belong together; None where there are none.
    """
    enough = records >= LEAST_RECORDS and (groups is None or groups >= LEAST_GROUPS)
    return CONTROL if enough else None


def release_part(answers: Answers, control: float | None) -> Iterator[str]:
    """Return the lines of ``[release]``.

    The title stands on the external report, where the name of the input has no place.

    Parameters
    ----------
    answers
        What the user wants.
    control
        The usual share of records to hold out; None where the file is too small.
    """
    lines: list[tuple[str, Any, str]] = [
        ("title", answers.title or "Synthetic data", "printed on the reports"),
        ("unit", answers.unit, "what a row is: person, household, visit …"),
        ("purpose", answers.purpose, "what the release is for"),
        ("recipients", answers.recipients, "who receives it"),
        ("access", answers.access, "public, registered or secure"),
        ("copies", answers.copies, "synthetic tables"),
    ]
    yield "[release]"
    for key, value, says in lines:
        yield f"{key} = {toml_value(value)}" + (f"  # {says}" if says else "")
    share = control if answers.control is None else answers.control
    held = "share of records held out, to attack people who were not in the data"
    if share:
        yield f"control = {toml_value(share)}  # {held}"
    elif control is None:
        few = f"off, as fewer than {LEAST_RECORDS} records (or {LEAST_GROUPS} groups)"
        yield comment(f"control = {CONTROL}  # {few} leave too few to compare with")
    else:
        yield comment(f"control = {CONTROL}  # {held}")
    yield "# seed = 1  # names one release of the key; without a key it makes a trial"
    yield ""


def closing_parts(
    proposed: tuple[Sequence[str], Sequence[str]],
    answers: Answers,
    rules: Sequence[str] = (),
    formats: str = 'formats = ["csv"]  # also parquet, sav, dta …',
) -> Iterator[str]:
    """Return the lines of ``[[scenario]]``, ``[utility]`` and ``[output]``.

    Parameters
    ----------
    proposed
        Keys, and others to think about, if the answers name none.
    answers
        What the user wants.
    rules
        Lines of edit rules whose violations are counted.
    formats
        The line about the formats of the tables.
    """
    keys, others = (answers.keys, ()) if answers.keys else proposed
    yield "# An attacker. Every measured risk depends on what the attacker is assumed to know."
    if answers.keys is None:
        yield "# The keys below are only a proposal: decide which columns an attacker may know."
    yield "[[scenario]]"
    yield 'name = "someone who knows a few facts"'
    yield 'attacker = "release"  # has the released table only'
    yield f"keys = {toml_value(keys)}"
    if others:
        yield comment(f"Others that people often know: {toml_value(others)}")
    if answers.targets:
        yield f"targets = {toml_value(answers.targets)}"
    else:
        yield '# targets = ["…"]  # what the attacker wants to learn; by default every other column'
    yield from _limits(DISCLOSURE if answers.limits is None else answers.limits)
    yield ""
    yield from _strong(answers)
    yield "[utility]"
    yield comment("Analyses that must work on the synthetic data; name one or two.")
    if answers.models:
        yield f"models = {toml_value(answers.models)}"
    else:
        yield '# models = ["income ~ age + sex"]'
    yield from rules
    yield ""
    yield "[output]"
    yield 'folder = "release"'
    yield formats
    yield 'reports = ["internal", "external"]'


# Values from the first to the last decile of 280 real tables at guard = "standard" (make corpus).
_TYPICAL = {
    "DiSCO": "keys that lead to one correct answer, in points above people outside; usual: 0 to 4",
    "membershipShare": "people surely known to be in the data, in per cent; usual: 1 to 53, median "
    "13",
    "strongShare": "answers surely known to the attacker, in points above what was known before",
}


def _limits(limits: Mapping[str, Most]) -> Iterator[str]:
    """Return the line of limits, and what is typical of each."""
    for name in limits:
        if name in _TYPICAL:
            yield comment(f"{name}: {_TYPICAL[name]}")
    ends = ", ".join(f"{name} = {_most(most)}" for name, most in limits.items())
    if not limits:
        yield "# limits = { repU = 5, DiSCO = 5 }  # in per cent: the most that you accept"
        return
    yield f"limits = {{ {ends} }}"


def _most(most: Most) -> str:
    if not isinstance(most, Mapping):
        return toml_value(most)
    inside = ", ".join(f"{key} = {toml_value(value)}" for key, value in most.items())
    return f"{{ {inside} }}"


def _strong(answers: Answers) -> Iterator[str]:
    yield "# The strongest attacker knows how the release is made, and all records but one value."
    yield "[[scenario]]"
    yield 'name = "someone who knows everybody else"'
    yield 'attacker = "strong"'
    if answers.strong:
        yield f"targets = {toml_value(answers.strong)}"
    else:
        yield '# targets = ["…"]  # by default only whether a person was in the data'
    usual: Mapping[str, Most] = {**MEMBERSHIP, **(ATTRIBUTES if answers.strong else {})}
    yield from _limits(usual if answers.strong_limits is None else answers.strong_limits)
    yield ""


# -------------------------------------------------------------------------------------------------
# What a finding of the look asks for, as entries of a specification: accept it, or take it back.
#
# A finding that asks for nothing in a specification is accepted as it is. That, and that a
# finding was set aside, leaves a comment, so that the file says what was decided.


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
    gone = [*asked.get("rules", ()), *asked.get("missing", ()), *found["columns"][:1]]
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
    order, name = entry_in(content, ORDER), next(iter(found["columns"]), None)
    drawn = DROP in changes or any(entry[:2] == ("synthesis", "derived") for entry in changes)
    if order is not None and drawn and name is not None and name not in order:
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


# -------------------------------------------------------------------------------------------------
# Forms as entries of a specification: which field is which entry.


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
