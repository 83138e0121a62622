"""A private release: its declared domain, its tables measured with noise, and what it promises."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.privacy import (
    choose,
    discrete_gaussian,
    poisson_counts,
    poisson_delta,
    poisson_hockey_stick,
    rho_of,
)
from caveat.showing import without_values
from caveat.synthesis.coding import EXACT, Coding, declared_grid
from caveat.synthesis.margins.tables import Tables, count_tables, reconcile, total_of
from caveat.synthesis.methods.base import check_number, need
from caveat.table import Column, Kind, Missing, Table

__all__ = [
    "DECLARED",
    "NOT_COUNTED",
    "OPTIONS",
    "Measured",
    "Pair",
    "Promise",
    "cells_in",
    "declared_table",
    "expected",
    "is_private",
    "measure",
    "measure_poisson",
    "open_pairs",
    "outside",
    "parts_of",
    "words_of",
]


Ints = NDArray[np.int64]

NOT_COUNTED = -1
"""The cell of records that hold a value which the declaration does not have."""

DECLARED = ("levels", "missing")
"""What is declared of a column, besides the range, the scale and the bins of numbers."""


def declared_table(names: Sequence[str], given: Mapping[str, Mapping[str, Any]]) -> Table:
    """Return a table without a row whose columns can hold what is declared, and nothing else.

    Parameters
    ----------
    names
        The columns.
    given
        What is declared of each: ``levels`` of a class, or the ``range`` of a number, and the codes
        that mean ``missing``, "" for an empty cell.

    Examples
    --------
    >>> declared = {"sex": {"levels": ["f", "m"]}, "age": {"range": [0, 99, 1], "missing": [-8]}}
    >>> table = declared_table(["sex", "age"], declared)
    >>> table.n_rows, table["sex"].n_levels, [str(way) for way in table["age"].missing]
    (0, 2, ['-8'])
    """
    without = [n for n in names if not {"levels", "range"} & set(given.get(n, {}))]
    if without:
        several = f" (and {len(without) - 1} more)" if len(without) > 1 else ""
        raise CaveatError(
            f"what the column can be is not declared{several}",
            where="synthesis",
            column=without[0],
            do="a guarantee needs it from the code book, never from the data: write "
            f"columns = {{ {without[0]} = {{ levels = [...] }} }}, of a number "
            "range = [lowest, highest, step]; caveat look --codebook FILE writes it for you",
            code="synthesis.column.undeclared",
        )
    return Table({name: _column(name, given[name]) for name in names})


def _column(name: str, given: Mapping[str, Any]) -> Column:
    codes = list(given.get("missing", ()))
    empty = [Missing()] if any(code in (None, "") for code in codes) else []
    words = any(isinstance(level, str) for level in given.get("levels", ()))
    coded = [code if words else _as_number(code) for code in codes if code not in (None, "")]
    ways = (*empty, *map(Missing, coded))
    if "range" in given:
        if "levels" in given:
            raise _wrong(
                name,
                "it has levels and a range",
                "declare one of them",
                "synthesis.setting.conflict",
            )
        grid = declared_grid(given["range"], "", (), name)
        # The ends stand for the dictionary; points in between follow from the declaration.
        special = [
            number for number in map(_number, given.get("special", ())) if number is not None
        ]
        if len(special) < len(given.get("special", ())):
            raise _wrong(
                name,
                "a special value is no number",
                "write special = [0]",
                "synthesis.setting.type",
            )
        ends = [grid.low, grid.high, *special]
        whole = all(float(v).is_integer() and abs(v) < EXACT for v in (*ends, grid.step))
        held = np.unique(np.array(ends).astype(np.int64 if whole else np.float64))
        kind = Kind.INTEGER if whole else Kind.NUMERIC
        return Column(np.zeros(0, np.uint8), held, kind, ways)
    levels = _levels(name, given["levels"])
    if {_word(level) for level in levels.tolist()} & {"", *(_word(way.code) for way in ways)}:
        raise _wrong(
            name,
            "a level is empty or means missing",
            "leave it out of the levels",
            "synthesis.level.conflict",
        )
    return Column(np.zeros(0, np.uint8), levels, Kind.CATEGORY, ways)


def _as_number(code: Any) -> Any:
    """Return a code as the number that it is written for, as keys of a table are texts."""
    number = _number(code)
    if number is None:
        return code
    return int(number) if number.is_integer() else number


def _levels(name: str, given: Any) -> NDArray[Any]:
    levels = list(given) if isinstance(given, list | tuple) else []
    kinds = {type(level) for level in levels}
    if not levels or len({_word(level) for level in levels}) != len(levels):
        raise _wrong(
            name,
            "levels are a list of different values (01 and 1 are the same one, as are words that "
            "differ in spaces around them)",
            'write levels = ["a", "b"]',
            "synthesis.level.duplicate" if levels else "synthesis.level.empty",
        )
    if kinds == {str}:
        return np.array(levels, dtype=object)
    if kinds <= {bool} or kinds <= {int}:
        return np.array(levels)
    raise _wrong(
        name,
        "levels are all words or all whole numbers",
        "write them in quotes",
        "synthesis.level.type",
    )


def _wrong(name: str, what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis", column=name, do=do, code=code)


def cells_in(codings: Mapping[str, Coding], table: Table) -> dict[str, Ints]:
    """Return the cell of each row in each of the declared columns.

    A row with a value that has no cell is :data:`NOT_COUNTED` in all of them: it is in one cell of
    every table, or in none.
    """
    cells = {name: _lookup(coding, table[name])[0][table[name].codes]
             for name, coding in codings.items()}  # fmt: skip
    left = np.any([own == NOT_COUNTED for own in cells.values()], axis=0)
    return {name: np.where(left, NOT_COUNTED, own) for name, own in cells.items()}


def outside(codings: Mapping[str, Coding], table: Table) -> Iterator[tuple[str, int]]:
    """Return the columns with values that the declaration does not have, and how many."""
    for name, coding in codings.items():
        strangers = int(np.count_nonzero(_lookup(coding, table[name])[1][table[name].codes]))
        if strangers:
            yield name, strangers


def _lookup(coding: Coding, column: Column) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the cell of each code of a column of the data, and which of them are not declared.

    Each value is read by itself: how a file writes the others, or of what kind a column therefore
    is, must not move anybody's cell.
    """
    values = [*_plain(column.levels), *(way.code for way in column.missing)]
    if coding.grid is None:
        return _of_class(coding.column, values)
    return _of_number(coding, values)


