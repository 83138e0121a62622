"""Tables and minimal sample uniques: the six-record example, and a search by brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.risk import MEASURES, Scenario, pair
from caveat.risk.isolation import minimal_uniques, table_risks

NAMES = ["key1", "key2", "target"]


@pytest.fixture
def six():
    """Kolb, Tang, Giessing (2024), the example in the text."""
    synthetic = [(1, 2, 3), (1, 2, 5), (4, 12, 4), (4, 12, 4), (4, 12, 4), (5, 12, 10)]
    original = [(1, 2, 3), (1, 2, 3), (4, 12, 4), (4, 12, 4), (4, 12, 9), (5, 12, 10)]
    frames = [pl.DataFrame(rows, NAMES, orient="row") for rows in (original, synthetic)]
    return pair(*frames, Scenario(("key1", "key2"), "target"))


def test_table_risk_of_six_records(six):
    whole = next(t for t in table_risks(six) if t.keys == ("key1", "key2"))
    assert (whole.synthetic, whole.original, whole.common) == (2, 2, 1)
    assert MEASURES["TCAPratio"](six).value == 0.5


def test_group_disclosure_pools_the_tables(six):
    found = MEASURES["groupDisclosure"](six)
    assert [t.keys for t in table_risks(six)] == [("key1",), ("key2",), ("key1", "key2")]
    # key1 alone separates the same records as both keys; key2 = 12 has two targets in both tables.
    assert found.details == {"tables": 3, "disclosive": 4, "true": 2, "in the original": 5}
    assert found.value == 0.5


def test_msu_risk_of_six_records(six):
    found = MEASURES["MSU"](six)
    assert found.value == pytest.approx(1 / 3)
    assert found.details == {"with a minimal unique": 3, "shared": 1}
    assert found.per_record.tolist() == [0, 0, 0, 0, 0, 1]
    columns = [six.synthetic[name].codes for name in NAMES]
    uniques = minimal_uniques(columns, [six.original[name].n_levels for name in NAMES], 6)
    assert {key: np.flatnonzero(rows).tolist() for key, rows in uniques.items()} == {
        (0,): [5],
        (2,): [0, 1, 5],
    }


def test_a_target_of_ninety_per_cent_is_not_counted():
    frame = pl.DataFrame({"k": list("aabbccddee"), "t": ["no"] * 9 + ["yes"]})
    found = pair(frame, frame, Scenario(("k",), "t"))
    assert table_risks(found)[0].synthetic == 0
    assert MEASURES["groupDisclosure"](found).value is None
    assert MEASURES["TCAPratio"](found).value == 1


def naive_minimal(rows, n_columns, largest):
    out = {}
    for size in range(1, largest + 1):
        for chosen in combinations(range(n_columns), size):
            parts = [tuple(row[j] for j in chosen) for row in rows]
            for i, part in enumerate(parts):
                smaller = any(
                    sum(all(r[j] == rows[i][j] for j in sub) for r in rows) == 1
                    for n in range(1, size)
                    for sub in combinations(chosen, n)
                )
                if parts.count(part) == 1 and not smaller:
                    out.setdefault(chosen, set()).add(i)
    return out


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=10),
    st.integers(1, 4),
)
def test_minimal_uniques_equal_brute_force(rows, largest):
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    found = minimal_uniques(columns, [3] * 4, largest)
    ours = {chosen: set(np.flatnonzero(flags).tolist()) for chosen, flags in found.items()}
    assert ours == naive_minimal(rows, 4, largest)
