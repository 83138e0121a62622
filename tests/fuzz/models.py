"""Small models of every method, and ways to damage their files."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from tests.fuzz.harness import flipped

from caveat.datasets import survey
from caveat.synthesis import Synthesizer, save
from caveat.table import Schema

__all__ = ["change_values", "damaged_models", "seed_models"]

Random = np.random.Generator
Parts = tuple[Any, list[Any]]
"""A document, and arrays or the bytes of members that are none."""

SURVEY = Schema.from_mapping({"income": {"missing": {"-8": "not asked"}}}).apply(
    survey(rows=160).drop(["person"])
)
TREES: dict[str, Any] = {
    "method": "cart",
    "rules": ["if age < 18 then marital = 'single'"],
    "derived": {"bmi": "round(weight / (height / 100) ** 2, 1)"},
    "special": {"friends": [0]},
    "columns": {
        "region": {"method": "sample"},
        "height": {"smoothing": "density", "minsplit": 40},
        "weight": {"smoothing": "kernel"},
        "satisfied": {"method": "lookup", "predictors": ["education"]},
    },
}

GUARDED: dict[str, Any] = {
    **TREES,
    "method": "guarded",
    "columns": {
        "height": {"guard": "light", "range": [100, 220, 1]},
        "satisfied": {"method": "lookup", "predictors": ["education"]},
    },
}


def people(n: int = 160) -> pd.DataFrame:
    """Return a frame with a column for every other method."""
    rng = np.random.default_rng(5)
    region = rng.choice(list("abcd"), n)
    start = rng.integers(15_000, 18_000, n)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "region": region,
            "town": [f"{r}{i}" for r, i in zip(region, rng.integers(0, 9, n), strict=True)],
            "school": pd.Categorical.from_codes(rng.integers(0, 4, n), list("0123"), ordered=True),
            "income": np.where(rng.random(n) < 0.1, np.nan, rng.normal(2000, 400, n).round(1)),
            "smoker": rng.choice(["no", "yes"], n),
            "old": rng.random(n) < 0.4,
            "start": start.astype("datetime64[D]").astype("datetime64[us]"),
            "end": (start + rng.integers(0, 900, n)).astype("datetime64[D]").astype("M8[us]"),
            "weight": rng.uniform(0.5, 3, n).round(3),
            "country": "NL",
        }
    )


REGRESSIONS = {
    "age": {"method": "normrank"},
    "region": {"method": "multinomial"},
    "town": {"method": "nested", "within": "region"},
    "school": {"method": "ordinal"},
    "income": {"method": "normal"},
    "smoker": {"method": "logistic"},
    "start": {"method": "normal", "predictors": ["age", "sex"]},
}
BLOCK = ("sex", "region", "school", "smoker")


def seed_models() -> dict[str, bytes]:
    """Return model files that together hold everything a model file can hold."""
    frame = people()
    margins = [["sex", "region"], ["region", "school", "smoker"]]
    ipf = {name: {"method": "ipf", "margins": margins} for name in BLOCK}
    counted = {name: {"method": "saturated", "pseudo_count": 5.0} for name in BLOCK}
    few = ["sex", "age", "income", "old", "start"]
    told = {"rules": ["start <= end"], "derived": {"old": "age > 60"}}
    fits: dict[str, tuple[Any, dict[str, Any]]] = {
        "trees": (SURVEY, TREES),
        "strata": (SURVEY, {**TREES, "strata": "sex"}),
        "guarded": (SURVEY, GUARDED),
        "guarded strata": (frame, {"method": "guarded", "strata": "sex", "weights": "weight"}),
        "proper": (frame, {"method": "cart", "proper": True, "weights": "weight", **told}),
        "forest": (frame, {"method": "forest", "trees": 3}),
        "regressions": (frame, {**told, "columns": REGRESSIONS, "weights": "weight"}),
        "strata of regressions": (frame, {"columns": REGRESSIONS, "strata": "sex"}),
        "margins": (frame, {"columns": ipf, "drop": ["town"]}),
        "counted": (frame, {"method": "cart", "smoothing": "spline", "columns": counted}),
        "copies": (frame, {"columns": {"town": {"method": "copy"}, "end": {"method": "sample"}}}),
        "polars": (pl.from_pandas(frame[few]), {"method": "cart", "smoothing": "kernel"}),
        "arrow": (pl.from_pandas(frame).to_arrow(), {}),
        "dict": ({name: frame[name].to_numpy() for name in few}, {}),
    }
    return {name: _file(*fit) for name, fit in fits.items()}


def _file(table: Any, options: dict[str, Any]) -> bytes:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "m.caveat"
        save(Synthesizer(seed=3, threads=1, **options).fit(table), path)
        return path.read_bytes()


def damaged_models(seeds: dict[str, bytes], count: int) -> Iterator[tuple[str, bytes]]:
    """Return so many damaged files, always the same; one in five has its bytes damaged."""
    for name, content in seeds.items():
        yield f"{name} as it is", content
    for number in range(count - len(seeds)):
        rng = np.random.default_rng([18, number])
        name = list(seeds)[number % len(seeds)]
        how = list(WAYS)[int(rng.integers(len(WAYS)))] if number % 5 else "bytes"
        made = WAYS[how](seeds[name], rng) if number % 5 else flipped(seeds[name], rng)
        yield f"{number} {name}: {how}", made


def unpacked(content: bytes) -> Parts:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        document = json.loads(archive.read("model.json"))
        names = [f"{i}.npy" for i in range(len(archive.namelist()) - 1)]
        return document, [np.load(io.BytesIO(archive.read(name))) for name in names]


def packed(document: Any, arrays: list[Any], **more: Any) -> bytes:
    """Return a file whose checksums are right."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", more.get("method", zipfile.ZIP_DEFLATED)) as archive:
        text = document if isinstance(document, str | bytes) else json.dumps(document)
        archive.writestr("model.json", text)
        for number, array in enumerate(arrays):
            archive.writestr(f"{number}.npy", array if isinstance(array, bytes) else _npy(array))
        for name, member in more.get("members", ()):
            archive.writestr(name, member)
    return out.getvalue()


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the ways to all values of a document."""
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in entries:
        yield (*path, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*path, key))


def _pick(values: Any, rng: Random) -> Any:
    values = list(values)
    return values[int(rng.integers(len(values)))]


def _deep(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


STRANGE: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 65_536, 2**31, 2**63 - 1, 2**63, 2**64, -(2**63) - 1,
    10**30, 10**300, 0.5, -0.5, 1e308, 1e-320, float("nan"), float("inf"), -float("inf"),
    "", " ", "x", "cart", "sample", "copy", "drop", "derived", "normal", "constant", "\x00",
    "é\u202e", "\ud800", "a" * 100_000, "0001-01-01", "|O", "<f8", "<M8[D]", "<M8[ns]", "numeric",
    "category", "integer", "date", "boolean", "text", "pandas", "polars", "pyarrow", "dict",
    "read_csv(source='x')", "Datetime(time_unit='ns', time_zone='Mars/Base')", "Int8", "int8",
    "category[int64]", "decimal128(40, 3)", "U999999999", "age > 3", "1 / 0", "age / 0 * 'x'",
    "if age < 3 then sex = 7", "end <= start", [], {}, [[]], [None], [1, 2, 3], ["sex"],
    {"$array": 0}, {"$array": 1}, {"$array": -1}, {"$array": 10**9}, {"$array": "0"}, {"x": 1},
    _deep(50), _deep(900),
)  # fmt: skip


def _parent(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place[:-1]:
        document = document[key]
    return document


def values(content: bytes, rng: Random) -> bytes:
    """Put strange values, or values from elsewhere, into the document."""
    document, arrays = unpacked(content)
    change_values(document, rng)
    return packed(document, arrays)


def change_values(document: Any, rng: Random) -> None:
    """Put strange values, or values from elsewhere, into a JSON document."""
    for _ in range(int(rng.integers(1, 3))):
        place = _pick(_places(document), rng)
        parent, key = _parent(document, place), place[-1]
        match int(rng.integers(0, 9)):
            case 0:
                del parent[key]
            case 1 | 2 if isinstance(parent[key], list):
                parent[key] = _pick([parent[key][1:], parent[key] * 2, parent[key][::-1]], rng)
            case 1:
                other = _pick(_places(document), rng)
                parent[key] = json.loads(json.dumps(_parent(document, other)[other[-1]]))
            case 3 if isinstance(parent, dict):
                parent[_pick(["x", "", "-1", "99", "sex", "a" * 300], rng)] = parent.pop(key)
            case 4 if isinstance(parent, list):
                parent.append(_pick(STRANGE, rng))
            case 5 if isinstance(parent[key], int | float):
                parent[key] = parent[key] + _pick([-1, 1, 0.5, 100], rng)
            case 6 | 7:
                like = [v for v in STRANGE if type(v) is type(parent[key])]
                parent[key] = _pick(like or STRANGE, rng)
            case _:
                parent[key] = _pick(STRANGE, rng)


def entries(content: bytes, rng: Random) -> bytes:
    """Put other entries into an array."""
    document, arrays = unpacked(content)
    for _ in range(int(rng.integers(1, 3))):
        which = _pick([i for i, a in enumerate(arrays) if a.size], rng)
        array = arrays[which].copy()
        flat = array.reshape(-1)
        at = rng.integers(0, len(flat), int(rng.integers(1, 4)))
        if array.dtype.kind == "f":
            flat[at] = _pick([np.nan, np.inf, -np.inf, -1.0, 0.0, 1e308, -1e308, 1e-320, 7.5], rng)
        elif array.dtype == bool:
            flat[at] = ~flat[at]
        else:
            info = np.iinfo(array.dtype)
            ends = [info.min, info.max, 0, 1, info.max // 2, int(flat[0]), int(flat[-1])]
            near = int(flat[at[0]]) + int(rng.integers(-2, 3))
            flat[at] = np.clip(_pick([*ends, near, near], rng), info.min, info.max)
        arrays[which] = array
    return packed(document, arrays)


def shapes(content: bytes, rng: Random) -> bytes:
    """Change type, shape, order or length of an array."""
    document, arrays = unpacked(content)
    which = int(rng.integers(len(arrays)))
    array = arrays[which]
    ways: list[Callable[[], Any]] = [
        lambda: array.astype(_pick(["i1", "u1", "i4", "i8", "u8", "f4", "f8", "?", "c16"], rng)),
        lambda: array.astype(array.dtype.newbyteorder(">")),
        lambda: array.astype(object),
        lambda: array.astype("U9"),
        lambda: array.astype([("x", array.dtype)]),
        lambda: array[:0] if array.ndim else array.reshape(1),
        lambda: array[:-1] if array.ndim else np.zeros((), np.int8),
        lambda: np.append(array, array),
        lambda: np.append(array, array[-1:] if array.ndim else array),
        lambda: array.reshape((1, *array.shape)),
        lambda: np.asfortranarray(np.stack([array, array])),
        lambda: array[::-1] if array.ndim else array.reshape((1, 1)),
        lambda: rng.permutation(array) if array.ndim else array + 1,
        lambda: np.zeros_like(array),
        lambda: np.sort(array) if array.ndim else array - 1,
    ]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays[which] = _pick(ways, rng)()
    return packed(document, arrays)


def headers(content: bytes, rng: Random) -> bytes:
    """Let the header of an array claim what is not there."""
    document, arrays = unpacked(content)
    which = int(rng.integers(len(arrays)))
    plain = _npy(arrays[which])
    claims = [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': [('a', '<f8', (999999999,))], 'fortran_order': False, 'shape': (9,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
        "{'descr': " + "(" * 3000 + ", 'fortran_order': False, 'shape': (1,), }",
        "-" * 9000 + "1",
        "__import__('os').abort()",
        "",
    ]
    if rng.random() < 0.3:
        arrays[which] = flipped(plain, rng, most=2)
    else:
        header = _pick(claims, rng).encode() + b"\n"
        arrays[which] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + plain[128:]
    return packed(document, arrays)


def exchange(content: bytes, rng: Random) -> bytes:
    """Exchange two arrays, or parts of two columns."""
    document, arrays = unpacked(content)
    if rng.random() < 0.5:
        one = int(rng.integers(len(arrays)))
        like = [i for i, a in enumerate(arrays) if a.dtype == arrays[one].dtype]
        other = _pick(like if rng.random() < 0.8 else range(len(arrays)), rng)
        arrays[one], arrays[other] = arrays[other], arrays[one]
        return packed(document, arrays)
    group = _pick([document["columns"], document["plan"]["columns"]], rng)
    one, other = _pick(group, rng), _pick(group, rng)
    keys = [key for key in group[one] if rng.random() < 0.6]
    for key in keys:
        group[one][key], group[other][key] = group[other][key], group[one][key]
    return packed(document, arrays)


def containers(content: bytes, rng: Random) -> bytes:
    """Change the archive around document and arrays."""
    document, arrays = unpacked(content)
    text = json.dumps(document)
    bomb = np.zeros(300_000_000, np.int8)
    ways: list[Callable[[], bytes]] = [
        lambda: packed(document, arrays[:-1]),
        lambda: packed(document, [*arrays, arrays[0]]),
        lambda: packed(document, [*arrays[:-1], bomb]),
        lambda: packed(" " * 200_000_000 + text, arrays),
        lambda: packed(text[:-1] + ',"x":' + "[" * 50_000 + "]" * 50_000 + "}", arrays),
        lambda: packed(text[:-1] + ',"x":' + "9" * 5000 + "}", arrays),
        lambda: packed(text.replace("3", "NaN", 1), arrays),
        lambda: packed(text.encode("utf-16"), arrays),
        lambda: packed(b"\xff" + text.encode(), arrays),
        lambda: packed("[]", arrays),
        lambda: packed("{}", arrays),
        lambda: packed({**document, "version": _pick(STRANGE, rng)}, arrays),
        lambda: packed(document, arrays, members=[("../evil.npy", b"x")]),
        lambda: packed(document, arrays, members=[("/etc/evil", b"x")]),
        lambda: packed(document, arrays, members=[("model.json", "{}"), ("0.npy", b"")]),
        lambda: packed(document, arrays, method=zipfile.ZIP_LZMA),
        lambda: packed(document, arrays, method=zipfile.ZIP_BZIP2),
        lambda: packed(document, arrays, method=zipfile.ZIP_STORED),
        lambda: packed(document, arrays).replace(b"model.json", b"model.jsom"),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that occur twice
        return _pick(ways, rng)()


WAYS: dict[str, Callable[[bytes, Random], bytes]] = {
    "values": values,
    "entries": entries,
    "more values": values,
    "more entries": entries,
    "shapes": shapes,
    "headers": headers,
    "exchange": exchange,
    "containers": containers,
}
