"""A Bayesian network with two parents, as DataSynthesizer builds it with its noise switched off.

Every column is cut into classes, numbers with many values into equally wide bins. Columns are added
one by one, each with the parents that tell most about it; then classes are drawn from the table of
shares, and a number uniformly within its bin. It is here to show what that does to data, not to
make releases: its tables hold single records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from caveat.discreet import without_values

__all__ = ["Classes", "bins_of", "classes_of", "grow", "network_copy"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Network = list[tuple[str, tuple[str, ...]]]

MOST = 30
BINS = 20


@dataclass(frozen=True, eq=False)
class Classes:
    """A column in classes; the last one is missing.

    Attributes
    ----------
    codes, n
        The class of each row, and how many there are.
    levels
        The values of the classes, or None for a number in bins.
    edges
        The limits of the bins.
    """

    codes: Ints
    n: int
    levels: tuple[object, ...] | None = None
    edges: Floats | None = None

    __repr__ = without_values


def bins_of(values: Floats, bins: int = BINS) -> tuple[Ints, Floats]:
    """Cut numbers into equally wide bins, closed on the right; missing ones come last.

    Examples
    --------
    >>> codes, edges = bins_of(np.array([0.0, 5.0, 5.1, 10.0, np.nan]), bins=2)
    >>> codes.tolist(), edges.tolist()
    ([0, 0, 1, 1, 2], [0.0, 5.0, 10.0])
    """
    edges = np.linspace(np.nanmin(values), np.nanmax(values), bins + 1)
    codes = np.clip(np.searchsorted(edges, values, side="left") - 1, 0, bins - 1)
    return np.where(np.isnan(values), bins, codes).astype(np.int64), edges


def classes_of(column: pl.Series) -> Classes:
    """Return a column in classes: its values, or bins of a number with 30 values or more."""
    there = column.drop_nulls()
    if column.dtype.is_numeric() and there.n_unique() >= MOST:
        codes, edges = bins_of(column.cast(pl.Float64).to_numpy().astype(np.float64))
        return Classes(codes, BINS + 1, edges=edges)
    levels = there.unique().sort().to_list()
    place = {level: i for i, level in enumerate(levels)}
    codes = np.array([place.get(value, len(levels)) for value in column.to_list()], np.int64)
    return Classes(codes, len(levels) + 1, levels=tuple(levels))


def grow(columns: Mapping[str, Classes], rng: np.random.Generator) -> Network:
    """Return the columns in order, each with at most two parents among those before it.

    The first is drawn; then always the column and the parents with most mutual information.
    """
    names = list(columns)
    done = [names[int(rng.integers(len(names)))]]
    rest = [name for name in names if name != done[0]]
    network: Network = [(done[0], ())]
    best: dict[str, tuple[float, tuple[str, ...]]] = {}
    while rest:
        # Pairs of older columns were looked at before.
        pairs: list[tuple[str, ...]] = [(old, done[-1]) for old in done[:-1]]
        pairs = pairs or [(done[0],)]
        if len(done) <= 2:
            best = dict.fromkeys(rest, (-1.0, ()))
        for parents in pairs:
            joint = np.unique(_joint(columns, parents, _own(columns)), return_inverse=True)[1]
            for name in rest:
                told = _mutual_information(joint, columns[name])
                if told > best[name][0]:
                    best[name] = told, parents
        chosen = max(rest, key=lambda name: best[name][0])
        network.append((chosen, best[chosen][1]))
        done.append(chosen)
        rest.remove(chosen)
    return network


def _own(columns: Mapping[str, Classes]) -> Callable[[str], Ints]:
    return lambda name: columns[name].codes


def _joint(
    columns: Mapping[str, Classes], parents: Sequence[str], codes: Callable[[str], Ints]
) -> Ints:
    """Return one number for each combination of the parents' classes."""
    joint = codes(parents[0])
    for name in parents[1:]:
        joint = joint * columns[name].n + codes(name)
    return joint


def _mutual_information(joint: Ints, child: Classes) -> float:
    counts = np.bincount(joint * child.n + child.codes, minlength=(int(joint.max()) + 1) * child.n)
    table = counts.reshape(-1, child.n)
    rows, columns = np.nonzero(table)
    both = table[rows, columns]
    alone = table.sum(axis=1)[rows] * table.sum(axis=0)[columns]
    return float((both * np.log(both * len(joint) / alone)).sum() / len(joint))


def _draw(
    columns: Mapping[str, Classes], network: Network, n: int, rng: np.random.Generator
) -> dict[str, Ints]:
    """Draw classes in the order of the network; after unseen parents all are equally likely."""
    drawn: dict[str, Ints] = {}
    for name, parents in network:
        child = columns[name]
        if not parents:
            shares = np.bincount(child.codes, minlength=child.n) / len(child.codes)
            drawn[name] = rng.choice(child.n, n, p=shares)
            continue
        seen = _joint(columns, parents, _own(columns))
        wanted = _joint(columns, parents, drawn.__getitem__)
        size = int(np.prod([columns[parent].n for parent in parents]))
        counts = np.bincount(seen * child.n + child.codes, minlength=size * child.n)
        table = counts.reshape(size, child.n).astype(np.float64)
        total = table.sum(axis=1, keepdims=True)
        table = np.where(total > 0, table / np.maximum(total, 1), 1 / child.n)
        below = table.cumsum(axis=1)[wanted] < rng.random(n)[:, None]
        drawn[name] = np.minimum(below.sum(axis=1), child.n - 1).astype(np.int64)
    return drawn


def network_copy(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """Return a release of the same size by a network of its own."""
    rng = np.random.default_rng(seed)
    columns = {name: classes_of(frame[name]) for name in frame.columns}
    drawn = _draw(columns, grow(columns, rng), frame.height, rng)
    return pl.DataFrame([_values(frame[name], columns[name], drawn[name], rng) for name in columns])


def _values(
    column: pl.Series, classes: Classes, codes: Ints, rng: np.random.Generator
) -> pl.Series:
    """Return values of drawn classes; a number lies anywhere in its bin, a whole one is rounded."""
    missing = codes == classes.n - 1
    if classes.edges is None:
        levels = (*(classes.levels or ()), None)
        return pl.Series(column.name, [levels[code] for code in codes], dtype=column.dtype)
    low = np.where(missing, 0, codes)
    values = rng.uniform(classes.edges[low], classes.edges[low + 1])
    ordinary = column.drop_nulls().cast(pl.Float64).to_numpy()
    if (ordinary == np.round(ordinary)).all():
        values = np.round(values)
    return pl.Series(
        column.name,
        [None if gone else value for gone, value in zip(missing, values.tolist(), strict=True)],
        dtype=pl.Float64,
    ).cast(column.dtype)
