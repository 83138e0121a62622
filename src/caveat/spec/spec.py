"""The release specification: one file that says what is released, how, and what must hold.

:meth:`ReleaseSpec.from_toml` reads and checks the file by itself, :meth:`ReleaseSpec.check` holds
it against the data. A mistake is named with the line it stands on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from caveat.errors import Mistakes
from caveat.expressions import Expression
from caveat.privacy import Budget
from caveat.protect.pipeline import check_steps
from caveat.spec.against_data import check_against
from caveat.spec.analyses import MapSpec, UtilitySpec, check_tried, read_map, read_utility
from caveat.spec.document import PARTS, Document
from caveat.spec.limits import read_limits
from caveat.spec.output import OutputSpec, read_output
from caveat.spec.privacy import budget_of, check_promise, refuse_fits, with_budget
from caveat.spec.release_rows import Rows, population_of, read_rows
from caveat.spec.rules import columns_of
from caveat.spec.scenarios import ScenarioSpec, read_scenarios
from caveat.spec.tables import (
    TableSpec,
    margin_files,
    read_groups,
    read_linked,
    read_tables,
    refuse_password,
    refuse_with_tables,
)
from caveat.spec.tuning import TuneSpec
from caveat.synthesis import Plan
from caveat.synthesis.linked.groups import GroupPlan
from caveat.table import Schema, Table
from caveat.table.file_form import TextForm, form_of
from caveat.table.files import read_into
from caveat.table.grouping import Groups
from caveat.table.linked import Linked
from caveat.table.source import seen_in

__all__ = [
    "DataSpec", "Document", "MapSpec", "OutputSpec", "ReleasePart", "ReleaseSpec", "ScenarioSpec",
    "UtilitySpec", "read_parts", "read_tune",
]  # fmt: skip

Access = Literal["public", "registered", "secure"]


@dataclass(frozen=True)
class ReleasePart:
    """The ``[release]`` part: what is released, for whom and how.

    Parameters
    ----------
    title
        Name of the release.
    unit
        What a row is.
    purpose, recipients
        What it is for and who gets it; "" if that is not said.
    access
        How they get it.
    seed
        Root of all randomness; None if it is to be drawn.
    copies
        Number of synthetic tables.
    rows
        Rows of each; None for as many as were fitted, "population" for as many as the weights
        stand for.
    control
        Records held out before anything is fitted: a share, a number, or None.
    """

    title: str = "Synthetic data"
    unit: str = "record"
    purpose: str = ""
    recipients: str = ""
    access: Access = "secure"
    seed: int | None = None
    copies: int = 1
    rows: Rows | None = None
    control: float | int | None = None

    def held_out(self, rows: int) -> int:
        """Return the number of records to hold out of a table with so many rows."""
        if isinstance(self.control, float):
            return round(self.control * rows)
        return self.control or 0


@dataclass(frozen=True)
class DataSpec:
    """The ``[data]`` part: the confidential file.

    Parameters
    ----------
    path
        The file, seen from where the program runs; of several the first.
    name
        The file as the specification names it.
    delimiter, decimal, encoding
        The form of text files; None for the usual.
    synthetic
        Tables that were synthesised elsewhere.
    """

    path: Path
    name: str
    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    synthetic: tuple[Path, ...] = ()

    @property
    def files(self) -> tuple[Path, ...]:
        """Every file that is named here: none of them is ever replaced."""
        return (self.path, *self.synthetic)

    @property
    def form(self) -> dict[str, str]:
        """Delimiter, decimal sign and encoding, as far as they are given."""
        given = {"delimiter": self.delimiter, "decimal": self.decimal, "encoding": self.encoding}
        return {key: value for key, value in given.items() if value}


@dataclass(frozen=True)
class ReleaseSpec:
    """A whole specification, checked but for what needs the data.

    Parameters
    ----------
    release, data, utility, output
        The sections of these names.
    schema
        The ``[columns]`` part.
    groups
        The ``[groups]`` part, if there is one.
    synthesis
        The ``[synthesis]`` part: options of :class:`caveat.synthesis.Synthesizer`.
    protect
        Steps for :func:`caveat.protect.pipeline.protect`, in order.
    scenarios
        The attackers, one or more.
    map
        The ``[map]`` part, if there is one.
    document
        The file itself.
    tables
        The ``[tables]`` part: several files instead of one.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "release.toml"
    ...     _ = path.write_text('''
    ... [data]
    ... path = "survey.csv"
    ... [[scenario]]
    ... name = "a neighbour"
    ... keys = ["sex", "age"]
    ... limits = { DiSCO = 5 }
    ... ''')
    ...     spec = ReleaseSpec.from_toml(path)
    >>> spec.release.title, spec.scenarios[0].keys, str(spec.scenarios[0].limits[0])
    ('Synthetic data', ('sex', 'age'), 'DiSCO ≤ 5')
    >>> spec.line("scenario", 0, "keys")
    6
    """

    release: ReleasePart
    data: DataSpec
    schema: Schema
    groups: Groups | None
    synthesis: Mapping[str, Any]
    protect: tuple[Mapping[str, Any], ...]
    scenarios: tuple[ScenarioSpec, ...]
    utility: UtilitySpec
    map: MapSpec | None
    output: OutputSpec
    document: Document = field(repr=False)
    tables: tuple[TableSpec, ...] = ()

    @classmethod
    def from_toml(cls, path: str | Path) -> ReleaseSpec:
        """Read a specification; the data need not be there yet."""
        document = Document.read(path)
        document.check()
        content = document.content
        release = ReleasePart(**content.get("release", {}))
        with Mistakes() as mistakes:
            with mistakes.caught():
                data, schema, synthesis = read_parts(document)
            with mistakes.caught():
                tables = read_tables(document)
                if "tables" in content:
                    refuse_with_tables(document)
                    data = _several(document, tables)
            with mistakes.caught():
                read_rows(document)
            for i, step in enumerate(content.get("protect", ())):
                with mistakes.caught(), document.at("protect", i):
                    check_steps([step])
            with mistakes.caught():
                scenarios = read_scenarios(document, has_control=release.control is not None)
                found_map = read_map(document, scenarios)
            with mistakes.caught():
                if "tune" in content:
                    read_tune(document)
            with mistakes.caught():
                check_promise(document)
                groups = read_groups(document)
            with mistakes.caught():
                utility = read_utility(document, copies=release.copies)
        assert data is not None  # the check has seen to it
        return cls(
            release=release,
            data=data,
            schema=schema,
            groups=groups,
            synthesis=synthesis,
            protect=tuple(content.get("protect", ())),
            scenarios=scenarios,
            utility=utility,
            map=found_map,
            output=read_output(document),
            document=document,
            tables=tables,
        )

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path

    @property
    def text(self) -> bytes:
        """The exact bytes of the file."""
        return self.document.text

    def line(self, *entry: str | int) -> int:
        """Return the line of an entry; positions in arrays count from 0."""
        return self.document.line(*entry)

    def read_data(self) -> Table:
        """Read the confidential table, with the declarations about its columns."""
        return self._read(self.data.path, ("data", "path"), partial=False)

    def read_synthetic(self, paths: Sequence[str | Path] | None = None) -> list[Table]:
        """Read tables that were synthesised elsewhere: those named here, or in ``[data]``."""
        if paths is not None:
            form = self.data.form
            return [
                read_into(None, path, schema=self.schema, partial=True, **form) for path in paths
            ]
        if not self.data.synthetic:
            self.document.fail(
                ("data",),
                "no synthetic table is named",
                'add synthetic = ["theirs.csv"] to [data]',
                code="spec.entry.absent",
            )
        return [
            self._read(path, ("data", "synthetic", i), partial=True)
            for i, path in enumerate(self.data.synthetic)
        ]

    def _read(self, path: Path, entry: tuple[str | int, ...], *, partial: bool) -> Table:
        with self.document.reading(path, entry):
            return read_into(None, path, schema=self.schema, partial=partial, **self.data.form)

    def read_linked(self) -> Linked:
        """Read the confidential tables of ``[tables]``, checked: every child has its parent."""
        return read_linked(self.document, self.tables, self.data.form)

    @property
    def text_form(self) -> TextForm | None:
        """The form of the text files that are written; None for the usual one."""
        if not self.output.as_read:
            return None
        with self.document.at("output", "as_read"):
            return form_of(self.data.path, self.schema, **self.data.form)

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Every file that is read, a ledger too: none of them is ever replaced."""
        several = tuple(table.path for table in self.tables)
        budget = self.options.get("budget") or self.ledger
        ledger = () if budget is None else (Path(budget.ledger),)
        return (self.path, *self.data.files, *several, *margin_files(self.document), *ledger)

    @property
    def ledger(self) -> Budget | None:
        """The ledger that releases are entered in, and the name of the data; None without one."""
        return budget_of(self.document) if "privacy" in self.document.content else None

    @property
    def options(self) -> Mapping[str, Any]:
        """Options of :class:`caveat.synthesis.Synthesizer`: ``[synthesis]``, and the groups."""
        options = with_budget(self.document, self.synthesis, self.schema)
        return options if self.groups is None else {**options, "groups": self.groups}

    def rows_of(self, table: Table) -> Rows | None:
        """Return the rows, or groups, of a release made from these records; None for as many."""
        if self.release.rows != "population" or self.groups is not None:
            return self.release.rows
        return population_of(table, self.synthesis["weights"])

    def check(self, table: Table, released: Sequence[str] | None = None) -> Plan | GroupPlan | None:
        """Hold the specification against the data.

        Parameters
        ----------
        table
            The confidential table.
        released
            The columns of tables that were synthesised elsewhere. Without it the specification
            says how they are made, and the plan is checked and returned.
        """
        return check_against(self, table, released)


