"""What the columns can be, by a code book, and blocks about columns in a starter specification."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.findings.profile import Finding, Profile, Strength, percent
from caveat.spec.document import comment, toml_key, toml_value
from caveat.synthesis.coding import declared_grid
from caveat.synthesis.margins.promise import words_of
from caveat.table import Column, ColumnSchema, Kind, Schema, Table
from caveat.table.files import read_into, read_value_labels
from caveat.table.source import is_text

VALUE, RANGE = "value", ("low", "high", "step")
FIELDS = ("column", VALUE, *RANGE, "missing", "label")
FORM = "its columns are column and value (missing, label), or column, low, high and step"
FLAGS = {"": False, "no": False, "false": False, "0": False, "yes": True, "true": True, "1": True}
WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
TRUTH = {"true": True, "false": False}
EXACT = 2**53  # whole numbers up to here are what they seem to be
LONG = 88  # characters of a list that is written in one line


@dataclass(frozen=True)
class Domain:
    """What a column can be.

    Parameters
    ----------
    levels
        The values of a class: texts, or as the data store them.
    range
        Lowest value, highest value and step of a number.
    missing
        The codes that mean missing, with what they mean.
    kind
        How the column of a text file has to be read; empty if the file says so itself.
    """

    levels: tuple[Any, ...] = ()
    range: tuple[float, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)
    kind: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it says what the column can be, and not only what is missing."""
        return bool(self.levels or self.range)


@dataclass(frozen=True)
class Held:
    """A code book held against a table.

    Parameters
    ----------
    domains
        The columns of the table that the code book has.
    unfit
        Those with values that the code book does not have.
    unknown
        Columns of the code book that the table does not have.
    """

    domains: Mapping[str, Domain]
    unfit: tuple[str, ...]
    unknown: tuple[str, ...]


@dataclass(frozen=True)
class Codebook:
    """What a code book says, by column; values and codes are text."""

    columns: Mapping[str, Domain]

    def schema(self, file: str | Path) -> Schema:
        """Return how a file with such columns is read: a column with levels is a class."""
        kind = Kind.CATEGORY if is_text(file) else None
        return Schema(
            {
                name: ColumnSchema(kind if domain.levels else None, domain.missing)
                for name, domain in self.columns.items()
            }
        )

    def held_against(self, table: Table, file: str | Path) -> Held:
        """Return what it says about the columns of a table.

        Parameters
        ----------
        table
            The table, read with :meth:`schema`.
        file
            Its file. Cells of a text file have no type: their levels are whole numbers where all
            codes in the code book are, and otherwise text. Other files say what a column holds.
        """
        as_text = is_text(file)
        domains = {
            name: _stored(domain, table[name], as_text)
            for name, domain in self.columns.items()
            if name in table
        }
        unfit = (name for name, domain in domains.items() if not _fits(domain, table[name], name))
        unknown = (name for name in self.columns if name not in table)
        return Held(domains, tuple(unfit), tuple(unknown))


def _stored(domain: Domain, column: Column, as_text: bool) -> Domain:
    """Return a domain whose levels have the type that the file has for them."""
    if not domain.levels:
        return domain
    levels, stored = domain.levels, column.levels.dtype.kind
    if as_text:
        # Whole numbers are read as such, everything else as it stands: the code book decides.
        domain = replace(domain, kind=str(Kind.CATEGORY))
        whole = all(map(WHOLE.fullmatch, (*levels, *filter(None, domain.missing))))
        stored = "i" if whole else "O"
    if stored in "iuf" and all(map(WHOLE.fullmatch, levels)):
        return replace(domain, levels=tuple(map(int, levels)))
    if stored == "b" and {level.lower() for level in levels} <= set(TRUTH):
        return replace(domain, levels=tuple(TRUTH[level.lower()] for level in levels))
    return domain


def _fits(domain: Domain, column: Column, name: str) -> bool:
    """Whether all values of a column are declared."""
    if domain.range:
        if not column.kind.is_number or column.levels.dtype.kind == "M":
            return not len(column.levels)
        grid, values = declared_grid(domain.range, "", (), name), column.numbers
        within = (values >= grid.low) & (values <= grid.high)
        return bool(within.all() and grid.holds(values).all())
    if not domain.levels:
        return True
    if column.levels.dtype.kind == "M":  # a guarantee reads times so
        return {*words_of(column.levels)} <= {*words_of(np.array(domain.levels, object))}
    held, levels = set(column.levels.tolist()), set(domain.levels)
    return held <= levels or set(map(str, held)) <= set(map(str, levels))


