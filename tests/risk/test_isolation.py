"""Isolation: the closed forms of D'Acquisto et al., and the attack on a small table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from tests.refusals import refused

from caveat.risk import MEASURES, Scenario, pair
from caveat.risk.identity import margin_probability
from caveat.risk.isolation import (
    best_isolations,
    count_gain,
    isolation_chances,
    isolation_probability,
    population_uniqueness,
    tree_probability,
)


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


def test_gain_from_a_count():
    """Equation 2: a count of 1 is certain; (1 - 1/m)^(m-1) over n p/m (1 - p/m)^(n-1)."""
    assert count_gain(1e-6, 1, 1000) == pytest.approx(1 / (1e-3 * (1 - 1e-6) ** 999))
    assert count_gain(0.1, 10, 100) == pytest.approx(0.9**9 / (100 * 0.01 * 0.99**99))


def test_a_tree_knows_keys_that_go_together():
    """b follows from a: the product of the margins is a tenth of what the cell is worth."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 10, 5000)
    frame = pl.DataFrame({"a": a, "b": (a + 3) % 10, "c": rng.integers(0, 4, 5000)})
    both = pair(frame, frame, Scenario(("a", "b", "c")))
    truth = both.cells.d / 5000
    assert tree_probability(both) == pytest.approx(truth, rel=0.3)
    assert margin_probability(both) == pytest.approx(truth / 10, rel=0.3)


def test_a_tree_of_independent_keys_is_their_product():
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.integers(0, 3, 9000), "b": rng.integers(0, 3, 9000)})
    both = pair(frame, frame, Scenario(("a", "b")))
    assert tree_probability(both) == pytest.approx(margin_probability(both), rel=0.1)


def test_what_was_seen_once_is_not_rare_for_that():
    """One key: nothing to hang on. Two: of the parent's other records none has it."""
    frame = pl.DataFrame({"a": list("xxxy"), "b": list("pppq")})
    both = pair(frame, frame, Scenario(("a", "b")))
    # y: its only record is left out, so the share of q is that in the whole release, 1/4.
    assert tree_probability(both).tolist() == pytest.approx([3 / 4 * (2 + 3 / 4) / 3, 1 / 16])


def test_chances_by_hand():
    """The descriptions are b and c; the original has one b and two c, the control one b, one c."""
    people = {"k": list("aabcc")}
    release = {"k": list("aabc")}
    found = isolation_chances(people, release, Scenario(("k",)), {"k": list("aaabc")})
    assert found["independent"].chance == pytest.approx(5 * 0.25 * 0.75**4)
    assert found["tree"].chance == found["independent"].chance
    assert (found["control"].success, found["control"].chance) == (0.5, 1.0)
    assert found["control"].gain == 0.5


def test_a_smaller_control_is_compared_with_a_part():
    """Three of five: one b is among them with 3/5, exactly one of two c as often."""
    people = {"k": list("aabcc")}
    found = isolation_chances(people, {"k": list("aabc")}, Scenario(("k",)), {"k": list("aab")})
    assert found["control"].success == pytest.approx((3 / 5 + 3 / 5) / 2)
    assert found["control"].chance == 0.5
    nobody = isolation_chances(people, {"k": list("aabc")}, Scenario(("k",)), {"k": list("aaa")})
    assert nobody["control"].gain is None
    assert nobody["control"].interval[0] > 0
    assert nobody["control"].interval[1] == np.inf


def test_the_cuts_of_numbers_are_common():
    """Low and high: two of four people each, of whom a half has exactly one with 2/3."""
    people, release = {"k": [1.0, 2.0, 8.0, 9.0]}, {"k": [1.0, 9.0]}
    scenario = Scenario(("k",), groups={"k": 2})
    found = isolation_chances(people, release, scenario, release)["control"]
    assert (found.success, found.chance) == (pytest.approx(2 / 3), 1.0)
    assert isolation_chances(people, {"k": [1.0, 1.0]}, Scenario(("k",))) == {}


def test_no_rows_no_chances():
    with refused("data.table.empty", where="isolation"):
        isolation_chances({"k": ["a"]}, {"k": ["a"]}, Scenario(("k",)), {"k": []})
    with refused("data.column.absent", column="k"):
        isolation_chances({"k": ["a"]}, {"k": ["a"]}, Scenario(("k",)), {"j": ["a"]})
