"""Files of every readable format, small and whole, and ways to damage or to forge them."""

from __future__ import annotations

import ctypes
import datetime as dt
import gzip
import struct
import warnings
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pyreadstat
from pyreadstat import _readstat_writer
from tests.fuzz.harness import Case, flipped

from caveat.table import ColumnSchema, Schema, Table, write

__all__ = ["cases", "seeds"]

ROWS = 40
Seed = tuple[str, bytes]
"""The extension that decides the format, and the bytes."""

PEOPLE = "".join(
    f'{i},"Müller, {"ÄÖÜ"[i % 3]}",{i * 1.25:.2f},{"NA" if i % 7 == 0 else i * 100},'
    f"2024-02-{i % 28 + 1:02d},2024-02-{i % 28 + 1:02d}T10:{i:02d}:00,"
    f"{'true' if i % 2 else 'false'},{'' if i % 5 else 'x'}\n"
    for i in range(ROWS)
)
CSV = f"id,name,height,income,born,seen,member,note\n{PEOPLE}"


def seeds() -> dict[str, Seed]:
    """Return whole files by a name that says how they were made."""
    with TemporaryDirectory() as folder:
        return dict(
            (*_texts(), *_columnar(Path(folder)), *_labelled(Path(folder)), *_ours(Path(folder)))
        )


def _texts() -> Iterator[tuple[str, Seed]]:
    semicolons = CSV.replace(",", ";").replace(".", ",")
    yield "csv", (".csv", CSV.encode())
    yield "csv CRLF", (".csv", CSV.replace("\n", "\r\n").encode())
    yield "csv CR", (".csv", CSV.replace("\n", "\r").encode())
    yield "csv BOM", (".csv", CSV.encode("utf-8-sig"))
    yield "csv latin-1", (".csv", CSV.encode("latin-1"))
    yield "csv UTF-16", (".csv", CSV.encode("utf-16"))
    yield "csv semicolons", (".csv", semicolons.encode())
    yield "txt bars", (".txt", CSV.replace(",", "|").encode())
    yield "tsv", (".tsv", CSV.replace(",", "\t").encode())
    yield "csv.gz", (".csv.gz", gzip.compress(CSV.encode(), mtime=0))
    half = len(CSV) // 2
    members = [gzip.compress(part.encode(), mtime=0) for part in (CSV[:half], CSV[half:])]
    yield "csv.gz of two members", (".csv.gz", b"".join(members))
    zstd = pa.Codec("zstd")
    yield "csv.zst", (".csv.zst", zstd.compress(CSV.encode(), asbytes=True))
    frames = [zstd.compress(part.encode(), asbytes=True) for part in (CSV[:half], CSV[half:])]
    yield "csv.zst of two frames", (".csv.zst", b"".join(frames))


def _arrow_table() -> pa.Table:
    """Return a column of every type that somebody may store."""
    i = np.arange(ROWS)
    words = [None if k % 9 == 0 else f"wörd {k % 6}" for k in i]
    moments = [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(k)) for k in i]
    return pa.table(
        {
            "whole": pa.array(i, pa.int64()),
            "small": pa.array(i, pa.int8(), mask=i % 3 == 0),
            "unsigned": pa.array(i.astype(np.uint64) + np.uint64(2**63)),
            "real": pa.array(i / 7, pa.float64()),
            "half": pa.array((i / 8).astype(np.float16)),
            "truth": pa.array((i % 2).astype(bool), mask=i % 11 == 0),
            "words": pa.array(words, pa.string()),
            "long words": pa.array(words, pa.large_string()),
            "viewed words": pa.array([w and w * 4 for w in words], pa.string_view()),
            "levels": pa.array(words).dictionary_encode(),
            "ordered": pa.DictionaryArray.from_arrays(
                pa.array(i % 3, pa.int8()), ["low", "mid", "high"], ordered=True
            ),
            "numbered": pa.DictionaryArray.from_arrays(pa.array(i % 4), pa.array([3, 1, 4, 15])),
            "day": pa.array([m.date() for m in moments]),
            "moment": pa.array(moments, pa.timestamp("ns")),
            "zoned": pa.array(moments, pa.timestamp("ms", "Europe/Berlin")),
            "money": pa.array([None, *range(1, ROWS)], pa.decimal128(12, 2)),
            "nothing": pa.nulls(ROWS),
        }
    )


