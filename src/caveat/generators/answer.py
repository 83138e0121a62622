"""What a generator in another process gave back: checked, and made a table like the original."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.generators.cells import column_like
from caveat.generators.request import level_texts, plain_missing
from caveat.table import Column, Kind, Table

__all__ = ["AnswerError", "read_answer"]

LARGEST = 2**53
"""Whole numbers up to here are exact as floating point."""


class AnswerError(Exception):
    """A generator returned something that is not a table like the original.

    Parameters
    ----------
    what
        What is wrong, without any value.
    column, row
        Where, if it is about one column or one cell.
    code
        As for :class:`CaveatError`.
    """

    def __init__(
        self, what: str, column: str | None = None, row: int | None = None, *, code: str
    ) -> None:
        super().__init__(what)
        self.what, self.column, self.row, self.code = what, column, row, code


def read_answer(path: Path, original: Table, rows: int) -> Table:
    """Return the table that a generator wrote, on the schema of the original.

    The order of the columns does not matter. In a column of levels every value must be one that the
    original has. Numbers may be any finite numbers, and are rounded in columns of whole numbers;
    dates may be any in the calendar. An empty cell is the column's plain way to be missing, and is
    refused where the original has no missing cell.
    """
    if not path.exists():
        raise AnswerError("it ended without writing a table", code="generator.answer.absent")
    try:
        answer = pq.read_table(path)
    except (pa.ArrowException, OSError, ValueError):
        raise AnswerError(
            "what it wrote is not a table in Parquet", code="generator.answer.malformed"
        ) from None
    _check_columns(answer.column_names, original)
    if answer.num_rows != rows:
        raise AnswerError(
            f"it returned {answer.num_rows:,} rows where {rows:,} were asked for",
            code="generator.row.mismatch",
        )
    columns = {}
    for name, column in original.columns.items():
        whole = answer.column(name)
        if pa.types.is_dictionary(whole.type):
            whole = whole.cast(whole.type.value_type)
        columns[name] = _column(whole.combine_chunks(), column, name)
    return Table(columns, backend=original.backend)


def _check_columns(names: list[str], original: Table) -> None:
    for name in original:
        if name not in names:
            raise AnswerError("it did not return this column", name, code="generator.column.absent")
    if len(names) > len(original.names):
        extra = len(names) - len(original.names)
        raise AnswerError(
            f"it returned {extra:,} columns that the original has not",
            code="generator.column.too-many",
        )


def _column(cells: Any, original: Column, name: str) -> Column:
    try:
        if not original.kind.is_number:
            return _of_levels(cells, original, name)
        return _of_numbers(cells, original, name)
    except (pa.ArrowException, CaveatError, OverflowError, ValueError, TypeError):
        raise AnswerError(
            f"its values are no {_words(original.kind)}", name, code="generator.value.type"
        ) from None


def _words(kind: Kind) -> str:
    return {Kind.DATE: "dates", Kind.DATETIME: "dates"}.get(
        kind, "numbers" if kind.is_number else "levels"
    )


def _of_levels(cells: Any, original: Column, name: str) -> Column:
    if pa.types.is_boolean(cells.type):
        cells = pa.array(["True", "False"]).take(pc.if_else(cells, 0, 1))
    elif pa.types.is_floating(cells.type):  # written as 1 where it is 1.0
        texts = pc.cast(cells, pa.string())
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, pa.string()), texts)
    places = {text: code for code, text in enumerate(level_texts(original)) if text is not None}
    empty = plain_missing(original)
    texts = pc.cast(cells, pa.string()).dictionary_encode()
    known = [places.get(text, -1) for text in texts.dictionary.to_pylist()]
    codes = np.array([*known, -2])[np.asarray(texts.indices.fill_null(len(known)))]
    if (codes == -1).any():
        n = int((codes == -1).sum())
        row = int(np.argmax(codes == -1)) + 1
        raise AnswerError(
            f"{n:,} of its cells hold a level that the original has not",
            name,
            row,
            code="generator.level.unknown",
        )
    return original.with_codes(_fill(codes, codes == -2, empty, name))


def _fill(
    codes: NDArray[Any], gaps: NDArray[np.bool_], empty: int | None, name: str
) -> NDArray[Any]:
    """Return codes with the code of an empty cell in the gaps."""
    if empty is None and gaps.any():
        n, row = int(gaps.sum()), int(np.argmax(gaps)) + 1
        raise AnswerError(
            f"{n:,} cells are empty or NaN, and the original has none",
            name,
            row,
            code="generator.value.absent",
        )
    return np.where(gaps, 0 if empty is None else empty, codes)


def _of_numbers(cells: Any, original: Column, name: str) -> Column:
    values, gaps = _dates(cells) if original.levels.dtype.kind == "M" else _numbers(cells)
    codes = _fill(np.zeros(len(values), np.int64), gaps, plain_missing(original), name)
    if not len(original.levels):  # nothing but missing cells: any value is as new as any other
        codes = np.where(gaps, codes, -1)
    if values.dtype.kind == "f":
        bad = ~gaps & ~np.isfinite(values)
        if bad.any():
            raise AnswerError(
                "a number is not finite",
                name,
                int(np.argmax(bad)) + 1,
                code="generator.value.infinite",
            )
        if original.kind is Kind.INTEGER:
            if (np.abs(values[~gaps]) > LARGEST).any():
                raise AnswerError(
                    "a whole number is too large", name, code="generator.value.too-large"
                )
            values = np.where(gaps, 0, np.rint(values)).astype(np.int64)
    if original.kind is Kind.NUMERIC:
        values = values.astype(np.float64)
    return column_like(original, values.astype(original.levels.dtype, copy=False), codes)


def _numbers(cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if not pa.types.is_integer(cells.type):
        cells = pc.cast(cells, pa.float64())
    gaps = np.asarray(cells.is_null(nan_is_null=True))
    return np.asarray(cells.fill_null(0)), gaps


def _dates(cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    moments = pc.cast(cells, pa.timestamp("us"), safe=False)
    gaps = np.asarray(moments.is_null())
    return np.asarray(moments.fill_null(0)).astype("datetime64[us]"), gaps
