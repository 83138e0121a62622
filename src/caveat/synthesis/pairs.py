"""How much two columns tell about each other: cells in a few codes, and the kernels on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from caveat.compiling import inner, kernel
from caveat.showing import without_values
from caveat.table import Column, Kind, Table
from caveat.table.align import recode_to

__all__ = ["SAMPLED", "Bins", "Moved", "sampled", "with_sample"]

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan


BINS = 16
"""Codes of a column, at most."""

UNIT = 2.0**-32
"""One of a whole score, in nats."""

HALF = 1 << 31  # half a nat


def whole_entropy(n: int) -> np.ndarray:
    """Return x log x as a whole number of units, for x from 0 to n."""
    x = np.arange(n + 1, dtype=np.float64)
    return np.asarray(np.rint(x * np.log(np.maximum(x, 1)) / UNIT), np.int64)


@inner
def _tabulate(first, second, counts):  # type: ignore[no-untyped-def]
    """Count the pairs of codes of two columns."""
    for i in range(counts.shape[0]):
        counts[i] = 0
    for i in range(first.shape[0]):
        counts[first[i] * BINS + second[i]] += 1


@inner
def _alone(codes, counts, entropy):  # type: ignore[no-untyped-def]
    """Count the codes of a column; return their sum of x log x and how many occur."""
    for a in range(BINS):
        counts[a] = 0
    for i in range(codes.shape[0]):
        counts[codes[i]] += 1
    total, seen = 0, 0
    for a in range(BINS):
        total += entropy[counts[a]]
        seen += counts[a] > 0
    return total, seen


@kernel
def scores_for(codes, target, candidates, entropy):  # type: ignore[no-untyped-def]
    """Return what each candidate tells about a column, in units: mutual information less chance.

    ``codes`` has one line per column. Of r and c codes that occur chance gives (r - 1)(c - 1)/2.
    """
    n = codes.shape[1]
    scores = np.empty(candidates.shape[0], np.int64)
    pairs, alone = np.empty(BINS * BINS, np.int32), np.empty(BINS, np.int32)
    own, own_seen = _alone(codes[target], alone, entropy)
    for k in range(candidates.shape[0]):
        other, other_seen = _alone(codes[candidates[k]], alone, entropy)
        _tabulate(codes[candidates[k]], codes[target], pairs)
        total = entropy[n] - own - other - (own_seen - 1) * (other_seen - 1) * HALF
        for a in range(BINS * BINS):
            total += entropy[pairs[a]]
        scores[k] = total
    return scores


@inner
def _move(counts, place, step, entropy):  # type: ignore[no-untyped-def]
    """Let a record come to a cell (1) or leave it (-1); return what that does to x log x."""
    before = counts[place]
    counts[place] = before + step
    return entropy[before + step] - entropy[before]


@inner
def _counted(codes, target, candidates, pairs, alone, own):  # type: ignore[no-untyped-def]
    """Fill the tables of a column with each candidate, and the counts of both alone."""
    for a in range(BINS):
        own[a] = 0
    for i in range(codes.shape[1]):
        own[codes[target, i]] += 1
    for k in range(candidates.shape[0]):
        _tabulate(codes[candidates[k]], codes[target], pairs[k])
        for a in range(BINS):
            alone[k, a] = 0
            for b in range(BINS):
                alone[k, a] += pairs[k, a * BINS + b]


@inner
def _seen(counts):  # type: ignore[no-untyped-def]
    total = 0
    for a in range(counts.shape[0]):
        total += counts[a] > 0
    return total


@inner
def _scores_in_world(  # type: ignore[no-untyped-def]
    moved, steps, start, stop, target, candidates, scores, pairs, alone, own, entropy, n, found
):
    """Write the scores of one world: those of the data, and what its records change in them."""
    size, shared = n, 0
    own_before = _seen(own)
    for i in range(start, stop):
        shared -= _move(own, moved[i, target], steps[i], entropy)
        size += steps[i]
    shared += entropy[size] - entropy[n]
    own_after = _seen(own)
    for k in range(candidates.shape[0]):
        change = shared
        before, lost = 0, 0
        for i in range(start, stop):
            a = moved[i, candidates[k]]
            was = alone[k, a]
            change -= _move(alone[k], a, steps[i], entropy)
            lost += (alone[k, a] > 0) - (was > 0)
            change += _move(pairs[k], a * BINS + moved[i, target], steps[i], entropy)
        if lost != 0 or own_after != own_before:
            before = _seen(alone[k]) - lost
            change += (own_before - 1) * (before - 1) * HALF
            change -= (own_after - 1) * (before + lost - 1) * HALF
        found[k] = scores[k] + change
        for i in range(start, stop):
            a = moved[i, candidates[k]]
            alone[k, a] -= steps[i]
            pairs[k, a * BINS + moved[i, target]] -= steps[i]
    for i in range(start, stop):
        own[moved[i, target]] -= steps[i]


@inner
def _log_sum(one, other):  # type: ignore[no-untyped-def]
    if one < other:
        one, other = other, one
    return one + np.log1p(np.exp(other - one))


@inner
def _log_drawn(found, drawn, others, scale):  # type: ignore[no-untyped-def]
    """Return the log probability of a sequence drawn with weights exp(score × scale)."""
    rest = -np.inf
    if others.shape[0]:
        largest = found[others[0]]
        for i in range(1, others.shape[0]):
            largest = max(largest, found[others[i]])
        total = 0.0
        for i in range(others.shape[0]):
            total += np.exp((found[others[i]] - largest) * scale)
        rest = largest * scale + np.log(total)
    log = 0.0
    for i in range(drawn.shape[0] - 1, -1, -1):
        own = found[drawn[i]] * scale
        rest = own if rest == -np.inf else _log_sum(rest, own)
        log += own - rest
    return log


@kernel
def drawn_logs(  # type: ignore[no-untyped-def]
    codes, target, candidates, scores, drawn, others, scale, entropy, moved, steps, at
):
    """Return the log probability of the drawn candidates in each world; the last is the data's.

    Parameters
    ----------
    codes, target, candidates, scores
        As `scores_for` has and gives them.
    drawn, others
        Positions among the candidates: those drawn, in their order, and all others.
    scale
        One over the temperature, per unit.
    entropy
        What `whole_entropy` gives, for all records that come too.
    moved, steps, at
        Codes of the sampled records that go (-1) and come (1), one line each, and where those of
        each world begin.
    """
    n_worlds, n = at.shape[0] - 1, codes.shape[1]
    logs = np.empty(n_worlds + 1, np.float64)
    logs[n_worlds] = _log_drawn(scores, drawn, others, scale)
    if n_worlds == 0 or moved.shape[0] == 0:
        logs[:] = logs[n_worlds]
        return logs
    pairs = np.empty((candidates.shape[0], BINS * BINS), np.int32)
    alone, own = np.empty((candidates.shape[0], BINS), np.int32), np.empty(BINS, np.int32)
    _counted(codes, target, candidates, pairs, alone, own)
    found = np.empty(candidates.shape[0], np.int64)
    for world in range(n_worlds):
        start, stop = at[world], at[world + 1]
        if start == stop:
            logs[world] = logs[n_worlds]
            continue
        _scores_in_world(
            moved, steps, start, stop, target, candidates, scores, pairs, alone, own, entropy, n,
            found,
        )  # fmt: skip
        logs[world] = _log_drawn(found, drawn, others, scale)
    return logs


@inner
def _pick(found, picked):  # type: ignore[no-untyped-def]
    """Mark the strongest candidates; of equal ones the first. Return how many marks moved."""
    most = 0
    for k in range(picked.shape[0]):
        most += picked[k]
    weakest, strongest = -1, -1
    for k in range(found.shape[0]):
        if picked[k]:
            if weakest < 0 or found[k] <= found[weakest]:
                weakest = k
        elif strongest < 0 or found[k] > found[strongest]:
            strongest = k
    if weakest < 0 or strongest < 0 or found[weakest] > found[strongest] or (
        found[weakest] == found[strongest] and weakest < strongest
    ):  # fmt: skip
        return False
    for k in range(picked.shape[0]):
        picked[k] = False
    for _ in range(most):
        best = -1
        for k in range(found.shape[0]):
            if not picked[k] and (best < 0 or found[k] > found[best]):
                best = k
        picked[best] = True
    return True


@kernel
def picked_sets(  # type: ignore[no-untyped-def]
    codes, target, candidates, scores, chosen, entropy, moved, steps, at
):
    """Return in which worlds others are the strongest candidates, and which: a mark for each.

    The arguments are those of `drawn_logs`; ``chosen`` marks the strongest in the data.
    """
    n_worlds, n = at.shape[0] - 1, codes.shape[1]
    worlds, n_found = np.empty(n_worlds, np.int64), 0
    sets = np.empty((n_worlds, candidates.shape[0]), np.bool_)
    pairs = np.empty((candidates.shape[0], BINS * BINS), np.int32)
    alone, own = np.empty((candidates.shape[0], BINS), np.int32), np.empty(BINS, np.int32)
    _counted(codes, target, candidates, pairs, alone, own)
    found, picked = np.empty(candidates.shape[0], np.int64), chosen.copy()
    for world in range(n_worlds):
        start, stop = at[world], at[world + 1]
        if start == stop:
            continue
        _scores_in_world(
            moved, steps, start, stop, target, candidates, scores, pairs, alone, own, entropy, n,
            found,
        )  # fmt: skip
        if _pick(found, picked):
            worlds[n_found] = world
            sets[n_found] = picked
            n_found += 1
            picked[:] = chosen
    return worlds[:n_found], sets[:n_found]


# -------------------------------------------------------------------------------------------------
# The records in which columns of a wide table are compared, and their cells in a few codes.


Ints = NDArray[np.int64]

SAMPLED = "\0sampled"
"""A column that says which records are compared, where records come and go."""

APART = 4  # codes of a number that are kept for ways to be missing and special values
SEED = 26  # of the sample of records: everybody can draw it


@dataclass(frozen=True, eq=False)
class Bins:
    """Columns in at most 16 codes each, by their dictionaries and what is public about them.

    Parameters
    ----------
    columns
        The columns of the table that the choice was made for. Others may have more levels.
    entries
        Their plans.
    """

    columns: Mapping[str, Column]
    entries: Mapping[str, ColumnPlan]

    __repr__ = without_values

    def of(self, name: str, column: Column) -> NDArray[np.uint8]:
        """Return the code of each cell of a column."""
        entry, known = self.entries[name], self.columns[name]
        if known.kind.is_number and len(known.levels) > 1:
            codes = _number_bins(column, known, entry)
        else:
            codes = _class_bins(column, known)
        return codes.astype(np.uint8)[column.codes]


def _number_bins(column: Column, known: Column, entry: ColumnPlan) -> Ints:
    """Return the bin of each code of a number: cells of its range, or of its dictionary."""
    special = np.isin(column.levels, list(entry.special))
    n_apart = min(len(entry.special) + len(column.missing), APART)
    room = BINS - n_apart
    if entry.grid is not None:
        cells, n_cells = entry.grid.cell_of(column.numbers), entry.grid.n_cells
    else:
        places = np.searchsorted(known.numbers, column.numbers, "right") - 1
        cells, n_cells = np.maximum(places, 0), len(known.numbers)
    cells = cells * room // n_cells if n_cells > room else cells
    apart = np.concatenate([special, np.ones(len(column.missing), bool)])
    found = np.concatenate([cells, np.zeros(len(column.missing), np.int64)])
    found[apart] = np.minimum(room + np.arange(apart.sum()), BINS - 1)
    return found


def _class_bins(column: Column, known: Column) -> Ints:
    """Return the bin of each code of a class: itself, or its part of the dictionary."""
    codes: Ints = np.arange(column.n_levels)
    if not column.has_same_levels(known):
        every = column.with_codes(codes)
        codes = np.minimum(recode_to(every, known).astype(np.int64), known.n_levels - 1)
    if known.n_levels <= BINS:
        return codes
    n, room = len(known.levels), BINS - (len(known.missing) > 0)
    return np.where(codes < n, codes * room // max(n, 1), BINS - 1)


def with_sample(table: Table, rows: int) -> Table:
    """Return the table with a column that says which records are compared."""
    if SAMPLED in table:
        return table
    codes = sampled(table, rows).astype(np.uint8)
    return table.with_columns({SAMPLED: Column(codes, np.arange(2), Kind.INTEGER)})


def sampled(table: Table, rows: int) -> NDArray[np.bool_]:
    """Return which records are compared: as many at places that hang on their number alone."""
    if SAMPLED in table:
        return np.asarray(table[SAMPLED].codes == 1)
    if table.n_rows <= rows:
        return np.ones(table.n_rows, bool)
    mask = np.zeros(table.n_rows, bool)
    mask[np.random.default_rng(SEED).choice(table.n_rows, rows, replace=False)] = True
    return mask


@dataclass(frozen=True, eq=False)
class Moved:
    """Sampled records that go and come in some worlds.

    Parameters
    ----------
    codes
        A line for each, in bins.
    steps
        -1 for those that go, 1 for those that come.
    at
        Where those of each world begin, and their end.
    """

    codes: NDArray[np.uint8]
    steps: Ints
    at: Ints

    __repr__ = without_values

    @classmethod
    def none(cls, n_columns: int) -> Moved:
        """Return no world at all."""
        return cls(np.zeros((0, n_columns), np.uint8), np.zeros(0, np.int64), np.zeros(1, np.int64))