def _odd_table() -> pa.Table:
    """Return columns of types that no table of ours can hold."""
    i = list(range(ROWS))
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([10, ROWS]), pa.array(["a", "b"]))
    return pa.table(
        {
            "lists": pa.array([[k, k + 1] for k in i]),
            "records": pa.array([{"a": k, "b": str(k)} for k in i]),
            "map": pa.array([[("k", k)] for k in i], pa.map_(pa.string(), pa.int64())),
            "bytes": pa.array([bytes([k]) for k in i], pa.binary()),
            "uuid": pa.array([bytes(16)] * ROWS, pa.uuid()),
            "runs": runs,
            "clock": pa.array([dt.time(k % 24) for k in i], pa.time64("us")),
            "span": pa.array([dt.timedelta(seconds=k) for k in i]),
        }
    )


def _columnar(folder: Path) -> Iterator[tuple[str, Seed]]:
    whole, odd, path = _arrow_table(), _odd_table(), folder / "x"
    for codec in ("none", "snappy", "gzip", "brotli", "lz4", "zstd"):
        pq.write_table(whole, path, compression=codec)
        yield f"parquet {codec}", (".parquet", path.read_bytes())
    pq.write_table(whole, path, compression="none", use_dictionary=False, row_group_size=15)
    yield "parquet plain, row groups", (".parquet", path.read_bytes())
    encodings = {"whole": "DELTA_BINARY_PACKED", "words": "DELTA_BYTE_ARRAY"}
    encodings |= {"real": "BYTE_STREAM_SPLIT", "long words": "DELTA_LENGTH_BYTE_ARRAY"}
    some = whole.select(list(encodings))
    pq.write_table(some, path, compression="none", use_dictionary=False, column_encoding=encodings)
    yield "parquet delta", (".parquet", path.read_bytes())
    for name in odd.column_names:
        one, options = odd.select([name]), {"data_page_version": "2.0", "compression": "none"}
        if name != "runs":  # Parquet has none
            pq.write_table(one, path, **options)
            yield f"parquet {name}", (".parquet", path.read_bytes())
        yield f"arrow {name}", (".arrow", _ipc(one))
    whole.to_pandas().set_index("whole").to_parquet(path)
    yield "parquet pandas", (".parquet", path.read_bytes())
    for codec in ("uncompressed", "lz4", "zstd"):
        pyarrow.feather.write_feather(whole, path, compression=codec, chunksize=15)
        yield f"feather {codec}", (".feather", path.read_bytes())
    v1 = whole.select(["whole", "real", "truth", "words", "day", "moment", "levels"])
    with warnings.catch_warnings(action="ignore"):  # old, but there are such files
        pyarrow.feather.write_feather(v1, path, version=1)
    yield "feather 1", (".feather", path.read_bytes())
    yield "arrow", (".arrow", _ipc(whole))
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, whole.schema) as out:
        out.write_table(whole, max_chunksize=15)
    yield "arrow stream", (".arrow", path.read_bytes())


def _ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as out:
        out.write_table(table)
    return bytes(sink.getvalue().to_pybytes())


def _labelled(folder: Path) -> Iterator[tuple[str, Seed]]:
    i = np.arange(ROWS)
    frame = pd.DataFrame(
        {
            "whole": i,
            "real": np.where(i % 6 == 0, np.nan, i / 7),
            "code": i % 3 + 0.0,
            "words": [f"wörd {k % 6}" for k in i],
            "day": [dt.date(2024, 1, 1 + k % 28) for k in i],
            "moment": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(k)) for k in i],
        }
    )
    labels = {"column_labels": [f"label of {name}" for name in frame]}
    values = {"variable_value_labels": {"code": {0: "no", 1: "yes", 2: "refused"}}}
    missing = {"missing_ranges": {"code": [2], "real": [{"lo": 5, "hi": 9}]}}
    path = str(folder / "y")
    for compressed in (False, True):
        pyreadstat.write_sav(frame, path, row_compress=compressed, **labels, **values, **missing)
        yield f"sav {'rows packed' if compressed else 'plain'}", (".sav", Path(path).read_bytes())
    pyreadstat.write_sav(frame, path, compress=True, **labels, **values, **missing)
    yield "zsav", (".zsav", Path(path).read_bytes())
    for version in (8, 10, 12, 15):
        pyreadstat.write_dta(frame, path, version=version, **labels, **values)
        yield f"dta {version}", (".dta", Path(path).read_bytes())
    for version in (5, 8):
        pyreadstat.write_xport(frame, path, file_format_version=version, **labels)
        yield f"xpt {version}", (".xpt", Path(path).read_bytes())
    for compression in (0, 1):
        yield f"sas7bdat {compression}", (".sas7bdat", _sas7bdat(i / 7, compression))


