"""What ``caveat draft`` and ``caveat benchmark`` take from a specification."""

from __future__ import annotations

import csv
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.generators.ours import OUTPUTS
from caveat.spec._kinds import (
    Choice,
    Either,
    Flag,
    Group,
    Key,
    Many,
    Named,
    Number,
    Plain,
    Text,
    Whole,
    dotted,
)
from caveat.spec.document import Document
from caveat.spec.spec import ReleaseSpec, refuse_fits
from caveat.synthesis.drafts import (
    Category,
    Correlations,
    Derived,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
)
from caveat.synthesis.drafts.columns import FAMILIES, ColumnPlan
from caveat.synthesis.margins.plan import MARGINS

FILLED = Text(filled=True)
WEIGHT = Key(Number(0, above=True), "How much it counts against other targets.", 1.0)
MOST_LINES = 20_000  # of a file of published numbers
NUMBERS = ("mean", "sd", "total", "least", "most", "family", "whole", "decimals")

COLUMN = Group(
    {
        "shares": Key(
            Either((FILLED, Named(Number(0), "levels with their shares"))),
            "Levels with their shares, or a CSV file with both; the column is a category.",
        ),
        "mean": Key(Number(), "The mean."),
        "sd": Key(Number(), "The standard deviation, with n - 1 below."),
        "total": Key(Number(), "The sum over all rows, instead of the mean."),
        "least": Key(Number(), "The smallest number that occurs."),
        "most": Key(Number(), "The largest."),
        "family": Key(
            Choice(FAMILIES, "family"), "The shape to begin with.", otherwise="by the bounds"
        ),
        "whole": Key(Flag(), "Whether only whole numbers occur.", default=False),
        "decimals": Key(Whole(0), "Digits behind the point.", otherwise="what targets need"),
        "formula": Key(
            FILLED, "How it follows from other columns in every row: a sum, or another column."
        ),
        "weight": WEIGHT,
    }
)
TABLE = Group(
    {
        "by": Key(Many(FILLED, "columns", least=1), "Its columns.", required=True),
        "cells": Key(
            Many(Many(Plain(), "levels and a number", least=2), "cells", least=1),
            "Each cell as its levels and last its count or share.",
        ),
        "file": Key(FILLED, "Instead, a CSV file with these columns and last the number."),
        "weight": WEIGHT,
    }
)
CORRELATION = Group(
    {
        "columns": Key(Many(FILLED, "columns", least=2), "The columns."),
        "matrix": Key(Many(Many(Number(), "numbers"), "lines", least=2), "Their correlations."),
        "file": Key(
            FILLED, "Instead, a CSV file: names in the first line and column; empty is unknown."
        ),
        "repair": Key(
            Flag(), "Whether correlations that no data have become the nearest ones.", default=False
        ),
        "weight": WEIGHT,
    }
)
MODEL = Group(
    {
        "formula": Key(FILLED, "As in: logistic: cars ~ age + sex.", required=True),
        "coefficients": Key(Named(Number(), "terms with their coefficients"), "By term."),
        "errors": Key(Named(Number(), "terms with their standard errors"), "By term."),
        "file": Key(FILLED, "Instead, a CSV file: term, coefficient and perhaps standard error."),
        "reference": Key(Named(Plain(), "columns with their reference level"), "Else the first."),
        "weight": WEIGHT,
    }
)
FILE = Group(
    {
        "rows": Key(Whole(2), "Number of rows.", otherwise="the total of the first table"),
        "seed": Key(Whole(0), "Root of all randomness.", 1),
        "columns": Key(Named(COLUMN, "columns"), "What is known of each.", required=True),
        "table": Key(Many(TABLE, "tables"), "Published tables of counts or shares."),
        "correlation": Key(Many(CORRELATION, "correlations"), "Published correlations."),
        "model": Key(Many(MODEL, "models"), "Published regressions."),
    }
)


