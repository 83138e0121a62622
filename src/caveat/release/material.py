"""How a run makes its tables, one or several: hold out a control, fit, draw, protect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.generators import Copy, Generator, Setting
from caveat.generators.ours import pooled_by
from caveat.notes import Note
from caveat.seeds import Stream, rng_of
from caveat.showing import without_values
from caveat.spec.against_data import OfTables
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model, Plan, Synthesizer
from caveat.synthesis.linked import LinkedModel
from caveat.synthesis.linked.model import GroupModel
from caveat.synthesis.linked.plan import LinkedPlan
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.seen import LEFT_OUT
from caveat.table import Pair, Table, align_copies
from caveat.table.code_files import CodeFiles
from caveat.table.files import read_into
from caveat.table.grouping import Groups, group_pairs
from caveat.table.identifying import level_texts
from caveat.table.linked import Joined, Linked, draw_groups, members_of
from caveat.utility.pair import PairGroups

WHOLE = Note(
    "whole-groups",
    "groups are synthesised whole: this attack is on single records and is not carried out",
    public=True,
)
"""Why an attack on records is left out where rows belong together."""


@dataclass(frozen=True)
class Material:
    """The tables of a run.

    Parameters
    ----------
    original
        The whole table of the data file.
    rows
        Positions in it of the records that the release was fitted on.
    fitted
        These records, rare levels pooled as the synthesiser has pooled them.
    control
        The records that were held out, if any, pooled likewise.
    releases
        The synthetic tables as they are released.
    seed
        Root of all randomness.
    model
        The fitted synthesiser; None if the tables were made elsewhere.
    copies
        The same tables before and after the protections; none if they were made elsewhere.
    generator
        What made them, and can make others; None if that is not known.
    not_simulated
        Why it is not run again and again with and without a record, if it is not.
    groups
        Which rows belong together, if they do. The key is in the tables and is no data: it is not
        among `columns`, and not in `pairs`.
    table
        Of several tables the one whose rows these are, each with the columns of the rows that it
        belongs to.
    """

    original: Table
    rows: NDArray[np.int64]
    fitted: Table
    control: Table | None
    releases: tuple[Table, ...]
    seed: int
    model: Model | GroupModel | None = None
    copies: tuple[Copy, ...] = ()
    generator: Generator | None = None
    not_simulated: Note | None = None
    groups: Groups | None = None
    table: str = ""

    __repr__ = without_values

    @property
    def plan(self) -> Plan | None:
        """How the rows of the tables were made, if that is known and they stand by themselves."""
        return self.model.plan if isinstance(self.model, Model) else None

    @property
    def complete(self) -> list[Table]:
        """The released tables with the columns that are invented, as they are written."""
        if self.model is None:
            return [*self.releases]
        return [self.model.complete(table, copy) for copy, table in enumerate(self.releases)]

    @property
    def drawn(self) -> list[Table]:
        """The tables before the protections."""
        return [copy.drawn for copy in self.copies]

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """The fitted records with each released table and the control, aligned once for all."""
        names = self.columns()
        control = None if self.control is None else self.control.select(names)
        return align_copies(self.fitted.select(names), self.releases, control)

    @cached_property
    def members(self) -> tuple[PairGroups, ...] | None:
        """Who belongs together in each of the pairs, if that is known."""
        if self.groups is None:
            return None
        key = self.groups.key
        ours = members_of(self.fitted, key)
        outside = None if self.control is None else members_of(self.control, key)
        return tuple(
            PairGroups(self.groups, ours, members_of(table, key), outside)
            for table in self.releases
        )

    @cached_property
    def pairs_of_groups(self) -> tuple[Pair, ...]:
        """The same pairs with a row for each group."""
        assert self.groups is not None
        key = self.groups.key

        def keyed(table: Table, whole: Table) -> Table:
            return table.with_columns({key: whole[key]})

        pairs = [
            Pair(
                keyed(pair.original, self.fitted),
                keyed(pair.synthetic, table),
                None
                if pair.control is None or self.control is None
                else keyed(pair.control, self.control),
            )
            for pair, table in zip(self.pairs, self.releases, strict=True)
        ]
        said = self.groups.constant
        constant = None if said is None else [n for n in said if n in pairs[0].original]
        return group_pairs(pairs, key, constant)

    @property
    def key(self) -> str:
        """The column that says which rows belong together; "" if there is none."""
        return "" if self.groups is None else self.groups.key

    def columns(self, without: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the released columns of the original that are not among these, nor a key."""
        return tuple(
            name
            for name in self.original
            if name not in (*without, self.key) and all(name in table for table in self.releases)
        )


