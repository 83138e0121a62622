"""Isolation: the closed forms of D'Acquisto et al., and the attack on a small table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.risk import MEASURES, Scenario, pair
from caveat.risk.isolation import best_isolations, isolation_probability, population_uniqueness


def test_best_single_guess():
    """Theorem 1: (1 - 1/n)^(n-1), which falls to 1/e."""
    expected = {5: 0.4096, 100: 0.369730, 1000: 0.368063, 10**6: 0.367880}
    for n, value in expected.items():
        assert isolation_probability(1 / n, n) == pytest.approx(value, abs=5e-7)
    p = np.linspace(1e-4, 0.05, 500)
    assert isolation_probability(p, 100).max() <= isolation_probability(0.01, 100) + 1e-12


def test_a_factor_of_two_costs_little():
    assert isolation_probability(0.5e-6, 10**6) == pytest.approx(0.5 * np.exp(-0.5), abs=1e-6)
    assert isolation_probability(2e-6, 10**6) == pytest.approx(2 * np.exp(-2), abs=1e-6)


def test_many_guesses():
    """Figure 1: expected isolations of k guesses at five records."""
    expected = {1: 0.4096, 2: 0.8192, 3: 1.2288, 4: 1.6384, 5: 2.0480, 10: 3.2805, 20: 4.0725}
    expected |= {25: 4.2467, 50: 4.6118, 100: 4.8030}
    for k, value in expected.items():
        assert best_isolations(k, 5) == pytest.approx(value, abs=5e-5)


def test_best_isolations_by_simulation():
    """10 cells, 5 records, 20,000 tables: the mean within 4 standard errors."""
    rng = np.random.default_rng(5)
    cells = rng.integers(0, 10, (20_000, 5))
    counts = np.bincount((np.arange(20_000)[:, None] * 10 + cells).ravel(), minlength=200_000)
    alone = (counts.reshape(20_000, 10) == 1).sum(axis=1)
    error = alone.std() / np.sqrt(len(alone))
    assert abs(alone.mean() - best_isolations(10, 5)) < 4 * error


def test_uniqueness_in_the_population():
    assert population_uniqueness(1 / (100 * 10**6), 10**4, 10**6) > 0.99
    assert population_uniqueness(1 / 10**4, 10**4, 10**6) == pytest.approx(1.011e-43, rel=5e-3)


def test_isolation_by_hand():
    """Unique in the release: b and c. b is one record of the original, c two."""
    original = pl.DataFrame({"k": list("aabcc")})
    synthetic = pl.DataFrame({"k": list("aabc")})
    found = MEASURES["isolation"](pair(original, synthetic, Scenario(("k",))))
    assert found.value == 0.5
    assert found.baseline == pytest.approx(5 * 0.25 * 0.75**4)
    assert found.per_record.tolist() == [0, 0, 1, 0, 0]
    gain = MEASURES["isolationGain"](pair(original, synthetic, Scenario(("k",))))
    assert gain.value == pytest.approx(0.5 / found.baseline)
    none = MEASURES["isolation"](pair(original, synthetic, Scenario(("k",), population=10**6)))
    assert none.value is None
    assert "rare enough" in none.notes[0]


def test_no_unique_no_number():
    frame = pl.DataFrame({"k": list("aabb")})
    found = MEASURES["isolation"](pair(frame, frame, Scenario(("k",))))
    assert found.value is None
    assert found.notes == ("no synthetic record is unique on these keys",)