def _of_class(known: Column, values: Sequence[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    ways = [way.code for way in known.missing]
    codes = {_word(value): code for code, value in enumerate([*known.levels.tolist(), *ways])}
    found = np.array([codes.get(_word(value), NOT_COUNTED) for value in values], np.int64)
    strange = found == NOT_COUNTED
    return np.where(strange, codes.get("", NOT_COUNTED), found), strange


def _of_number(coding: Coding, values: Sequence[Any]) -> tuple[Ints, NDArray[np.bool_]]:
    grid = coding.grid
    assert grid is not None
    ways = [*coding.special_numbers.tolist(), *(way.code for way in coding.column.missing)]
    apart = {_word(value): grid.n_cells + place for place, value in enumerate(ways)}
    cells = np.full(len(values), apart.get("", NOT_COUNTED))
    strange = np.zeros(len(values), bool)
    for place, value in enumerate(values):
        word, number = _word(value), _number(value)
        if word in apart:
            cells[place] = apart[word]
        elif number is None:
            strange[place] = True
        else:
            cells[place] = grid.cell_of(np.array([number]))[0]
            strange[place] = not grid.low <= number <= grid.high
    return cells, strange


def words_of(levels: NDArray[Any]) -> list[str]:
    """Return levels as words that do not depend on the unit or the type of the others.

    Examples
    --------
    >>> words_of(np.array(["2020-01-01T10:00"], "M8[ns]")), words_of(np.array([1.0, 2.5]))
    (['2020-01-01T10:00:00'], ['1', '2.5'])
    """
    return [_word(value) for value in _plain(levels)]


def _plain(levels: NDArray[Any]) -> list[Any]:
    # Times as text: what Python makes of them hangs on their unit, and that on other records.
    held: list[Any] = (
        np.datetime_as_string(levels) if levels.dtype.kind == "M" else levels
    ).tolist()
    return held


def _word(value: Any) -> str:
    """Return a value as it would be written, the same whatever else is in its column."""
    number = _number(value)
    if number is not None:
        return str(int(number)) if number.is_integer() else repr(number)
    text = "" if value is None or value != value else str(value).strip()
    if text.lower() in ("true", "false"):
        return text.lower()
    try:
        # Whether the file was read as times or as words hangs on its other records.
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return text


def _number(value: Any) -> float | None:
    """Return a value as a number, None if it is none."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


# -------------------------------------------------------------------------------------------------
# Tables measured with noise: all that a private release is made from.
#
# Neighbours are tables of which one has a record more. A record is in one cell of every table, so
# that a count moves by one. With noise of the discrete Gaussian the columns are counted first;
# pairs are then chosen one by one, by the exponential mechanism, until they connect all columns;
# what counts for a pair is how far its table is from independence. Their tables are counted with
# noise in the end. Every step is paid for in ρ (zero-concentrated differential privacy), and ρ
# adds up.
#
# The Poisson mechanism draws every cell of the whole table from Poisson(count + α) instead.

Pair = tuple[str, str]

LARGEST_PAIR = 2**20
"""Cells of the largest pair that is thought of."""

SINGLES, CHOICE, PAIRS = 0.4, 0.1, 0.5
"""How ρ is divided: found on public files, the same for all."""


@dataclass(frozen=True, eq=False)
class Measured:
    """What a mechanism let out about the data, and how.

    Parameters
    ----------
    sizes
        Number of cells of each column, declared.
    tables
        Counts with noise.
    sigmas
        Standard deviation of the noise in each table; empty for the Poisson mechanism.
    choices
        The pairs in the order in which they were chosen from the data; empty if they were given.
    choice_epsilon
        The ε of one choice.
    alpha
        What the Poisson mechanism adds to every count; 0 for Gaussian noise.
    last
        Columns that could be chosen once only, and not with one another: they are drawn last.
    """

    sizes: Mapping[str, int]
    tables: Mapping[tuple[str, ...], Ints]
    sigmas: Mapping[tuple[str, ...], float]
    choices: tuple[Pair, ...] = ()
    choice_epsilon: float = 0.0
    alpha: float = 0.0
    last: tuple[str, ...] = ()

    __repr__ = without_values

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        tables = [
            {"names": list(names), "counts": counts, "sigma": self.sigmas.get(names, 0.0)}
            for names, counts in self.tables.items()
        ]
        return {
            "sizes": dict(self.sizes),
            "tables": tables,
            "choices": [list(pair) for pair in self.choices],
            "choice_epsilon": self.choice_epsilon,
            "alpha": self.alpha,
            "last": list(self.last),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Measured:
        """Return what was measured from a file, or raise ValueError if it is nothing."""
        sizes, alpha, epsilon = dict(state["sizes"]), state["alpha"], state["choice_epsilon"]
        tables, sigmas = {}, {}
        for number in (alpha, epsilon, *(held["sigma"] for held in state["tables"])):
            check_number(number, low=0.0)
        for held in state["tables"]:
            names = tuple(held["names"])
            need(names and all(name in sizes for name in names), "a table of no columns")
            counts = held["counts"]
            need(isinstance(counts, np.ndarray) and counts.dtype.kind in "iu", "no counts")
            need(counts.shape == tuple(sizes[name] for name in names), "a table of other cells")
            tables[names] = counts.astype(np.int64)
            need((held["sigma"] == 0) == (alpha > 0), "no noise")
            if held["sigma"]:
                sigmas[names] = float(held["sigma"])
        choices = tuple((str(one), str(other)) for one, other in state["choices"])
        need(all(pair in tables for pair in choices), "a choice without its table")
        last = tuple(state["last"])
        need(all(name in sizes for name in last), "no columns")
        for place, pair in enumerate(choices):
            need(pair in open_pairs(sizes, choices[:place], last), "no tree")
        return cls(sizes, tables, sigmas, choices, epsilon, alpha, last)

    @property
    def rho(self) -> float:
        """What was paid, in zero-concentrated differential privacy."""
        noise = sum(1 / (2 * sigma**2) for sigma in self.sigmas.values())
        return noise + len(self.choices) * self.choice_epsilon**2 / 8

    @property
    def n_records(self) -> int:
        """How many records there are, as far as the tables tell; what is drawn by default."""
        if self.alpha:  # of what was added to the cells no record is there
            (counts,) = self.tables.values()
            return max(round(float(counts.sum()) - self.alpha * counts.size), 0)
        return round(total_of(dict(self.tables), self._variances))

    @property
    def _variances(self) -> dict[tuple[str, ...], float]:
        return {names: sigma**2 for names, sigma in self.sigmas.items()}

    @property
    def shares(self) -> Tables:
        """The shares that the tables speak for."""
        if not self.alpha:
            return reconcile(dict(self.tables), self.sizes, self._variances)
        less = {names: np.maximum(c - self.alpha, 0) for names, c in self.tables.items()}
        return {names: counts / max(counts.sum(), 1e-300) for names, counts in less.items()}

    @property
    def singles(self) -> dict[tuple[str, ...], Ints]:
        """The tables of one column, from which pairs were judged."""
        return {names: counts for names, counts in self.tables.items() if len(names) == 1}


def measure(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    epsilon: float,
    delta: float,
    given: Sequence[Pair] | None = None,
    last: Sequence[str] = (),
) -> Measured:
    """Count columns and pairs with noise, so that the whole is (ε, δ)-differentially private.

    Parameters
    ----------
    cells
        The cell of each record, by column.
    sizes
        Number of cells of each column.
    epsilon, delta
        The guarantee.
    given
        Pairs that form a tree or several; chosen privately by default.
    last
        Columns that rules decide upon once all others are known: leaves of the tree.
    """
    rho, names = rho_of(epsilon, delta), list(sizes)
    # As many as a forest of them can have, whatever is chosen.
    n_pairs = len(names) - len(set(parts_of(names, candidates(sizes)).values()))
    n_pairs = n_pairs if given is None else len(given)
    parts = np.array([SINGLES, CHOICE if given is None else 0.0, PAIRS])
    parts = parts / parts.sum() if n_pairs else np.array([1.0, 0.0, 0.0])
    sigma = math.sqrt(len(names) / (2 * rho * parts[0]))
    singles = _noisy(cells, sizes, [(name,) for name in names], sigma)
    choices: tuple[Pair, ...] = ()
    spent = 0.0
    if given is None and n_pairs:
        spent = math.sqrt(8 * rho * parts[1] / n_pairs)
        choices = _chosen(cells, sizes, singles, spent, last)
    pairs = list(choices if given is None else given)
    sigmas = dict.fromkeys(singles, sigma)
    tables = dict(singles)
    if pairs:
        wide = math.sqrt(n_pairs / (2 * rho * parts[2]))
        tables |= _noisy(cells, sizes, pairs, wide)
        sigmas |= dict.fromkeys(pairs, wide)
    kept = tuple(last) if choices else ()
    return Measured(dict(sizes), tables, sigmas, choices, spent, last=kept)


def measure_poisson(cells: Mapping[str, Ints], sizes: Mapping[str, int], alpha: float) -> Measured:
    """Draw every cell of the whole table from Poisson(count + α)."""
    names = tuple(sizes)
    (counts,) = count_tables(cells, sizes, [names]).values()
    drawn = poisson_counts(np.rint(counts).astype(np.int64), alpha)
    return Measured(dict(sizes), {names: drawn}, {}, alpha=alpha)


def _noisy(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    margins: Sequence[tuple[str, ...]],
    sigma: float,
) -> dict[tuple[str, ...], Ints]:
    tables = count_tables(cells, sizes, margins)
    # Whole numbers in, whole numbers out: the last bits of a float would tell the count.
    return {n: discrete_gaussian(np.rint(t).astype(np.int64), sigma) for n, t in tables.items()}


def expected(singles: Mapping[tuple[str, ...], Ints], sizes: Mapping[str, int]) -> dict[Pair, Ints]:
    """Return the counts of every pair if its columns were independent, by the noisy tables alone.

    They are whole numbers, so that the distance of a table from them changes by exactly one, at
    most, with a record.
    """
    total = total_of(dict(singles), dict.fromkeys(singles, 1.0))
    shares = reconcile(dict(singles), sizes)
    return {
        pair: np.rint(total * np.multiply.outer(shares[pair[0],], shares[pair[1],])).astype(
            np.int64
        )
        for pair in candidates(sizes)
    }


def candidates(sizes: Mapping[str, int]) -> list[Pair]:
    """Return the pairs that can be chosen."""
    pairs = itertools.combinations(sizes, 2)
    return [(one, other) for one, other in pairs if sizes[one] * sizes[other] <= LARGEST_PAIR]


def open_pairs(sizes: Mapping[str, int], chosen: Sequence[Pair], last: Sequence[str]) -> list[Pair]:
    """Return the pairs that can be chosen next: those that connect what is not yet connected.

    A column that is drawn last has one pair, with one that is not.
    """
    where = parts_of(list(sizes), chosen)
    taken = {name for pair in chosen for name in pair} & set(last)
    return [
        (a, b)
        for a, b in candidates(sizes)
        if where[a] != where[b] and not (a in last and b in last) and not {a, b} & taken
    ]


def parts_of(names: Sequence[str], pairs: Sequence[Pair]) -> dict[str, str]:
    """Return for each column the first one that pairs connect it with."""
    found = {name: name for name in names}
    for a, b in pairs:
        kept, gone = found[a], found[b]
        found = {name: kept if root == gone else root for name, root in found.items()}
    return found


def _chosen(
    cells: Mapping[str, Ints],
    sizes: Mapping[str, int],
    singles: Mapping[tuple[str, ...], Ints],
    epsilon: float,
    last: Sequence[str],
) -> tuple[Pair, ...]:
    """Choose pairs that connect all columns, those far from independence with more probability."""
    independent = expected(singles, sizes)
    scores = {
        pair: int(np.abs(np.rint(count_tables(cells, sizes, [pair])[pair]) - counts).sum())
        for pair, counts in independent.items()
    }
    chosen: list[Pair] = []
    while open_ones := open_pairs(sizes, chosen, last):
        values = np.array([scores[pair] for pair in open_ones], np.int64)
        chosen.append(open_ones[choose(values, epsilon)])
    return tuple(chosen)


# -------------------------------------------------------------------------------------------------
# What a private release promises, to whom, and what it was made from.


OPTIONS = ("epsilon", "delta", "poisson")
"""The settings that ask for a guarantee."""

USUAL_DELTA = 1e-9
USUAL_EPSILON = 1.0
LARGEST_ALPHA = 1e6  # beyond, nothing of a table is left


def is_private(options: Mapping[str, Any]) -> bool:
    """Whether a guarantee is asked for."""
    return any(name in options for name in OPTIONS)


@dataclass(frozen=True)
class Promise:
    """A guarantee of differential privacy.

    Parameters
    ----------
    epsilon, delta
        For tables of which one has a record more, no event is more than exp(ε) times as probable
        under one as under the other, but for a probability of δ.
    alpha
        What the Poisson mechanism adds to every cell; 0 for tables with Gaussian noise.
    declared
        What is declared of the columns.
    measured
        What was let out; None before it was.

    Examples
    --------
    >>> promise = Promise.of({"poisson": 1.0, "epsilon": 2.0}, {})
    >>> round(promise.delta, 4)
    0.0256
    """

    epsilon: float
    delta: float
    alpha: float = 0.0
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    measured: Measured | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, Any], declared: Mapping[str, Mapping[str, Any]]) -> Promise:
        """Return the guarantee that is asked for, or say what is wrong with it."""
        alpha = _number_promise(options, "poisson", 0.0)
        epsilon = _number_promise(options, "epsilon", USUAL_EPSILON)
        if "poisson" not in options:
            delta = _number_promise(options, "delta", USUAL_DELTA)
            if "epsilon" not in options:
                raise _unfit(
                    "delta",
                    "delta goes with epsilon",
                    "write epsilon = 1.0 too",
                    "synthesis.setting.absent",
                )
            if delta >= 1:
                raise _unfit(
                    "delta",
                    "delta must lie between 0 and 1",
                    "write delta = 1e-9",
                    "synthesis.setting.range",
                )
            return cls(epsilon, delta, 0.0, declared)
        if alpha > LARGEST_ALPHA:
            raise _unfit(
                "poisson",
                f"poisson is at most {LARGEST_ALPHA:,.0f}",
                "write poisson = 1.0",
                "synthesis.setting.range",
            )
        if "delta" in options:
            raise _unfit("delta", "the delta of the Poisson mechanism follows from epsilon and "
                         "poisson", "leave delta out", "synthesis.setting.conflict")  # fmt: skip
        # What underflows is not nothing.
        delta = max(poisson_hockey_stick(epsilon, alpha), sys.float_info.min)
        return cls(epsilon, delta, alpha, declared)

    @property
    def mechanism(self) -> str:
        """How noise comes in, in words."""
        if self.alpha:
            return f"every cell of the whole table is drawn from Poisson(count + {self.alpha:g})"
        return "counts of columns and pairs with discrete Gaussian noise"

    def __str__(self) -> str:
        words = f"guarantee: ε = {self.epsilon:g}, δ = {self.delta:.3g} (one record more or less)"
        return f"{words}; {self.mechanism}"

    @property
    def terms(self) -> tuple[str, str]:
        """What every promise covers, and what happens to values that are not declared."""
        return (
            "the guarantee is about single records of the declared domain: two tables that differ "
            "in one record; what a group of k people have in common is protected k times less",
            "a number beyond its declared range counts as the end of the range; any other value "
            'that is not declared counts as an empty cell where one is declared (missing = [""]), '
            "and where none is, the record is not counted",
        )

    @property
    def remarks(self) -> list[str]:
        """What has to be said about it."""
        found = [*self.terms]
        if self.alpha:
            bound = poisson_delta(self.epsilon, self.alpha)
            found.append(
                f"the Poisson mechanism has a large δ: at ε = {self.epsilon:g} the loss is above ε "
                f"with a probability of up to {bound:.3g} (equation 9), and δ is {self.delta:.3g} "
                "exactly; δ should be far below one in the number of records"
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "alpha": self.alpha,
            "declared": {name: dict(given) for name, given in self.declared.items()},
            "measured": None if self.measured is None else self.measured.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Promise:
        """Return the promise from a file, or raise an error if it is none."""
        given = {"epsilon": state["epsilon"], "delta": state["delta"]}
        if state["alpha"]:
            given = {"epsilon": state["epsilon"], "poisson": state["alpha"]}
        found = cls.of(given, state["declared"])
        held = state["measured"]
        measured = None if held is None else Measured.from_state(held)
        return cls(found.epsilon, found.delta, found.alpha, found.declared, measured)


def _number_promise(options: Mapping[str, Any], name: str, usual: float) -> float:
    value = options.get(name, usual)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or (name in options and not 0 < value < float("inf")):
        usual_one = 1e-9 if name == "delta" else 1.0
        raise _unfit(
            name,
            f"{name} must be a number above 0",
            f"write {name} = {usual_one:g}",
            "synthesis.setting.range",
        )
    return float(value)


def _unfit(name: str, what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis", do=do, entry=(name,), code=code)
