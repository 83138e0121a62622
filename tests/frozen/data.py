"""The data of the frozen cases, made here from seeds and as text.

No part of Caveat makes or writes them, so that a change in it cannot move what it is held against.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

__all__ = ["csv", "homes", "patients", "people", "places", "visits", "wide"]


def csv(names: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as the text of a CSV file."""
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines) + "\n"


def _share(rng: np.random.Generator, true: float) -> bool:
    return bool(rng.random() < true)


def people(n: int = 240, seed: int = 1, *, ids: bool = False, born: bool = False) -> str:
    """Return a survey of persons: factors, heaped and missing incomes, -8 for the young.

    With ids each has a number, and with born a year that follows from the age.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for number in range(n):
        age = 15 + int(75 * rng.random() ** 1.3)
        sex = "female" if _share(rng, 0.53) else "male"
        region = ("north", "east", "south", "west")[int(4 * rng.random() ** 1.5)]
        marital = "single" if age < 18 or _share(rng, 0.3) else "married"
        if age > 45 and _share(rng, 0.25):
            marital = "widowed"
        height = int(164 + 12 * (sex == "male") + 14 * (rng.random() - 0.5))
        income: object = int(10 * (80 + 150 * rng.random() + age))
        if age < 18:
            income = -8
        elif _share(rng, 0.08):
            income = ""
        content = ("low", "middle", "high")[int(3 * rng.random() ** (1 + age / 90))]
        row = [sex, age, region, marital, income, height, content]
        rows.append([f"P{1000 + number}"] * ids + row + [2024 - age] * born)
    names = ["sex", "age", "region", "marital", "income", "height", "content"]
    return csv(["person"] * ids + names + ["born"] * born, rows)


def homes(n: int = 80, seed: int = 2) -> str:
    """Return persons in households, with what all members of one share."""
    rng = np.random.default_rng(seed)
    rows = []
    for home in range(n):
        size, region = 1 + int(4 * rng.random()), ("north", "south")[int(2 * rng.random())]
        tenure = "owner" if _share(rng, 0.6) else "tenant"
        for member in range(size):
            age = 20 + int(60 * rng.random()) if member < 2 else int(19 * rng.random())
            role = ("head", "partner", "child", "child")[member]
            sex = "f" if _share(rng, 0.5) else "m"
            rows.append([500 + home, region, tenure, role, age, sex, 1 + round(rng.random(), 3)])
    return csv(["home", "region", "tenure", "role", "age", "sex", "weight"], rows)


def patients(n: int = 70, seed: int = 3) -> str:
    """Return patients."""
    rng = np.random.default_rng(seed)
    rows = [
        [100 + i, "fm"[int(2 * rng.random())], 1930 + int(70 * rng.random()),
         "yes" if _share(rng, 0.3) else "no"]
        for i in range(n)
    ]  # fmt: skip
    return csv(["patient", "sex", "born", "smoker"], rows)


def visits(n: int = 70, seed: int = 4) -> str:
    """Return the visits of the same patients; some have none."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        for _ in range(int(4 * rng.random())):
            day = f"2024-{1 + int(12 * rng.random()):02d}-{1 + int(28 * rng.random()):02d}"
            pressure = 110 + int(50 * rng.random())
            rows.append([9000 + len(rows), 100 + i, day, "ABC"[int(3 * rng.random())], pressure])
    return csv(["visit", "patient", "date", "diagnosis", "pressure"], rows)


def places(n: int = 150, seed: int = 5) -> str:
    """Return persons with coordinates in metres, two of a home."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        east, north = 350_000 + 1000 * rng.random(), 5_640_000 + 1000 * rng.random()
        ill = "yes" if _share(rng, (east - 350_000) / 1000) else "no"
        side = "w" if east < 350_500 else "e"
        rows.append([f"{east:.2f}", f"{north:.2f}", "fm"[i % 2], i // 2, ill, side])
    return csv(["east", "north", "sex", "home", "ill", "side"], rows)


def wide(n: int = 120, columns: int = 66, seed: int = 6) -> str:
    """Return a table of many columns, each of which follows the third one before it."""
    rng = np.random.default_rng(seed)
    cells = (3 * rng.random((n, columns))).astype(int)
    for i in range(3, columns):
        same = rng.random(n) < 0.7
        cells[same, i] = cells[same, i - 3]
    return csv([f"q{i + 1}" for i in range(columns)], [[f"v{x}" for x in row] for row in cells])
