"""Singling out: descriptions that fit one synthetic record, tried on the original.

A description names some columns and for each a range of codes: one category, one way to be
missing, or a number (or ordered level) and everything more extreme. Levels are common to all
tables, so ranges of codes are ranges of values, whatever their sign.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.entry import Attack, Finding, Option
from caveat.attack.ordinary.common import (
    CONTROL,
    GIOMI,
    N_ATTACKS,
    ONE_ATTACK,
    ONE_ATTACK_SHORT,
    SEED,
    attack_measure,
)
from caveat.attack.ordinary.encoding import code_matrix, prepare, seeds
from caveat.attack.ordinary.rates import attack_rate, chosen, cut_note
from caveat.compiling import kernel
from caveat.errors import CaveatError
from caveat.nearest import Codes
from caveat.notes import Note
from caveat.risk.measurement import Measurement, undefined
from caveat.table import Column, Table

__all__ = [
    "ATTACK",
    "Descriptions",
    "Index",
    "describe",
    "describe_one_column",
    "isolated",
    "singling_out",
]

Ints = NDArray[np.int64]

# Descriptions that are thought of for each one that is wanted, before the search ends.
MOST_TRIES = 100


class Descriptions(NamedTuple):
    """One row per description: columns in order, and the range of codes in each."""

    columns: Codes
    low: Codes
    high: Codes

    @property
    def n(self) -> int:
        """Number of descriptions."""
        return len(self.columns)

    def take(self, rows: Ints | NDArray[np.bool_] | slice) -> Descriptions:
        """Return some of them."""
        return Descriptions(self.columns[rows], self.low[rows], self.high[rows])


class Index(NamedTuple):
    """Records by column: those within a range of codes lie side by side.

    Attributes
    ----------
    codes
        One row per column, one column per record.
    order
        For each column the records in the order of their codes.
    starts
        For each column and code the first place in that order.
    """

    codes: Codes
    order: Ints
    starts: Ints

    @classmethod
    def of(cls, table: Table) -> Index:
        """Index all columns of a table."""
        codes = code_matrix(table, table.names)
        order = np.argsort(codes, axis=1, kind="stable")
        starts = np.zeros((len(codes), int(codes.max(initial=0)) + 2), np.int64)
        for position, column in enumerate(codes):
            counts = np.bincount(column, minlength=starts.shape[1] - 1)
            np.cumsum(counts, out=starts[position, 1:])
        return cls(codes, order, starts)


def singling_out(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: int | Literal["one"] = 4,
    attacks: int = 2000,
    seed: int = 0,
) -> Measurement:
    """Return how often a description that fits one synthetic record fits one original record.

    Parameters
    ----------
    original, synthetic
        Frames or tables.
    control
        People who were not in the data. Whether a description fits exactly one record depends on
        how many records there are: the larger of original and control is cut at random to the
        size of the smaller, and the rate on the whole original is among the details.
    columns
        Number of columns in a description; "one" takes the extremes and the unique values of single
        columns instead.
    attacks, seed
        Number of descriptions (fewer if the release does not give as many); root of randomness.

    Returns
    -------
    A share of the descriptions. The baseline are descriptions made of random columns, levels
    and directions.
    """
    tables = prepare(original, synthetic, control)
    search, blind, cut = seeds(seed, 3)
    found = _described(tables.synthetic, columns, attacks, search)
    if not found.n:
        return undefined(Note("no-description", "no description fits exactly one synthetic record"))
    guesses = _at_random(tables.synthetic, 1 if columns == "one" else columns, found.n, blind)
    ours = Index.of(tables.original)
    whole = isolated(found, ours)
    notes: tuple[Note, ...] = ()
    details: dict[str, float | int | None] = {
        "people singled out": len(np.unique(whole[whole >= 0])),
        "wanted": attacks,
    }
    hit, theirs = whole, None
    if tables.control is not None:
        size = min(map(len, tables.people))
        details["on the whole original"] = everyone = float(np.mean(whole >= 0))
        details["records compared"] = size
        if size < max(map(len, tables.people)):
            notes = (cut_note(size, f"{100 * everyone:.1f} %"),)
        hit = isolated(found, Index.of(_cut(tables.original, size, cut)))
        theirs = isolated(found, Index.of(_cut(tables.control, size, cut))) >= 0
    return attack_rate(
        hit >= 0,
        theirs,
        baseline=float(np.mean(isolated(guesses, ours) >= 0)),
        details=details,
        notes=notes,
        trace=lambda: np.isin(np.arange(len(tables.original)), whole).astype(np.float64),
    )


def _described(
    release: Table, columns: int | Literal["one"], attacks: int, rng: np.random.Generator
) -> Descriptions:
    if columns == "one":
        return describe_one_column(release, attacks, rng)
    if not 1 <= columns <= len(release.names):
        raise CaveatError(
            f"there are no descriptions of {columns} among {len(release.names)} columns",
            do="choose fewer columns",
            code="attack.setting.range",
        )
    return describe(release, columns, attacks, rng)


def describe(release: Table, columns: int, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return distinct descriptions of some columns that fit exactly one synthetic record."""
    names = release.names
    index = Index.of(release)
    medians = [_median_code(release[name]) for name in names]
    ordinary = np.array([len(release[name].levels) for name in names], np.int32)
    kept: list[Descriptions] = []
    seen: set[bytes] = set()
    tries = 0
    while len(seen) < wanted and tries < MOST_TRIES * wanted:
        batch = max(2 * wanted, 1024)
        tries += batch
        picked = _choices(len(names), columns, batch, rng)
        value = index.codes[picked, rng.integers(0, len(release), batch)[:, None]]
        drawn = _extremes(picked, value, np.array(medians)[picked], ordinary[picked])
        drawn = drawn.take(isolated(drawn, index) >= 0)
        fresh = []
        for i, row in enumerate(np.concatenate(drawn, axis=1)):
            key = row.tobytes()
            if key not in seen and len(seen) < wanted:
                seen.add(key)
                fresh.append(i)
        kept.append(drawn.take(np.array(fresh, np.int64)))
    return Descriptions(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))


