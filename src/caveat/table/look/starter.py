"""A starter specification: what the look suggests, ready for editing.

What is clear is written out, what is only possible stands in comments. The file may be archived
with the release, so no value stands in it but codes for missing, names and conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.table.look.profile import Finding, Profile, Strength, percent

__all__ = ["starter", "toml_key", "toml_value"]

_HEAD = """\
# A starter specification, written by `caveat look`.
# What the look found out is written below; what it only suspects stands in comments. Read every
# line: you know the data. Lines that begin with # are not in force.
"""
_LEFT_OUT = ("id-like", "group-id", "free-text", "constant", "all-missing")
_CLEARLY_DERIVED = ("arithmetic", "groups-of", "one-to-one")
# What is merely fixed by another column may as well be the source of it.
_DERIVED = (*_CLEARLY_DERIVED, "determined-by")
_RULES = ("missing-when", "order", "implication")


def starter(profile: Profile, path: str = "") -> str:
    """Return the text of a starter specification.

    Parameters
    ----------
    profile
        The result of the look.
    path
        The file that was looked at.
    """
    parts = [
        _HEAD,
        *_data(path),
        *_columns(profile),
        *_synthesis(profile),
        *_derived(profile),
        *_rules(profile),
    ]
    return "\n".join(parts) + "\n"


def toml_key(name: str) -> str:
    """Return a column name as a TOML key, quoted where needed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a plain value or a list of them in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    # A JSON string is a TOML string but for one character.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def _comment(text: str) -> str:
    """Return a comment line; line breaks and other control characters become spaces."""
    return "# " + re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)


def _data(path: str) -> list[str]:
    line = f"path = {toml_value(path)}"
    return ["[data]", line if path else f"# {line}", ""]


def _columns(profile: Profile) -> Iterator[str]:
    yield "# Kinds: numeric, integer, boolean, category, ordered, date, datetime, text, id."
    yield '# A missing code is better with its meaning: missing = { "-8" = "not applicable" }.'
    yield ""
    possible = {name for f in profile.findings if f.code == "few-numbers" for name in f.columns}
    for column in profile.columns:
        found = [
            f
            for f in profile.findings
            if f.columns[:1] == (column.name,)
            and (set(f.suggestion) & {"missing", "kind", "formats"})
        ]
        if found or column.name in possible:
            yield from _column(column.name, column.label, found, column.name in possible)


def _column(name: str, label: str, found: Sequence[Finding], may_be_codes: bool) -> Iterator[str]:
    clear = [f for f in found if f.strength is not Strength.POSSIBLE]
    lines = list(_properties(clear, found, may_be_codes))
    active = any(not line.startswith("#") for line in lines)
    yield f"{'' if active else '# '}[columns.{toml_key(name)}]"
    yield from lines
    if active:
        yield f"{'' if label else '# '}label = {toml_value(label)}"
    yield ""


def _properties(
    clear: Sequence[Finding], found: Sequence[Finding], may_be_codes: bool
) -> Iterator[str]:
    codes = [code for f in clear for code in f.suggestion.get("missing", ())]
    for f in found:
        if f in clear and "missing" in f.suggestion:
            yield _comment(f"{_codes(f)} in {percent(f.share)} of the rows: a code for missing?")
    if codes:
        yield f"missing = {toml_value(codes)}"
    for f in found:
        if f not in clear and "missing" in f.suggestion:
            yield _comment(f"{_codes(f)} in {percent(f.share)} of the rows: missing, or a value?")
            yield _comment(f"missing = {toml_value([*codes, *f.suggestion['missing']])}")
    for f in found:
        if "kind" in f.suggestion:
            yield f"kind = {toml_value(f.suggestion['kind'])}"
            if "format" in f.suggestion:
                yield f"format = {toml_value(f.suggestion['format'])}"
        if "formats" in f.suggestion:
            yield _comment("Dates: which comes first, the day or the month?")
            yield _comment('kind = "date"')
            yield from (
                _comment(f"format = {toml_value(form)}") for form in f.suggestion["formats"]
            )
    if may_be_codes:
        yield _comment("Few different whole numbers: names of groups?")
        yield _comment('kind = "category"')


def _codes(finding: Finding) -> str:
    return ", ".join(str(code) for code in finding.suggestion["missing"])


def _synthesis(profile: Profile) -> Iterator[str]:
    left_out = {f.columns[0]: f.code for f in profile.findings if f.code in _LEFT_OUT}
    derived = {f.columns[0] for f in profile.findings if f.code in _CLEARLY_DERIVED}
    late = {f.columns[0] for f in profile.findings if f.code == "long-factor"}
    distinct = {column.name: column.distinct for column in profile.columns}
    yield "[synthesis]"
    if left_out:
        yield _comment("Nothing to synthesise: identifiers, free text, one value, all missing.")
        yield f"leave_out = {toml_value(list(left_out))}"
    names = [n for n in distinct if n not in left_out and n not in derived]
    visit = [n for n in names if n not in late]
    visit += sorted((n for n in names if n in late), key=lambda n: distinct[n])
    yield _comment("The order of synthesis: that of the file, long factors last.")
    yield "visit = ["
    yield from (f"  {toml_value(name)}," for name in visit)
    yield "]"
    yield ""


def _derived(profile: Profile) -> Iterator[str]:
    found = [f for f in profile.findings if f.code in _DERIVED]
    if not found:
        return
    yield "# Columns that follow from others: not synthesised, but computed, grouped or looked up."
    yield "[synthesis.derived]"
    sources: dict[str, tuple[str, ...]] = {}
    for f in found:
        target, inputs = f.columns[0], f.columns[1:]
        line = f"{toml_key(target)} = {_derivation(f)}"
        # One column may follow from several: the first, the surest, is in force; no two from each
        # other.
        clear = f.code in _CLEARLY_DERIVED and target not in sources
        if clear and not any(target in _ancestors(name, sources) for name in inputs):
            sources[target] = inputs
            yield line
        else:
            yield _comment(line)
    yield ""


def _ancestors(name: str, sources: Mapping[str, Sequence[str]]) -> set[str]:
    """Return a column and all those it is derived from."""
    return {name}.union(*(_ancestors(source, sources) for source in sources.get(name, ())))


def _derivation(finding: Finding) -> str:
    if finding.code == "arithmetic":
        return toml_value(finding.suggestion["formula"])
    how = "group" if finding.code == "groups-of" else "look_up"
    return f"{{ {how} = {toml_value(finding.suggestion['from'])} }}"


def _rules(profile: Profile) -> Iterator[str]:
    rules = [f.suggestion["rule"] for f in profile.findings if f.code in _RULES and f.suggestion]
    if not rules:
        return
    yield "# Rules that hold in the data. Take those in force that must hold in every release."
    yield "# rules = ["
    yield from (_comment(f"  {toml_value(rule)},") for rule in rules)
    yield "# ]"
