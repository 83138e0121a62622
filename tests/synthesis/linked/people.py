"""Small tables with groups that tests draw from."""

from __future__ import annotations

import numpy as np

from caveat.table import Table
from caveat.table.linked import Link, Linked


def households(n: int = 300, seed: int = 0) -> Table:
    """Return households in which partners are of about the same age and incomes add up."""
    rng = np.random.default_rng(seed)
    rows = []
    for key in range(n):
        size = int(rng.choice([1, 2, 3, 4], p=[0.3, 0.35, 0.2, 0.15]))
        region = str(rng.choice(["N", "S", "W"]))
        age = int(rng.integers(20, 80))
        people = [(age, "f" if rng.random() < 0.5 else "m", "reference")]
        if size > 1:
            sex = "m" if people[0][1] == "f" else "f"
            people.append((int(np.clip(age + rng.normal(0, 3), 18, 90)), sex, "partner"))
        people += [
            (int(rng.integers(0, 18)), str(rng.choice(["f", "m"])), "child") for _ in people[:size]
        ][: size - len(people)]
        money = [int(rng.integers(5, 40)) * 100 if a >= 18 else 0 for a, _, _ in people]
        for (a, sex, role), income in zip(people, money, strict=True):
            rows.append((9_000_000 + key, region, len(people), a, sex, role, income, sum(money)))
    names = ("hh", "region", "size", "age", "sex", "role", "income", "total")
    return Table.from_frame(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def patients(n: int = 200, seed: int = 0) -> Linked:
    """Return patients, some without a visit, with visits in time."""
    rng = np.random.default_rng(seed)
    top = {
        "id": [f"p{i}" for i in range(n)],
        "sex": rng.choice(["f", "m"], n).tolist(),
        "born": rng.integers(1930, 2000, n).tolist(),
    }
    numbers = rng.integers(0, 5, n)
    rows = []
    for i, number in enumerate(numbers):
        day, ill = np.datetime64("2020-01-01") + int(rng.integers(0, 300)), rng.random() < 0.3
        for _ in range(number):
            rows.append((f"v{len(rows)}", f"p{i}", day, "yes" if ill else "no"))
            day, ill = day + int(rng.integers(1, 60)), ill if rng.random() < 0.9 else not ill
    names = ("visit", "patient", "day", "ill")
    visits = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    visits["day"] = np.array(visits["day"], "datetime64[D]")
    return Linked(
        {"patients": Table.from_frame(top), "visits": Table.from_frame(visits)},
        {"patients": "id", "visits": "visit"},
        (Link("visits", "patient", "patients"),),
        order={"visits": "day"},
    )
