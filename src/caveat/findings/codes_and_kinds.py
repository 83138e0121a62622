"""Read each column as its owner would: codes out of the way, numbers as numbers, dates as dates."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.findings.codes import CodeCandidate, find_codes, is_code_like
from caveat.findings.profile import (
    Finding,
    Strength,
    listed,
    marked,
    percent,
    plain,
    plural,
    shown_level,
)
from caveat.findings.weights import says_sampling_unit
from caveat.table._local import LOCAL_DATES, number_form
from caveat.table.column import Column, Kind
from caveat.table.schema import ColumnSchema, Schema
from caveat.table.table import Table
from caveat.table.written import (
    LONGEST_SIGN,
    MISSING_SIGNS,
    MISSING_WORDS,
    NumberReading,
    plain_words,
    read_dates,
    read_numbers,
)

__all__ = ["LONG_FACTOR", "find_codes_and_kinds"]

# A factor with more levels than this is long, and more numbers than this are hardly mere names.
LONG_FACTOR = 20
# Letters that stand alone among numbers are codes if they are no longer than this.
SHORT_TOKEN = 3
# More numbers than this among words are no codes.
MOST_CODES = 3
_NUMBER = re.compile(r"-?\d{1,6}")


def find_codes_and_kinds(table: Table) -> tuple[list[Finding], Table]:
    """Find codes and kinds; return the findings, and the table as it reads if they are true.

    Codes that are only possible are taken out of that table too: a 99999 that turns out
    to be a top code must not spoil the ranges and the identities that are looked for next. Zero
    stays: it does no harm there, and a sum may need it.
    """
    known = frozenset(_clear_negative_codes(table))
    findings: list[Finding] = []
    schema: dict[str, ColumnSchema] = {}
    for name in table:
        found = _look_at(table[name], name, known)
        findings += found
        kind = next((f.suggestion["kind"] for f in found if "kind" in f.suggestion), None)
        form = next((f.suggestion["format"] for f in found if "format" in f.suggestion), "")
        # A word for "no answer" may be an answer; only among dates and numbers it cannot be one.
        codes = [f for f in found if kind or f.code == "missing-code"]
        missing = [code for f in codes for code in f.suggestion.get("missing", ()) if code != 0]
        if kind or missing:
            schema[name] = ColumnSchema(
                kind=Kind(kind) if kind else None,
                missing=dict.fromkeys(missing, ""),
                date_format=form,
            )
    return findings, _apply(table, schema)


def _apply(table: Table, schema: Mapping[str, ColumnSchema]) -> Table:
    """Apply what can be applied; the rest stays as it was read."""
    for name, entry in schema.items():
        try:
            table = Schema({name: entry}).apply(table)
        except CaveatError:
            continue
    return table


def _clear_negative_codes(table: Table) -> list[float]:
    codes = []
    for name in table:
        column = table[name]
        if column.kind in (Kind.NUMERIC, Kind.INTEGER):
            found = find_codes(column.numbers, column.counts[: len(column.levels)])
            values = [float(column.numbers[c.position]) for c in found if c.strength == "likely"]
            codes += [value for value in values if value < 0]
    return codes


def _look_at(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    if not len(column.levels):
        if not len(column):
            return []
        return [
            Finding("all-missing", (name,), "every cell is missing.", rows=len(column), share=1)
        ]
    local = _local_form(column, name)
    if column.kind in (Kind.NUMERIC, Kind.INTEGER):
        return [*local, *_numeric(column, name, known)]
    if local:
        return local
    if column.levels.dtype != object or column.kind is Kind.ORDERED:
        return []
    return _text(column, name, known)


def _local_form(column: Column, name: str) -> list[Finding]:
    """Report numbers and dates in a local format."""
    style = column.storage.removeprefix("text:")
    rows = int((~column.is_missing).sum())
    form = number_form(column.storage)
    if form is not None:
        mark = repr(form.thousands) if form.thousands in (".", ",", "'") else "a blank"
        sign = "a decimal comma" if form.decimal == "," else "a decimal point"
        between = f"{mark} between thousands and " if form.thousands else ""
        message = f"numbers with {between}{sign}."
    elif style in LOCAL_DATES:
        message = f"dates in the format {style}."
    else:
        return []
    return [Finding("local-form", (name,), message, rows=rows, share=rows / len(column))]


def _numeric(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    if column.kind is Kind.INTEGER and len(column.levels) > 1 and says_sampling_unit(name):
        message = (
            f"{len(column.levels):,} clusters or strata of the sample, coded as whole numbers."
        )
        kind = {"kind": str(Kind.CATEGORY)}
        rows = int((~column.is_missing).sum())
        share = rows / len(column)
        return [Finding("sampling-unit", (name,), message, Strength.LIKELY, rows, share, kind)]
    dates = read_dates(column.levels) if column.kind is Kind.INTEGER else None
    if dates is not None:
        message = "all whole numbers are dates of the form year, month, day (%Y%m%d)."
        return [_date_finding(column, name, message, dates.formats)]
    counts = column.counts[: len(column.levels)]
    return _code_findings(column, name, find_codes(column.numbers, counts, known))


def _code_findings(column: Column, name: str, candidates: Sequence[CodeCandidate]) -> list[Finding]:
    found = []
    for candidate in candidates:
        rows = int(column.counts[candidate.position])
        share = rows / len(column)
        message = (
            f"{shown_level(column, candidate.position)} occurs in {plural(rows, 'row')} "
            f"({percent(share)}); {candidate.why}."
        )
        found.append(
            Finding(
                "missing-code",
                (name,),
                message,
                candidate.strength,
                rows,
                share,
                {"missing": [plain(column, candidate.position)]},
                _code_action(column, candidate),
            )
        )
    return found


def _code_action(column: Column, candidate: CodeCandidate) -> str:
    if candidate.strength is Strength.LIKELY:
        return ""
    if candidate.position > 0 and candidate.position >= len(column.levels) - 5:
        return "Declare the code as missing; keep it if it is a top code or a level."
    return "Declare the code as missing; keep it if it is an ordinary value."


def _text(column: Column, name: str, known: frozenset[float]) -> list[Finding]:
    found = [*_signs(column, name), *_spellings(column, name)]
    reading = read_numbers(column.levels)
    if reading is not None and reading.style != "padded":
        return _numbers_as_text(column, name, reading, found, known)
    dates = read_dates(column.levels)
    if dates is not None:
        if len(dates.formats) == 1:
            message = f"every value is a {dates.kind} in the format {dates.formats[0]}."
        else:
            formats = " and in the format ".join(dates.formats)
            message = (
                f"every value is a {dates.kind} in the format {formats}: day or month may come "
                "first."
            )
        found.append(_date_finding(column, name, message, dates.formats, dates.kind))
    elif reading is None:
        found += _numbers_among_words(column, name)
    return found


def _numbers_among_words(column: Column, name: str) -> list[Finding]:
    """Find a 999 or a -8 among words."""
    positions = [i for i, level in enumerate(column.levels.tolist()) if _NUMBER.fullmatch(level)]
    words = len(column.levels) - len(positions)
    if not positions or words < 2 or len(positions) > min(MOST_CODES, words):
        return []
    values = [float(column.levels[i]) for i in positions]
    if not all(is_code_like(abs(v)) and (v < 0 or abs(v) >= 77) for v in values):
        return []
    why = "; all other levels are words"
    return [_token_finding("missing-code", column, name, positions, Strength.POSSIBLE, why)]


def _spellings(column: Column, name: str) -> list[Finding]:
    """Find levels that differ only in case or blanks."""
    if column.kind not in (Kind.CATEGORY, Kind.ORDERED):
        return []
    alike: dict[str, list[int]] = {}
    for i, level in enumerate(column.levels.tolist()):
        alike.setdefault(" ".join(level.split()).casefold(), []).append(i)
    found = []
    for positions in alike.values():
        if len(positions) == 1:
            continue
        # The commonest spelling is what is meant, of those without blanks around them.
        padded = {i: str(column.levels[i]) != str(column.levels[i]).strip() for i in positions}
        best = max(positions, key=lambda i: (not padded[i], column.counts[i]))
        rows = int(column.counts[positions].sum())
        recode = {column.levels[i]: column.levels[best] for i in positions if i != best}
        what = listed([shown_level(column, i, quoted=True) for i in positions])
        texts = {i: marked(toml_text(column.levels[i]), int(column.counts[i])) for i in positions}
        line = ", ".join(f"{texts[i]} = {texts[best]}" for i in positions if i != best)
        message = (
            f"{what} differ only in case or blanks ({plural(rows, 'row')}): recode = {{ {line} }}."
        )
        share = rows / len(column)
        found.append(
            Finding("spellings", (name,), message, Strength.LIKELY, rows, share, {"recode": recode})
        )
    return found


def toml_text(text: str) -> str:
    """Return a text as TOML has it."""
    return json.dumps(text, ensure_ascii=False)


def _date_finding(
    column: Column, name: str, message: str, formats: Sequence[str], kind: str = "date"
) -> Finding:
    certain = len(formats) == 1
    suggestion = {"kind": kind, "format": formats[0]} if certain else {"formats": list(formats)}
    strength = Strength.LIKELY if certain else Strength.POSSIBLE
    rows = int((~column.is_missing).sum())
    return Finding("date-as-text", (name,), message, strength, rows, rows / len(column), suggestion)


def _signs(column: Column, name: str) -> list[Finding]:
    """Find levels that say "no answer", as a sign or in words."""
    found = []
    for code, family, strength in (
        ("missing-code", MISSING_SIGNS, Strength.LIKELY),
        ("missing-word", MISSING_WORDS, Strength.POSSIBLE),
    ):
        positions = [
            i
            for i, level in enumerate(column.levels.tolist())
            if len(level) < LONGEST_SIGN and plain_words(level) in family
        ]
        if positions and len(positions) < len(column.levels):
            found.append(_token_finding(code, column, name, positions, strength))
    return found


def _token_finding(
    code: str,
    column: Column,
    name: str,
    positions: Sequence[int],
    strength: Strength,
    why: str = "",
) -> Finding:
    rows = int(column.counts[list(positions)].sum())
    tokens = [column.levels[i] for i in positions]
    what = listed([shown_level(column, i, quoted=True) for i in positions])
    occur = "occurs" if len(tokens) == 1 else "occur"
    share = rows / len(column)
    message = f"{what} {occur} in {plural(rows, 'row')} ({percent(share)}){why}."
    return Finding(code, (name,), message, strength, rows, share, {"missing": tokens})


def _numbers_as_text(
    column: Column, name: str, reading: NumberReading, signs: list[Finding], known: frozenset[float]
) -> list[Finding]:
    """Report the numbers, and whatever else stands between them as codes for missing."""
    found = [f for f in signs if f.code == "missing-code"]
    named = {token for f in found for token in f.suggestion["missing"]}
    others = [i for i in reading.tokens if column.levels[i] not in named]
    if any(any(ch.isdigit() for ch in column.levels[i]) for i in others):
        return signs  # "3+" and "5 or more" are numbers of another sort: the column is a factor
    for i in others:
        short = len(column.levels[i].strip()) <= SHORT_TOKEN
        strength = Strength.LIKELY if short else Strength.POSSIBLE
        why = "; all other levels are numbers"
        found.append(_token_finding("missing-code", column, name, [i], strength, why))
    is_number = ~np.isnan(reading.numbers)
    order = np.flatnonzero(is_number)[np.argsort(reading.numbers[is_number], kind="stable")]
    numbers, counts = reading.numbers[order], column.counts[: len(column.levels)][order]
    if len(np.unique(numbers)) == len(numbers):
        codes = [
            CodeCandidate(int(order[c.position]), c.strength, c.why)
            for c in find_codes(numbers, counts, known)
        ]
        found += _code_findings(column, name, codes)
    few = int(is_number.sum()) <= LONG_FACTOR
    if few and reading.tokens and not reading.style:
        return found  # codes of groups and a letter for missing: nothing to convert
    return [*found, _number_finding(column, name, reading, int(is_number.sum()))]


def _number_finding(column: Column, name: str, reading: NumberReading, n: int) -> Finding:
    if reading.style:
        comma = reading.style == "decimal comma"
        form = "a decimal comma" if comma else "commas between thousands"
        message = f"{n} of {len(column.levels)} levels are numbers written with {form}."
        action = (
            'Read the file with a decimal comma: --decimal , or decimal = "," in [data].'
            if comma
            else "Remove the commas before reading."
        )
        return Finding("number-as-text", (name,), message, Strength.LIKELY, action=action)
    many = n > LONG_FACTOR
    numbers = reading.numbers[~np.isnan(reading.numbers)]
    whole = bool(np.all(np.rint(numbers) == numbers))
    suggestion: dict[str, Any] = {"kind": "integer" if whole else "numeric"} if many else {}
    levels = (
        "all levels are" if n == len(column.levels) else f"{n} of {len(column.levels)} levels are"
    )
    message = f"{levels} numbers{'' if many else ', but so few that they may be codes'}."
    strength = Strength.LIKELY if many else Strength.POSSIBLE
    rows = int(column.counts[: len(column.levels)][~np.isnan(reading.numbers)].sum())
    return Finding(
        "number-as-text", (name,), message, strength, rows, rows / len(column), suggestion
    )
