"""Whom to test first, the leaves in which a record falls, and how many records the work allows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.adjacent import can_move, cells_alike, is_guarded
from caveat.attack.attributes import CLASSES
from caveat.attack.updates import can_update
from caveat.attack.worlds import Generator, Worlds, affected_columns, is_promised, known_to
from caveat.risk import key_cells
from caveat.showing import frame_of, without_values
from caveat.synthesis import Model, Plan
from caveat.synthesis.coding import MOST_CELLS as GRID_CELLS
from caveat.synthesis.coding import ORDINARY
from caveat.synthesis.column_model import Cells, ColumnModel, inputs_of, without_unknown
from caveat.synthesis.fitting import predictors_of
from caveat.synthesis.linked import LinkedModel
from caveat.synthesis.methods.guarded import Guarded, Stratified, predictor_codes
from caveat.synthesis.methods.trees import Cart
from caveat.synthesis.model import recoded
from caveat.table import Column, Table
from caveat.tree import Tree
from caveat.tree.guarded.adjacent import moves_work

MOST_REFERENCES = 5_000
"""Records that each one is compared with to find its nearest neighbour."""

BLOCK = 128


@dataclass(frozen=True, eq=False)
class Vulnerable:
    """Signs that a record may be exposed, for every record of the original.

    Parameters
    ----------
    unique
        Whether no other record has the same keys.
    sole_donor
        Number of columns in which the record is the only one in its leaf with its value: without
        it, this value could not be drawn there.
    rarity
        Mean over the columns of -log of the share of the record's value in its leaf.
    depth
        Largest depth of its leaves.
    distance
        Distance to the nearest other record: the mean over the columns of 0 or 1 for categories
        and of the difference relative to the range for numbers.
    """

    unique: NDArray[np.bool_]
    sole_donor: NDArray[np.int64]
    rarity: NDArray[np.float64]
    depth: NDArray[np.int64]
    distance: NDArray[np.float64]

    __repr__ = without_values

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return the signs and their score, one row for each record."""
        signs = {item.name: getattr(self, item.name) for item in fields(self)}
        return frame_of({**signs, "score": self.score}, backend)

    @property
    def score(self) -> NDArray[np.float64]:
        """Mean of the ranks of the five signs, from 0 (nothing special) to 1."""
        signs = (self.unique, self.sole_donor, self.rarity, self.depth, self.distance)
        n = len(self.rarity)
        ranks = [(scipy.stats.rankdata(sign, "average") - 1) / max(n - 1, 1) for sign in signs]
        return np.asarray(np.mean(ranks, axis=0))

    def first(self, most: int = 20) -> NDArray[np.int64]:
        """Return the positions of the records to test first, the most exposed in front."""
        return np.argsort(-self.score, kind="stable")[:most]


def vulnerable(
    original: Any, *, keys: Sequence[str] | None = None, generator: Generator | None = None
) -> Vulnerable:
    """Look for the records that a release is most likely to expose.

    Parameters
    ----------
    original
        The original table.
    keys
        The columns an attacker may know; all by default.
    generator
        How the release is made; plain CART, as synthpop has it, by default.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> int(vulnerable(buyer_beware()).first(1)[0])
    999
    """
    table = Table.from_frame(original)
    plan, table = known_to(generator, table)
    names = [n for n, e in plan.columns.items() if e.settings.method != "drop"]
    worlds = Worlds(table, plan, [], plan.structure_seed or 0)
    sole = np.zeros(table.n_rows, dtype=np.int64)
    rarity = np.zeros(table.n_rows)
    depth = np.zeros(table.n_rows, dtype=np.int64)
    cells = _cells(worlds)
    for name, model in worlds.base.items():
        coding, codes = model.coding, table[name].codes
        inputs = inputs_of(cells, predictors_of(plan, name), table.n_rows)
        parts = [(model.kinds, coding.kind_of[codes] if model.kinds else None, None)]
        if coding.two_step:
            ordinary = coding.kind_of[codes] == 0
            parts.append((model.values, coding.value_of[codes], ordinary))
        else:
            parts.append((model.values, codes, None))
        for fitted, response, taking_part in parts:
            if not isinstance(fitted, Cart) or response is None:
                continue
            here = np.ones(table.n_rows, bool) if taking_part is None else taking_part
            counts, sizes, depths = _in_leaves(fitted.tree, inputs.predictors, response, here)
            sole += here & (counts == 1)
            rarity += np.where(here, -np.log(np.maximum(counts, 1) / np.maximum(sizes, 1)), 0.0)
            depth = np.maximum(depth, np.where(here, depths, 0))
    return Vulnerable(
        _unique(table, keys or names),
        sole,
        rarity / max(len(names), 1),
        depth,
        _nearest(table.select(names)),
    )


