"""Bad files and bad targets: one sentence that names the place, and nothing written."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.table import ColumnSchema, Schema, Table, read, write
from caveat.table.drafts import atomic_output

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8
SECRET = "Kowalski"

# name of the file, its bytes, what the message says
BAD = {
    "empty csv": ("x.csv", b"", "x.csv: the file is empty"),
    "empty parquet": ("x.parquet", b"", "x.parquet: the file is empty"),
    "only a byte order mark": ("x.csv", b"\xef\xbb\xbf", "x.csv: the file is empty"),
    "short row": (
        "x.csv", b"a,b\n1,2\n3\n", "x.csv, line 3: the line has 1 field, the header 2"),
    "long row": (
        "x.csv", b"a,b\n1,2\nKowalski,2,3\n", "x.csv, line 3: the line has 3 fields, the header 2"),
    "short row after a line break in quotes": (
        "x.csv", b'a,b\n"1\n\n",2\n3\n', "x.csv, line 5: the line has 1 field"),
    "blank line": ("x.csv", b"a,b\n1,2\n\n3,4\n", "x.csv, line 3: the line is empty"),
    "invalid UTF-8": (
        "x.csv", b"a,b\nKowalski,2\nG\x9adel,3\n",
        r"x.csv: byte 16 \(line 3\) is not valid UTF-8; name its encoding"),
    "invalid UTF-8 in the header": (
        "x.csv", b"gr\x9a\xa7e,b\n1,2\n", r"x.csv: byte 2 \(line 1\) is not valid UTF-8"),
    "UTF-16": ("x.csv", "a,b\n1,2\n".encode("utf-16-le"), "not a text file in UTF-8"),
    "open quotation mark": (
        "x.csv", b'a,b\n"Kowalski,2\n3,4\n',
        "x.csv, line 2: a quotation mark is opened here and never closed"),
    "text after quotation mark": (
        "x.csv", b'a,b\n"Kowalski"x,2\n', "x.csv, line 2: text follows a closing"),
    "quotation mark in the middle": (
        "x.csv", b'a,b\n5" Kowalski,2\n3,4\n', "x.csv, line 2: a quotation mark stands inside"),
    "a column without a name": ("x.csv", b"a,,c\n1,2,3\n", "x.csv, column 2: a column has no name"),
    "image called csv": ("x.csv", PNG, r"x.csv: byte 0 \(line 1\) is not valid UTF-8"),
    "image called parquet": ("x.parquet", PNG, "x.parquet: not a Parquet file, or a damaged one"),
    "image called feather": ("x.feather", PNG, "x.feather: not a Feather file, or a damaged one"),
    "image called sav": ("x.sav", PNG, "x.sav: not a file of the format sav"),
    "image called dta": ("x.dta", PNG, "x.dta: not a file of the format dta"),
    "image called sas7bdat": ("x.sas7bdat", PNG, "x.sas7bdat: not a file of the format sas7bdat"),
    "image called xpt": ("x.xpt", PNG, "x.xpt: not a file of the format xpt"),
    "image called gz": ("x.csv.gz", PNG, "x.csv.gz: not a gzip file, or a damaged one"),
    "image called zst": ("x.csv.zst", PNG, "x.csv.zst: not a zstd file, or a damaged one"),
    "unknown extension": ("x.docx", b"abc", r"the extension is not known; use one of \.csv, \.tsv"),
    "no extension": ("data", b"a,b\n", "the extension is not known"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_file_is_refused_in_one_sentence(case, tmp_path) -> None:
    name, content, message = BAD[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CaveatError, match=message) as caught:
        read(tmp_path / name)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


def test_missing_file_and_folder(tmp_path) -> None:
    with refused("data.file.absent"):
        read(tmp_path / "no.csv")
    (tmp_path / "folder.csv").mkdir()
    with refused("data.folder.empty"):
        read(tmp_path / "folder.csv")


@pytest.mark.skipif(os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0,
                    reason="permissions do not bind here")  # fmt: skip
def test_unreadable_file(tmp_path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a\n1\n")
    path.chmod(0)
    with pytest.raises(CaveatError, match=r"x\.csv: the file cannot be read"):
        read(path)


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrow", ".sav", ".dta"])
@pytest.mark.parametrize("share", [0.3, 0.6, 0.95])
def test_truncated_file_is_refused(suffix, share, tmp_path) -> None:
    path = tmp_path / f"x{suffix}"
    write(Table.from_frame({"x": list(range(500)), "y": ["a", "b"] * 250}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with refused("data.file.damaged"):
        read(path)


def test_damaged_pages_of_parquet_are_refused(tmp_path) -> None:
    path = tmp_path / "x.parquet"
    write(Table.from_frame({"x": list(range(5000))}), path)
    content = bytearray(path.read_bytes())
    content[50:400] = bytes(350)
    path.write_bytes(content)
    with refused("data.file.damaged"):
        read(path)


def test_wrong_delimiter_decimal_and_encoding(tmp_path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for options, message in [
        ({"delimiter": ",,"}, "the delimiter is not one plain character"),
        ({"delimiter": '"'}, "the delimiter is not one plain character"),
        ({"decimal": "x"}, "neither point nor comma"),
        ({"delimiter": ",", "decimal": ","}, "are the same"),
        ({"encoding": "klingon"}, "there is no encoding 'klingon'"),
        ({"columns": ["c"]}, "there is no column 'c'; choose among a, b"),
        ({"schema": Schema({"age": ColumnSchema(label="Age")})}, "column age: the schema names"),
    ]:
        with pytest.raises(CaveatError, match=message):
            read(tmp_path / "x.csv", **options)
    (tmp_path / "y.csv").write_bytes(b"a\n\x81\n")
    with refused("data.encoding.mismatch"):
        read(tmp_path / "y.csv", encoding="cp1252")


TABLE = Table.from_frame({"x": [1, 2]})


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".feather", ".sav", ".dta"])
def test_existing_output_is_kept_without_force(suffix, tmp_path) -> None:
    path = tmp_path / f"x{suffix}"
    path.write_bytes(b"precious")
    with refused("command.output.exists"):
        write(TABLE, path)
    assert path.read_bytes() == b"precious"
    write(TABLE, path, force=True)
    assert read(path)["x"].values.tolist() == [1, 2]
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_bad_targets(tmp_path) -> None:
    (tmp_path / "folder.csv").mkdir()
    for name, message in [
        ("folder.csv", "the output is a folder"),
        ("none/x.csv", "none: there is no such folder"),
        ("x.doc", "the extension is not known"),
        ("x.sas7bdat", "can be read but not written"),
    ]:
        with pytest.raises(CaveatError, match=message):
            write(TABLE, tmp_path / name)
    with refused("data.column.absent"):
        write(Table({}), tmp_path / "x.csv")


def write_and_fail(target: Path, error: BaseException) -> None:
    with atomic_output(target, confidential=False, force=True) as draft:
        draft.write_text("new")
        assert draft.parent.parent == target.parent
        raise error


def write_too_late(target: Path) -> None:
    with atomic_output(target, confidential=False) as draft:
        draft.write_text("mine")
        target.write_text("theirs")


def test_failed_writing_leaves_nothing_behind(tmp_path) -> None:
    target = tmp_path / "x.json"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="half way"):
        write_and_fail(target, RuntimeError("half way"))
    with refused("command.output.not-writable"):
        write_and_fail(target, OSError(errno.ENOSPC, "No space left on device"))
    assert target.read_text() == "old"
    with pytest.raises(KeyboardInterrupt):
        write_and_fail(tmp_path / "y.json", KeyboardInterrupt())
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_target_made_meanwhile_is_kept(tmp_path: Path) -> None:
    target = tmp_path / "x.json"
    with refused("command.output.exists"):
        write_too_late(target)
    assert target.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
