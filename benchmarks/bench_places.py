"""Moving and measuring places: a million points, beside a loop over them as scripts write it."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from caveat.protect import donut
from caveat.table import Table
from caveat.utility.places import measure_places

N, LOOPED = 1_000_000, 100_000
BOX = [300_000.0, 5_600_000.0, 360_000.0, 5_660_000.0]


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def people(n: int) -> Table:
    rng = np.random.default_rng(1)
    return Table.from_frame(
        {
            "east": BOX[0] + 60_000 * rng.random(n),
            "north": BOX[1] + 60_000 * rng.random(n),
            "home": rng.integers(0, n // 2, n),
        }
    )


def loop(east: list[float], north: list[float]) -> list[tuple[float, float]]:
    """Move the points one by one, and draw again outside the box."""
    west, south, limit_east, limit_north = BOX
    draw, out = random.Random(1), []
    for x, y in zip(east, north, strict=True):
        while True:
            angle, d = draw.uniform(0, 2 * math.pi), draw.uniform(100, 300)
            a, b = x + d * math.cos(angle), y + d * math.sin(angle)
            if west <= a <= limit_east and south <= b <= limit_north:
                break
        out.append((a, b))
    return out


def circle(corners: int) -> list[list[float]]:
    angle = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    radius = 45_000 + 500 * np.sin(60 * angle)
    middle = np.array([330_000, 5_630_000])
    return (middle + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)).tolist()


def main() -> None:
    table, few = people(N), people(LOOPED)
    donut(few, "east", "north", 100, 300, inside=BOX)  # compile
    print(f"{f'{N:,} points, seconds':<58} {'s':>7}")
    ways: dict[str, dict[str, Any]] = {
        "moved": {},
        "moved, inside a box": {"inside": BOX},
        "moved, inside a polygon of 20,000 corners": {"inside": circle(20_000)},
        "moved, households together": {"together": "home"},
    }
    for name, told in ways.items():
        s = seconds(lambda t=told: donut(table, "east", "north", 100, 300, seed=1, **t))
        print(f"{name:<58} {s:>7.2f}")
    try:
        import pyproj  # noqa: F401
    except ImportError:
        print("pyproj is not installed: no degrees")
    else:
        rng = np.random.default_rng(1)
        earth = Table.from_frame({"lon": 6.5 + rng.random(N), "lat": 50.5 + rng.random(N)})
        for name, epsg in (("a local projection", None), ("EPSG:25832", 25832)):
            s = seconds(
                lambda e=epsg: donut(earth, "lon", "lat", 100, 300, degrees=True, epsg=e, seed=1)
            )
            print(f"{f'moved, longitude and latitude by {name}':<58} {s:>7.2f}")
    own = min(seconds(lambda: donut(few, "east", "north", 100, 300, inside=BOX)) for _ in range(3))
    east, north = few["east"].values.tolist(), few["north"].values.tolist()
    other = min(seconds(lambda: loop(east, north)) for _ in range(3))
    print(f"\n{f'{LOOPED:,} points inside a box':<58} {'s':>7} {'ratio':>7}")
    print(f"{'Caveat, table to table':<58} {own:>7.3f}")
    print(f"{'a Python loop with the random module, lists to lists':<58} {other:>7.3f} "
          f"{other / own:>7.1f}")  # fmt: skip
    moved = donut(few, "east", "north", 100, 300, seed=1).table
    s = seconds(lambda: measure_places(few, moved, "east", "north"))
    print(f"{'measured: k, nearest neighbours':<58} {s:>7.2f}")


if __name__ == "__main__":
    main()
