"""Inputs that are no files, files that are bombs, and notes that want to be more than notes."""

from __future__ import annotations

import gzip
import json
import os
import socket
import struct
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
from pyarrow import feather
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.table import Table, read, write
from caveat.table.files import read_into

posix = pytest.mark.skipif(os.name == "nt", reason="pipes and links of Unix")


def refusal(path, **options) -> str:
    with pytest.raises(CaveatError) as caught:
        read(path, **options)
    said = str(caught.value)
    said.encode()  # any terminal can print it
    assert "\n" not in said
    return said


@posix
def test_pipes_sockets_and_devices_are_not_opened(tmp_path) -> None:
    os.mkfifo(tmp_path / "x.csv")
    (tmp_path / "z.csv").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.fspath(tmp_path / "s.csv"))
        for name in ("x.csv", "z.csv", "s.csv"):
            assert "this is a pipe, a socket or a device" in refusal(tmp_path / name)


@posix
def test_links_in_a_circle(tmp_path) -> None:
    (tmp_path / "x.csv").symlink_to(tmp_path / "x.csv")
    assert "the name cannot be used (Too many levels" in refusal(tmp_path / "x.csv")


def test_names_that_no_file_has(tmp_path) -> None:
    assert "the name holds a NUL" in refusal(tmp_path / "a\0b.csv")
    assert "the name cannot be used" in refusal(tmp_path / f"{'x' * 300}.csv")
    (tmp_path / "x.csv").write_text("a\n1\n")
    assert "there is no such file" in refusal(tmp_path / "x.csv" / "y.csv")
    assert "a\\nb.csv" in refusal(tmp_path / "a\nb.csv")
    assert "x\\udcff.csv" in refusal(tmp_path / "x\udcff.csv")


@posix
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather", ".sav"])
def test_names_that_are_not_unicode(suffix, tmp_path) -> None:
    write(Table.from_frame({"x": [1, 2]}), tmp_path / f"x{suffix}")
    path = tmp_path / f"\udcff{suffix}"
    (tmp_path / f"x{suffix}").rename(path)
    try:
        assert read(path).n_rows == 2
    except CaveatError as error:
        str(error).encode()