@dataclass(frozen=True)
class DraftSpec:
    """A draft as its specification describes it.

    Parameters
    ----------
    plan
        The columns and the published numbers.
    seed
        Root of all randomness.
    files
        The files of published numbers that were read.
    document
        The specification itself.
    """

    plan: DraftPlan
    seed: int
    files: tuple[Path, ...]
    document: Document

    @classmethod
    def from_toml(cls, path: str | Path, rows: int | None = None) -> DraftSpec:
        """Read a specification and the files that it names; what is wrong is named with its line.

        Parameters
        ----------
        path
            The specification.
        rows
            Number of rows, instead of its own.
        """
        document = Document.read(path)
        document.refuse(FILE.problems(document.content, ()))
        read = _Reading(document)
        content = document.content
        tables = tuple(read.table(i, one) for i, one in enumerate(content.get("table", ())))
        related = tuple(
            read.correlations(i, one) for i, one in enumerate(content.get("correlation", ()))
        )
        models = tuple(read.model(i, one) for i, one in enumerate(content.get("model", ())))
        counts = [table.total for table in tables if table.total > 2]
        if rows is None:
            rows = content.get("rows", round(counts[0]) if counts else None)
        columns = {name: read.column(name, one, rows) for name, one in content["columns"].items()}
        with located(document):
            plan = DraftPlan(columns, tables, related, models, rows)
        return cls(plan, content.get("seed", 1), tuple(read.files), document)


@contextmanager
def located(document: Document, *before: str | int) -> Iterator[None]:
    """Say of errors on which line of the specification their entry stands."""
    try:
        yield
    except CaveatError as error:
        entry = (*before, *error.entry)
        name = dotted(entry)
        document.fail(
            entry, f"{name}: {error.what}" if name else error.what, error.do, code=error.code
        )


def with_plan(name: str, settings: Mapping[str, Any], folder: Path) -> tuple[str, dict[str, Any]]:
    """Return name and settings of a generator; ``outputs:draft.toml`` with what its file says."""
    sort, _, file = name.partition(":")
    if sort != OUTPUTS or not file or settings:
        return name, dict(settings)
    return OUTPUTS, {"plan": DraftSpec.from_toml(folder / file).plan}


def draft_files(name: str, folder: Path) -> tuple[Path, ...]:
    """Return the files that a generator is made from: none but for ``outputs:draft.toml``."""
    sort, _, file = name.partition(":")
    if sort != OUTPUTS or not file:
        return ()
    return (folder / file, *DraftSpec.from_toml(folder / file).files)