def read_codebook(path: str | Path, *, decimal: str = ".", encoding: str = "utf-8") -> Codebook:
    r"""Read a code book.

    Parameters
    ----------
    path
        A table with one line for each value of a class (``column``, ``value``, and if wanted
        ``missing`` and ``label``), or with one line for each number (``column``, ``low``, ``high``,
        ``step``), or with both sorts of lines. Or an SPSS, Stata or SAS file: its value labels and
        missing codes are taken, and none of its records is read.
    decimal, encoding
        Of a text file.

    Examples
    --------
    >>> import tempfile
    >>> lines = "column,value,low,high,step\nsex,f,,,\nsex,m,,,\nage,,0,120,1\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "codes.csv"
    ...     _ = file.write_text(lines)
    ...     book = read_codebook(file)
    >>> book.columns["sex"].levels, book.columns["age"].range
    (('f', 'm'), (0, 120, 1))
    """
    labels = read_value_labels(path)
    if labels is not None:
        found = {
            name: Domain(tuple(values), missing=missing)
            for name, values, missing in labels
            if values or missing
        }
        if not found:
            what = "the file has no value labels that say what a column can be"
            raise CaveatError(
                what, where=str(path), do=f"give a table: {FORM}", code="spec.codebook.empty"
            )
        return Codebook(found)
    as_text = Schema({name: ColumnSchema(Kind.TEXT) for name in FIELDS})
    table = read_into(None, path, schema=as_text, decimal=decimal, encoding=encoding, partial=True)
    if "column" not in table or not (VALUE in table or all(name in table for name in RANGE)):
        raise CaveatError(
            "this is no code book", where=str(path), do=FORM, code="spec.codebook.malformed"
        )
    if not table.n_rows:
        raise CaveatError(
            "the code book has no lines", where=str(path), do=FORM, code="spec.codebook.empty"
        )
    return Codebook(_columns(table, str(path), decimal))


@dataclass
class _Draft:
    """What the lines read so far say about a column; levels in their order."""

    levels: dict[str, None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    range: tuple[float, ...] = ()


def _columns(table: Table, where: str, decimal: str) -> dict[str, Domain]:
    cells = [table[name].values if name in table else [None] * table.n_rows for name in FIELDS]
    found: dict[str, _Draft] = {}
    for row, texts in enumerate(zip(*cells, strict=True), 1):
        line = {f: "" if t is None else str(t) for f, t in zip(FIELDS, texts, strict=True)}
        name = line["column"]
        try:
            _add(found.setdefault(name, _Draft()), line, decimal)
        except CaveatError as error:
            raise error.replaced(where=where, column=name or None, row=row) from None
    return {name: Domain(tuple(d.levels), d.range, d.missing) for name, d in found.items()}


def _add(draft: _Draft, line: Mapping[str, str], decimal: str) -> None:
    """Add what a line says, or say what is wrong with it."""
    value, limits = line[VALUE], [line[name].strip() for name in RANGE]
    missing = FLAGS.get(line["missing"].strip().lower())
    if not line["column"]:
        raise CaveatError(
            "the line names no column",
            do="write which one it is about",
            code="spec.codebook.malformed",
        )
    if missing is None:
        raise CaveatError(
            "missing is neither yes nor no",
            do="write yes, no or nothing",
            code="spec.codebook.malformed",
        )
    if any(limits):
        if value or missing:
            what = "the line has a range, and a value or a missing code too"
            raise CaveatError(what, do="give each a line of its own", code="spec.codebook.conflict")
        if draft.range:
            raise CaveatError(
                "the column has two ranges", do="keep one of them", code="spec.codebook.duplicate"
            )
        draft.range = _range(limits, decimal, line["column"])
    elif not value and not missing:
        raise CaveatError(
            "the line has no value and no range",
            do="give one, or take it out",
            code="spec.codebook.malformed",
        )
    elif value in draft.levels or value in draft.missing:
        raise CaveatError(
            "the value is listed twice",
            do="take one of the lines out",
            code="spec.codebook.duplicate",
        )
    elif not missing:
        draft.levels[value] = None
    else:  # without a value it declares the empty cell
        draft.missing[value] = line["label"]
    if draft.range and draft.levels:
        raise CaveatError(
            "the column has values and a range",
            do="keep one of them; codes for missing beside a range have missing = yes",
            code="spec.codebook.conflict",
        )


def _range(limits: list[str], decimal: str, name: str) -> tuple[float, ...]:
    try:
        numbers = [float(text.replace(decimal, ".")) for text in limits]
    except ValueError:
        numbers = []
    grid = declared_grid(numbers, "", (), name)
    limits_of = (grid.low, grid.high, grid.step)
    return tuple(int(v) if v.is_integer() and abs(v) < EXACT else v for v in limits_of)


def declared_in(synthesis: Mapping[str, Any]) -> set[str]:
    """Return the columns of which a ``[synthesis]`` section says what they can be."""
    given = synthesis.get("columns", {})
    return {name for name, entry in given.items() if {"levels", "range"} & set(entry)}


def missing_line(domain: Domain) -> str:
    """Return the entry for codes that mean missing."""
    if not any(domain.missing.values()):
        codes = [int(code) if WHOLE.fullmatch(code) else code for code in domain.missing]
        return f"missing = {toml_value(codes)}"
    inside = (f"{toml_value(code)} = {toml_value(says)}" for code, says in domain.missing.items())
    return f"missing = {{ {', '.join(inside)} }}"


def domain_lines(domain: Domain) -> Iterator[str]:
    """Return the entry that says what a column can be."""
    if domain.range:
        yield f"range = {toml_value(domain.range)}"
        return
    line = f"levels = {toml_value(domain.levels)}"
    if len(line) <= LONG:
        yield line
        return
    yield "levels = ["
    yield from (f"  {toml_value(level)}," for level in domain.levels)
    yield "]"


# -------------------------------------------------------------------------------------------------
# Blocks about single columns in a starter specification: missing codes, kinds, formats.


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
