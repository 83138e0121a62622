"""The distance filter at 32,561 × 32,561 (Adult): CPU seconds and memory, without an n² matrix.

The rivals do once what the filter has to do twice: find for each synthetic record the nearest
original one, from the same whitened coordinates. For Mahalanobis and Euclid the filter itself uses
scipy's tree; Gower has a kernel of its own. All distances at once would take 8.5 GB.
"""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from caveat.protect import too_close
from caveat.protect._space import space_of
from caveat.synthesis import Synthesizer
from caveat.table import read

SHARED = Path(__file__).resolve().parents[2] / "shared"


def cpu(work) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def main() -> None:
    file = SHARED / "data" / "adult.csv"
    if not file.exists():
        print("../shared/data/adult.csv is not here")
        return
    original = read(file)
    release = Synthesizer(seed=1, minbucket=33).fit(original).tables()[0]
    small = original.take(np.arange(50))
    for metric in ("mahalanobis", "gower"):
        too_close(small, small, metric=metric, columns=["age", "hours_per_week"])  # compile
    print(f"{'':<44} {'CPU s':>7} {'peak MB':>8}")
    for metric in ("mahalanobis", "euclidean", "gower"):
        tracemalloc.start()
        seconds = cpu(lambda metric=metric: too_close(original, release, metric=metric))
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        print(f"{'filter, ' + metric + ' (two searches)':<44} {seconds:>7.1f} {peak:>8.0f}")
    space = space_of(original, "mahalanobis", None)
    ours, theirs = space.points(original)[0], space.points(release)[0]
    rivals = {
        "scikit-learn brute force (one search)": lambda: NearestNeighbors(
            n_neighbors=1, algorithm="brute").fit(ours).kneighbors(theirs),
        "scikit-learn ball tree (one search)": lambda: NearestNeighbors(
            n_neighbors=1, algorithm="ball_tree").fit(ours).kneighbors(theirs),
        "scipy cKDTree (one search)": lambda: cKDTree(ours).query(theirs),
    }  # fmt: skip
    for name, work in rivals.items():
        print(f"{name:<44} {cpu(work):>7.1f}")


if __name__ == "__main__":
    main()
