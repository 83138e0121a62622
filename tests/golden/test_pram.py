"""PRAM on Adult: the levels of local differential privacy, natural logarithm."""

from __future__ import annotations

import pytest

from caveat.protect import epsilon0, pram_matrix
from caveat.table import read

# theta 0.1, 0.2, 0.3; by brute force over all pairs from the counts of the training part
EPSILON0 = {
    "sex": (2.9018, 2.0909, 1.5519),
    "race": (8.3114, 7.6095, 7.1951),
    "relationship": (6.4990, 5.7938, 5.3762),
}
COUNTS = {"sex": (21790, 10771), "race": (27816, 3124, 1039, 311, 271)}


@pytest.mark.parametrize("name", COUNTS)
def test_from_the_published_counts(name):
    found = [epsilon0(pram_matrix(COUNTS[name], theta)) for theta in (0.1, 0.2, 0.3)]
    assert found == pytest.approx(EPSILON0[name], abs=5e-5)


def test_from_the_data(shared):
    table = read(shared / "data" / "adult.csv")
    for name, expected in EPSILON0.items():
        counts = table[name].compact().counts
        found = [epsilon0(pram_matrix(counts, theta)) for theta in (0.1, 0.2, 0.3)]
        assert found == pytest.approx(expected, abs=5e-5), name
