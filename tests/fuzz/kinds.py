"""Kinds of columns that lead to single people, and ordinary ones, as tables of any size."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from caveat.table import Table

__all__ = ["KINDS", "SIZES", "confidential", "table_of"]

SIZES = (200, 2_000, 20_000)
FIRST = ("Anna", "Bernd", "Carla", "David", "Elena", "Frank", "Greta", "Hans", "Ines", "Jakob")
LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
Make = Callable[[np.random.Generator, int], Sequence[Any]]


def _digits(rng: np.random.Generator, n: int, length: int) -> list[str]:
    return [f"{i:0{length}d}" for i in rng.integers(0, 10**length, n)]


def _letters(rng: np.random.Generator, n: int, length: int) -> list[str]:
    return ["".join(row) for row in rng.choice(LETTERS, (n, length))]


def _some(
    rng: np.random.Generator, values: Sequence[Any], share: float, rest: Any = None
) -> list[Any]:
    """Return values in a share of the rows, and something else in all others."""
    drawn = rng.random(len(values)) < share
    return [value if one else rest for value, one in zip(values, drawn, strict=True)]


def _few(rng: np.random.Generator, values: Sequence[Any], k: int) -> list[Any]:
    """Return values in exactly k rows, and empty cells in all others."""
    rows = set(rng.choice(len(values), k, replace=False).tolist())
    return [value if i in rows else None for i, value in enumerate(values)]


def _pareto(rng: np.random.Generator, n: int, most: int) -> list[int]:
    return [min(int(i), most) for i in rng.pareto(0.6, n) * 3]


def _surnames(rng: np.random.Generator, n: int) -> list[str]:
    ends = ("mann", "er", "sen", "ski", "ova", "ez")
    return [f"{a.title()}{ends[i % 6]}" for i, a in enumerate(_letters(rng, n, 4))]


def _moments(rng: np.random.Generator, n: int) -> Any:
    return np.datetime64("2023-01-01T00:00:00", "ms") + 1000 * rng.integers(0, 30_000_000, n)


def _births(rng: np.random.Generator, n: int) -> Any:
    return np.datetime64("1935-01-01") + rng.integers(0, 25_000, n)


KINDS: dict[str, tuple[str, Make]] = {
    "hash": ("v", lambda r, n: [hashlib.sha256(r.bytes(8)).hexdigest() for _ in range(n)]),
    "IBAN": ("v", lambda r, n: [f"DE{d[:2]}{d}" for d in _digits(r, n, 18)]),
    "telephone": ("v", lambda r, n: [f"+49 30 {d}" for d in _digits(r, n, 7)]),
    "telephone of a country": ("v", lambda r, n: [f"030/{d}" for d in _digits(r, n, 7)]),
    "full name": ("v", lambda r, n: [f"{FIRST[i % 10]} {s}" for i, s in
                                     enumerate(_surnames(r, n))]),
    "last name": ("last", lambda r, n: _surnames(r, n)),
    "first name": ("pat_vorname", lambda r, n: [FIRST[i] if i < 10 else s for i, s in
                                                zip(_pareto(r, n, 99), _surnames(r, n),
                                                    strict=True)]),
    "number plate": ("v", lambda r, n: [f"{a[0]}-{a[1:]} {d}" for a, d in
                                        zip(_letters(r, n, 3), _digits(r, n, 4), strict=True)]),
    "UUID in a tenth of the rows": ("v", lambda r, n: _some(r, [str(uuid.UUID(bytes=r.bytes(16)))
                                                               for _ in range(n)], 0.1)),
    "IP address": ("v", lambda r, n: [".".join(map(str, row)) for row in
                                      r.integers(1, 255, (n, 4))]),
    "network card": ("v", lambda r, n: [":".join(f"{b:02x}" for b in r.bytes(6))
                                        for _ in range(n)]),
    "timestamp to the second": ("v", lambda r, n: _moments(r, n)),
    "timestamp as text": ("v", lambda r, n: [str(t)[:19].replace("T", " ")
                                             for t in _moments(r, n)]),
    "timestamp in six rows": ("v", lambda r, n: _few(r, _moments(r, n).astype(object), 6)),
    "clock time to the second": ("v", lambda r, n: [f"{t // 3600:02d}:{t // 60 % 60:02d}:"
                                                    f"{t % 60:02d}"
                                                    for t in r.integers(0, 86_400, n)]),
    "postcode and birth date": ("v", lambda r, n: [f"{d} {b}" for d, b in
                                                   zip(_digits(r, n, 5), _births(r, n),
                                                       strict=True)]),
    "birth date": ("v", lambda r, n: _births(r, n)),
    "employer": ("employer", lambda r, n: [f"Works {i}" for i in _pareto(r, n, 10**6)]),
    "occupation, written": ("v", lambda r, n: [("nurse", "teacher", "clerk")[i % 3] if i % 20
                                               else s.lower() for i, s in
                                               enumerate(_surnames(r, n))]),
    "village": ("v", lambda r, n: [f"Village {i}" for i in _pareto(r, n, 10**5)]),
    "postcode": ("v", lambda r, n: _digits(r, n, 5)),
    "diagnosis": ("v", lambda r, n: [f"{'ABCDEFGH'[i % 8]}{i % 100:02d}.{i % 7}"
                                     for i in _pareto(r, n, 700)]),
    "e-mail": ("v", lambda r, n: [f"{a.lower()}@example.org" for a in _letters(r, n, 9)]),
    "web address": ("v", lambda r, n: [f"https://example.org/{a}" for a in _letters(r, n, 7)]),
    "national number in five rows": ("v", lambda r, n: _few(r, [f"{d[:6]}-{d[6:]}" for d in
                                                                _digits(r, n, 10)], 5)),
    "national number, digits, in five rows": ("v", lambda r, n: _few(
        r, [int(d) + 10**9 for d in _digits(r, n, 9)], 5)),
    "free text in eight rows": ("v", lambda r, n: _few(r, [
        f"called again about the {a.lower()} letter" for a in _letters(r, n, 6)], 8)),
    "passport": ("v", lambda r, n: [f"{a}{d}" for a, d in
                                    zip(_letters(r, n, 2), _digits(r, n, 7), strict=True)]),
    "running number": ("v", lambda r, n: r.permutation(n) + 1000),
    "household": ("hh_id", lambda r, n: r.integers(0, n // 3, n) + 10_000),
    "coordinate in one text": ("v", lambda r, n: [f"{a:.5f}, {b:.5f}" for a, b in
                                                  zip(r.uniform(47, 55, n), r.uniform(6, 15, n),
                                                      strict=True)]),
    "user name": ("v", lambda r, n: [f"{a.lower()}{i % 97}" for i, a in
                                     enumerate(_letters(r, n, 5))]),
    "rare answer in three rows": ("v", lambda r, n: [a or "no" for a in _few(
        r, [f"yes, {s}" for s in _surnames(r, n)], 3)]),
    "points": ("v", lambda r, n: [f"{i:02d} points" for i in r.binomial(40, 0.5, n)]),
    "region": ("v", lambda r, n: [f"R{i % 9}" for i in range(n)]),
}  # fmt: skip
"""By kind: what the column is called, and its values."""


def table_of(kind: str, rows: int) -> tuple[str, Table]:
    """Return a table with a column of a kind beside ordinary ones, and the name of the column."""
    name, make = KINDS[kind]
    rng = np.random.default_rng([rows, list(KINDS).index(kind)])
    return name, Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "age": rng.integers(18, 90, rows),
            name: make(rng, rows),
        }
    )


def confidential(table: Table, name: str, k: int) -> set[str]:
    """Return the values of a column that fewer than k rows have, as texts."""
    column = table[name]
    counts = column.counts[: len(column.levels)]
    return {str(v) for v, n in zip(column.levels.tolist(), counts, strict=True) if 0 < n < k}
