"""The distance filter at 32,561 × 32,561 (Adult): CPU seconds and memory, without an n² matrix.

The rivals do once what the filter has to do twice: find for each synthetic record the nearest
original one. For Mahalanobis and Euclid they get the same whitened coordinates, and the filter
itself uses scipy's tree. For Gower, scikit-learn searches by the Manhattan distance of numbers in
units of their range and of half indicators of categories, which is the same distance; it and the
package gower (where it is installed) get some of the records, and the ratio is for these. All
distances at once would take 8.5 GB.
"""

from __future__ import annotations

import importlib.util
import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from caveat.protect import too_close
from caveat.protect.distance import space_of
from caveat.synthesis import Synthesizer
from caveat.table import Table, read

SHARED = Path(__file__).resolve().parents[2] / "shared"
SOME = 1_000


def cpu(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def filters(original: Table, release: Table) -> None:
    print(f"{'':<44} {'CPU s':>7} {'peak MB':>8}")
    for metric in ("mahalanobis", "euclidean", "gower"):
        seconds = cpu(lambda metric=metric: too_close(original, release, metric=metric))
        tracemalloc.start()
        too_close(original, release, metric=metric)
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"{'filter, ' + metric + ' (two searches)':<44} {seconds:>7.1f} {peak:>8.0f}")
    space = space_of(original, "mahalanobis", None)
    ours, theirs = space.points(original), space.points(release)
    rivals = {
        "scikit-learn brute force (one search)": lambda: NearestNeighbors(
            n_neighbors=1, algorithm="brute").fit(ours).kneighbors(theirs),
        "scikit-learn ball tree (one search)": lambda: NearestNeighbors(
            n_neighbors=1, algorithm="ball_tree").fit(ours).kneighbors(theirs),
        "scipy cKDTree (one search)": lambda: cKDTree(ours).query(theirs),
    }  # fmt: skip
    for name, work in rivals.items():
        print(f"{name:<44} {cpu(work):>7.1f}")


def indicators(codes: np.ndarray, n_levels: list[int]) -> np.ndarray:
    return np.hstack([0.5 * (codes[:, [j]] == np.arange(n)) for j, n in enumerate(n_levels)])


def gower(original: Table, release: Table) -> None:
    """One search for the nearest original by Gower's distance, for some synthetic records."""
    space = space_of(original, "gower", None)
    data, query = space.points(original), space.points(release.take(np.arange(SOME)))
    nothing = np.zeros(original.n_rows)
    nearest, _ = space.nearest(query, data, nothing)
    own = min(cpu(lambda: space.nearest(query, data, nothing)) for _ in range(3))
    print(f"\nGower, nearest of {SOME:,} among {original.n_rows:,} {'CPU s':>20} {'ratio':>8}")
    print(f"{'Caveat':<44} {own:>7.3f}")
    levels = [1 + max(int(data[1][:, j].max()), int(query[1][:, j].max()))
              for j in range(data[1].shape[1])]  # fmt: skip
    wide = [np.hstack([numbers, indicators(codes, levels)]) for numbers, codes in (data, query)]
    for algorithm in ("brute", "ball_tree"):
        search = NearestNeighbors(n_neighbors=1, algorithm=algorithm, metric="manhattan")
        found = []
        seconds = cpu(lambda s=search, f=found: f.append(s.fit(wide[0]).kneighbors(wide[1])[0]))
        assert np.allclose(found[0][:, 0], nearest)
        print(
            f"{f'scikit-learn, Manhattan, {algorithm}':<44} {seconds:>7.2f} {seconds / own:>8.0f}"
        )
    if importlib.util.find_spec("gower"):
        import gower as package

        rows = [np.hstack(part) for part in (query, data)]
        classes = [False] * data[0].shape[1] + [True] * data[1].shape[1]
        seconds = cpu(lambda: package.gower_matrix(*rows, cat_features=classes).min(axis=1))
        print(f"{'gower 0.1.2, gower_matrix and its minimum':<44} {seconds:>7.2f} "
              f"{seconds / own:>8.0f}")  # fmt: skip


def main() -> None:
    file = SHARED / "data" / "adult.csv"
    if not file.exists():
        print("../shared/data/adult.csv is not here")
        return
    original = read(file)
    release = Synthesizer(seed=1, method="cart", minbucket=33).fit(original).tables()[0]
    small = original.take(np.arange(50))
    for metric in ("mahalanobis", "gower"):
        too_close(small, small, metric=metric)  # compile
    filters(original, release)
    gower(original, release)


if __name__ == "__main__":
    main()
