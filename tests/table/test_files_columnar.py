"""Parquet and Feather: exact round trips of tables, other people's files, memory."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.table.strategies import pandas_frames, polars_frames

from caveat.table import Column, Kind, Missing, Table, files, read, write
from caveat.table.files import write_blocks

SUFFIXES = [".parquet", ".feather", ".arrow"]


def assert_identical(table: Table, other: Table) -> None:
    assert table == other
    assert table.backend == other.backend
    assert [table[n].storage for n in table] == [other[n].storage for n in other]


@settings(max_examples=120, deadline=None)
@given(st.one_of(polars_frames(), pandas_frames()), st.sampled_from(SUFFIXES))
def test_tables_of_frames_come_back_exactly(tmp_path_factory, frame, suffix) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    table = Table.from_frame(frame)
    write(table, path, force=True)
    assert_identical(read(path), table)


@pytest.fixture
def rich() -> Table:
    """A table with everything that a plain column of a file cannot say."""
    cells = np.array([0, 1, 2, 3, 2])
    words = (Missing(), Missing("NA"))
    return Table(
        {
            "income": Column(
                cells, np.array([800]), Kind.INTEGER,
                (Missing(-8, "not asked"), Missing(), Missing(".a", "refused")),
                label="Net income", value_labels={800: "usual"}),
            "size": Column(cells, np.array(["S", "M", "L", "XL"], object), Kind.ORDERED),
            "grade": Column(cells, np.array([3, 1, 2, 9]), Kind.ORDERED, value_labels={3: "worst"}),
            "region": Column(cells % 2, np.array([1, 2, 16]), Kind.CATEGORY),
            "share": Column(cells, np.array([0.5, 1.5]), Kind.NUMERIC, words),
            "whole": Column(cells, np.array([1.0, 2.0, 3.0, 4.0]), Kind.NUMERIC),
            "day": Column(
                cells, np.array(["2024-01-01", "2024-02-29"], "datetime64[D]"), Kind.DATE,
                (Missing(-8, "unknown"), Missing())),
            "ok": Column(cells, np.array([False, True]), Kind.BOOLEAN, words),
            "who": Column(cells, np.array(["a", "b", "c", "d"], object), Kind.ID),
            "note": Column(
                cells, np.array(["x", "y"], object), Kind.TEXT,
                (Missing("?", "illegible"), Missing())),
            "price": Column(cells, np.arange(4) / 4, Kind.NUMERIC, storage="text:decimals=2"),
        },
        backend="pandas",
    )  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_everything_known_about_columns_comes_back(rich, suffix, tmp_path) -> None:
    write(rich, tmp_path / f"x{suffix}")
    assert_identical(read(tmp_path / f"x{suffix}"), rich)


def test_others_read_ordinary_columns(rich, tmp_path) -> None:
    write(rich, tmp_path / "x.parquet")
    frame = pl.read_parquet(tmp_path / "x.parquet")
    assert frame["income"].to_list() == [800, -8, None, None, None]
    assert frame["share"].to_list() == [0.5, 1.5, None, None, None]
    assert frame["region"].to_list() == [1, 2, 1, 2, 1]
    assert frame["size"].to_list() == ["S", "M", "L", "XL", "L"]
    assert frame["who"].dtype == pl.String
    assert pd.read_parquet(tmp_path / "x.parquet")["size"].cat.ordered


def test_values_that_do_not_occur_are_not_written(tmp_path) -> None:
    table = Table.from_frame({"x": [31415, 92653, 58979], "y": ["Abel", "Noether", "Gauss"] * 1})
    table = table.with_columns({"y": replace(table["y"], kind=Kind.TEXT)}).take(slice(0, 1))
    write(table, tmp_path / "x.arrow")
    content = (tmp_path / "x.arrow").read_bytes()
    assert b"Abel" in content
    assert b"Noether" not in content
    assert b"92653" not in content
    assert np.int64(92653).tobytes() not in content


def test_notes_that_no_longer_fit_are_left_aside(rich, tmp_path) -> None:
    write(rich, tmp_path / "x.parquet")
    changed = pq.read_table(tmp_path / "x.parquet").slice(0, 3)
    pq.write_table(changed, tmp_path / "y.parquet")
    table = read(tmp_path / "y.parquet")
    assert table["income"].values.tolist() == [800, -8, None]
    assert table["income"].label == "Net income"
    assert table["size"].values.tolist() == ["S", "M", "L"]
    broken = changed.replace_schema_metadata({b"caveat": b"{no json"})
    pq.write_table(broken, tmp_path / "z.parquet")
    assert read(tmp_path / "z.parquet")["income"].label == ""


@settings(max_examples=80, deadline=None)
@given(polars_frames(), st.sampled_from([".parquet", ".feather"]))
def test_files_of_polars_are_read_like_its_frames(tmp_path_factory, frame, suffix) -> None:
    path = tmp_path_factory.getbasetemp() / f"polars{suffix}"
    (frame.write_parquet if suffix == ".parquet" else frame.write_ipc)(path)
    table, expected = read(path), Table.from_frame(frame)
    assert table.names == expected.names
    for name in table:
        assert (
            table[name].values.tolist() == expected[name].values.tolist()
            or np.isnan([v for v in expected[name].values if isinstance(v, float)]).any()
        )
        assert table[name].missing == expected[name].missing
        assert table[name].kind is expected[name].kind


def test_files_of_pandas_keep_category_order(tmp_path) -> None:
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["M", "S", None], ["S", "M", "L"], ordered=True),
            "town": pd.Categorical(["b", "a", "b"], ["b", "a"]),
            "x": pd.array([1, None, 3], "Int16"),
        },
        index=[5, 6, 7],
    )
    frame.to_parquet(tmp_path / "x.parquet")
    table = read(tmp_path / "x.parquet")
    assert table.names == ("size", "town", "x")
    assert table["size"].kind is Kind.ORDERED
    assert table["size"].levels.tolist() == ["S", "M", "L"]
    assert table["town"].kind is Kind.CATEGORY
    assert table["town"].levels.tolist() == ["b", "a"]
    assert table["x"].values.tolist() == [1, None, 3]
    write(table, tmp_path / "y.parquet")
    assert pq.read_schema(tmp_path / "y.parquet").field("x").type == pa.int16()


def test_text_over_many_row_groups(tmp_path) -> None:
    words = ["z", None, "a", "", "m"] * 20
    pq.write_table(pa.table({"x": words}), tmp_path / "x.parquet", row_group_size=7)
    x = read(tmp_path / "x.parquet")["x"]
    assert x.levels.tolist() == ["a", "m", "z"]
    assert x.missing == (Missing(), Missing(""))
    assert x.values.tolist() == words


def test_columns_can_be_chosen(rich, tmp_path) -> None:
    write(rich, tmp_path / "x.feather")
    assert read(tmp_path / "x.feather", columns=["day", "size"]).names == ("day", "size")
    with refused("data.column.unknown"):
        read(tmp_path / "x.feather", columns=["age"])


def test_columns_that_are_no_cells_are_refused_by_name(tmp_path) -> None:
    pq.write_table(pa.table({"x": [[1, 2], [3]]}), tmp_path / "x.parquet")
    with refused("data.type.unsupported", column="x"):
        read(tmp_path / "x.parquet")


def test_infinite_values_are_refused_with_column_and_row(tmp_path) -> None:
    pq.write_table(pa.table({"x": [0.5, float("inf")]}), tmp_path / "x.parquet")
    with refused("data.value.infinite", column="x", row=2):
        read(tmp_path / "x.parquet")


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("kind", ["float", "wide", "narrow"])
def test_long_columns_are_coded_as_a_plain_sort_would(kind, repeats, tmp_path) -> None:
    rng = np.random.default_rng(3)
    n = 600_000 // repeats
    values = {
        "float": rng.normal(size=n),
        "wide": rng.integers(-(2**62), 2**62, n),
        "narrow": rng.integers(-1000, 1000, n),
    }[kind]
    values = rng.permutation(np.repeat(values, repeats))
    pq.write_table(pa.table({"x": values}), tmp_path / "x.parquet", row_group_size=100_000)
    x = read(tmp_path / "x.parquet")["x"]
    levels, codes = np.unique(values, return_inverse=True)
    assert np.array_equal(x.levels, levels)
    assert np.array_equal(x.codes, codes)


MEASURE = """
import json, sys
from caveat.table import read
from caveat.table import _columnar

