"""Secondary suppression and its audit on linked hierarchical tables of about 100,000 cells.

Persons with a municipality (in counties in regions), an age (in groups), a sex and a status fall
into four tables that share columns. Seconds of one process; the first line is compiling.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from caveat.outputs.audit import recoverable
from caveat.outputs.elimination import by_worth, suppress
from caveat.outputs.primary import PrimaryRules, contributors_of, primary_cells
from caveat.outputs.tables import Cells, Hierarchy, Layout, cells_of


def population(n: int, n_places: int, seed: int = 1) -> Cells:
    rng = np.random.default_rng(seed)
    places = [f"m{i:03d}" for i in range(n_places)]
    above = {p: f"c{i // 18:02d}" for i, p in enumerate(places)}
    above |= {c: f"r{int(c[1:]) // 4}" for c in set(above.values())}
    ages = [f"a{i:02d}" for i in range(20)]
    trees = {
        "place": Hierarchy.of(places, above),
        "age": Hierarchy.of(ages, {a: f"g{i // 5}" for i, a in enumerate(ages)}),
        "sex": Hierarchy.of(["f", "m"]),
        "status": Hierarchy.of([f"s{i}" for i in range(5)]),
    }
    sizes = {"place": n_places, "age": 20, "sex": 2, "status": 5}
    codes = {
        name: rng.choice(size, n, p=rng.dirichlet(np.full(size, 3))) for name, size in sizes.items()
    }
    layouts = [
        Layout("place x age x sex", ("place", "age", "sex")),
        Layout("place x age x status", ("place", "age", "status")),
        Layout("place x sex x status", ("place", "sex", "status")),
        Layout("county x age x sex x status", ("place", "age", "sex", "status"), {"place": 2}),
    ]
    return cells_of(codes, trees, layouts)


def main() -> None:
    small = population(3000, 5)
    begin = time.perf_counter()
    _work(small)
    print(f"compiling and a small set: {time.perf_counter() - begin:.1f} s")
    begin = time.perf_counter()
    cells = population(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000, 420)
    print(f"{cells.n_cells:,} cells, {len(cells.inner):,} inner cells, "
          f"{cells.matrix.nnz:,} entries: {time.perf_counter() - begin:.1f} s")  # fmt: skip
    _work(cells)


def _work(cells: Cells) -> None:
    begin = time.perf_counter()
    counts = np.bincount(cells.row_of, minlength=len(cells.inner))
    given = contributors_of(cells.row_of)
    reasons, *_ = primary_cells(cells, given, PrimaryRules(least=3))
    primary = np.array([reason is not None for reason in reasons])
    print(f"  primary: {primary.sum():,} in {time.perf_counter() - begin:.1f} s")
    values = cells.sums(counts)
    order = by_worth(values, cells.matrix)
    for name, options in (("simple", {}), ("any-sum on ones", {"zero_rows": counts == 1})):
        begin = time.perf_counter()
        done = suppress(cells.matrix, primary, order, **options)
        middle = time.perf_counter()
        open_ = recoverable(cells.matrix, done.hidden) & primary
        end = time.perf_counter()
        print(f"  {name}: {done.secondary.sum():,} secondary in {middle - begin:.1f} s, "
              f"audit {end - middle:.1f} s, {open_.sum()} can be computed")  # fmt: skip


if __name__ == "__main__":
    main()
