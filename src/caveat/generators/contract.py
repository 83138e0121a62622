"""What every generator can do, whoever wrote it, and the reference generators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, hint
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.synthesis import Model
from caveat.table import Column, Kind, Table
from caveat.table.identifying import Origin


class Fitted(Protocol):
    """A generator that has seen a table."""

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return synthetic tables, each with so many rows.

        By default as many as the original has; only the reference ``sample`` releases fewer. The
        tables have the columns of the original in its order, with their kinds and ways to be
        missing.
        """
        ...


class Generator(Protocol):
    """Makes synthetic tables."""

    @property
    def name(self) -> str:
        """What it is called in tables and messages."""
        ...

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables."""
        ...

    @property
    def origin(self) -> Origin:
        """Where the values of its tables come from: drawn, or copied from original records."""
        ...

    def fit(self, table: Table, seed: int) -> Fitted:
        """Learn from a table."""
        ...


@runtime_checkable
class Exact(Protocol):
    """A fitted generator that may know the probability of what it releases.

    Not the probability of a release under this one fit, which many have: what counts is the
    probability under every table that differs in one record, whatever was drawn while fitting.
    """

    @property
    def exact(self) -> Model | None:
        """The model that gives it; None where nothing gives it, as after some protections."""
        ...


def exact_model(fitted: Fitted) -> Model | None:
    """Return the model that the exact strong attacker needs; None if only runs can tell.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> from caveat.generators import generator_of
    >>> exact_model(generator_of("cart").fit(buyer_beware(), 1)) is None
    False
    >>> exact_model(generator_of("margins").fit(buyer_beware(), 1)) is None
    True
    """
    return fitted.exact if isinstance(fitted, Exact) else None


# -------------------------------------------------------------------------------------------------
# Columns like those of the original, from cells that somebody else made.


def column_like(original: Column, values: NDArray[Any], codes: NDArray[Any]) -> Column:
    """Return a column of new values with the kind and the ways to be missing of the original.

    Parameters
    ----------
    original
        The column to be like.
    values
        The ordinary values, one per row, of the type of its levels.
    codes
        Codes of the original; where they say that a cell is missing, its value does not count.

    Examples
    --------
    >>> from caveat.table import Kind, Missing
    >>> age = Column(np.array([0, 1, 2]), np.array([31, 47]), Kind.INTEGER, (Missing(-8),))
    >>> column_like(age, np.array([33, 33, 40]), np.array([0, 2, 0])).values.tolist()
    [33, -8, 40]
    """
    n = len(original.levels)
    missing = codes >= n
    levels, places = np.unique(values[~missing], return_inverse=True)
    cells = np.empty(len(codes), dtype=np.int64)
    cells[~missing] = places.ravel()
    cells[missing] = codes[missing] - n + len(levels)
    return replace(original, codes=cells, levels=levels)


# -------------------------------------------------------------------------------------------------
# Reference generators: the ends of the scale that every other one lies between.
#
# A copy gives everything away and keeps everything; uniform draws give nothing away and keep
# nothing but the dictionary. A share of the records as they are, and the margins of the columns,
# stand between them. All run in this process and take no time worth measuring.


SHARE = 0.4
"""Of the records, as in the excerpts of the NIST collaborative research cycle."""
DECIMALS = 6

Draw = Callable[[Table, int | None, np.random.Generator, Mapping[str, Any]], Table]


@dataclass(frozen=True)
class Reference:
    """A generator that needs no model.

    Parameters
    ----------
    name
        Its name.
    says
        What it does, in a few words.
    draw
        Makes one table of so many rows.
    settings
        Its settings.
    origin
        Where the values come from: records that are released as they are make a table confidential.
    """

    name: str
    says: str
    draw: Draw
    settings: Mapping[str, Any] = field(default_factory=dict)
    origin: Origin = Origin.DRAWN

    @property
    def is_seeded(self) -> bool:
        """Whether the same seed gives the same tables: always."""
        return True

    def fit(self, table: Table, seed: int) -> FittedReference:
        """Keep the table: nothing is learnt before it is needed."""
        if not table.n_rows:
            raise CaveatError(
                "the table has no rows",
                do="give a table with at least one record",
                code="data.table.empty",
            )
        return FittedReference(self, table, seed)


@dataclass(frozen=True)
class FittedReference:
    """A reference generator that has seen a table.

    Parameters
    ----------
    generator
        How tables are made.
    table
        The original.
    seed
        Root of all randomness.
    """

    generator: Reference
    table: Table
    seed: int

    __repr__ = without_values

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return synthetic tables; each copy has its own seed."""
        made, settings = self.generator, self.generator.settings
        return [
            made.draw(self.table, rows, rng_of(self.seed, copy), settings) for copy in range(copies)
        ]


