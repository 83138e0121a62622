"""Code files: the same table, mapped from disk."""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from tests.refusals import refused
from tests.table.strategies import polars_frames

from caveat.table import Column, Kind, Missing, Table
from caveat.table.code_files import CodeFiles, open_code_files, write_code_files

PEOPLE = Table(
    {
        "sex": Column(np.array([0, 1, 0]), np.array(["f", "m"], object), Kind.CATEGORY),
        "pay": Column(
            np.array([2, 0, 1]),
            np.array([800, 950]),
            Kind.INTEGER,
            (Missing(-8, "not asked"), Missing(), Missing(float("nan"))),
            "gross pay",
            {800: "least"},
            "Int32",
        ),
        "born": Column(
            np.array([1, 1, 0]), np.array(["1960-01-02", "1999-03-04"], "M8[D]"), Kind.DATE
        ),
    },
    "pandas",
)


def test_a_table_comes_back_whole(tmp_path: Path) -> None:
    written = write_code_files(PEOPLE, tmp_path)
    for table in (written, open_code_files(tmp_path)):
        assert table == PEOPLE
        assert table.backend == "pandas"
        assert table["pay"].storage == "Int32"
        assert table["pay"].missing == PEOPLE["pay"].missing
        assert [table[n].levels.dtype for n in table] == [PEOPLE[n].levels.dtype for n in table]
        assert [table[n].codes.dtype for n in table] == [np.uint8] * 3


def test_codes_are_plain_arrays_that_only_the_owner_reads(tmp_path: Path) -> None:
    write_code_files(PEOPLE, tmp_path)
    assert np.load(tmp_path / "00001.npy", allow_pickle=False).tolist() == [2, 0, 1]
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.glob("*.npy")} == {0o600}


def test_codes_are_mapped_and_nobody_writes_to_them(tmp_path: Path) -> None:
    codes = write_code_files(PEOPLE, tmp_path)["sex"].codes
    assert type(codes) is np.ndarray  # the compiled kernels know no other
    base = codes.base
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        codes[0] = 1


def test_opening_does_not_read_the_cells(tmp_path: Path) -> None:
    write_code_files(PEOPLE, tmp_path)
    raw = bytearray((tmp_path / "00000.npy").read_bytes())
    raw[-1] = 9
    (tmp_path / "00000.npy").write_bytes(raw)
    assert open_code_files(tmp_path)["sex"].codes.tolist() == [0, 1, 9]


@given(frame=polars_frames())
@settings(max_examples=60)
def test_any_table_comes_back(frame: object) -> None:
    table = Table.from_frame(frame)
    with TemporaryDirectory() as folder:
        write_code_files(table, Path(folder))
        opened = open_code_files(Path(folder))
        assert opened == table
        assert opened.to_frame().equals(table.to_frame(), null_equal=True)


def test_no_rows_and_many_levels(tmp_path: Path) -> None:
    empty = PEOPLE.take(slice(0, 0))
    assert write_code_files(empty, tmp_path) == empty
    many = Table({"id": Column(np.arange(70_000), np.arange(70_000), Kind.INTEGER)})
    (tmp_path / "many").mkdir()
    opened = write_code_files(many, tmp_path / "many")
    assert opened == many
    assert opened["id"].codes.dtype == np.uint32


def test_a_folder_without_its_document_has_no_table(tmp_path: Path) -> None:
    files = CodeFiles(tmp_path)
    files.keep("sex", PEOPLE["sex"])  # a run that was stopped here
    with refused("data.folder.damaged"):
        open_code_files(tmp_path)
    (tmp_path / "table.json").write_text(json.dumps({"format": "caveat codes", "version": 0}))
    with refused("data.version.mismatch"):
        open_code_files(tmp_path)


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("caveat.table.code_files.write_array", full)
    with refused("command.output.not-writable") as caught:
        write_code_files(PEOPLE, tmp_path)
    assert caught.value.do == "check the folder's permissions and the free space"
