"""Types of a database: the one a column came with, if all its values fit."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.refusals import refused

from caveat.table import Column, Table
from caveat.table.database import cells_of, type_of


def column(cells: list[Any], storage: str = "") -> Column:
    return replace(Table.from_frame({"x": cells})["x"], storage=storage)


@pytest.mark.parametrize(
    ("cells", "storage", "expected"),
    [
        ([1, 2], "", "bigint"),
        ([1, 2], "sql:smallint", "smallint"),
        ([1, 40_000], "sql:smallint", "bigint"),
        ([1, 2], "sql:numeric(4,2)", "numeric(4,2)"),
        ([1.25, 2.5], "sql:numeric(4,2)", "numeric(4,2)"),
        ([1.255, 2.5], "sql:numeric(4,2)", "double precision"),
        ([100.5, 2.5], "sql:numeric(4,2)", "double precision"),
        ([0.5, 2.5], "sql:real", "real"),
        ([0.1, 2.5], "sql:real", "double precision"),
        (["ab", "c"], "sql:varchar(2)", "varchar(2)"),
        (["abc", "c"], "sql:varchar(2)", "text"),
        (["a", "b"], "sql:integer", "text"),
        (["a", "b"], "sql:text); DROP TABLE x; --", "text"),
        ([1, 2], "sql:integer; --", "bigint"),
        ([True, False], "arrow:bool", "boolean"),
    ],
)
def test_a_type_is_kept_where_the_values_fit(cells: list[Any], storage: str, expected: str) -> None:
    assert type_of(column(cells, storage)) == expected


def test_decimals_are_exact() -> None:
    cells = cells_of(column([0.1, 1767.26, None], "sql:numeric(12,2)"), "numeric(12,2)", "x")
    assert cells.to_pylist() == [Decimal("0.10"), Decimal("1767.26"), None]
    whole = cells_of(column([7, 8], "sql:numeric(12,2)"), "numeric(12,2)", "x")
    assert whole.to_pylist() == [Decimal("7.00"), Decimal("8.00")]


def test_a_later_block_that_does_not_fit_is_refused() -> None:
    with refused("data.value.type", column="x"):
        cells_of(column([70_000]), "smallint", "x")
