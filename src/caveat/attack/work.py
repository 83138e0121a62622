"""The work of the strong attacker, counted in operations and never timed.

An operation is one candidate split that is looked at for one record on its way through a guarded
tree: about 20 nanoseconds on a small machine. Everything else is expressed in it. How many records
are attacked follows from these counts, so that the same run attacks the same records on every
machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from caveat.attack.attributes import CLASSES
from caveat.attack.generator import is_promised
from caveat.attack.guarded import can_move, cells_alike, is_guarded
from caveat.attack.updates import can_update
from caveat.attack.worlds import Worlds, affected_columns
from caveat.synthesis import Model, Plan
from caveat.synthesis.coding import MOST_CELLS as GRID_CELLS
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.linked import LinkedModel
from caveat.synthesis.methods.guarded import Guarded, Stratified
from caveat.table import Column, Table
from caveat.tree.guarded.adjacent import moves_work

__all__ = [
    "LEAST",
    "PER_SECOND",
    "QUICK",
    "STANDARD",
    "AttackWork",
    "Bound",
    "allot",
    "fit_work",
    "group_work",
    "work_of",
]

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