def test_columns_that_break_lines_are_named_in_one_line(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('"a\nb",c,"a\nb"\n1,2,3\n')
    (note,) = read_into(None, path).notes  # the second one is renamed
    assert "\n" not in note
    path.write_text(f"{'x' * 200_000},{'x' * 200_000}\n1,2\n")
    (note,) = read_into(None, path).notes
    assert len(note) < 5000


def test_a_header_that_the_standard_library_refuses(tmp_path) -> None:
    path = tmp_path / "x.csv"
    long = "x" * 140_000
    path.write_text(f'{long},"y""z",a\rb\n1,2,3\n')
    assert read(path).names == (long, 'y"z', "a\rb")
    path.write_text('a,"b\n1,2\n')
    assert "line 1: a quotation mark is opened here and never closed" in refusal(path)
    path.write_text('a,"b"c\n1,2\n')
    assert "line 1: text follows a closing quotation mark" in refusal(path)


def test_a_mark_inside_a_name_takes_no_rows_away(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_text('a 5",b\n1,2\n3,4\n')
    table = read(path)
    assert table.names == ('a 5"', "b")
    assert table["b"].values.tolist() == [2, 4]


def test_returns_inside_cells_are_text(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"a,b\nx\ry,1\nz,2\n")
    assert read(path)["a"].values.tolist() == ["x\ry", "z"]


BOMBS = {
    ".csv.gz": lambda: gzip.compress(b"a\n" + b"1\n" * (5 << 20), mtime=0) * 40,
    ".csv.zst": lambda: pa.Codec("zstd").compress(bytes(1 << 26), asbytes=True) * 10,
    ".arrow": lambda: _arrow_bomb(),
    ".parquet": lambda: _parquet_bomb(),
}


def _arrow_bomb() -> bytes:
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"x": np.zeros(40_000_000, np.int64)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(sink, batch.schema, options=options) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _parquet_bomb() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": np.zeros(40_000_000, np.int8)}), sink)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("suffix", BOMBS)
def test_bombs_are_refused_with_the_way_out(suffix, tmp_path) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(BOMBS[suffix]())
    said = refusal(path)
    assert "expands to more than 200 times its size" in said
    assert "CAVEAT_EXPANSION" in said


def test_the_limit_can_be_raised_and_must_be_a_number(tmp_path, monkeypatch) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(_parquet_bomb())
    monkeypatch.setenv("CAVEAT_EXPANSION", "100000")
    assert read(path).n_rows == 40_000_000
    for wrong in ("much", "0", "-1", "nan"):
        monkeypatch.setenv("CAVEAT_EXPANSION", wrong)
        assert "CAVEAT_EXPANSION is not a positive number" in refusal(path)


def test_a_forged_number_of_rows_reserves_no_memory(tmp_path) -> None:
    path = tmp_path / "x.dta"
    write(Table.from_frame({"x": [1.5, 2.5]}), path)
    whole = path.read_bytes()
    at = whole.index(b"<N>") + 3
    path.write_bytes(whole[:at] + struct.pack("<Q", 1 << 40) + whole[at + 8 :])
    assert "x.dta" in refusal(path)


def forge(path: Path, change) -> None:
    table = pq.read_table(path)
    notes = json.loads(table.schema.metadata[b"caveat"])
    change(notes)
    metadata = {b"caveat": json.dumps(notes).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    "entry",
    [
        {"storage": "text:decimals=9999999999"},
        {"storage": "text:%Q"},
        {"storage": 5},
        {"storage": "read_csv(source='x')"},
        {"storage": "Config()"},
        {"kind": "date"},
        {"kind": "boolean"},
        {"type": "V1000000000"},
        {"type": "<U10"},
        {"missing": [[[], ""]]},
        {"missing": [[1, 2, 3]]},
        {"value_labels": [[{"time": "x"}, "y"]]},
        {"levels": "x"},
        {"label": {}},
    ],
)
def test_notes_of_others_are_checked(entry, tmp_path) -> None:
    path = tmp_path / "x.parquet"
    write(Table.from_frame(pl.DataFrame({"x": [1.5, None, 2.5]})), path)
    forge(path, lambda notes: notes["columns"]["x"].update(entry))
    assert "column x: the file's note on the column is damaged" in refusal(path)


def test_notes_that_are_none(tmp_path) -> None:
    path = tmp_path / "x.parquet"
    for change in (lambda n: n.update(columns=[]), lambda n: n.update(backend="os")):
        write(Table.from_frame({"x": [1.5, 2.5]}), path, force=True)
        forge(path, change)
        assert read(path)["x"].values.tolist() == [1.5, 2.5]


def test_dates_beyond_the_calendar(tmp_path) -> None:
    days = pa.table({"d": pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32())})
    pq.write_table(days, tmp_path / "x.parquet")
    said = refusal(tmp_path / "x.parquet")
    assert "column d, row 2: a date lies outside the years 1 to 9999" in said


def test_no_interpreter_to_start(tmp_path, monkeypatch) -> None:
    pyreadstat.write_sav(Table.from_frame({"x": [1.5, 2.5]}).to_frame("pandas"), tmp_path / "x.sav")
    apart = read(tmp_path / "x.sav")
    monkeypatch.setattr(sys, "executable", "")
    assert read(tmp_path / "x.sav") == apart


def test_an_encoding_with_a_nul_is_none(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    assert "there is no encoding" in refusal(path, encoding="a\0b")


def test_a_name_that_is_only_an_extension_is_not_called_unwritable(tmp_path) -> None:
    path = tmp_path / ".csv"
    path.write_text("a\n1\n")
    assert "the extension is not known" in refusal(path)
    with refused("data.format.unsupported"):
        write(Table.from_frame({"a": [1]}), tmp_path / "x.xpt")


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_decimals_beyond_38_digits(suffix, tmp_path) -> None:
    save = {".parquet": pq.write_table, ".feather": feather.write_feather}[suffix]
    wide = pa.decimal256(60, 2)
    save(pa.table({"d": pa.array([Decimal("1.25"), None], wide)}), tmp_path / f"fits{suffix}")
    assert read(tmp_path / f"fits{suffix}")["d"].levels.tolist() == [1.25]
    save(pa.table({"d": pa.array([Decimal(10) ** 50], wide)}), tmp_path / f"large{suffix}")
    assert "column d: the values are of mixed or unknown types" in refusal(
        tmp_path / f"large{suffix}"
    )


@pytest.mark.parametrize("inner", [pa.decimal256(60, 2), pa.int64()])
def test_lists_and_records_in_a_cell(inner, tmp_path) -> None:
    cells = {"List": pa.list_(inner), "Struct": pa.struct([("a", inner)])}
    for name, dtype in cells.items():
        feather.write_feather(pa.table({name: pa.nulls(3, dtype)}), tmp_path / "x.feather")
        assert f"column {name}: values of type {name} cannot be used" in refusal(
            tmp_path / "x.feather"
        )


def test_a_dictionary_with_an_empty_level_and_one_twice(tmp_path) -> None:
    words = pa.array(["b", None, "a", "b"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, None]), words)
    feather.write_feather(pa.table({"x": column}), tmp_path / "x.feather")
    found = read(tmp_path / "x.feather")["x"]
    assert found.levels.tolist() == ["b", "a"]
    assert found.codes.tolist() == [0, 2, 1, 0, 2]
    assert found.is_missing.tolist() == [False, True, False, False, True]


PEAK = """
import resource, sys
from caveat.errors import CaveatError
from caveat.table import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read(sys.argv[1])
except CaveatError as error:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, error.what)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in kB is Linux's")
@pytest.mark.parametrize("named", [True, False])
def test_a_text_file_of_a_million_columns(named, tmp_path) -> None:
    path = tmp_path / "wide.csv"
    names = ",".join(f"c{i}" for i in range(1_000_000)) if named else "," * 999_999
    path.write_text(f"{names}\n" + 3 * ("1,2," * 250_000 + "3,4," * 249_999 + "5,6,7,8\n"))
    command = [sys.executable, "-c", PEAK, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    grown, what = done.stdout.split(" ", 1)
    assert int(grown) < 1 << 20  # kB: the file has 13 MB, the table had taken 2.3 GB
    assert what.startswith("1,000,000 columns")


def test_columns_of_other_formats_have_the_same_bound(tmp_path) -> None:
    wide = pa.table({f"c{i}": [1] for i in range(20_001)})
    pq.write_table(wide, tmp_path / "x.parquet")
    assert "20,001 columns" in refusal(tmp_path / "x.parquet")
    with refused("data.column.too-many"):
        Table.from_frame(wide)
    assert len(Table.from_frame(wide.select(range(20_000))).names) == 20_000
