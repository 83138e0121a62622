"""The distance filter: by hand, against all pairs, and with bad input."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.errors import CaveatWarning
from caveat.nearest import tree_smallest
from caveat.protect import distance_filter, too_close
from caveat.table import Table


def table(**columns) -> Table:
    return Table.from_frame({name: list(values) for name, values in columns.items()})


def test_six_points_by_hand():
    # Nearest other original: 0 and 1 at 1, 10 and 14 at 4, the twins at 30 at 0. One column, so
    # that dividing by the deviation changes nothing.
    original = table(x=[0.0, 1, 10, 14, 30, 30])
    release = table(x=[0.4, 0.0, 11.0, 18.5, 30.0, 29.0, -1.0, -0.9, 12.0, 60.0])
    #  0.4: 0.4 from 0 (neighbour at 1): removed      0.0: a copy of a unique: removed
    # 11.0: 1 from 10 (neighbour at 4): removed      18.5: 4.5 from 14 (at 4): stays
    # 30.0: a copy of twins: 0 is not below 0: stays 29.0: 1 from the twins: stays
    # -1.0: 1 from 0, not below 1: stays             -0.9: removed
    # 12.0: 2 from 10 and from 14, both at 4: removed 60.0: stays
    expected = [True, True, True, False, False, False, False, True, True, False]
    assert too_close(original, release, metric="euclidean").tolist() == expected
    assert too_close(original, release, metric="mahalanobis").tolist() == expected
    assert too_close(original, release, metric="gower").tolist() == expected


def test_a_tie_counts_for_the_lonelier_of_two_originals():
    original, release = table(x=[0.0, 1.0, 10.0, -1.0]), table(x=[5.5])
    # 5.5 is 4.5 from 1 (neighbour at 1) and from 10 (neighbour at 9): closer than the latter's.
    assert too_close(original, release, metric="euclidean").tolist() == [True]
    assert too_close(original.take([2, 1, 0, 3]), release, metric="euclidean").tolist() == [True]


def test_jaccard_by_hand():
    original = table(a=[1, 1, 0, 0], b=[1, 0, 1, 0], c=[1, 1, 0, 1])
    # 111-101: 1 - 2/3 = 1/3; 010-111: 1 - 1/3 = 2/3; 001-101: 1/2.
    # 011: 1/3 from 111, whose neighbour is at 1/3: stays. 101: a copy of a record alone: removed.
    release = table(a=[0, 1], b=[1, 0], c=[1, 1])
    assert too_close(original, release, metric="jaccard").tolist() == [False, True]


def test_gower_mixes_numbers_levels_and_missing_cells():
    original = table(sex=["f", "f", "m"], age=[20, 60, None])
    # Own: 20f-60f: 0 + 1 = 1; m-missing to both: 1 + 1 = 2.
    release = table(sex=["f", "m", "m", "f"], age=[30, None, 20, 100])
    #  f30: 1/4 from f20: removed.   m-missing: 0 from the third: removed.
    #  m20: 1 from f20 (own 1) and 1 from m-missing (own 2): removed, the lonelier counts.
    #  f100: 1 from f60 (own 1), differences count 1 at most: stays.
    assert too_close(original, release, metric="gower").tolist() == [True, True, True, False]


def by_all_pairs(original: np.ndarray, release: np.ndarray) -> list[bool]:
    """The definition, with a matrix."""
    own = ((original[:, None] - original[None]) ** 2).sum(-1)
    np.fill_diagonal(own, np.inf)
    own = own.min(axis=1)
    cross = ((release[:, None] - original[None]) ** 2).sum(-1)
    nearest = cross.min(axis=1)
    near = cross <= nearest[:, None] * (1 + 1e-9)
    return [bool((d < 0.999999 * own[row]).any()) for d, row in zip(nearest, near, strict=True)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 40), st.integers(1, 4), st.integers(2, 6))
def test_it_is_the_definition(seed, n, p, levels):
    rng = np.random.default_rng(seed)
    ours, theirs = rng.integers(0, levels, (n, p)), rng.integers(0, levels, (25, p))
    ours = np.vstack([ours, np.zeros((1, p), int), np.full((1, p), levels - 1)])
    names = [f"x{j}" for j in range(p)]
    original = table(**dict(zip(names, ours.T, strict=True)))
    release = table(**dict(zip(names, theirs.T, strict=True)))
    distinct = np.unique(ours, axis=0).astype(float)
    own, _ = tree_smallest(distinct, distinct, np.zeros(len(distinct)), apart=True)
    best, largest = tree_smallest(theirs.astype(float), distinct, own)
    assert (best < 0.999999 * largest).tolist() == by_all_pairs(distinct, theirs.astype(float))
    spread = ours.std(axis=0)
    scaled = by_all_pairs(ours / spread, theirs / spread)
    found = too_close(original, release, metric="euclidean").tolist()
    assert found == scaled


def gower_by_all_pairs(original: dict, release: dict, numbers: list[str]) -> list[bool]:
    """The definition, with a matrix: columns of Python values, None for missing."""

    def distances(these: dict, those: dict) -> np.ndarray:
        total = np.zeros((len(these["n0"]), len(those["n0"])))
        for name, column in these.items():
            width = 1.0
            if name in numbers:
                known = [v for v in original[name] if v is not None]
                width = max(known) - min(known) or 1.0
            for i, a in enumerate(column):
                for j, b in enumerate(those[name]):
                    if name in numbers and a is not None and b is not None:
                        total[i, j] += min(abs(a - b) / width, 1.0)
                    else:
                        total[i, j] += a != b
        return total

    own = distances(original, original)
    np.fill_diagonal(own, np.inf)
    own = own.min(axis=1)
    cross = distances(release, original)
    nearest = cross.min(axis=1)
    near = cross <= nearest[:, None] * (1 + 1e-9) + 1e-12
    return [bool((d < 0.999999 * own[row]).any()) for d, row in zip(nearest, near, strict=True)]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(3, 30), st.integers(1, 3), st.integers(0, 5))
def test_gower_is_the_definition(seed, n, n_numbers, n_categories):
    rng = np.random.default_rng(seed)
    levels = int(rng.integers(2, 5))

    def draw(rows: int, more: int) -> dict:
        out = {}
        for k in range(n_numbers):
            values = rng.integers(-more, 6 + more, rows).tolist()
            out[f"n{k}"] = [None if rng.random() < 0.1 else float(v) for v in values]
        for k in range(n_categories):
            out[f"c{k}"] = [f"l{v}" for v in rng.integers(0, levels + more, rows)]
        return out

    original, release = draw(n, 0), draw(20, 2)  # numbers and levels that the original has not
    for k in range(n_numbers):
        original[f"n{k}"][:2] = [0.0, 5.0]
        release[f"n{k}"][0] = 0.0
    numbers = [f"n{k}" for k in range(n_numbers)]
    found = too_close(table(**original), table(**release), metric="gower").tolist()
    assert found == gower_by_all_pairs(original, release, numbers)


def test_neither_threads_nor_row_order_matter():
    rng = np.random.default_rng(4)
    original = table(x=rng.normal(size=700), y=rng.normal(size=700), z=rng.integers(0, 3, 700))
    release = table(x=rng.normal(size=600), y=rng.normal(size=600), z=rng.integers(0, 3, 600))
    order = rng.permutation(600)
    for metric in ("mahalanobis", "gower"):
        one = too_close(original, release, metric=metric, threads=1)
        assert np.array_equal(one, too_close(original, release, metric=metric, threads=2))
        moved = too_close(original, release.take(order), metric=metric)
        assert np.array_equal(moved, one[order])
        assert 0.2 < one.mean() < 0.8


def test_copies_of_uniques_never_pass():
    rng = np.random.default_rng(5)
    original = table(x=rng.normal(size=300), y=rng.normal(size=300), z=rng.integers(0, 9, 300))
    for metric in ("mahalanobis", "euclidean", "gower"):
        assert too_close(original, original.take(np.arange(50)), metric=metric).all()


def test_refill_until_full():
    rng = np.random.default_rng(6)
    original = table(x=rng.normal(size=200), y=rng.normal(size=200))
    asked: list[int] = []

    def refill(n: int, number: int) -> Table:
        asked.append(number)
        r = np.random.default_rng([6, number])
        return table(x=2 * r.normal(size=n), y=2 * r.normal(size=n))

    first = refill(200, 0)
    protected = distance_filter(original, first, refill=refill)
    assert protected.table.n_rows == 200
    assert not too_close(original, protected.table).any()
    counts = protected.step.counts
    assert counts["removed"] == int(too_close(original, first).sum()) > 0
    assert counts["rounds of refilling"] == asked[-1] >= 1
    assert protected.step.reads_original


def test_refilling_gives_up_with_a_message():
    original = table(x=[0.0, 1.0, 2.0, 30.0])
    release = table(x=[60.0, 29.0, 29.5])  # 60 is 30 from 30, whose neighbour is at 28
    with pytest.warns(CaveatWarning, match="1 of 3 records after 2 rounds"):
        kept = distance_filter(
            original,
            release,
            metric="euclidean",
            refill=lambda n, _: table(x=[30.0] * n),
            most_rounds=2,
        )
    assert kept.table.n_rows == 1


def test_a_filter_that_removes_everything():
    original = table(x=[0.0, 1.0, 5.0])
    with refused("protection.table.empty", where="distance euclidean, columns x"):
        distance_filter(original, original, metric="euclidean")


def test_collinear_columns_are_named():
    rng = np.random.default_rng(7)
    a, b, c = rng.normal(size=(3, 50))
    original = table(a=a, b=b, c=c, d=a - 2 * c)
    with refused("protection.column.conflict", where="columns a, c, d"):
        too_close(original, original)
    assert too_close(original, original, columns=["a", "b", "c"]).all()


def test_nearly_singular_correlations_are_shrunken_and_said():
    rng = np.random.default_rng(8)
    a, noise = rng.normal(size=(2, 200))
    original = table(a=a, b=a + 1e-4 * noise)
    release = table(a=[0.0, 9.0], b=[0.0, -9.0])
    step = distance_filter(original, release).step
    assert "shrunken" in step.notes[0]


def test_columns_that_do_not_fit():
    original = table(job=["a", "b", "c"], age=[1, 2, 4])
    with refused("protection.column.unsupported", column="job"):
        too_close(original, original, columns=["job", "age"])
    with refused("protection.setting.unknown", where="metric"):
        too_close(original, original, metric="cosine")
    assert "without job" in distance_filter(original, table(job=["a"], age=[9])).step.notes


def test_levels_that_the_original_has_not():
    original = table(job=["b", "c", "d"], age=[1, 2, 4])
    # A new level stands before all others in the alphabet and must not shift their codes.
    release = table(job=["a", "c"], age=[2, 2])
    # a2: 1 from c2, whose neighbours are at 1 + 1/3: removed. c2: a copy: removed.
    assert too_close(original, release, metric="gower").tolist() == [True, True]
    release = table(job=["a", "a"], age=[9, 2])
    # a9: 1 + 1 from d4 (differences count 1 at most), whose neighbour is at 1 + 2/3: stays.
    assert too_close(original, release, metric="gower").tolist() == [False, True]