def read_original(spec: ReleaseSpec, folder: Path | None) -> Table:
    """Read the confidential table; into code files if there is a folder for them."""
    if folder is None:
        return spec.read_data()
    path = spec.data.path
    with spec.document.reading(path, ("data", "path")):
        return read_into(
            CodeFiles(folder), path, schema=spec.schema, partial=False, **spec.data.form
        )


def hold_out(
    table: Table, held_out: int, seed: int, groups: str = ""
) -> tuple[NDArray[np.int64], Table, Table | None]:
    """Draw the control: the positions of the records that remain, these records, the others.

    With the name of a key whole groups are drawn, as many as there is room for in so many records:
    who lives with somebody in the data is no stranger to them. Both sides keep only the levels that
    their own records have: what nobody in the fitted part has, the synthesiser must not know.
    """
    if not held_out:
        return np.arange(table.n_rows), table, None
    rng = rng_of(seed, Stream.CONTROL)
    if groups:
        drawn = draw_groups(members_of(table, groups), held_out, rng)
        rows, others = np.flatnonzero(~drawn), np.flatnonzero(drawn)
    else:
        order = rng.permutation(table.n_rows)
        rows, others = np.sort(order[held_out:]), np.sort(order[:held_out])
    return rows, table.take(rows).compact(), table.take(others).compact()


def hold_out_each(table: Table, share: float) -> tuple[NDArray[np.int64], Table, Table | None]:
    """Draw the control record by record, each by a chance of its own that has no seed.

    A guarantee needs it: nobody has a say in who else is drawn, and nobody can draw it again.
    """
    drawn = np.random.default_rng().random(table.n_rows) < share
    rows, others = np.flatnonzero(~drawn), np.flatnonzero(drawn)
    control = table.take(others).compact() if len(others) else None
    return rows, table.take(rows).compact(), control


def planned_whole(spec: ReleaseSpec, plan: Plan | LinkedPlan | None) -> ReleaseSpec:
    """Return a specification by which a part of the table loses the columns that all of it loses.

    Parameters
    ----------
    spec
        The specification.
    plan
        Its plan for the whole table.
    """
    if plan is None:
        return spec
    left_out = [name for name, of in plan.rare_columns if of.how == LEFT_OUT]
    return replace(spec, synthesis={**spec.synthesis, "left_out": left_out})


def within_levels(scenario: ScenarioSpec, material: Material) -> ScenarioSpec:
    """Return a scenario without exclusions of levels that were pooled, or that nobody fitted has.

    Parameters
    ----------
    scenario
        The scenario; a level that the whole original does not have either stays, and is refused.
    material
        The tables.
    """
    gone = partial(_is_gone, material)
    given = dict(scenario.circumstances)
    if "exclude_levels" in given:
        given["exclude_levels"] = {
            name: [level for level in levels if not gone(name, level)]
            for name, levels in given["exclude_levels"].items()
        }
    if "exclude_pairs" in given:
        given["exclude_pairs"] = tuple(
            pair for pair in given["exclude_pairs"]
            if len(pair) != 4 or not (gone(pair[0], pair[1]) or gone(pair[2], pair[3]))
        )  # fmt: skip
    return scenario if given == scenario.circumstances else replace(scenario, circumstances=given)


def _is_gone(material: Material, name: str, level: Any) -> bool:
    """Whether a column of the original has a level that the fitted one has not."""
    if name not in material.original or name not in material.fitted:
        return False
    before, now = level_texts(material.original[name]), level_texts(material.fitted[name])
    return bool((before == str(level)).any() and not (now == str(level)).any())


