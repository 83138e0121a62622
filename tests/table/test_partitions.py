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
from caveat.table import Column, Kind, Table, read, write
from caveat.table.code_files import CodeFiles, write_code_files
from caveat.table.files import read_into
from caveat.table.frames import PART, part_name, parts_of, table_of, write_parts

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
    folder.mkdir(exist_ok=True)
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
    whole = tmp_path / "whole.parquet"
    pq.write_table(pa.Table.from_pandas(WHOLE, preserve_index=False), whole)
    folder = in_folder(parts, tmp_path / "parts")
    assert table_of(folder) == table_of(str(folder)) == read(folder) == read(whole)
    assert read(folder).backend == read(whole).backend == ""


@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 5]])
def test_codes_of_parts_are_kept_byte_by_byte_as_those_of_the_whole(
    cuts: list[int], tmp_path: Path
) -> None:
    parts = [WHOLE.iloc[a:b] for a, b in zip([0, *cuts], [*cuts, len(WHOLE)], strict=True)]
    pq.write_table(pa.Table.from_pandas(WHOLE, preserve_index=False), tmp_path / "whole.parquet")
    places = {name: tmp_path / name for name in ("file", "parts", "frame", "dask")}
    for place in places.values():
        place.mkdir()
    read_into(CodeFiles(places["file"]), tmp_path / "whole.parquet")
    table_of(in_folder(parts, tmp_path / "cut"), CodeFiles(places["parts"]))
    write_code_files(Table.from_frame(WHOLE), places["frame"])
    table_of(in_dask(parts), CodeFiles(places["dask"]))
    held = {name: {path.name: path.read_bytes() for path in place.iterdir()}
            for name, place in places.items()}  # fmt: skip
    assert held["parts"] == held["file"]
    assert held["dask"] == held["frame"]


def test_parts_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    names = ["part.2.parquet", "part.10.parquet", "part.1.parquet", "_metadata.parquet",
             ".hidden.parquet", "other.txt"]  # fmt: skip
    for name in names:
        (tmp_path / name).touch()
    assert [path.name for path in parts_of(tmp_path)] == [names[2], names[0], names[1]]
    assert PART.fullmatch(part_name(7))
    assert [part_name(7), part_name(123456)] == ["part-00007.parquet", "part-123456.parquet"]


def test_notes_of_parts_hold_if_all_say_the_same(tmp_path: Path) -> None:
    def column(codes: list[int], label: str) -> Table:
        levels = np.array(["low", "high"], object)
        return Table({"x": Column(np.array(codes), levels, Kind.ORDERED, label=label)})

    write(column([0, 1], "how much"), tmp_path / "1.parquet")
    write(column([1, 0], "how much"), tmp_path / "2.parquet")
    assert read(tmp_path)["x"].label == "how much"
    assert read(tmp_path)["x"].values.tolist() == ["low", "high", "high", "low"]
    write(column([1, 0], "another"), tmp_path / "3.parquet")
    assert read(tmp_path)["x"].label == ""


def test_blocks_are_written_as_parts(tmp_path: Path) -> None:
    table = read_whole(tmp_path)
    (tmp_path / "parts").mkdir()
    blocks = [table.take(slice(0, 2)), table.take(slice(2, 7))]
    (tmp_path / "parts" / ".part-left").touch()  # by a worker that was killed
    write_parts(blocks, tmp_path / "parts")
    names = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert names == ["part-00000.parquet", "part-00001.parquet"]
    first, second = (pq.read_table(tmp_path / "parts" / name) for name in names)
    # The same types in all of them, and no level of another part.
    assert first.schema == second.schema
    assert first.column("area").to_pylist() == ["a", "b"]
    assert str(first.schema.field("area").type) == "string"
    back = read(tmp_path / "parts")
    assert back["area"].values.tolist() == WHOLE["area"].tolist()
    assert back["pay"] == table["pay"]
    # What a worker has written is left alone.
    (tmp_path / "parts" / names[0]).write_bytes(b"theirs")
    write_parts(blocks, tmp_path / "parts")
    assert (tmp_path / "parts" / names[0]).read_bytes() == b"theirs"


def read_whole(folder: Path) -> Table:
    pq.write_table(pa.Table.from_pandas(WHOLE, preserve_index=False), folder / "whole.parquet")
    return read(folder / "whole.parquet")


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
    assert "this is a folder, and it holds no Parquet files" in said(tmp_path)
    (tmp_path / "a.parquet").write_text("no")
    assert f"{tmp_path / 'a.parquet'}: not a Parquet file, or a damaged one" in said(tmp_path)
    (tmp_path / "year=2020").mkdir()
    assert "beside the parts of a table the folder holds a folder: year=2020" in said(tmp_path)