def describe_one_column(release: Table, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return the extremes and the unique levels of single columns that fit one record."""
    rows: list[tuple[int, int, int]] = []
    for position, name in enumerate(release.names):
        column = release[name]
        rows += [(position, int(code), int(code)) for code in np.flatnonzero(column.counts == 1)]
        used = np.flatnonzero(column.counts[: len(column.levels)])
        if column.kind.has_order and len(used):
            # An extreme that is unique is open to the outside: it fits also what lies beyond.
            n = len(column.levels)
            rows += [(position, 0, int(used[0])), (position, int(used[-1]), n - 1)]
    found = _rows(rows)
    found = found.take(isolated(found, Index.of(release)) >= 0)
    return found.take(rng.permutation(found.n)[:wanted])


def isolated(descriptions: Descriptions, index: Index) -> Ints:
    """Return for each description the one record it fits, or −1 if it fits none or several."""
    out = np.empty(descriptions.n, np.int64)
    _isolated(*descriptions, *index, out)
    return out


def _rows(rows: list[tuple[int, int, int]]) -> Descriptions:
    matrix = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return Descriptions(*(np.ascontiguousarray(matrix[:, [j]]) for j in range(3)))


def _median_code(column: Column) -> float:
    """Return the median code of the ordinary cells, or −1 where codes have no order."""
    if not column.kind.has_order:
        return -1.0
    held = np.repeat(np.arange(len(column.levels)), column.counts[: len(column.levels)])
    return float(np.median(held)) if len(held) else 0.0


def _extremes(columns: Codes, value: Codes, median: Any, ordinary: Codes) -> Descriptions:
    """Turn values into ranges: ordered ones reach outwards, away from the median."""
    is_open = (median >= 0) & (value < ordinary)
    low = np.where(is_open & (value <= median), 0, value)
    high = np.where(is_open & (value > median), ordinary - 1, value)
    return Descriptions(columns, low.astype(np.int32), high.astype(np.int32))


def _at_random(release: Table, columns: int, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return descriptions of random columns: a level of the release at random, =, ≤ or ≥."""
    names = release.names
    picked = _choices(len(names), columns, wanted, rng)
    low, high = np.empty((2, *picked.shape), np.int32)
    for position, name in enumerate(names):
        column = release[name]
        here = picked == position
        value = rng.choice(np.flatnonzero(column.counts), int(here.sum()))
        direction = rng.integers(0, 3 if column.kind.has_order else 1, len(value))
        direction[value >= len(column.levels)] = 0
        low[here] = np.where(direction == 1, 0, value)
        high[here] = np.where(direction == 2, len(column.levels) - 1, value)
    return Descriptions(picked, low, high)


def _choices(n: int, columns: int, rows: int, rng: np.random.Generator) -> Codes:
    """Return in each row so many of n columns, in order."""
    picked = np.argsort(rng.random((rows, n)), axis=1)[:, :columns]
    return np.ascontiguousarray(np.sort(picked, axis=1), dtype=np.int32)


def _cut(table: Table, size: int, rng: np.random.Generator) -> Table:
    """Return so many records at random."""
    return table if len(table) == size else table.take(chosen(len(table), size, rng))


@kernel
def _isolated(columns, low, high, codes, order, starts, out):  # type: ignore[no-untyped-def]
    """Look only at the records that fit the column which the fewest records fit."""
    last_code = starts.shape[1] - 2
    for q in range(len(columns)):
        best, first, end = -1, 0, codes.shape[1] + 1
        for c in range(columns.shape[1]):
            column = columns[q, c]
            a = starts[column, min(low[q, c], last_code + 1)]
            b = max(a, starts[column, min(high[q, c], last_code) + 1])
            if b - a < end - first:
                best, first, end = column, a, b
        found, last = 0, -1
        for place in range(first, end):
            i = order[best, place]
            fits = True
            for c in range(columns.shape[1]):
                code = codes[columns[q, c], i]
                if code < low[q, c] or code > high[q, c]:
                    fits = False
                    break
            if fits:
                found += 1
                last = i
                if found > 1:
                    break
        out[q] = last if found == 1 else -1


def _run(
    original: Any, synthetic: Any, *, columns: int, n_attacks: int, **told: Any
) -> list[Finding]:
    sizes: dict[str, int | Literal["one"]] = {f"{columns} columns": columns, "one column": "one"}
    return [
        Finding(
            "singlingOut",
            label,
            singling_out(original, synthetic, columns=size, attacks=n_attacks, **told),
        )
        for label, size in sizes.items()
    ]


ATTACK = Attack(
    name="singling-out",
    does="looks for descriptions that fit one person only",
    run=_run,
    options=(Option("columns", "whole", "Columns in a description.", 4), CONTROL, N_ATTACKS, SEED),
    measures=(
        attack_measure(
            "columns",
            name="singlingOut",
            function=singling_out,
            says="descriptions of one synthetic record that fit exactly one original record",
            attacker="has the release only; describes a synthetic record by some columns, numbers "
            "open to the outside",
            formula="100/k · #(descriptions that fit one record of the original)",
            source=f"{GIOMI}, section 4.1",
            blind_spot=ONE_ATTACK + " That a record is alone in the sample says nothing about the "
            "population: about 37 % of good guesses isolate without any release.",
            blind=ONE_ATTACK_SHORT,
            baseline="random columns, levels of the release and directions",
            by_size=True,
        ),
    ),
    example="--control control.csv",
    labels=r"\d+ columns?|one column",
    usual=True,
)