def attackers_of(plan: DraftPlan, known: Sequence[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return whom a custodian should fear: keys and target of each model, or of each category.

    Only categories and whole numbers can be looked up; columns that are not `known` cannot.
    """
    discrete = [
        name
        for name, one in plan.columns.items()
        if name in known and (isinstance(one, Category) or (isinstance(one, Numeric) and one.whole))
    ]
    found = []
    for equations in plan.equations:
        keys = tuple(n for n in equations.formula.columns[1:] if n in discrete)
        if equations.response in discrete and keys:
            found.append((keys, str(equations.response)))
    if found:
        return found
    targets = [name for name in discrete if isinstance(plan.columns[name], Category)]
    everyone = [(tuple(n for n in discrete if n != target), target) for target in targets]
    return [(keys, target) for keys, target in everyone if keys]


class _Reading:
    """One reading of a specification, with the files that it has met."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.files: list[Path] = []

    def column(self, name: str, given: Mapping[str, Any], rows: int | None) -> ColumnPlan:
        entry = ("columns", name)
        kinds = [k for k in ("shares", "formula") if k in given]
        numbers = [k for k in NUMBERS if k in given]
        allowed = {"shares": (), "formula": ("mean", "sd", "total")}
        wrong = [k for kind in kinds for k in numbers if k not in allowed[kind]]
        if len(kinds) == 2 or wrong:
            what = f"{name} has {kinds[0]} and {(wrong or kinds[1:])[0]}"
            self.document.fail(
                (*entry, (wrong or kinds[1:])[0]),
                what,
                "a column is one thing",
                code="spec.entry.conflict",
            )
        told = {k: given[k] for k in (*numbers, "weight") if k in given}
        if "total" in told:
            if rows is None or "mean" in told:
                self.document.fail(
                    (*entry, "total"), f"{name} has a total " + ("and a mean" if rows else
                    "of nobody knows how many rows"), "drop one" if rows else "add rows = 1000",
                    code="spec.entry.conflict" if rows else "spec.entry.absent",
                )  # fmt: skip
            told["mean"] = told.pop("total") / rows
        shares = self._shares((*entry, "shares"), given.get("shares", {}))
        with located(self.document, *entry):
            if "formula" in given:
                try:
                    formula = Expression(given["formula"])
                except CaveatError as error:
                    error.entry = ("formula",)
                    raise
                return Derived(formula, **told)
            if numbers:
                made = Numeric(**told, exact="total" in given)
                made.check_total(given.get("total", 0))
                return made
            levels = tuple(shares.values()) if "shares" in given else None
            return Category(tuple(shares), levels, given.get("weight", 1.0))

    def _shares(self, entry: Sequence[str | int], given: Any) -> dict[str, float]:
        if not isinstance(given, str):
            return dict(given)
        _, lines = self._lines(entry, given, least=2)
        found: dict[tuple[str, ...], float] = {}
        for i, line in lines:
            self._enter(found, (line[0],), self._number(entry, given, i, line[1]), entry)
        return {level: share for (level,), share in found.items()}

    def table(self, i: int, given: Mapping[str, Any]) -> PublishedTable:
        entry, by = ("table", i), tuple(given["by"])
        self._one_of(entry, given, "cells", "file")
        cells: dict[tuple[str, ...], float] = {}
        if "file" in given:
            where = (*entry, "file")
            header, lines = self._lines(where, given["file"], least=len(by) + 1)
            for name in by:
                if name not in header[:-1]:
                    what = f"{dotted(where)}: {given['file']} has no column {name!r}"
                    self.document.fail(where, what, "its columns are those of the table, then "
                                       "the number", code="data.column.unknown")  # fmt: skip
            for line, parts in lines:
                cell = tuple(parts[header.index(name)] for name in by)
                self._enter(cells, cell, self._number(where, given["file"], line, parts[-1]), where)
        for j, one in enumerate(given.get("cells", ())):
            place = (*entry, "cells", j)
            number = one[-1]
            is_number = isinstance(number, int | float) and not isinstance(number, bool)
            if len(one) != len(by) + 1 or not is_number:
                what = f"table.cells: a cell is {len(by)} levels and a number"
                self.document.fail(place, what, "write it so", code="draft.cell.malformed")
            self._enter(cells, tuple(map(str, one[:-1])), float(number), place)
        return PublishedTable(by, cells, given.get("weight", 1.0))

    def _enter(
        self, cells: dict[tuple[str, ...], float], cell: tuple[str, ...], number: float,
        entry: Sequence[str | int],
    ) -> None:  # fmt: skip
        if not all(cell):
            what = f"{dotted(tuple(entry))}: a level has no name"
            self.document.fail(tuple(entry), what, "give it one", code="draft.level.empty")
        if cell in cells:
            what = f"{dotted(tuple(entry))}: {', '.join(cell)} is there twice"
            self.document.fail(tuple(entry), what, "drop one", code="draft.cell.duplicate")
        cells[cell] = number

    def correlations(self, i: int, given: Mapping[str, Any]) -> Correlations:
        entry = ("correlation", i)
        self._one_of(entry, given, "matrix", "file")
        more = {k: given[k] for k in ("repair", "weight") if k in given}
        if "file" in given:
            where = (*entry, "file")
            header, lines = self._lines(where, given["file"], least=3)
            names = tuple(header[1:])
            if [line[0] for _, line in lines] != list(names):
                what = f"{dotted(where)}: the lines of {given['file']} are not its columns"
                self.document.fail(
                    where, what, "name them alike, in the same order", code="draft.matrix.mismatch"
                )
            matrix = [[self._number(where, given["file"], n, cell, empty=True) for cell in line[1:]]
                      for n, line in lines]  # fmt: skip
            return Correlations(names, np.array(matrix), **more)
        if "columns" not in given:
            self.document.fail(
                entry,
                "correlation.columns is missing",
                "name the columns",
                code="spec.entry.absent",
            )
        sizes = {len(line) for line in given["matrix"]}
        if sizes != {len(given["matrix"])}:
            what = "correlation.matrix: its lines differ in length, or are not as many as long"
            self.document.fail(
                (*entry, "matrix"), what, "give all of the matrix", code="draft.matrix.malformed"
            )
        whole = np.array(given["matrix"], np.float64)
        return Correlations(tuple(given["columns"]), whole, **more)

    def model(self, i: int, given: Mapping[str, Any]) -> Model:
        entry = ("model", i)
        self._one_of(entry, given, "coefficients", "file")
        coefficients = dict(given.get("coefficients", {}))
        errors = dict(given.get("errors", {}))
        if "file" in given:
            where, name = (*entry, "file"), given["file"]
            _, lines = self._lines(where, name, least=2)
            for n, line in lines:
                for into, cell in zip((coefficients, errors), line[1:3], strict=False):
                    if cell.strip():
                        into[line[0]] = self._number(where, name, n, cell)
        reference = {name: str(level) for name, level in given.get("reference", {}).items()}
        weight = given.get("weight", 1.0)
        return Model(given["formula"], coefficients, errors, reference, weight)

    def _one_of(self, entry: Sequence[str | int], given: Mapping[str, Any], *keys: str) -> None:
        if sum(key in given for key in keys) != 1:
            kind = str(entry[0])
            what = f"{kind} needs {' or '.join(keys)}, one of them"
            several = any(key in given for key in keys)
            code = "spec.entry.conflict" if several else "spec.entry.absent"
            self.document.fail(tuple(entry), what, f"add {keys[0]} = …, or drop one", code=code)

    def _lines(
        self, entry: Sequence[str | int], name: str, *, least: int
    ) -> tuple[list[str], list[tuple[int, list[str]]]]:
        """Read a file of published numbers: its first line, and the others with their numbers."""
        path = self.document.path.parent / name
        self.files.append(path)
        entry = tuple(entry)
        try:
            with path.open(encoding="utf-8-sig", newline="") as file:
                first = file.readline()
                file.seek(0)
                delimiter = ";" if first.count(";") > first.count(",") else ","
                found = []
                for n, line in enumerate(csv.reader(file, delimiter=delimiter), 1):
                    if n > MOST_LINES:
                        self.document.fail(
                            entry, f"{dotted(entry)}: {name} has more than {MOST_LINES:,} lines",
                            "published numbers are few: is this a file of microdata?",
                            code="draft.file.too-large",
                        )  # fmt: skip
                    if any(cell.strip() for cell in line):
                        found.append((n, [cell.strip() for cell in line]))
        except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
            reason = getattr(error, "strerror", None) or "no CSV in UTF-8"
            self.document.fail(
                entry,
                f"{dotted(entry)}: {name} cannot be read ({reason})",
                "check the name",
                code="draft.file.unreadable",
            )
        for n, line in found:
            if len(line) < least or len(line) != len(found[0][1]):
                what = f"{dotted(entry)}: {name}, line {n}: it has {len(line)} cells"
                self.document.fail(
                    entry, what, "give every line as many as the first", code="draft.file.malformed"
                )
        if len(found) < 2:
            self.document.fail(
                entry,
                f"{dotted(entry)}: {name} holds no numbers",
                "fill it",
                code="draft.file.empty",
            )
        return found[0][1], found[1:]

    def _number(
        self, entry: Sequence[str | int], name: str, line: int, cell: str, *, empty: bool = False
    ) -> float:
        if empty and not cell:
            return float("nan")
        try:
            value = float(cell)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            entry = tuple(entry)
            what = f"{dotted(entry)}: {name}, line {line}: here a number is expected"
            self.document.fail(entry, what, "write it with a point", code="draft.value.type")
        return value


# -------------------------------------------------------------------------------------------------
# What ``caveat benchmark`` takes from a specification: generators, and how they are compared.


USUAL = "S_pMSE two-way"


@dataclass(frozen=True)
class GeneratorSpec:
    """One ``[[generator]]``.

    Parameters
    ----------
    name
        As :func:`caveat.generators.generator_of` knows it.
    label
        What the table calls it.
    settings
        Its settings.
    """

    name: str
    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> GeneratorSpec:
        """Return what an entry says; without a label its name and settings are one."""
        settings = entry.get("settings", {})
        words = (f"{key} {value}" for key, value in settings.items())
        label = entry.get("label", ", ".join([entry["name"], *words]))
        return cls(entry["name"], label, settings)

    @property
    def command(self) -> str | None:
        """The command line that its settings would start; None if they name none."""
        if "command" not in self.settings:
            return None
        words = self.settings["command"]
        return shlex.join(map(str, words)) if isinstance(words, list | tuple) else str(words)

    @property
    def slug(self) -> str:
        """The label as the name of a folder."""
        return re.sub(r"[^a-z0-9.]+", "-", self.label.lower()).strip("-.") or "generator"


@dataclass(frozen=True)
class BenchmarkSpec:
    """Generators, the attackers and analysts that judge them, and the means.

    Parameters
    ----------
    release
        Data, control, copies, scenarios, utility and where to write: as for ``caveat run``.
    generators
        What is compared.
    seeds, minutes, gigabytes
        As the ``[benchmark]`` part has them.
    risk, utility
        The axes of the picture; None where they are chosen from what was measured.
    """

    release: ReleaseSpec
    generators: tuple[GeneratorSpec, ...]
    seeds: int = 2
    minutes: float = 60
    gigabytes: float = 8
    risk: str | None = None
    utility: str = USUAL

    @classmethod
    def from_toml(cls, path: str | Path) -> BenchmarkSpec:
        """Read a specification; the data need not be there yet."""
        path = Path(path)
        release = ReleaseSpec.from_toml(path)
        document = release.document
        own = [i for i, entry in enumerate(document.content.get("generator", ()))
               if entry["name"] == MARGINS]  # fmt: skip
        refuse_fits(document, "benchmark", *(("generator", i, "settings") for i in own))
        for section in ("groups", "tables"):
            if section in document.content:
                document.fail(
                    (section,),
                    f"{section}: a benchmark compares generators row by row, on one table",
                    "run the release itself (caveat run), or name one table and leave its key out",
                    code="spec.entry.unsupported",
                )
        if release.protect:
            document.fail(
                ("protect", 0),
                "protect: a benchmark compares generators as they are",
                "remove it, or give a generator of ours settings with protect",
                code="spec.entry.unsupported",
            )
        written = document.content.get("output", {})
        output = replace(
            release.output,
            folder=path.parent / written.get("folder", "benchmark"),
            reports=tuple(written.get("reports", ())),
        )
        given = document.content.get("benchmark", {})
        return cls(replace(release, output=output), _generators(document), **given)


def commands_of(generators: Iterable[GeneratorSpec]) -> tuple[str, ...]:
    """Return the command lines that generators would start, as their settings name them."""
    return tuple(one.command for one in generators if one.command is not None)


def refuse_commands(document: Document, label: str | None = None) -> None:
    """Refuse generators whose settings name a command: a document alone starts nothing.

    Parameters
    ----------
    document
        The specification.
    label
        The generator that is used; all of them without it.
    """
    for i, entry in enumerate(document.content.get("generator", ())):
        one = GeneratorSpec.of(entry)
        if one.command is not None and label in (None, one.label):
            document.fail(
                ("generator", i, "settings", "command"),
                f"this would start a command with the confidential data: {one.command}",
                "read it, and add --allow-command (allow_command=True) if you trust it; or use a "
                "generator that you have installed (caveat generator add)",
                code="generator.command.refused",
            )


def _generators(document: Document) -> tuple[GeneratorSpec, ...]:
    entries = document.content.get("generator", ())
    if not entries:
        document.fail(
            (),
            "no generator is named",
            'add [[generator]] and below it name = "guarded"',
            code="spec.entry.absent",
        )
    found: list[GeneratorSpec] = []
    for i, entry in enumerate(entries):
        made = GeneratorSpec.of(entry)
        if made.slug in [other.slug for other in found]:
            document.fail(
                ("generator", i, "name"),
                f"generator: two are called {made.label!r}",
                "give each a label of its own",
                code="spec.entry.duplicate",
            )
        found.append(made)
    return tuple(found)
