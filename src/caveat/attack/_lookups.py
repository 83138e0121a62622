"""The likelihood of looked-up values in all data sets that differ in one record.

A table to look up in is made again for every change. That is cheap, and few changes differ: only
the cells of the column itself and of those it is looked up by matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis.methods import Inputs, Settings, Target
from caveat.synthesis.methods.lookup import Lookup
from caveat.tree.adjacent import Changes, Likelihoods, Training

__all__ = ["lookup_likelihoods"]


def lookup_likelihoods(
    inputs: Inputs,
    training: Training,
    release: Inputs,
    released: NDArray[Any],
    changes: Changes,
) -> Likelihoods:
    """Return how many released rows are impossible, and how many under each change.

    The arguments are those of :func:`caveat.tree.adjacent.adjacent_likelihoods`, with the inputs
    of the training rows besides. A row that agrees with its table has probability 1.
    """
    own = inputs.take(training.rows)
    place = {int(row): i for i, row in enumerate(training.rows)}
    codes = training.response[training.rows]
    base = _misses(own, codes, training.n_levels, release, released)
    impossible = np.full(len(changes.gone), base, np.int64)
    known: dict[tuple[Any, ...], int] = {}
    for i, (gone, come) in enumerate(
        zip(changes.gone.tolist(), changes.come.tolist(), strict=True)
    ):
        if gone < 0 and come < 0:
            continue
        added = tuple(changes.added[:, come].tolist()) if come >= 0 else ()
        answer = int(changes.added_response[come]) if come >= 0 else -1
        key = (gone, added, answer)
        if key not in known:
            rows, answers = own, codes
            if gone >= 0:
                kept = np.delete(np.arange(len(codes)), place[gone])
                rows, answers = rows.take(kept), answers[kept]
            if come >= 0:
                rows, answers = _with_row(rows, added), np.append(answers, answer)
            known[key] = _misses(rows, answers, training.n_levels, release, released)
        impossible[i] = known[key]
    return Likelihoods(0, base, np.zeros(len(impossible), np.int64), impossible)


def _misses(
    inputs: Inputs,
    codes: NDArray[Any],
    n_levels: int,
    release: Inputs,
    released: NDArray[Any],
) -> int:
    """Return how many released rows have another value than the one they would be looked up."""
    if not len(codes):
        return len(released)
    rng = np.random.default_rng(0)  # nothing is drawn
    table = Lookup.fit(inputs, Target(codes, n_levels), Settings(), rng)
    return int((table.draw(release, rng) != released).sum())


def _with_row(inputs: Inputs, cells: tuple[int, ...]) -> Inputs:
    parts = tuple(
        replace(part, codes=np.append(part.codes, cell), exact=None)
        for part, cell in zip(inputs.parts, cells, strict=True)
    )
    return Inputs(parts, inputs.n_rows + 1)
