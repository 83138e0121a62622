"""What every generator must do, whoever wrote it and wherever it runs."""

from __future__ import annotations

import warnings

import numpy as np

from caveat.datasets import survey
from caveat.errors import CaveatWarning
from caveat.generators import Fitted, Generator
from caveat.synthesis.seen import LABELS
from caveat.table import Column, Table

# No column that names people: those are left out before any generator sees the table.
COLUMNS = ("interviewed", "sex", "age", "region", "education", "occupation", "income", "bmi")


def people(rows: int = 300) -> Table:
    return survey(rows=rows).select(COLUMNS)


def fit(generator: Generator, table: Table, seed: int = 1) -> Fitted:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)  # tables as small as these hide nobody
        return generator.fit(table, seed)


def check_generator(generator: Generator, table: Table) -> None:
    """Check all of the contract that one can see from outside."""
    first, second = fit(generator, table).sample(copies=2)
    for made in (first, second):
        check_table(made, table)
    assert first.n_rows == second.n_rows
    again = fit(generator, table).sample()[0]
    assert (again == first) is generator.is_seeded
    assert first != second
    (one,) = fit(generator, table).sample(rows=1)
    check_table(one, table)
    assert one.n_rows == 1
    (more,) = fit(generator, table, seed=2).sample(rows=table.n_rows + 7)
    check_table(more, table)
    assert more.n_rows == table.n_rows + 7
    assert generator.name


def check_table(made: Table, original: Table) -> None:
    assert made.names == original.names
    for name in original:
        check_column(made[name], original[name], name)


def check_column(made: Column, original: Column, name: str) -> None:
    assert made.kind == original.kind, name
    assert set(made.missing) <= set(original.missing), name
    if original.kind.is_number:
        assert made.levels.dtype.kind == original.levels.dtype.kind, name
        assert np.array_equal(made.levels, np.unique(made.levels)), name
    else:
        assert set(made.levels.tolist()) <= {*original.levels.tolist(), *LABELS}, name
