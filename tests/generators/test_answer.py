"""What a generator in another process gave back; wrong answers are in test_process."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.generators.process import AnswerError, read_answer
from caveat.table import Column, Kind, Missing, Table

CODES = np.array([0, 1, 0])
ORIGINAL = Table(
    {
        "pay": Column(np.array([0, 1, 2]), np.array([800, 950]), Kind.INTEGER, (Missing(-8),)),
        "rank": Column(CODES, np.array([1, 2]), Kind.ORDERED),
        "ill": Column(CODES, np.array([False, True]), Kind.BOOLEAN),
        "seen": Column(CODES, np.array(["2020-01-01", "2021-05-01"], "datetime64[D]"), Kind.DATE),
        "size": Column(CODES, np.array([1.5, 2.5]), Kind.NUMERIC),
    }
)
ANSWER = {
    "size": pa.array([1, 2], pa.int32()),
    "seen": pa.array([dt.datetime(2020, 6, 1, 12), dt.datetime(1999, 1, 1)]),
    "ill": pa.array([True, False]),
    "rank": pa.array([2.0, 1.0]),
    "pay": pa.array([812.4, None]),
}


def answer(folder: Path, columns: dict[str, object], rows: int = 2) -> Table:
    pq.write_table(pa.table(columns), folder / "made.parquet")
    return read_answer(folder / "made.parquet", ORIGINAL, rows)


def test_other_types_become_those_of_the_original(tmp_path: Path) -> None:
    made = answer(tmp_path, ANSWER)
    assert made.names == ORIGINAL.names
    assert made["pay"].values.tolist() == [812, -8]
    assert made["rank"].values.tolist() == [2, 1]
    assert made["ill"].values.tolist() == [True, False]
    assert [str(day) for day in made["seen"].values] == ["2020-06-01", "1999-01-01"]
    assert made["size"].values.tolist() == [1.0, 2.0]
    for name in ORIGINAL:
        assert made[name].kind == ORIGINAL[name].kind
        assert made[name].missing == ORIGINAL[name].missing
        assert made[name].levels.dtype == ORIGINAL[name].levels.dtype


def test_text_numbers_and_dictionaries_are_read(tmp_path: Path) -> None:
    other = {
        **ANSWER,
        "pay": pa.array(["900", "1000"]),
        "rank": pa.array(["2", "1"]).dictionary_encode(),
        "seen": pa.array([dt.date(2020, 1, 5), dt.date(2020, 1, 6)]),
    }
    made = answer(tmp_path, other)
    assert made["pay"].values.tolist() == [900, 1000]
    assert made["rank"].values.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("name", "cells", "says"),
    [
        ("rank", pa.array([1.5, 1.0]), "a level that the original has not"),
        ("rank", pa.array([float("nan"), 1.0]), "empty or NaN"),
        ("seen", pa.array(["soon", "later"]), "its values are no dates"),
        ("seen", pa.array([[1], [2]]), "its values are no dates"),
        ("ill", pa.array([None, True]), "empty or NaN"),
        ("pay", pa.array([[1], [2]]), "its values are no numbers"),
    ],
)
def test_wrong_cells(name: str, cells: object, says: str, tmp_path: Path) -> None:
    with pytest.raises(AnswerError, match=says) as caught:
        answer(tmp_path, {**ANSWER, name: cells})
    assert caught.value.column == name