def _copy(
    table: Table, rows: int | None, rng: np.random.Generator, settings: Mapping[str, Any]
) -> Table:
    """Return the records in another order; more than there are only when all have been used."""
    del settings
    wanted = table.n_rows if rows is None else rows
    rounds = -(-wanted // table.n_rows)
    orders = [rng.permutation(table.n_rows) for _ in range(rounds)]
    return table.take(np.concatenate([np.zeros(0, np.int64), *orders])[:wanted])


def _sample(
    table: Table, rows: int | None, rng: np.random.Generator, settings: Mapping[str, Any]
) -> Table:
    """Return a share of the records as they are.

    Nobody else gets in: who asks for more rows gets these records again, with replacement.
    """
    chosen = max(1, round(settings.get("share", SHARE) * table.n_rows))
    kept = rng.permutation(table.n_rows)[:chosen]
    more = 0 if rows is None else max(0, rows - chosen)
    return table.take(np.concatenate([kept, rng.choice(kept, more)])[:rows])


def _margins(
    table: Table, rows: int | None, rng: np.random.Generator, settings: Mapping[str, Any]
) -> Table:
    """Return draws from the shares of each column alone."""
    del settings
    wanted = table.n_rows if rows is None else rows
    columns = {
        name: column.with_codes(column.codes[rng.integers(0, table.n_rows, wanted)])
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns)


def _uniform(
    table: Table, rows: int | None, rng: np.random.Generator, settings: Mapping[str, Any]
) -> Table:
    """Return draws in which every entry of a dictionary is equally likely.

    Numbers and dates are uniform between the smallest and the largest, on the original's decimals;
    a cell of theirs is missing as often as if their levels were drawn.
    """
    del settings
    wanted = table.n_rows if rows is None else rows
    columns = {}
    for name, column in table.columns.items():
        codes = rng.integers(0, column.n_levels, wanted)
        columns[name] = column.with_codes(codes)
        if column.kind.is_number and len(column.levels):
            columns[name] = column_like(column, _in_range(column, wanted, rng), codes)
    return replace(table, columns=columns)


def _in_range(column: Column, n: int, rng: np.random.Generator) -> NDArray[Any]:
    low, high = column.levels.min(), column.levels.max()
    if column.kind is not Kind.NUMERIC:
        ends = np.array([low, high]).astype(np.int64)
        drawn = rng.integers(ends[0], ends[1], n, endpoint=True)
        return drawn.astype(np.int64).astype(column.levels.dtype)
    exact = (d for d in range(DECIMALS) if np.array_equal(column.levels, column.levels.round(d)))
    return np.clip(rng.uniform(low, high, n).round(next(exact, DECIMALS)), low, high)


REFERENCES: Mapping[str, Reference] = {
    entry.name: entry
    for entry in (
        Reference("copy", "the records themselves, in another order", _copy,
                  origin=Origin.COPIED),
        Reference("sample", "40 % of the records, as they are", _sample, origin=Origin.COPIED),
        Reference("margins", "each column drawn alone, from its own shares", _margins),
        Reference("uniform", "every level equally likely, numbers over their range", _uniform),
    )
}  # fmt: skip


def reference(name: str, settings: Mapping[str, Any] | None = None) -> Reference:
    """Return a reference generator with its settings.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> [t.n_rows for t in reference("sample").fit(buyer_beware(), 1).sample(copies=2)]
    [400, 400]
    >>> reference("sample", {"share": 0.1}).fit(buyer_beware(), 1).sample(rows=150)[0].n_rows
    150
    """
    entry, given = REFERENCES[name], dict(settings or {})
    known = ("share",) if name == "sample" else ()
    for key in given:
        if key not in known:
            raise CaveatError(
                f"there is no setting {key!r}",
                where=f"generator {name}",
                do=hint(key, known) if known else "leave it out: this generator has none",
                code="generator.setting.unknown",
            )
    share = given.get("share", SHARE)
    if not isinstance(share, int | float) or isinstance(share, bool) or not 0 < share <= 1:
        raise CaveatError(
            "the share of the records must lie between 0 and 1",
            where=f"generator {name}",
            do="write share = 0.4",
            code="generator.setting.range",
        )
    return replace(entry, settings=given)