def synthesise(
    spec: ReleaseSpec,
    table: Table,
    seed: int,
    threads: int | None,
    step: Callable[[str], Callable[[float], None]],
    anyway: bool = False,
) -> Material:
    """Carry the specification out up to the protected tables.

    The specification carries the judgement of the whole table, made before any record is held out.
    ``step`` is told the name of each step and returns what hears of its progress.
    """
    step("hold out")
    key = "" if spec.groups is None else spec.groups.key
    share = spec.release.control
    if is_private(spec.synthesis) and isinstance(share, float):
        rows, fitted, control = hold_out_each(table, share)
    else:
        rows, fitted, control = hold_out(table, spec.release.held_out(table.n_rows), seed, key)
    ready = step("fit")
    setting = Setting(spec.options, tuple(spec.protect))
    made = setting.fit(fitted, seed, threads=threads, anyway=anyway, done=ready)
    step("draw")
    drawn = made.draw(spec.rows_of(fitted), spec.release.copies, threads)
    ready = step("protect")
    copies = []
    for number, table_drawn in enumerate(drawn):
        copies.append(made.protect(table_drawn, number))
        ready(1 / len(drawn))
    releases = tuple(copy.release for copy in copies)
    if control is not None:
        control = pooled_by(made.model.plan, control)
    return Material(
        table, rows, made.original, control, releases, seed, made.model, tuple(copies), setting,
        not_simulated=WHOLE if isinstance(made.model, GroupModel) else None,
        groups=made.model.groups if isinstance(made.model, GroupModel) else None,
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------
# How a run makes several tables: hold out parents with all that belongs to them, fit, draw.


@dataclass(frozen=True)
class TablesMaterial:
    """The linked tables of a run.

    Parameters
    ----------
    original
        The tables of the data files.
    kept
        Which rows of the table without parent the release was fitted on.
    fitted, control
        These with all that belongs to them; the others, if any were held out.
    releases
        The synthetic tables.
    seed
        Root of all randomness.
    model
        The fitted synthesiser.
    asked
        What the specification asks of each table.
    """

    original: Linked
    kept: NDArray[np.bool_]
    fitted: Linked
    control: Linked | None
    releases: tuple[Linked, ...]
    seed: int
    model: LinkedModel
    asked: OfTables

    __repr__ = without_values

    @property
    def joined(self) -> Joined:
        """What the columns are called."""
        return self.asked.joined

    @property
    def complete(self) -> list[Linked]:
        """The released tables with the columns that are invented, as they are written."""
        return [self.model.complete(linked, copy) for copy, linked in enumerate(self.releases)]

    def is_empty(self, name: str) -> bool:
        """Whether a table has no row that could be measured."""
        return not all(one.tables[name].n_rows for one in (self.fitted, *self.releases))

    @cached_property
    def views(self) -> dict[str, Material]:
        """The rows of each table with the columns of the rows that they belong to."""
        return {name: self._view(name) for name in self.joined.tables}

    def _view(self, name: str) -> Material:
        joined, root = self.joined, self.joined.root
        groups = None
        if name != root:
            groups = Groups(joined.key, constant=self.asked.released(root))
        outside = self.control
        if outside is not None and not outside.tables[name].n_rows:
            outside = None  # nobody who was held out has any
        return Material(
            joined.table(self.original, name),
            np.flatnonzero(self.kept[self.original.owners[name]]),
            joined.table(self.fitted, name),
            None if outside is None else joined.table(outside, name),
            tuple(joined.table(release, name) for release in self.releases),
            self.seed,
            not_simulated=WHOLE,
            groups=groups,
            table=name,
        )


def synthesise_tables(
    spec: ReleaseSpec,
    linked: Linked,
    asked: OfTables,
    seed: int,
    threads: int | None,
    step: Callable[[str], Callable[[float], None]],
    anyway: bool = False,
) -> TablesMaterial:
    """Carry a specification of several tables out up to the released ones.

    The control is made of rows of the table without parent, with all that belongs to them.
    """
    step("hold out")
    root = asked.joined.root
    n_rows = linked.tables[root].n_rows
    kept, control = np.ones(n_rows, bool), None
    fitted, held_out = linked, spec.release.held_out(n_rows)
    if held_out:
        kept[rng_of(seed, Stream.CONTROL).permutation(n_rows)[:held_out]] = False
        fitted, control = linked.only(kept), linked.only(~kept)
    ready = step("fit")
    share = 1 / sum(len(stage.columns) for stage in asked.plan.stages.values())
    synthesizer = Synthesizer.of(spec.options, seed=seed, threads=threads, anyway=anyway)
    with spec.document.at("synthesis"):
        model = synthesizer.fit(fitted, done=lambda *_: ready(share))
    step("draw")
    rows = spec.rows_of(fitted.tables[root])
    assert rows != "population"  # it has been counted
    wanted = None if rows is None else {root: rows}
    releases = tuple(model.tables(wanted, spec.release.copies, threads))
    fitted = model.plan.pooled(fitted)
    control = None if control is None else model.plan.pooled(control)
    return TablesMaterial(linked, kept, fitted, control, releases, seed, model, asked)