def _sas7bdat(numbers: Any, compression: int) -> bytes:
    """Return a file that pyreadstat's C library can write, though pyreadstat does not offer it."""
    lib, out = ctypes.CDLL(_readstat_writer.__file__), bytearray()
    pointer, size, real = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_double

    @ctypes.CFUNCTYPE(ctypes.c_ssize_t, pointer, size, pointer)
    def collect(data: int, length: int, _: int) -> int:
        out.extend(ctypes.string_at(data, length))
        return length

    lib.readstat_writer_init.restype = lib.readstat_add_variable.restype = pointer
    lib.readstat_add_variable.argtypes = [pointer, ctypes.c_char_p, ctypes.c_int, size]
    lib.readstat_set_data_writer.argtypes = [pointer, type(collect)]
    lib.readstat_writer_set_compression.argtypes = [pointer, ctypes.c_int]
    lib.readstat_begin_writing_sas7bdat.argtypes = [pointer, pointer, ctypes.c_long]
    lib.readstat_insert_double_value.argtypes = [pointer, pointer, real]
    lib.readstat_insert_string_value.argtypes = [pointer, pointer, ctypes.c_char_p]
    for function in ("begin_row", "end_row", "end_writing"):
        getattr(lib, f"readstat_{function}").argtypes = [pointer]
    lib.readstat_writer_free.argtypes = [pointer]
    writer = lib.readstat_writer_init()
    lib.readstat_set_data_writer(writer, collect)
    lib.readstat_writer_set_compression(writer, compression)
    text, double = 0, 5
    x = lib.readstat_add_variable(writer, b"x", double, 8)
    word = lib.readstat_add_variable(writer, b"word", text, 12)
    lib.readstat_begin_writing_sas7bdat(writer, None, len(numbers))
    for k, value in enumerate(numbers):
        lib.readstat_begin_row(writer)
        lib.readstat_insert_double_value(writer, x, value)
        lib.readstat_insert_string_value(writer, word, f"word {k % 6}".encode())
        lib.readstat_end_row(writer)
    lib.readstat_end_writing(writer)
    lib.readstat_writer_free(writer)
    return bytes(out)


def _ours(folder: Path) -> Iterator[tuple[str, Seed]]:
    """Make files with our own writer, notes on labels and missing codes included."""
    i = np.arange(ROWS)
    frame = {
        "age": np.where(i % 5 == 0, -8, i).tolist(),
        "sex": pd.Categorical(np.where(i % 2, "f", "m")),
        "height": [None if k % 7 == 0 else k / 4 for k in i],
        "born": [dt.date(2000, 1, 1 + k % 28) for k in i],
    }
    schema = Schema({"age": ColumnSchema(missing={-8: "not asked"}, label="Age in years")})
    table = schema.apply(Table.from_frame(pd.DataFrame(frame)))
    for suffix in (".csv.gz", ".parquet", ".feather", ".arrow", ".sav", ".dta"):
        write(table, folder / f"ours{suffix}")
        yield f"our {suffix}", (suffix, (folder / f"ours{suffix}").read_bytes())


# -------------------------------------------------------------------------------------------------
# Damage and forgery


