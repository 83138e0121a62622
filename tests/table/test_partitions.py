"""Tables in parts: the same as the whole, and parts of different tables in one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from caveat.errors import CaveatError, CaveatWarning
from caveat.table import Table
from caveat.table.partitions import table_of

WHOLE = pd.DataFrame(
    {
        "sex": ["f", "m", "m", "f", "f", "m", "f"],
        "pay": [800, 950, 800, 1200, 700, 800, 950],
        "height": [1.7, 1.8, np.nan, 1.6, 1.7, np.nan, 1.9],
        "area": pd.Categorical(["a", "b", "a", "c", "c", "a", "b"]),
    }
)


def in_dask(parts: list[pd.DataFrame]) -> Any:
    dask, frames = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    delayed = [dask.delayed(part) for part in parts]
    return frames.from_delayed(delayed, meta=parts[0].iloc[:0], verify_meta=False)


def in_folder(parts: list[pd.DataFrame], folder: Path) -> Path:
    for number, part in enumerate(parts):
        pq.write_table(
            pa.Table.from_pandas(part, preserve_index=False), folder / f"{number}.parquet"
        )
    return folder


@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 5]])
def test_the_parts_are_the_whole(cuts: list[int], tmp_path: Path) -> None:
    parts = [WHOLE.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(WHOLE)], strict=True)]
    assert table_of(in_dask(parts)) == Table.from_frame(WHOLE)
    assert table_of(in_dask(parts)).backend == "pandas"
    whole = pa.Table.from_pandas(WHOLE, preserve_index=False)
    assert table_of(in_folder(parts, tmp_path)) == Table.from_frame(whole)
    assert table_of(str(tmp_path)) == Table.from_frame(whole)


def test_a_frame_is_what_it_was() -> None:
    table = Table.from_frame(WHOLE)
    assert table_of(WHOLE) == table
    assert table_of(table) is table


def said(data: Any) -> str:
    with pytest.raises(CaveatError) as error:
        table_of(data)
    return str(error.value)


def test_parts_with_other_columns_or_types(tmp_path: Path) -> None:
    first, second = WHOLE.iloc[:3], WHOLE.iloc[3:]
    less, more = second.drop(columns="pay"), second.assign(extra=1)
    turned, other = second[["pay", "sex", "height", "area"]], second.astype({"pay": "float64"})
    do = "give all parts the same columns."
    assert said(in_dask([first, less])) == (
        f"partition 2: it has no column 'pay', unlike partition 1; {do}"
    )
    assert said(in_dask([first, more])) == (
        f"partition 2: it has a column 'extra', unlike partition 1; {do}"
    )
    assert said(in_dask([first, turned])) == (
        f"partition 2: its columns stand in another order than those of partition 1; {do}"
    )
    assert said(in_dask([first, other])) == (
        "partition 2, column pay: its type is float64, and int64 in partition 1; give the column "
        "one type in all parts."
    )
    assert "1.parquet, column pay: its type is double, and int64 in" in said(
        in_folder([first, other], tmp_path)
    )


def test_an_empty_part_is_said_and_passed_over(tmp_path: Path) -> None:
    parts = [WHOLE.iloc[:3], WHOLE.iloc[3:3], WHOLE.iloc[3:], WHOLE.iloc[:0]]
    with pytest.warns(CaveatWarning, match=r"^partition 2, and 1 more, has no rows$"):
        assert table_of(in_dask(parts)) == Table.from_frame(WHOLE)
    with pytest.warns(CaveatWarning, match=r"1.parquet has no rows$"):
        table_of(in_folder(parts[:3], tmp_path))
    assert table_of(in_dask(parts[1:2])).n_rows == 0


def test_folders_that_hold_no_table(tmp_path: Path) -> None:
    assert "there is no such folder; read a file" in said(tmp_path / "none")
    assert "the folder holds no Parquet files" in said(tmp_path)
    (tmp_path / "a.parquet").write_text("no")
    assert "a file is no Parquet file, or a damaged one" in said(tmp_path)
