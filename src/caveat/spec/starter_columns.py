"""Blocks about single columns in a starter specification: missing codes, kinds, formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from caveat.findings.profile import Finding, Profile, Strength, percent
from caveat.spec.codebook import Domain, missing_line
from caveat.spec.toml import comment, toml_key, toml_value

__all__ = ["column_blocks"]


def column_blocks(
    profile: Profile, section: str, domains: Mapping[str, Domain] | None = None
) -> Iterator[str]:
    """Return what was found about single columns, each as a block of a section.

    Parameters
    ----------
    profile
        The result of the look.
    section
        Where the blocks stand: ``columns``, or those of a table.
    domains
        What a code book says about columns; it comes before what was found.
    """
    domains = domains or {}
    possible = {name for f in profile.findings if f.code == "few-numbers" for name in f.columns}
    declared: dict[str, list[Finding]] = {}
    for f in profile.findings:
        if f.columns and set(f.suggestion) & {"missing", "kind", "formats", "recode"}:
            declared.setdefault(f.columns[0], []).append(f)
    for column in profile.columns:
        domain, found = domains.get(column.name), declared.get(column.name, [])
        lines: list[str] = []
        if domain is not None:
            found, lines = _by_the_book(domain, found)
        may_be_codes = column.name in possible and not (domain and domain.is_whole)
        if found or may_be_codes or lines:
            yield from _column(column.name, column.label, found, may_be_codes, section, lines)


def _by_the_book(domain: Domain, found: Sequence[Finding]) -> tuple[list[Finding], list[str]]:
    """Return what is left of the findings, and the lines that the code book makes.

    Of a column that it has, it alone says what is missing: a code that was found is a remark.
    """
    lines = [missing_line(domain)] if domain.missing else []
    lines += [f"kind = {toml_value(domain.kind)}"] if domain.kind else []
    codes = [f for f in found if "missing" in f.suggestion]
    for f in codes:
        seen = f"{_codes(f)} in {percent(f.share)} of the rows: missing?"
        lines.append(comment(f"{seen} The code book does not say so."))
    # Text with other words in it cannot become a number, and a class need not.
    fixed = domain.levels or not all(map(_is_number, codes))
    return [] if fixed else [f for f in found if f not in codes], lines


def _column(
    name: str,
    label: str,
    found: Sequence[Finding],
    may_be_codes: bool,
    section: str,
    declared: Sequence[str],
) -> Iterator[str]:
    converted = any("kind" in f.suggestion for f in found)
    clear = [
        f for f in found if f.strength is not Strength.POSSIBLE or (converted and not _is_number(f))
    ]
    lines = [*declared, *_properties(clear, found, may_be_codes)]
    active = any(not line.startswith("#") for line in lines)
    yield f"{'' if active else '# '}[{section}.{toml_key(name)}]"
    yield from lines
    if active:
        yield f"{'' if label else '# '}label = {toml_value(label)}"
    yield ""


def _properties(
    clear: Sequence[Finding], found: Sequence[Finding], may_be_codes: bool
) -> Iterator[str]:
    codes = [code for f in clear for code in _missing(f)]
    for f in found:
        if f in clear and "missing" in f.suggestion:
            yield comment(f"{_codes(f)} in {percent(f.share)} of the rows: a code for missing?")
    if codes:
        yield f"missing = {toml_value(codes)}"
    for f in found:
        if f not in clear and "missing" in f.suggestion:
            yield comment(f"{_codes(f)} in {percent(f.share)} of the rows: missing, or a value?")
            yield comment(f"missing = {toml_value([*codes, *_missing(f)])}")
    for f in found:
        if "kind" in f.suggestion:
            yield f"kind = {toml_value(f.suggestion['kind'])}"
            if "format" in f.suggestion:
                yield f"format = {toml_value(f.suggestion['format'])}"
        if "formats" in f.suggestion:
            yield comment("Dates: which comes first, the day or the month?")
            yield comment('kind = "date"')
            yield from (comment(f"format = {toml_value(form)}") for form in f.suggestion["formats"])
    recode = {old: new for f in found for old, new in f.suggestion.get("recode", {}).items()}
    if recode:
        yield comment("Spellings that differ in case or blanks only: one level?")
        line = ", ".join(f"{toml_value(old)} = {toml_value(new)}" for old, new in recode.items())
        yield comment(f"recode = {{ {line} }}")
    if may_be_codes:
        yield comment("Few different whole numbers: codes, or counts?")
        yield comment('kind = "category"')


def _is_number(finding: Finding) -> bool:
    """Whether the codes are numbers: words must be out of the way before text is converted."""
    try:
        return bool([float(code) for code in finding.suggestion.get("missing", ())])
    except ValueError:
        return False


def _codes(finding: Finding) -> str:
    return ", ".join(map(str, _missing(finding)))


def _missing(finding: Finding) -> list[Any]:
    """Return the codes for missing; a whole number is written as one, also among decimals."""
    codes = finding.suggestion.get("missing", ())
    return [int(c) if isinstance(c, float) and c.is_integer() else c for c in codes]