def read_parts(
    document: Document,
) -> tuple[DataSpec | None, Schema, Mapping[str, Any]]:
    """Return what every command takes from a specification: data, columns and synthesis.

    Other sections are not looked at. The data are None where no file is named.
    """
    document.check(PARTS)
    content = document.content
    synthesis = content.get("synthesis", {})
    with Mistakes() as mistakes:
        with mistakes.caught(), document.at("columns"):
            schema = Schema.from_mapping(content.get("columns", {}))
        for i, rule in enumerate(synthesis.get("rules", ())):
            with mistakes.caught(), document.at("synthesis", "rules", i):
                columns_of(rule, grouped="groups" in content or "tables" in content)
        for name, how in synthesis.get("derived", {}).items():
            if isinstance(how, str):
                with mistakes.caught(), document.at("synthesis", "derived", name):
                    Expression(how)
    return _data(document), schema, synthesis


def read_tune(document: Document) -> TuneSpec:
    """Return what ``caveat tune`` takes from a specification."""
    document.check(("synthesis", "tune", "scenario", "utility", "protect"))
    refuse_fits(document, "tune", ("tune", "settings"))
    given = document.content.get("tune", {})
    if "settings" in given:
        check_tried(document, "tune")
    for measure, limit in given.get("limits", {}).items():
        with document.at("tune", "limits", measure):
            read_limits({measure: limit})
    with document.at("tune"):
        return TuneSpec.from_mapping(document.content)


def _data(document: Document) -> DataSpec | None:
    given = dict(document.content.get("data", {}))
    if "path" not in given:
        return None
    name, folder = given.pop("path"), document.path.parent
    refuse_password(document, ("data", "path"), name)
    synthetic = tuple(seen_in(folder, other) for other in given.pop("synthetic", ()))
    return DataSpec(seen_in(folder, name), name, synthetic=synthetic, **given)


def _several(document: Document, tables: Sequence[TableSpec]) -> DataSpec:
    """Return the ``[data]`` part where ``[tables]`` names the files."""
    return DataSpec(tables[0].path, tables[0].file, **document.content.get("data", {}))
