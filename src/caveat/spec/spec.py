"""The release specification: what is released, how, with which budget, and what is searched for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from caveat.errors import CaveatError, Mistakes, about
from caveat.expressions import Expression
from caveat.generators import Setting, settings_of
from caveat.generators.ours import refuse_second_source
from caveat.privacy import Budget
from caveat.privacy import Limit as Allowed
from caveat.protect.pipeline import check_steps
from caveat.spec._kinds import Entry, frozen
from caveat.spec.against_data import check_against, columns_of
from caveat.spec.data_entries import (
    OutputSpec,
    Rows,
    TableSpec,
    margin_files,
    population_of,
    read_groups,
    read_linked,
    read_output,
    read_rows,
    read_tables,
    refuse_password,
    refuse_with_tables,
)
from caveat.spec.document import PARTS, Document
from caveat.spec.entries import CIRCUMSTANCES, TUNE
from caveat.spec.limits import Limit, Question, check_comparable, read_limits
from caveat.spec.scenarios import (
    MapSpec,
    ScenarioSpec,
    UtilitySpec,
    check_tried,
    read_map,
    read_scenarios,
    read_utility,
)
from caveat.synthesis import Plan
from caveat.synthesis.linked.model import GroupPlan
from caveat.synthesis.margins.promise import OPTIONS, is_private
from caveat.synthesis.methods.guarded import GUARDS
from caveat.table import Schema, Table
from caveat.table.files import TextForm, form_of, read_into
from caveat.table.grouping import Groups
from caveat.table.linked import Linked
from caveat.table.source import seen_in
from caveat.utility.analyses import read_model

EVERY_FIT = "every release that is made from the data spends budget of the guarantee"


def budget_of(document: Document) -> Budget:
    """Return the budget of ``[privacy]``, or that of one release in a ledger beside the file."""
    given = document.content.get("privacy", {})
    path = document.content.get("data", {}).get("path")
    if path is None and "dataset" not in given:
        document.fail(
            ("privacy",),
            "privacy.dataset is missing: releases of the same data share a budget by its name",
            'add [privacy] with dataset = "…"',
            code="spec.entry.absent",
        )
    limit = given.get("limit")
    with document.at("privacy"):
        return Budget(
            document.path.parent / given.get("ledger", "ledger.jsonl"),
            given.get("dataset") or Path(path).name,
            None if limit is None else Allowed(limit["epsilon"], limit["delta"]),
        )


def check_promise(document: Document) -> None:
    """Refuse what would break a guarantee or spend it again, and a budget that nothing spends."""
    content = document.content
    synthesis = content.get("synthesis", {})
    with document.at("protect"):
        refuse_second_source(synthesis, content.get("protect", ()))
    if not is_private(synthesis):
        if "limit" in content.get("privacy", {}):
            document.fail(
                ("privacy", "limit"),
                "privacy.limit: a budget is for a guarantee, and none is asked for",
                "add epsilon to [synthesis], or leave the limit out",
                code="spec.entry.unused",
            )
        return
    for section in ("groups", "tables"):
        if section in content:
            document.fail(
                (section,),
                f"{section}: a guarantee is about single records, and these belong together",
                f"leave {section} out, or epsilon and poisson",
                code="spec.entry.conflict",
            )
    if type(content.get("release", {}).get("control")) is int:
        document.fail(
            ("release", "control"),
            "release.control: with a guarantee a control is a share, drawn record by record",
            "write control = 0.2",
            code="spec.entry.conflict",
        )
    if "map" in content:
        refuse_fits(document, "map")
    for i, scenario in enumerate(content.get("scenario", ())):
        if scenario.get("attacker") == "simulated":
            document.fail(
                ("scenario", i, "attacker"),
                f"scenario: {EVERY_FIT}, and this attacker makes many",
                'use attacker = "strong", who is exact here',
                code="spec.entry.conflict",
            )


def with_budget(
    document: Document, synthesis: Mapping[str, Any], schema: Schema
) -> Mapping[str, Any]:
    """Return the options of the synthesiser; of a guarantee with what it needs besides.

    These are the declared codes that mean missing, and the ledger.
    """
    if not is_private(synthesis):
        return synthesis
    columns = {name: dict(entry) for name, entry in synthesis.get("columns", {}).items()}
    for name, column in schema.columns.items():
        if name in columns and column.missing:
            columns[name]["missing"] = list(column.missing)
    return {**synthesis, "columns": columns, "budget": budget_of(document)}


def refuse_fits(document: Document, what: str, *entries: Entry) -> None:
    """Refuse to make many releases where each spends budget, before any does.

    Parameters
    ----------
    document
        The specification.
    what
        What makes them, in one word.
    entries
        Where options of ours may stand, besides ``[synthesis]``.
    """
    for entry in (("synthesis",), *entries):
        found: Any = document.content
        for part in entry:
            found = found.get(part, {}) if isinstance(found, Mapping) else found[part]
        if is_private(found):
            name = next(name for name in OPTIONS if name in found)
            document.fail(
                (*entry, name),
                f"{what}: {EVERY_FIT}, and this makes many",
                "leave epsilon, delta and poisson out, and choose them before the data are looked "
                "at",
                code="spec.entry.conflict",
            )


# -------------------------------------------------------------------------------------------------
# What a search for settings is told: the ``[tune]`` part of a specification.


OBJECTIVE = "S_pMSE two-way"


@dataclass(frozen=True)
class TuneSpec:
    """What is searched, and what must hold.

    What ``[tune]`` does not say comes from the specification of the release: keys, targets and
    limits from the scenarios, limits and models from ``[utility]``.

    Parameters
    ----------
    settings
        The settings to try.
    limits
        What a release must meet, on every seed.
    objective
        The measure of utility that should be as good as possible, on the mean over the seeds.
    question
        The scenario; its measures are the objective and those of the limits.
    seeds
        Releases per setting in the first round.
    fresh
        Releases of a finalist on fresh seeds.
    seed
        Root of all randomness.
    """

    settings: tuple[Setting, ...]
    limits: tuple[Limit, ...]
    objective: str
    question: Question
    seeds: int = 2
    fresh: int = 5
    seed: int = 0

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> TuneSpec:
        """Read the parts of a specification that a search needs."""
        given = dict(content.get("tune", {}))
        for problem in TUNE.problems(given, ("tune",)):
            raise CaveatError(
                problem.what, do=problem.do, entry=problem.entry[1:], code=problem.code
            )
        given = {**_of_the_release(content, given), **given}
        limits, objective = read_limits(given.pop("limits")), given.pop("objective")
        check_comparable(limits, has_control=False)  # a search fits all records
        for i, model in enumerate(given.get("models", ())):
            with about("models", i):
                read_model(model)
        tried = dict(given.pop("settings"))
        if content.get("protect"):
            tried.setdefault("protect", [content["protect"]])
        settings = settings_of(content.get("synthesis", {}), tried)
        measures = tuple(dict.fromkeys([objective, *(limit.measure for limit in limits)]))
        circumstances = given.pop("scenario", {})
        rest = frozen({**given.pop("attacker", {}), **given})
        asked = {item.name: rest.pop(item.name) for item in fields(Question) if item.name in rest}
        question = Question(measures, circumstances=circumstances, **asked)
        return cls(tuple(settings), limits, objective, question, **rest)


def _of_the_release(content: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rest of a specification says about entries of the search."""
    by = {
        attacker: [s for s in content.get("scenario", ()) if _is_of(s, attacker)]
        for attacker in ("release", "strong")
    }
    limited = [s for s in by["release"] if s.get("limits")]
    if len(limited) > 1 and "limits" not in given:
        raise CaveatError(
            "several scenarios of an attacker with keys have limits, and a search is about one",
            where="tune",
            do="write keys and limits in [tune]",
            code="tune.limit.conflict",
        )
    utility, known = content.get("utility", {}), (limited or by["release"] or [{}])[0]
    found: dict[str, Any] = {"objective": OBJECTIVE, "models": utility.get("models", ())}
    if "keys" not in given:  # whoever names keys describes the attacker
        found |= {key: known[key] for key in ("keys", "targets") if key in known}
        found["scenario"] = {name: known[name] for name in CIRCUMSTANCES if name in known}
    limits = [part.get("limits", {}) for part in (known, *by["strong"], utility)]
    found["limits"] = {name: most for part in limits for name, most in part.items()}
    if not given.get("limits", found["limits"]):
        raise CaveatError(
            "no limit is named",
            where="tune",
            do="add limits to a [[scenario]]",
            code="tune.limit.absent",
        )
    sought = [name for s in by["strong"] for name in s.get("targets", ())]
    if sought and "targets" not in {**found, **given} and "attacker" not in given:
        found["attacker"] = {"unknown": list(dict.fromkeys(sought))}
    if "settings" not in given:
        if content.get("synthesis", {}).get("method", "guarded") != "guarded":
            raise CaveatError(
                "no setting is named",
                where="tune",
                do="add [tune.settings], as in cp = [1e-8, 0.05]",
                code="tune.setting.absent",
            )
        found["settings"] = {"guard": list(GUARDS)}
    return found


def _is_of(scenario: Mapping[str, Any], attacker: str) -> bool:
    """Whether a scenario is about single records and this attacker."""
    alone = "unit" not in scenario and "table" not in scenario
    return alone and scenario.get("attacker", "release") == attacker


# -------------------------------------------------------------------------------------------------
# The release specification: one file that says what is released, how, and what must hold.
#
# :meth:`ReleaseSpec.from_toml` reads and checks the file by itself, :meth:`ReleaseSpec.check`
# holds it against the data. A mistake is named with the line it stands on.


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