def struck(content: bytes, rng: Any) -> bytes:
    """Overwrite numbers, mostly at start and end, where formats keep counts and offsets."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        width = int(rng.choice([1, 2, 4, 8]))
        reach = min(len(out), 4096) if rng.random() < 0.7 else len(out)
        at = int(rng.integers(0, max(reach - width, 1)))
        at = len(out) - width - at if rng.random() < 0.5 else at
        top = 1 << (8 * width - 1)
        new = int(rng.choice([0, 1, 2, 127, 255, 65535, 10**6, 2**31 - 1, 2**40, 2**62]))
        new = [new, top - 1, -top, -1, -2, int(rng.integers(0, 10**9))][int(rng.integers(0, 6))]
        packed = (new % (1 << (8 * width))).to_bytes(width, str(rng.choice(["little", "big"])))
        out[max(at, 0) : max(at, 0) + width] = packed
    return bytes(out)


CELLS = (
    *("", "1", "-8", "007", "2.50", "NA", "NaN", "nan", "inf", "-Infinity", ".", "-", "+"),
    *("e", "E5"),
    *("1e400", "-1e400", "1e-400", "5e-324", "2.2e-308", "4.9e-325", "1e5", "1.", ".5"),
    *("1e+", "0x10"),
    *("9223372036854775807", "9223372036854775808", "-9223372036854775808", "1" * 400),
    *("0." + "1" * 400),
    *("true", "FALSE", "True", "2024-02-29", "2023-02-29", "0000-01-01", "9999-12-31"),
    *("2024-13-01"),
    *("2024-02-29T10:30", "2024-02-29 10:30:05", "2024-02-29T10:30:05.123456789"),
    *("2024-02-29T24:00"),
    *("1677-09-21T00:00:00.000000001", "2262-04-12T00:00:00.123456789", "1,5", "1;5"),
    *("1|5", "a\tb"),
    *('"', '""', '"a"', '"a', 'a"', 'a"b', '"a"b', '"a""b"', '"a\nb"', '"a\r\nb"', '"a,b"', '""""'),
    *("a\rb", "\r", "a\r", "\r1", "1\r", "\0", "a\0b", " 1 ", "\t1", "  ", "\ufeff"),
    *("\u2028", "\x85"),
    *("ä", "\U0001f600", "e\u0301", "x" * 200_000, "=1+1", "@x", "1_000", "1e5\r", "\x0b", "\x1a"),
)  # fmt: skip
NAMES = (
    *("a", "b", "c", "a", "", " ", "1", "NA", '"q"', '"q', 'q"', 'q"q', '"q""q"', "n\rn"),
    *("\r", "\0"),
    *("x" * 131_073, '"' + "y" * 140_000 + '"', "ä", "\U0001f600", "__index_level_0__"),
    *("\ufeff", "a.b"),
    *('"l\nl"', '"d,d"', "null", "a_duplicated_0", "_duplicated_0", "=x", "\u200b", "-", "a "),
)  # fmt: skip


def forged_text(rng: Any) -> tuple[bytes, dict[str, str]]:
    """Write a text file of awkward cells, and say how it is to be read."""
    n_columns, n_rows = int(rng.integers(1, 7)), int(rng.integers(0, 12))
    delimiter = str(rng.choice([",", ";", "\t", "|"]))
    line_ends = ["\n"] if rng.random() < 0.6 else ["\n", "\r\n", "\r", "\n\n", "\n\r"]
    plain = [f"v{k}" for k in range(n_columns)]
    names = plain if rng.random() < 0.7 else [_one(NAMES, rng) for _ in plain]
    # Few kinds of cells in a column, so that it may be taken for numbers or dates.
    pools = [[_one(CELLS, rng) for _ in range(int(rng.integers(1, 4)))] for _ in plain]
    lines = [names, *([_one(pool, rng) for pool in pools] for _ in range(n_rows))]
    if rng.random() < 0.15:
        lines.append(lines[-1] * 2 if rng.random() < 0.5 else lines[-1][:-1])
    text = "".join(delimiter.join(line) + _one(line_ends, rng) for line in lines)
    if rng.random() < 0.2:
        text = text.rstrip("\r\n")
    stored = str(rng.choice(["utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252"], p=_WEIGHTS))
    content = text.encode(stored, "replace")
    if rng.random() < 0.1:
        content = flipped(content, rng, 2)
    options: dict[str, str] = {}
    if rng.random() < 0.5:
        options["encoding"] = stored
    if rng.random() < 0.3:
        options["delimiter"] = delimiter
    if rng.random() < 0.2 and options.get("delimiter") != ",":
        options["decimal"] = ","
    return content, options


_WEIGHTS = (0.6, 0.1, 0.1, 0.1, 0.1)


def _one(choices: Any, rng: Any) -> str:
    return str(choices[int(rng.integers(0, len(choices)))])


