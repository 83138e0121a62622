"""What records do to the predictors that were chosen in a wide table.

Only those in the sample in which columns are compared do anything. For guarded trees the
probability of the predictors that were drawn moves; for other methods the strongest predictors may
be others in some worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.worlds import Worlds, in_threads
from caveat.showing import without_values
from caveat.synthesis.choosing import Choosing
from caveat.synthesis.pairs import SAMPLED, Moved
from caveat.table import Table

__all__ = ["ChoiceChanges", "OtherPredictors"]

CHUNK = 20_000
"""Worlds that are followed together: their records are held in bins."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class OtherPredictors(NamedTuple):
    """Worlds in which a column is drawn from others than in the data."""

    column: str
    predictors: tuple[str, ...]
    worlds: Ints


class ChoiceChanges:
    """The choice of a plan, ready to be changed in one record or in several.

    Parameters
    ----------
    worlds
        The original, and a plan with a choice.
    """

    def __init__(self, worlds: Worlds) -> None:
        choice = worlds.plan.choice
        assert choice is not None
        self.worlds = worlds
        self.choosing = Choosing(worlds.plan.columns, worlds.original, choice, worlds.bins)

    __repr__ = without_values

    def logs_of_sets(
        self,
        gone: Ints,
        gone_at: Ints,
        come: Table,
        come_at: Ints,
        threads: int | None = None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return what each world adds to the log probability of the predictors drawn.

        The arguments are those of `caveat.attack.guarded.GuardedChanges.logs_of_sets`.
        """
        n_worlds = len(gone_at) - 1
        total = np.zeros(n_worlds)
        share = CHUNK / max(n_worlds, CHUNK)
        for start, moved in self._parts(gone, gone_at, come, come_at):
            found = in_threads(
                lambda name: self.choosing.log_drawn(name, moved),  # noqa: B023
                self.choosing.drawn_columns,
                threads,
                None if done is None else lambda ready: done(ready * share),
            )
            for logs in found:
                total[start : start + len(moved.at) - 1] += logs[:-1] - logs[-1]
        return total

    def others(
        self, gone: Ints, gone_at: Ints, come: Table, come_at: Ints, threads: int | None = None
    ) -> list[OtherPredictors]:
        """Return the worlds in which the strongest predictors of a column are others."""
        found: dict[tuple[str, tuple[str, ...]], list[Ints]] = {}
        for start, moved in self._parts(gone, gone_at, come, come_at):
            names = self.choosing.taken_columns
            sets = in_threads(
                lambda name: self.choosing.strongest_in(name, moved),  # noqa: B023
                names,
                threads,
            )
            for name, own in zip(names, sets, strict=True):
                for predictors, which in own.items():
                    found.setdefault((name, predictors), []).append(which + start)
        return [OtherPredictors(*key, np.concatenate(which)) for key, which in found.items()]

    def _parts(
        self, gone: Ints, gone_at: Ints, come: Table, come_at: Ints
    ) -> Iterator[tuple[int, Moved]]:
        """Return the sampled records that go and come, for a part of the worlds at a time."""
        for start in range(0, len(gone_at) - 1, CHUNK):
            down, up = (at[start : start + CHUNK + 1] for at in (gone_at, come_at))
            before = self.worlds.original.take(gone[down[0] : down[-1]])
            after = come.take(slice(up[0], up[-1]))
            n = len(down) - 1
            worlds = [np.repeat(np.arange(n), np.diff(at)) for at in (down, up)]
            kept = [np.flatnonzero(t[SAMPLED].codes == 1) for t in (before, after)]
            tables = [t.take(rows) for t, rows in zip((before, after), kept, strict=True)]
            world = np.concatenate([w[rows] for w, rows in zip(worlds, kept, strict=True)])
            codes = np.concatenate([self.choosing.coded(t) for t in tables], axis=1).T
            steps = np.repeat([-1, 1], [len(rows) for rows in kept])
            order = np.argsort(world, kind="stable")
            at = np.searchsorted(world[order], np.arange(n + 1))
            yield start, Moved(np.ascontiguousarray(codes[order]), steps[order], at)
