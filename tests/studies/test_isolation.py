"""Isolation without a release, from counts, and the gain of releases whose truth is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from caveat.risk.isolation import count_gain
from caveat.seeds import rng_of
from caveat.studies import STUDIES, outliers
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def found():
    return outliers.run_isolation(Output(None), people=800, fresh=6)


def test_the_numbers_of_the_paper(found) -> None:
    ours = [number.ours for number in found.numbers]
    exact = (0.367880, 0.270671, 19.49573, 99.49916, 0.990149, 1.01117e-43, 0.227449)
    for number, value in zip(ours, exact, strict=False):
        assert number == pytest.approx(value, rel=5e-6)
    # The printed ones are these, rounded.
    for number in found.numbers[:7]:
        assert number.ours == pytest.approx(number.printed, rel=0.03)
    assert ours[-1] is None
    assert found.numbers[-1].why


def test_guesses_and_partitions() -> None:
    assert outliers.guesses_for(0.95) == pytest.approx(19.496, abs=5e-4)
    assert outliers.guesses_for(0.99) == pytest.approx(99.499, abs=5e-4)
    n = 10**6
    assert outliers.partition_bound(0.25, n, n) / n == pytest.approx(
        3 / 8 * min(math.exp(-0.5), 3 * math.exp(-1.5)), abs=1e-6
    )
    # More guesses than records: 3/8 k n / k, and the chance to be alone goes to 1.
    assert outliers.partition_bound(0.25, 1000 * n, n) / n == pytest.approx(3 / 8, abs=1e-3)


def test_the_fullest_bin_is_not_as_full_as_printed(found) -> None:
    gain = found.numbers[7]
    assert gain.printed == pytest.approx(5.082, abs=1e-3)
    assert count_gain(1e-6, 8, 10**6) < gain.ours < count_gain(1e-6, 10, 10**6)


def test_a_part_of_a_cell_has_weight_one_over_n(found) -> None:
    # 1/m of a Poisson of mean 100: 1.0102.
    assert found.numbers[8].ours == pytest.approx(1.0102, abs=0.002)


def test_simulations_meet_the_formulas(found) -> None:
    figure, partition, counts = found.grids[1:4]
    for k, formula, simulated, error in figure.rows:
        assert abs(float(simulated) - float(formula)) < 4 * float(error), k
    for _, bound, simulated, _ in partition.rows:
        assert float(simulated) >= float(bound)
    assert partition.rows[1][1] == "0.2275"
    gains = [float(row[1].replace(",", "")) for row in counts.rows]
    assert gains == pytest.approx([1001, 11.04, 2.38, 1.13, 1.01], abs=0.03)


def test_a_count_helps_as_the_formula_says() -> None:
    ratio, error, formula = outliers.simulated_gain(1 / 500, 500, 100_000, rng_of(9))
    assert abs(ratio - formula) < 4 * error + 0.02  # the formula is averaged over 2,000 counts


def test_other_people_give_no_gain_and_independent_keys_claim_one(found) -> None:
    grid = found.grids[4]
    rows = {row[0]: dict(zip(grid.header[:5], row[1:6], strict=False)) for row in grid.rows}
    assert list(rows) == ["the original itself", "CART", "other people"]
    by_way = {row[0]: [float(row[i]) for i in (3, 5, 7)] for row in grid.rows}
    true, independent, tree = by_way["other people"]
    assert 0.5 < true < 2
    assert independent > 3 * tree > 3
    assert by_way["the original itself"][0] > 10


def test_alone_in_a_cell() -> None:
    mean, error = outliers.isolated_by_chance(np.full(10, 0.1), 5, 5000, rng_of(1))
    assert abs(mean - 5 * 0.9**4) < 4 * error


def test_it_is_in_the_list() -> None:
    assert STUDIES["isolation"].paper.startswith("D'Acquisto")