def _extremes() -> Iterator[tuple[str, tuple[str, bytes, dict[str, str]]]]:
    """Give the files that no chance would make."""
    many = ",".join(f"v{k}" for k in range(100_000))
    zeros = bytes(1 << 20)
    zstd = pa.Codec("zstd")
    bomb = gzip.compress(b"a\n" + b"1\n" * (20 << 20), mtime=0)
    for name, suffix, content in (
        ("100,000 columns", ".csv", f"{many}\n{many}\n".encode()),
        ("a header of 1 MB", ".csv", b"x" * (1 << 20) + b",b\n1,2\n"),
        ("a quoted header of 1 MB", ".csv", b'"' + b"x" * (1 << 20) + b'",b\n1,2\n'),
        ("a cell of 20 MB", ".csv", b"a,b\n" + b"x" * (20 << 20) + b",2\n"),
        ("only quotation marks", ".csv", b'"' * 100_001),
        ("only returns", ".csv", b"\r" * 100_000),
        ("only newlines", ".csv", b"\n" * 100_000),
        ("only delimiters", ".csv", b"," * 100_000),
        ("only zeros", ".csv", zeros),
        ("a return in every cell", ".csv", b"a,b\n" + b"x\ry,1\n" * 1000),
        ("a million rows of nothing", ".csv", b"a\n" + b"\n" * 1_000_000),
        ("a gzip bomb", ".csv.gz", bomb * 60),
        ("a gzip bomb of zeros", ".csv.gz", gzip.compress(zeros, mtime=0) * 5000),
        ("a zstd bomb", ".csv.zst", zstd.compress(bytes(1 << 28), asbytes=True) * 20),
        ("a gzip file cut", ".csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-4]),
        ("a gzip file with a tail", ".csv.gz", gzip.compress(CSV.encode(), mtime=0) + b"tail"),
        ("a zstd frame that may be skipped", ".csv.zst", struct.pack("<II", 0x184D2A50, 0)),
        ("empty gzip", ".csv.gz", gzip.compress(b"", mtime=0)),
        ("parquet of a billion nothings", ".parquet", _parquet_bomb(pa.nulls(1_000_000), 10)),
        ("a parquet bomb", ".parquet", _parquet_bomb(pa.array(np.zeros(1_000_000)), 10)),
        ("an arrow bomb", ".arrow", _stream_bomb()),
        ("arrow of a trillion nothings", ".arrow", _many_nulls()),
    ):
        yield name, (suffix, content, {})


def _stream_bomb() -> bytes:
    """Return a stream of Arrow that says the same packed batch of zeros again and again."""
    batch = pa.record_batch({"v": np.zeros(4_000_000, np.int64)})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=options) as out:
        start = sink.tell()
        out.write_batch(batch)
        end = sink.tell()
    content = sink.getvalue().to_pybytes()
    return content[:end] + content[start:end] * 200 + content[end:]


def _many_nulls() -> bytes:
    nothing = pa.Array.from_buffers(pa.null(), 1 << 40, [None], null_count=1 << 40)
    batch = pa.record_batch({"x": nothing})
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(allow_64bit=True)
    with pa.ipc.new_file(sink, batch.schema, options=options) as out:
        out.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _parquet_bomb(array: Any, times: int) -> bytes:
    """Return a file whose footer names the same few bytes as row groups again and again."""
    sink, meta = pa.BufferOutputStream(), []
    with pq.ParquetWriter(
        sink, pa.schema([("x", array.type)]), compression="zstd", metadata_collector=meta
    ) as out:
        out.write_table(pa.table({"x": array}), row_group_size=len(array))
    content = sink.getvalue().to_pybytes()
    once = meta[0]
    for _ in range(times):
        meta[0].append_row_groups(once)
    footer = pa.BufferOutputStream()
    meta[0].write_metadata_file(footer)
    cut = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    return content[:cut] + footer.getvalue().to_pybytes()[4:]


def cases(n: int, seed: int) -> Iterator[Case]:
    """Give n files: the extremes, the whole ones, and then in turn damaged and forged ones."""
    whole = list(seeds().items())
    first = [*_extremes(), *((name, (suffix, data, {})) for name, (suffix, data) in whole)]
    yield from first
    for k in range(n - len(first)):
        rng = np.random.default_rng([seed, k])
        if k % 3 == 2:
            content, options = forged_text(rng)
            yield f"forged text {k}", (".csv", content, options)
            continue
        name, (suffix, content) = whole[int(rng.integers(0, len(whole)))]
        damage = (struck, flipped, lambda content, rng: flipped(content, rng, 1))[k // 2 % 3]
        yield f"{name}, damaged {k}", (suffix, damage(content, rng), {})