def peak():  # the resource module would count the memory of the parent process too
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))

read(sys.argv[2])  # whatever is loaded only once
before = peak()
table = read(sys.argv[1])
print(json.dumps([peak() - before, table.nbytes]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is measured in the Linux way")
def test_reading_parquet_needs_little_more_than_the_codes_and_one_column(tmp_path) -> None:
    rng = np.random.default_rng(7)
    n = 1_500_000
    columns = {f"k{i}": rng.integers(0, 200, n) for i in range(8)}
    columns |= {f"m{i}": np.round(rng.gamma(2, 1000, n)) for i in range(4)}
    columns |= {f"x{i}": np.round(rng.normal(size=n), 3) for i in range(2)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=250_000)
    pq.write_table(pa.table(columns).slice(0, 1000), tmp_path / "small.parquet")
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, *(str(tmp_path / f"{x}.parquet") for x in ("x", "small"))],
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    peak, codes = json.loads(run.stdout)
    assert codes == n * (8 * 1 + 6 * 2)
    assert peak < 2.5 * (codes + 8 * n)


def test_a_large_file_keeps_the_order_of_levels_that_come_late_and_lists_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = np.array(["none", "some", "much", "never drawn"], dtype=object)
    late = Column(np.array([1, 2, 1], np.uint8), levels, Kind.ORDERED)
    first = Column(np.array([2, 0, 0], np.uint8), levels, Kind.ORDERED)
    words = Column(np.array([0, 1, 1], np.uint8), np.array(["b", "c"], dtype=object), Kind.CATEGORY)
    blocks = [Table({"x": late, "y": words}), Table({"x": first, "y": words})]
    monkeypatch.setattr(files, "ROWS_IN_MEMORY", 2)
    write_blocks(blocks, tmp_path / "large.parquet")
    found = read(tmp_path / "large.parquet")
    assert found["x"].kind is Kind.ORDERED
    assert found["x"].levels.tolist() == ["none", "some", "much"]
    assert found["x"].values.tolist() == ["some", "much", "some", "much", "none", "none"]
    assert found["y"].values.tolist() == ["b", "c", "c"] * 2
    assert b"never drawn" not in (tmp_path / "large.parquet").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["large.parquet"]


def parts(folder: Path, *lists: list[str], ordered: bool) -> Path:
    folder.mkdir()
    for number, levels in enumerate(lists):
        cells = pd.Categorical(levels, categories=levels, ordered=ordered)
        pd.DataFrame({"x": cells}).to_parquet(folder / f"part-{number}.parquet")
    return folder


def test_levels_of_parts_are_merged_in_an_order_that_all_agree_with(tmp_path: Path) -> None:
    found = read(parts(tmp_path / "a", ["low", "mid"], ["none", "low"], ordered=True))
    assert found["x"].kind is Kind.ORDERED
    assert found["x"].levels.tolist() == ["none", "low", "mid"]
    assert found["x"].values.tolist() == ["low", "mid", "none", "low"]
    with refused("data.level.mismatch", column="x"):
        read(parts(tmp_path / "b", ["low", "high"], ["high", "low"], ordered=True))


def test_levels_of_parts_without_an_order_are_sorted_whatever_the_cuts(tmp_path: Path) -> None:
    found = read(parts(tmp_path / "a", ["c", "b"], ["d", "a"], ordered=False))
    assert found["x"].kind is Kind.CATEGORY
    assert found["x"].levels.tolist() == ["a", "b", "c", "d"]
    assert found["x"].values.tolist() == ["c", "b", "d", "a"]
