"""Likelihood ratios under a structure that the attacker draws.

A release of guarded trees does not show the structure of its trees. An attacker who knows the
generator and all other records can draw a structure of their own, once, and compare how probable
the release is under it with and without a record. The structure itself is no evidence: the
probability of drawing it is divided out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import without_each
from caveat.attack.guarded import GuardedChanges, is_guarded
from caveat.attack.worlds import Worlds, refuse_impossible
from caveat.errors import CaveatError
from caveat.generators import Generator, Setting
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.synthesis import Model
from caveat.synthesis.choosing import drawn_again
from caveat.synthesis.margins.promise import is_private
from caveat.table import Table

__all__ = ["OwnStructure", "need_structure", "own_structures"]

Floats = NDArray[np.float64]


class OwnStructure:
    """A structure that the attacker has drawn from the original or from what they know of it.

    Parameters
    ----------
    worlds
        The records that the structure is drawn from, and the plan with its seed.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.empty = worlds.seeing([worlds.original.take([])])
        self._before: dict[bytes, Floats] = {}

    __repr__ = without_values

    @classmethod
    def of(
        cls, generator: Generator, table: Table, seed: int, *, without: int | None = None
    ) -> OwnStructure | None:
        """Draw a structure; None for a generator whose releases have no such likelihood.

        Parameters
        ----------
        generator
            What makes releases: our own, with guarded trees alone and no protections after them.
        table
            The original. Its levels and ranges are public.
        seed
            Seed of the attacker's structure.
        without
            The record that the attacker does not know: the structure is drawn from the others.
        """
        if not isinstance(generator, Setting):
            return None
        if generator.protect or is_private(generator.options):
            return None
        model = generator.fit(table, seed).model
        if not isinstance(model, Model) or not is_guarded(model.plan):
            return None
        whole = Worlds(table, model.plan, ())
        if without is None:
            return cls(whole)
        others = whole.without(without)
        return cls(Worlds(others, drawn_again(model.plan, others, seed, whole.bins), (), seed))

    def ratios(self, releases: Sequence[Table], records: NDArray[np.int64]) -> Floats:
        """Return by how much each record raises the log-likelihood of the copies of a release.

        Parameters
        ----------
        releases
            The copies.
        records
            Positions of the records, from 0.
        """
        key = records.tobytes()
        if key not in self._before:
            self._before[key] = _differences(self.empty, records)
        return _differences(self.worlds.seeing(releases), records) - self._before[key]

    def log_likelihoods(self, releases: Sequence[Table], come: Table) -> Floats:
        """Return the log-likelihood of a release with each of some records beside the others.

        Parameters
        ----------
        releases
            The copies.
        come
            The record with each candidate's values, on the dictionaries of the others.
        """
        nobody, each = np.zeros(0, np.int64), np.arange(come.n_rows + 1)
        logs = []
        for worlds in (self.worlds.seeing(releases), self.empty):
            changes = GuardedChanges(worlds)
            refuse_impossible([changes.base], "under the attacker's structure")
            logs.append(changes.logs_of_sets(nobody, np.zeros_like(each), come, each, 1))
        return np.asarray(logs[0] - logs[1])


def _differences(worlds: Worlds, records: NDArray[np.int64]) -> Floats:
    """Return the log-likelihood less that without each record; 0 where both are impossible."""
    with_it, without = without_each(worlds, records, 1, refuse=False)
    with np.errstate(invalid="ignore"):
        ratio = with_it - without
    return np.where(np.isnan(ratio), 0.0, ratio)


def own_structures(
    generator: Generator, table: Table, seed: int, number: int
) -> tuple[OwnStructure, ...]:
    """Draw several structures; none for a generator whose releases have no such likelihood.

    Parameters
    ----------
    generator, table
        As for :meth:`OwnStructure.of`.
    seed
        Seed of the attack; theirs follow from it.
    number
        How many.
    """
    root = child_seed(seed, Stream.STRUCTURE)
    found = (OwnStructure.of(generator, table, child_seed(root, i)) for i in range(number))
    return tuple(one for one in found if one is not None)


def need_structure(generator: Generator, table: Table, seed: int, *, without: int) -> OwnStructure:
    """Return a structure from all records but one, or refuse a generator that has none."""
    found = OwnStructure.of(generator, table, child_seed(seed, Stream.STRUCTURE), without=without)
    if found is None:
        raise CaveatError(
            "releases of this generator have no likelihood under a structure drawn by the attacker",
            where="summary",
            do="use guarded trees without protections, or another summary",
            code="attack.summary.unsupported",
        )
    return found
