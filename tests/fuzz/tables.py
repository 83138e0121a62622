"""Valid tables that are hard to work with: every value is one that a real file can hold."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

__all__ = ["hostile_tables"]

Random = np.random.Generator
Maker = Callable[[Random, int], Any]

SIZES = (1, 2, 3, 7, 20, 49, 50, 60, 90, 150)
LARGE = (1e20, 1e50, 1e74, 9.9e74, 1e75)
REFUSED = (1e76, 1e150, 1e200, 1e300, np.inf)
TINY = (1e-20, 1e-70, 1e-75, 1e-76, 1e-160, 1e-300, 5e-324)
WORDS = (
    "a", "A", " a", "a ", "", "NA", "nan", "None", "null", ".", "0", "00", "1e5", "true", "é",
    "e\u0301", "\u202e", "\U0001f600", "ß", "İ", "\u200b", "'", '"', ",", ";", "=1+1", "a\nb", "\t",
    "first", "number so far", "Ω", "中文", "-8", "x" * 300, "2020-01-01", "<b>", "%s", "{}", "\\",
)  # fmt: skip
NAMES = (
    "x", "X", "a b", "é", "中文", "1", "age", "sex", "weight", "id", "sum", "any", "if", "count",
    "number of members", "first.x", "x since the previous", "C(x)", "x:y", "a.b", "%", "'", "=x",
    "levels", "cells", "n" * 80, "not", "__class__", "x\ty", "None",
)  # fmt: skip


def _numbers(rng: Random, n: int) -> Any:
    return np.round(rng.normal(0, 10.0 ** rng.integers(-3, 6), n), int(rng.integers(0, 4)))


def _heavy(rng: Random, n: int) -> Any:
    return rng.choice([-1, 1], n) * 10.0 ** rng.uniform(-70, 70, n)


def _large(rng: Random, n: int) -> Any:
    return rng.choice([-1, 1], n) * rng.choice(LARGE, n)


def _one_large(rng: Random, n: int) -> Any:
    values = rng.normal(50, 10, n).round(1)
    values[rng.integers(n)] = rng.choice([*LARGE, *(-v for v in LARGE)])
    return values


def _refused(rng: Random, n: int) -> Any:
    values = rng.normal(50, 10, n).round(1)
    values[rng.integers(n)] = rng.choice([*REFUSED, *(-v for v in REFUSED)])
    return values


def _system_missing(rng: Random, n: int) -> Any:
    values = rng.normal(50, 10, n).round(1)
    values[rng.random(n) < 0.3] = rng.choice([-1, 1]) * sys.float_info.max
    return values


def _tiny(rng: Random, n: int) -> Any:
    return rng.choice([-1, 1], n) * rng.choice(TINY, n)


def _one_tiny(rng: Random, n: int) -> Any:
    values = np.where(rng.random(n) < 0.5, 0.0, 1.0)
    values[rng.integers(n)] = rng.choice(TINY)
    return values


def _adjacent(rng: Random, n: int) -> Any:
    """Numbers that differ in their last bits only."""
    start = float(rng.choice([1.0, 0.1, 1e15, 1e-15, 1e70, -3.3]))
    steps = np.array([start, np.nextafter(start, np.inf), np.nextafter(start, -np.inf)])
    return rng.choice(steps, n)


def _long_decimals(rng: Random, n: int) -> Any:
    return rng.random(n) * 10.0 ** rng.integers(-12, 12)


def _constant(rng: Random, n: int) -> Any:
    return np.full(n, rng.choice([0.0, -0.0, 1.0, 1e70, -1e-70, 0.1]))


def _zeros(rng: Random, n: int) -> Any:
    return np.where(rng.random(n) < 0.5, -0.0, 0.0)


def _heap(rng: Random, n: int) -> Any:
    return np.where(rng.random(n) < 0.8, 0, rng.integers(1, 10**9, n))


def _ties(rng: Random, n: int) -> Any:
    return rng.integers(0, 3, n)


def _integers(rng: Random, n: int) -> Any:
    ends = np.iinfo(np.int64)
    return rng.choice(np.array([ends.min, ends.max, 0, 1, -1, 2**53, 2**53 + 1], np.int64), n)


def _unsigned(rng: Random, n: int) -> Any:
    return rng.integers(0, 2**64 - 1, n, dtype=np.uint64, endpoint=True)


def _small_integers(rng: Random, n: int) -> Any:
    return rng.integers(-128, 127, n, dtype=np.int8, endpoint=True)


def _codes(rng: Random, n: int) -> Any:
    return rng.choice([1, 2, 3, 99, 999, -8, -9], n)


def _truth(rng: Random, n: int) -> Any:
    return rng.random(n) < rng.choice([0.0, 0.02, 0.5, 1.0])


def _partly_truth(rng: Random, n: int) -> Any:
    return pd.array(_holes(rng, (rng.random(n) < 0.5).tolist()), dtype="boolean")


def _words(rng: Random, n: int) -> Any:
    return rng.choice(np.array(WORDS, object), n)


def _few_words(rng: Random, n: int) -> Any:
    return rng.choice(rng.choice(np.array(WORDS, object), 3), n)


def _long_texts(rng: Random, n: int) -> Any:
    return [chr(rng.integers(97, 123)) * int(rng.choice([1, 2_000, 20_000])) for _ in range(n)]


def _unique_words(rng: Random, n: int) -> Any:
    return [f"{rng.integers(0, 16**8):08x}" for _ in range(n)]


def _rare_words(rng: Random, n: int) -> Any:
    return [f"w{int(rank)}" for rank in rng.zipf(1.5, n)]


def _mixed(rng: Random, n: int) -> Any:
    return [str(v) for v in rng.choice(np.array([1, 2.5, "x", "NA", -8, True], object), n)]


def _number_words(rng: Random, n: int) -> Any:
    return [f"{v:.2f}" if rng.random() < 0.9 else "k.A." for v in rng.normal(0, 9, n)]


def _dates(rng: Random, n: int) -> Any:
    days = rng.choice(["0001-01-01", "9999-12-31", "1970-01-01", "1582-10-10", "2000-02-29"], n)
    return pd.arrays.ArrowExtensionArray._from_sequence(
        [d.item() for d in np.array(days, "M8[D]")], dtype=pd.ArrowDtype(pa.date32())
    )


def _moments(rng: Random, n: int) -> Any:
    unit = str(rng.choice(["s", "ms", "us", "ns"]))
    ends = ["1700-01-01", "2200-01-01"] if unit == "ns" else ["0001-01-01", "9999-12-31"]
    low, high = np.array(ends, f"M8[{unit}]").astype(np.int64)
    return rng.integers(low, high, n).astype(f"M8[{unit}]")


def _near_moments(rng: Random, n: int) -> Any:
    start = np.datetime64("2020-01-01T10:00:00", "ns").astype(np.int64)
    return (start + rng.integers(0, 3, n)).astype("M8[ns]")


def _same_day(rng: Random, n: int) -> Any:
    return np.full(n, np.datetime64("2020-02-29"), "M8[us]")


def _categories(rng: Random, n: int) -> Any:
    levels = [f"l{i}" for i in range(int(rng.choice([1, 2, 300])))]
    codes = rng.integers(-1, min(len(levels), 5), n)
    return pd.Categorical.from_codes(codes, levels, ordered=bool(rng.random() < 0.5))


def _nothing(rng: Random, n: int) -> Any:
    return rng.choice(np.array([None], object), n)


def _nans(rng: Random, n: int) -> Any:
    return np.where(rng.random(n) < 0.9, np.nan, 1.5)


MAKERS: tuple[Maker, ...] = (
    _numbers, _heavy, _large, _one_large, _refused, _system_missing, _tiny, _one_tiny, _adjacent,
    _long_decimals, _constant, _zeros, _heap, _ties, _integers, _unsigned, _small_integers, _codes,
    _truth, _partly_truth, _words, _few_words, _long_texts, _unique_words, _rare_words, _mixed,
    _number_words, _dates, _moments, _near_moments, _same_day, _categories, _nothing, _nans,
)  # fmt: skip
SELDOM = {_refused}


def hostile_tables(
    numbers: Iterable[int], seed: int = 38
) -> Iterator[tuple[str, tuple[pd.DataFrame, int]]]:
    """Make the frames of these numbers, the same each time."""
    for number in numbers:
        rng = np.random.default_rng([seed, number])
        n = int(rng.choice(SIZES))
        frame = pd.DataFrame(index=range(n))
        words = []
        for _ in range(int(rng.integers(1, 7))):
            maker = MAKERS[number % len(MAKERS)] if not words else MAKERS[rng.integers(len(MAKERS))]
            if maker in SELDOM and words:
                continue
            cells = maker(rng, n)
            if rng.random() < 0.3 and isinstance(cells, np.ndarray) and cells.dtype.kind in "fMO":
                cells = pd.Series(cells).where(rng.random(n) > 0.3)
            frame[_name(rng, frame)] = cells
            words.append(maker.__name__.strip("_"))
        if rng.random() < 0.2:  # a copy of a column under another name
            frame[_name(rng, frame)] = frame[rng.choice(list(frame))]
        if rng.random() < 0.1:  # rows that are all the same
            frame = frame.iloc[np.zeros(n, int)].reset_index(drop=True)
        yield f"table {number}, {n} rows: {', '.join(words)}", (frame, number)


def _name(rng: Random, frame: pd.DataFrame) -> str:
    free = [name for name in NAMES if name not in frame]
    return str(rng.choice(np.array(free, object)))


def _holes(rng: Random, cells: list[Any]) -> list[Any]:
    return [None if rng.random() < 0.3 else cell for cell in cells]