def _cells(worlds: Worlds) -> dict[str, Cells]:
    return {
        name: Cells(model.coding, codes=worlds.original[name].codes)
        for name, model in worlds.base.items()
    }


def _in_leaves(
    tree: Tree, predictors: Any, response: NDArray[Any], here: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return for each row: rows in its leaf with its value, rows in its leaf, depth of the leaf."""
    leaves = tree.apply(predictors).astype(np.int64)
    width = int(tree.n_response_levels)
    cell = leaves * width + response
    used, place = np.unique(cell, return_inverse=True)
    counts = np.bincount(place, here, minlength=len(used)).astype(np.int64)[place]
    sizes = np.bincount(leaves, here, minlength=tree.n_leaves).astype(np.int64)[leaves]
    depths = np.zeros(tree.n_nodes, dtype=np.int64)
    for node in np.flatnonzero(tree.feature >= 0):
        depths[[tree.left[node], tree.right[node]]] = depths[node] + 1
    return counts, sizes, depths[tree.leaf_nodes][leaves]


def _unique(table: Table, keys: Sequence[str]) -> NDArray[np.bool_]:
    (cells,), n = key_cells(
        [[table[key].codes for key in keys]], [table[key].n_levels for key in keys]
    )
    return np.asarray(np.bincount(cells, minlength=n)[cells] == 1)


def _nearest(table: Table) -> NDArray[np.float64]:
    """Return the distance of each record to the nearest of (at most so many) other records."""
    n = table.n_rows
    if n < 2:
        return np.zeros(n)
    step = max(1, -(-n // MOST_REFERENCES))
    references = np.arange(0, n, step)
    nearest = np.full(n, np.inf)
    scaled = [_scaled(column) for column in table.columns.values()]
    for start in range(0, n, BLOCK):
        rows = np.arange(start, min(start + BLOCK, n))
        total = np.zeros((len(rows), len(references)), dtype=np.float32)
        for values, is_number in scaled:
            gap = values[rows, None] - values[None, references]
            total += np.abs(gap) if is_number else gap != 0
        total[rows[:, None] == references[None, :]] = np.inf
        nearest[rows] = total.min(axis=1)
    return nearest / max(len(scaled), 1)


def _scaled(column: Column) -> tuple[NDArray[np.float32], bool]:
    """Return numbers on the range 0 to 1 (missing ones at 2, far from all), or codes."""
    if not column.kind.is_number or len(column.levels) < 2:
        return column.codes.astype(np.float32), False
    levels = column.numbers
    unit = (levels - levels.min()) / (levels.max() - levels.min())
    lookup = np.append(unit, 2.0 + np.arange(len(column.missing)))
    return lookup[column.codes].astype(np.float32), True


# -------------------------------------------------------------------------------------------------
# Where a record falls: of each column the leaf that it lies in, and who lies there with it.


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Leaf:
    """The leaf of one record in the tree of one column.

    Parameters
    ----------
    column
        The column that is drawn from the leaf.
    is_kind
        Whether the tree is the one that decides what sort of cell it is: a number, or which special
        or missing value.
    guarded
        Whether the shares of the leaf back off to those above it.
    size, alike
        Records in the leaf, this one among them; and those that have its value there, of a number
        of a guarded tree its cell.
    released, released_alike
        Rows of the release that were drawn from this leaf, and those that got this value.
    path
        The columns that are asked on the way to it, each once.
    """

    column: str
    is_kind: bool
    guarded: bool
    size: int
    alike: int
    released: int
    released_alike: int
    path: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {**asdict(self), "path": list(self.path)}


def leaves_of(
    model: Model, original: Table, record: int, releases: Sequence[Table]
) -> tuple[Leaf, ...]:
    """Return the leaves of a record, column by column, as far as columns are drawn from trees.

    Parameters
    ----------
    model
        The generator, fitted on the original.
    original
        The original, on the dictionaries of the model.
    record
        Position of the record, from 0.
    releases
        The released copies.
    """
    ours = {n: Cells(m.coding, codes=original[n].codes) for n, m in model.columns.items()}
    theirs = [_released(model, release) for release in releases]
    found: list[Leaf] = []
    for name, column in model.columns.items():
        found += _of_column(model.plan, name, column, ours, theirs, record)
    return tuple(found)


def _released(model: Model, release: Table) -> dict[str, Cells]:
    return {
        name: without_unknown(recoded(column, release, name))
        for name, column in model.columns.items()
        if name in release and column.entry.settings.method != "derived"
    }


def _of_column(
    plan: Plan,
    name: str,
    column: ColumnModel,
    ours: Mapping[str, Cells],
    theirs: Sequence[Mapping[str, Cells]],
    record: int,
) -> Iterator[Leaf]:
    names = predictors_of(plan, name)
    for fitted, is_kind in ((column.kinds, True), (column.values, False)):
        if fitted is None:
            continue
        stratum = None
        if isinstance(fitted, Stratified):
            inputs = inputs_of(ours, names, _length(ours[name]))
            stratum = int(inputs.parts[inputs.last].codes[record])
            fitted = fitted.models.get(stratum) or fitted.models[-1]
        if not isinstance(fitted, Cart | Guarded):
            continue
        own = _Fallen.of(fitted, column, name, ours, names, is_kind, stratum)
        if not own.takes_part[record]:
            continue
        leaf, value = own.leaves[record], own.response[record]
        here = own.takes_part & (own.leaves == leaf)
        drawn = [_Fallen.of(fitted, column, name, c, names, is_kind, stratum) for c in theirs]
        there = [each.takes_part & (each.leaves == leaf) for each in drawn]
        parts = _names_of_parts(ours, names)
        yield Leaf(
            name,
            is_kind,
            isinstance(fitted, Guarded),
            int(here.sum()),
            int((here & (own.response == value)).sum()),
            sum(int(each.sum()) for each in there),
            sum(int((w & (d.response == value)).sum()) for d, w in zip(drawn, there, strict=True)),
            tuple(dict.fromkeys(parts[i] for i in _asked(fitted, int(leaf)))),
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Fallen:
    """Rows in the leaves of one tree: who takes part, in which leaf, with which value."""

    takes_part: NDArray[np.bool_]
    leaves: Ints
    response: Ints

    @classmethod
    def of(
        cls,
        fitted: Cart | Guarded,
        column: ColumnModel,
        name: str,
        rows: Mapping[str, Cells],
        names: Sequence[str],
        is_kind: bool,
        stratum: int | None,
    ) -> _Fallen:
        cells = rows[name]
        inputs = inputs_of(rows, names, _length(cells))
        takes_part = np.ones(inputs.n_rows, bool)
        for condition, _ in column.fixed:
            takes_part &= ~condition.holds({n: c.column for n, c in rows.items()})
        if stratum is not None:
            takes_part = takes_part & (inputs.parts[inputs.last].codes == stratum)
        if not cells.coding.is_number:
            response = _codes(cells)
        else:
            split = cells.as_numbers()
            kinds = np.zeros(inputs.n_rows, np.int64) if split.kinds is None else split.kinds
            response = kinds
            if not is_kind:
                takes_part = takes_part & (kinds == ORDINARY)
                response = _numbers(fitted, column, split)
        leaves = (
            fitted.tree.apply(predictor_codes(inputs))
            if isinstance(fitted, Guarded)
            else fitted.tree.apply(inputs.predictors).astype(np.int64)
        )
        return cls(takes_part, leaves, np.asarray(response, np.int64))


def _numbers(fitted: Cart | Guarded, column: ColumnModel, cells: Cells) -> NDArray[Any]:
    """Return the numbers as the tree has them: places in the dictionary, or cells of a range."""
    assert cells.numbers is not None
    if isinstance(fitted, Guarded) and fitted.points is not None:
        return np.asarray(fitted.points.grid.cell_of(cells.numbers))
    known = column.coding.numbers
    place = np.minimum(np.searchsorted(known, cells.numbers), len(known) - 1)
    return np.where(known[place] == cells.numbers, place, -1)


def _asked(fitted: Cart | Guarded, leaf: int) -> list[int]:
    """Return the predictors on the way from the root to a leaf."""
    if isinstance(fitted, Guarded):
        guarded = fitted.tree
        asked, node = [], int(guarded.parent[leaf]) if leaf else -1
        while node >= 0:
            first = guarded.candidates.first
            asked.append(int(np.searchsorted(first, guarded.candidate[node], "right")) - 1)
            node = int(guarded.parent[node]) if node else -1
        return asked[::-1]
    tree = fitted.tree
    above = np.full(tree.n_nodes, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    above[tree.left[inner]] = above[tree.right[inner]] = inner
    asked, node = [], int(above[tree.leaf_nodes[leaf]])
    while node >= 0:
        asked.append(int(tree.feature[node]))
        node = int(above[node])
    return asked[::-1]


def _names_of_parts(cells: Mapping[str, Cells], names: Sequence[str]) -> list[str]:
    """Return whose parts the predictors are, in the order of `inputs_of`."""
    whole = [name for name in names if len(cells[name].parts) == 1]
    return whole + [name for name in names if len(cells[name].parts) == 2 for _ in range(2)]


def _codes(cells: Cells) -> NDArray[Any]:
    assert cells.codes is not None
    return cells.codes


def _length(cells: Cells) -> int:
    held = cells.numbers if cells.codes is None else cells.codes
    assert held is not None
    return len(held)


# -------------------------------------------------------------------------------------------------
# The work of the strong attacker, counted in operations and never timed.
#
# An operation is one candidate split that is looked at for one record on its way through a
# guarded tree: about 20 nanoseconds on a small machine. Everything else is expressed in it. How
# many records are attacked follows from these counts, so that the same run attacks the same
# records on every machine.


PER_SECOND = 50_000_000
"""Operations in a second of one core of a small machine."""

UPDATE, FROM_SCRATCH = 5, 80  # operations for a row and a tree that is updated, or grown again
FIT = 5  # for a row and a predictor of a tree that is fitted and counted again
CHOSEN = 0.4  # for a row and two columns of a wide table that are compared
OF_TABLE = 60  # for a column that is counted in noisy tables
OF_VALUE = 4  # for a value within a cell
OF_CHOICE = 4  # for a column and one among which its predictors were drawn
PREPARED = 3  # fits that an attack takes before its first record
LEAST = 10
"""Records that are attacked, or none."""
FEWEST = 2
"""Candidates beside the own value; with fewer there is nothing to choose from."""
MOST_CELLS = 20_000_000
"""Records times values that are held in memory."""


@dataclass(frozen=True)
class Bound:
    """The most work that one strong attacker may take, in operations.

    Parameters
    ----------
    targets
        For all targets together.
    members
        For the membership of records.
    preparation
        For what the attack on membership takes before its first record, beside this.
    """

    targets: float
    members: float
    preparation: float = 0.0

    def for_members(self, work: AttackWork) -> float:
        """Return the operations for membership, with its preparation in wide tables."""
        return self.members + min(work.preparation, self.preparation)


STANDARD = Bound(40.0 * PER_SECOND, 20.0 * PER_SECOND, 60.0 * PER_SECOND)
"""The bound of a run: about a minute of one core."""
QUICK = Bound(8.0 * PER_SECOND, 4.0 * PER_SECOND, 15.0 * PER_SECOND)
"""The bound of a quick run."""


@dataclass(frozen=True)
class AttackWork:
    """The work of an attack on one column, or on the membership of records.

    Parameters
    ----------
    world
        Operations of one world: one candidate in one record.
    candidates
        Worlds of each record.
    values
        Values of the column; 0 for membership.
    preparation
        Operations before the first record.
    """

    world: float
    candidates: int
    values: int = 0
    preparation: float = 0.0

    @property
    def record(self) -> float:
        """Operations of one record."""
        return self.world * self.candidates + OF_VALUE * self.values

    def of(self, records: int) -> float:
        """Return the operations of an attack on so many records."""
        return self.preparation + records * self.record

    def within(self, most: float, records: int = LEAST) -> AttackWork:
        """Return the work with as many candidates as so many records can be attacked with.

        Records are sampled before candidates: these are as many as before where they fit.

        Examples
        --------
        >>> AttackWork(10, 30).within(1000).candidates, AttackWork(10, 30).within(10).candidates
        (10, 2)
        """
        if self.of(records) <= most or self.candidates <= FEWEST:
            return self
        room = (most - self.preparation) / records - OF_VALUE * self.values
        return replace(self, candidates=min(self.candidates, max(FEWEST, int(room / self.world))))


def allot(works: Sequence[AttackWork], wanted: int, most: float) -> list[int]:
    """Share work out: how many records each attack is made on, 0 if it is left out.

    Attacks that need less than an equal share leave the rest to the others. What cannot attack a
    few records is left out, and leaves its share too.

    Examples
    --------
    >>> allot([AttackWork(1, 1), AttackWork(1, 10), AttackWork(1, 100)], wanted=50, most=1600)
    [50, 50, 10]
    >>> allot([AttackWork(1, 1, preparation=90), AttackWork(1, 1, preparation=900)], 50, 200)
    [50, 0]
    """
    numbers = [0] * len(works)
    few = min(LEAST, wanted)
    cheapest = sorted(range(len(works)), key=lambda i: works[i].of(few))
    needed = np.cumsum([works[i].of(few) for i in cheapest])
    made = cheapest[: int(np.searchsorted(needed, most, "right"))]
    left = most
    for place, i in enumerate(made):
        work, others = works[i], made[place + 1 :]
        # The others get their few records, or an equal share.
        room = left - max(
            sum(works[j].of(few) for j in others), left * len(others) / (len(others) + 1)
        )
        n = min(wanted, max(few, int((room - work.preparation) / max(work.record, 1.0))))
        numbers[i] = min(n, max(few, MOST_CELLS // work.values)) if work.values else n
        left -= work.of(numbers[i])
    return numbers


def _column_work(model: ColumnModel) -> float:
    """Return the operations that one record takes in the guarded trees of a column."""
    total = 0.0
    for fitted in (model.kinds, model.values):
        strata = list(fitted.models.values()) if isinstance(fitted, Stratified) else [fitted]
        works = [moves_work(one.tree) for one in strata if isinstance(one, Guarded)]
        total += float(np.mean(works)) if works else 0.0
    return total


def _choice_work(plan: Plan) -> float:
    """Return the operations that one record takes in the choice of predictors of a wide table."""
    if plan.choice is None:
        return 0.0
    place = {name: i for i, name in enumerate(plan.columns)}
    return OF_CHOICE * sum(place[name] for name in plan.choice.declared)


def fit_work(plan: Plan, n_rows: int) -> float:
    """Return the operations of fitting a plan once."""
    of_trees = FIT * sum(1 + len(entry.predictors) for entry in plan.columns.values())
    return n_rows * (of_trees + CHOSEN * _choice_work(plan) / OF_CHOICE)


def work_of(model: Model, fitted: Table, target: str = "", *, in_cells: bool = False) -> AttackWork:
    """Return the work of attacking a column, or the membership of records without a target.

    Parameters
    ----------
    model
        The fitted model of the release.
    fitted
        The records.
    target
        The column.
    in_cells
        Whether its cells are attacked and not its values.
    """
    plan = model.plan
    names = affected_columns(plan, [target]) if target else list(plan.columns)
    moves = can_move(plan)
    if moves:
        world = sum(_column_work(model.columns[n]) for n in names if n in model.columns)
        world += _choice_work(plan)
    elif is_promised(plan):
        world = float(OF_TABLE * len(names))
    else:
        per_row = UPDATE if can_update(Worlds(fitted, plan, [], 0)) else FROM_SCRATCH
        world = float(per_row * fitted.n_rows * max(len(names), 1))
    prepared = PREPARED * fit_work(plan, fitted.n_rows)
    if not target:
        return AttackWork(max(world, 1.0), 1, 0, prepared)
    column, entry = fitted[target], plan.columns[target]
    candidates = column.n_levels
    if entry.grid is not None and moves and cells_alike(plan, target):
        apart = len(column.missing) + len(entry.special) + len(entry.grid.special)
        candidates = min(candidates, entry.grid.n_cells + apart)
    elif in_cells:
        candidates = min(candidates, CLASSES + len(column.missing) + len(entry.special))
    return AttackWork(max(world, 1.0), candidates, column.n_levels, prepared)


def group_work(
    model: LinkedModel,
    n_groups: int,
    column: Column | None = None,
    target: str = "",
    *,
    members: float = 1.0,
    in_cells: bool = False,
) -> AttackWork:
    """Return the work of attacking one group: a column, or its membership without one.

    Parameters
    ----------
    model
        The fitted model of the release.
    n_groups
        Number of groups.
    column, target
        The column that is attacked, and its name.
    members
        Rows of a group that are attacked one by one; for the membership of groups 1.
    in_cells
        Whether cells of the column are attacked and not its values.
    """
    world, prepared = 0.0, 0.0
    for stage in model.plan.shape:
        plan, fitted = model.plan.stages[stage.name], model.stages[stage.name]
        names = [n for n in fitted.columns if not target or _reads(plan, n, target)]
        if is_guarded(plan):
            each = sum(_column_work(fitted.columns[n]) for n in names) + _choice_work(plan)
            # Of a group with another value one row is another, or two with the one behind it.
            world += each * (2.0 if target else fitted.n_rows / max(n_groups, 1))
        else:
            world += FROM_SCRATCH * fitted.n_rows * max(len(names), 1)
        prepared += PREPARED * fit_work(plan, fitted.n_rows)
    worlds = max(1, round(members))
    if column is None:
        return AttackWork(max(world * (2 if worlds > 1 else 1), 1.0), worlds, 0, prepared)
    values = column.n_levels
    tried = min(values, GRID_CELLS + len(column.missing)) if in_cells else values
    return AttackWork(max(2 * world, 1.0), worlds * tried, worlds * values, prepared)


def _reads(plan: Plan, name: str, target: str) -> bool:
    """Whether a column of a stage is the target, or is drawn from it or from that of another."""
    return any(target in one for one in (name, *plan.columns[name].predictors))
