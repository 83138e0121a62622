"""How a run makes several tables: hold out parents with all that belongs to them, fit, draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.release.material import WHOLE, Material
from caveat.seeds import Stream, rng_of
from caveat.spec.against_data import OfTables
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Synthesizer
from caveat.synthesis.linked import LinkedModel
from caveat.table.grouping import Groups
from caveat.table.linked import Joined, Linked

__all__ = ["TablesMaterial", "synthesise_tables"]


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
