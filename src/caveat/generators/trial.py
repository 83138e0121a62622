"""A generator on a small table of our own, to see whether it does what the contract says."""

from __future__ import annotations

from dataclasses import dataclass

from caveat.datasets import survey
from caveat.generators.contract import Fitted, Generator
from caveat.generators.process import FittedProcess
from caveat.table import Table

__all__ = ["COLUMNS", "Trial", "people", "try_generator"]

COLUMNS = ("interviewed", "sex", "age", "region", "education", "income", "bmi")
"""Of every kind one, with missing cells; none that names people."""
ROWS = 200


@dataclass(frozen=True)
class Trial:
    """What was seen.

    Parameters
    ----------
    problems
        What is not as it should be; none if all is well.
    is_seeded
        Whether the same seed gave the same table.
    cpu_seconds, peak_megabytes
        What the first run took; None if that is not known.
    """

    problems: tuple[str, ...]
    is_seeded: bool
    cpu_seconds: float | None = None
    peak_megabytes: float | None = None


def people(rows: int = ROWS) -> Table:
    """Return the table that generators are tried on."""
    return survey(rows=rows).select(COLUMNS)


def try_generator(generator: Generator, table: Table | None = None) -> Trial:
    """Let a generator make two copies twice, and one row, and look at them.

    Examples
    --------
    >>> from caveat.generators import generator_of
    >>> try_generator(generator_of("margins")).problems
    ()
    """
    original = people() if table is None else table
    fitted = generator.fit(original, 1)
    first, second = fitted.sample(copies=2)
    again = generator.fit(original, 1).sample()[0]
    (one,) = generator.fit(original, 2).sample(rows=1)
    problems = [*_unlike(first, original), *_unlike(one, original)]
    if one.n_rows != 1:
        problems.append(f"one row was asked for, {one.n_rows:,} came")
    if first == second:
        problems.append("two copies are the same table")
    if generator.is_seeded and again != first:
        problems.append("the same seed gave another table")
    used = _usage(fitted)
    return Trial(tuple(dict.fromkeys(problems)), again == first, *used)


def _unlike(made: Table, original: Table) -> list[str]:
    """Return in what a table is not like the original."""
    if made.names != original.names:
        return ["the columns are not those of the original"]
    found = []
    for name, column in original.columns.items():
        ours = made[name]
        if ours.kind != column.kind:
            found.append(f"column {name}: another kind")
        if not set(ours.missing) <= set(column.missing):
            found.append(f"column {name}: another way to be missing")
        if not column.kind.is_number and not set(ours.levels) <= set(column.levels):
            found.append(f"column {name}: a level that the original has not")
    return found


def _usage(fitted: Fitted) -> tuple[float | None, float | None]:
    if not isinstance(fitted, FittedProcess) or not fitted.usage:
        return None, None
    return fitted.usage[0].cpu_seconds, fitted.usage[0].peak_megabytes
