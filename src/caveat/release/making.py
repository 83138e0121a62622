"""How a run makes its tables: hold out a control, fit, draw, protect; or take what others made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.protect.record import Step
from caveat.release.bench import child_seed, protected
from caveat.release.spec import ReleaseSpec
from caveat.synthesis import Model, Plan, Synthesizer
from caveat.synthesis.column_model import ColumnModel
from caveat.table import Table

__all__ = ["Material", "hold_out", "synthesise"]

# First words of the seeds. The synthesiser uses small numbers, the bench those before these.
CONTROL, PROTECT = 1_000_010, 1_000_011


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
        These records.
    control
        The records that were held out, if any.
    releases
        The synthetic tables as they are released.
    drawn
        The same before the protections.
    seed
        Root of all randomness.
    model
        The fitted synthesiser; None if the tables were made elsewhere.
    steps
        What the protections did to each table.
    """

    original: Table
    rows: NDArray[np.int64]
    fitted: Table
    control: Table | None
    releases: tuple[Table, ...]
    seed: int
    drawn: tuple[Table, ...] = ()
    model: Model | None = None
    steps: tuple[tuple[Step, ...], ...] = ()

    __repr__ = without_values

    @property
    def plan(self) -> Plan | None:
        """How the tables were made, if that is known."""
        return None if self.model is None else self.model.plan

    def columns(self, without: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the released columns of the original that are not among these."""
        return tuple(
            name
            for name in self.original
            if name not in without and all(name in table for table in self.releases)
        )


def hold_out(
    table: Table, held_out: int, seed: int
) -> tuple[NDArray[np.int64], Table, Table | None]:
    """Draw the control: the positions of the records that remain, these records, the others.

    Both sides keep only the levels that their own records have: what nobody in the fitted part
    has, the synthesiser must not know.
    """
    if not held_out:
        return np.arange(table.n_rows), table, None
    key = np.random.SeedSequence(seed, spawn_key=(CONTROL,))
    order = np.random.default_rng(key).permutation(table.n_rows)
    rows = np.sort(order[held_out:])
    return rows, table.take(rows).compact(), table.take(np.sort(order[:held_out])).compact()


def synthesise(
    spec: ReleaseSpec,
    table: Table,
    seed: int,
    threads: int | None,
    step: Callable[[str], Callable[[float], None]],
) -> Material:
    """Carry the specification out up to the protected tables.

    ``step`` is told the name of each step and returns what hears of its progress.
    """
    step("hold out")
    rows, fitted, control = hold_out(table, spec.release.held_out(table.n_rows), seed)
    ready = step("fit")

    def done(name: str, model: ColumnModel) -> None:
        del name, model
        ready(1 / len(table.names))

    model = Synthesizer(seed=seed, threads=threads, **spec.synthesis).fit(fitted, done=done)
    step("draw")
    drawn = model.tables(spec.release.rows, spec.release.copies, threads)
    ready = step("protect")
    releases, steps = [], []
    for copy, table_drawn in enumerate(drawn):
        # The first copy has the seeds that the same setting has in a map.
        own = seed if copy == 0 else child_seed(seed, PROTECT, copy)
        release, records = protected(table_drawn, model, spec.protect, fitted, own)
        releases.append(release)
        steps.append(records)
        ready(1 / len(drawn))
    return Material(
        table, rows, fitted, control, tuple(releases), seed, tuple(drawn), model, tuple(steps)
    )
