"""Every sampler follows its distribution, and keeps its promise on neighbouring data.

There is no seed, so each test may fail by bad luck, once in a million runs at most: a chi-square
test at 10⁻⁸ with no expected number below 100, and for neighbours each of at most 5,000 bounds
at 10⁻¹⁰.
"""

from __future__ import annotations

import builtins
import json
import math
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta, chi2, poisson
from tests.refusals import refused

from caveat.privacy import (
    choose,
    delta_of,
    discrete_gaussian,
    discrete_gaussian_log_pmf,
    epsilon_of,
    gaussian_rho,
    noise,
    poisson_counts,
    poisson_hockey_stick,
)

FILE = Path(__file__).parents[1] / "golden" / "discrete_gaussian.json"
GOLDEN = json.loads(FILE.read_text("utf-8"))
BAD_LUCK = 1e-8
BAD_BOUND = 1e-10
N = 100_000
Ints = NDArray[np.int64]


@cache
def gaussian(count: int, sigma: float, n: int = N // 2) -> Ints:
    pytest.importorskip("opendp")
    return discrete_gaussian(np.full(n, count), sigma)


@cache
def choices(scores: tuple[int, ...], epsilon: float, n: int = N // 2) -> Ints:
    pytest.importorskip("opendp")
    values = np.array(scores)
    return np.array([choose(values, epsilon) for _ in range(n)])


def check_shares(drawn: Ints, values: Iterable[int], expected: Any) -> None:
    """Compare with the exact probabilities; values with fewer than 100 expected draws are one."""
    values, expected = np.asarray(list(values)), np.asarray(expected)
    kept = expected * drawn.size >= 100
    counts = np.array([np.sum(drawn == value) for value in values[kept]])
    means = expected[kept] * drawn.size
    rest = drawn.size - means.sum()
    if rest >= 100:
        counts, means = np.append(counts, drawn.size - counts.sum()), np.append(means, rest)
    statistic = float(np.sum((counts - means) ** 2 / means))
    assert chi2.sf(statistic, len(means) - 1) > BAD_LUCK


@pytest.mark.parametrize("sigma", [0.4, 0.8, 2.0])
def test_discrete_gaussian_noise(sigma: float) -> None:
    around = np.arange(-60, 61)
    drawn = gaussian(4, sigma) - 4
    check_shares(drawn, around, np.exp(discrete_gaussian_log_pmf(around, sigma)))


@pytest.mark.parametrize("sigma", [0.05, 0.3, 0.49999, 0.5, 1.0, 7.5, 300.0])
def test_the_probabilities_of_noise(sigma: float) -> None:
    """As the plain sum over many values says; both series are tried."""
    k = np.arange(-5000, 5001)
    exact = -((k / sigma) ** 2) / 2
    exact -= np.log(np.sum(np.exp(exact)))
    assert discrete_gaussian_log_pmf(k, sigma) == pytest.approx(exact, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(("sigma", "epsilon", "delta"), GOLDEN["hockey-stick"])
def test_the_exact_delta_of_noise_as_another_library_has_it(
    sigma: float, epsilon: float, delta: float
) -> None:
    k = np.arange(-200, 201)
    p, q = (np.exp(discrete_gaussian_log_pmf(k - count, sigma)) for count in (0, 1))
    assert delta_of(p, q, epsilon) == pytest.approx(delta, rel=1e-11)
    assert delta_of(q, p, epsilon) == pytest.approx(delta, rel=1e-11)
    # What ρ promises at this δ is a bound: not below the ε that δ belongs to.
    assert epsilon_of(gaussian_rho(1, sigma), delta) >= epsilon


@pytest.mark.parametrize(
    ("count", "alpha"), [(0, 0.1), (0, 1), (1, 0.5), (3, 2.75), (13, 1), (5000, 0.3)]
)
def test_poisson_counts(count: int, alpha: float) -> None:
    drawn = poisson_counts(np.full(N, count), alpha)
    values = np.arange(drawn.min(), drawn.max() + 1)
    check_shares(drawn, values, poisson.pmf(values, count + alpha))


def test_large_counts_have_the_mean_and_the_variance_of_a_poisson_distribution() -> None:
    mean, n = 123_456_789, 400
    drawn = (poisson_counts(np.full(n, mean), 0.5) - mean - 0.5) / math.sqrt(mean)
    statistic = float(np.sum(drawn**2))
    assert chi2.sf(statistic, n) > BAD_LUCK
    assert chi2.cdf(statistic, n) > BAD_LUCK


def test_poisson_draws_of_cells_are_independent_and_keep_the_shape() -> None:
    counts = np.arange(6).reshape(2, 3)
    drawn = np.array([poisson_counts(counts, 0.5) for _ in range(3000)])
    assert drawn.shape == (3000, 2, 3)
    assert drawn.dtype == np.int64
    # The total of cells is Poisson as well; their correlations would show in its variance.
    check_shares(drawn.sum(axis=(1, 2)), range(60), poisson.pmf(np.arange(60), 18))


@pytest.mark.parametrize("mean", [1, 4096])
def test_shares_of_poisson_draws_are_known_to_64_bits(mean: int) -> None:
    first, ends = noise._distribution(noise.Fraction(mean))
    found = np.diff(np.array([0, *map(int, ends)], dtype=object)).astype(float) / 2**64
    exact = poisson.pmf(first + np.arange(len(ends)), mean)
    assert found == pytest.approx(exact, rel=1e-9, abs=2**-62)
    assert int(ends[-1]) == 2**64 - 1


SCORES = (0, 3, 1, 2)


@pytest.mark.parametrize("scores", [SCORES, (1, 2, 2, 1)])
def test_choices(scores: tuple[int, ...]) -> None:
    weights = np.exp(1.5 * np.array(scores) / 2)
    check_shares(choices(scores, 1.5), range(4), weights / weights.sum())


def test_a_choice_does_not_permute_and_flip() -> None:
    """OpenDP does for another measure, and ε alone promises only ρ = ε² / 2, four times as much."""
    drawn = choices((1, -1), 2.0, 10_000)
    exponential, flipped = 1 / (1 + math.exp(2)), math.exp(-2) / 2
    check_shares(drawn, range(2), [1 - exponential, exponential])
    with pytest.raises(AssertionError):
        check_shares(drawn, range(2), [1 - flipped, flipped])


def test_scores_far_apart_and_one_candidate() -> None:
    pytest.importorskip("opendp")
    assert choose(np.array([5]), 1) == 0
    assert choose(np.array([-(2**62), 2**62]), 1) == 1
    assert choose(np.array([0, 10**6, 0]), 1) == 1


# --- Neighbouring data -------------------------------------------------------------------------


def lower(k: int, n: int) -> float:
    """Return the lower bound of a probability after Clopper and Pearson."""
    return float(beta.ppf(BAD_BOUND, k, n - k + 1)) if k else 0.0


def upper(k: int, n: int) -> float:
    return float(beta.isf(BAD_BOUND, k + 1, n - k)) if k < n else 1.0


def smallest_delta(ours: Ints, theirs: Ints, event: Iterable[int], epsilon: float) -> float:
    """Return what P(event) − e^ε Q(event) is at least."""
    inside = list(event)
    k, other = np.isin(ours, inside).sum(), np.isin(theirs, inside).sum()
    return lower(int(k), ours.size) - math.exp(epsilon) * upper(int(other), theirs.size)


def worst_delta(ours: Ints, theirs: Ints, epsilon: float) -> float:
    """Return the largest lower bound over single outputs and all sets of low or of high ones."""
    values = np.unique(np.concatenate([ours, theirs])).tolist()
    events = [[value] for value in values]
    events += [values[: i + 1] for i in range(len(values))]
    events += [values[i:] for i in range(len(values))]
    pairs = ((ours, theirs), (theirs, ours))
    return max(smallest_delta(*pair, event, epsilon) for pair in pairs for event in events)


@pytest.mark.parametrize("delta", [1e-6, 0.01])
@pytest.mark.parametrize("sigma", [0.8, 2.0])
def test_gaussian_counts_of_neighbours(sigma: float, delta: float) -> None:
    with_her, without = gaussian(4, sigma), gaussian(3, sigma)
    epsilon = epsilon_of(gaussian_rho(1, sigma), delta)
    assert worst_delta(with_her, without, epsilon) <= delta


def test_too_little_noise_is_found_out() -> None:
    """The test can fail: half of the noise does not keep the promise."""
    with_her, without = gaussian(4, 0.4), gaussian(3, 0.4)
    assert worst_delta(with_her, without, epsilon_of(gaussian_rho(1, 0.8), 0.01)) > 0.01


@pytest.mark.parametrize(("epsilon", "alpha"), [(2, 1), (3, 0.1), (0.5, 1)])
def test_poisson_counts_of_neighbours(epsilon: float, alpha: float) -> None:
    """Nothing is beyond the exact δ, and the worst event comes near it.

    Each share is bounded 6.4 errors away (10⁻¹⁰), and may lie as far off itself.
    """
    with_her, without = poisson_counts(np.full(N, 1), alpha), poisson_counts(np.full(N, 0), alpha)
    delta = poisson_hockey_stick(epsilon, alpha)
    high = math.floor((1 + epsilon) / math.log1p(1 / alpha))
    errors = [math.sqrt(poisson.sf(high, mean) / N) for mean in (1 + alpha, alpha)]
    found = worst_delta(with_her, without, epsilon)
    assert delta - 2 * 7 * (errors[0] + math.exp(epsilon) * errors[1]) < found <= delta


def test_choices_of_neighbours() -> None:
    """Every score moves by 1, up or down: no choice is e^ε times as probable."""
    first, second = choices(SCORES, 1.5), choices((1, 2, 2, 1), 1.5)
    assert worst_delta(first, second, 1.5) <= 0
    exact = [np.exp(0.75 * np.array(s)) for s in (SCORES, (1, 2, 2, 1))]
    p, q = (weights / weights.sum() for weights in exact)
    assert delta_of(p, q, 1.5) == delta_of(q, p, 1.5) == 0
    # And it is used: the same choices are told apart at a smaller ε.
    assert worst_delta(first, second, 0.2) > 0


def test_whole_tables_of_neighbours() -> None:
    """All cells at once: what is published is the table, and its noise is independent."""
    pytest.importorskip("opendp")
    sigma, epsilon = 1.0, 1.0
    tables = np.array([[2, 0], [1, 0]])
    drawn = [discrete_gaussian(np.tile(table, (N // 2, 1)), sigma) for table in tables]
    assert drawn[0].shape == (N // 2, 2)
    # The likelihood ratio of two tables, rounded, is all that an attacker can use.
    losses = [
        np.round(
            10 * (discrete_gaussian_log_pmf(d - tables[0], sigma)
                  - discrete_gaussian_log_pmf(d - tables[1], sigma)).sum(axis=1)
        ).astype(np.int64)
        for d in drawn
    ]  # fmt: skip
    k = np.arange(-60, 61)
    p, q = (np.exp(discrete_gaussian_log_pmf(k - count, sigma)) for count in (2, 1))
    delta = delta_of(p, q, epsilon)
    assert delta - 0.05 < worst_delta(losses[0], losses[1], epsilon) <= delta


# --- Whole numbers, and nothing else ---------------------------------------------------------


def test_results_are_whole_numbers_in_the_shape_that_came_in() -> None:
    pytest.importorskip("opendp")
    counts = np.arange(6, dtype=np.uint8).reshape(2, 3)
    drawn = discrete_gaussian(counts, 1.0)
    assert (drawn.dtype, drawn.shape) == (np.int64, (2, 3))
    assert discrete_gaussian(np.zeros((0, 2), dtype=np.int64), 1.0).shape == (0, 2)
    assert poisson_counts(np.zeros((0, 2), dtype=np.int64), 1.0).shape == (0, 2)
    assert type(choose(counts[0], 1.0)) is int
    # At the ends of what can be written nothing turns round.
    assert discrete_gaussian(np.full(50, 2**63 - 1), 2.0).min() > 0


@pytest.mark.parametrize("values", [[0.5, 1], [1.0], ["1"], [None], [True]])
def test_what_is_not_whole_is_refused(values: list[Any]) -> None:
    given: Any = np.array(values)
    with refused("privacy.value.type"):
        discrete_gaussian(given, 1)
    with refused("privacy.value.type"):
        poisson_counts(given, 1)
    with refused("privacy.value.type"):
        choose(given, 1)


@pytest.mark.parametrize("scores", [np.zeros(0, dtype=np.int64), np.zeros((2, 2), dtype=np.int64)])
def test_nothing_to_choose_from(scores: Ints) -> None:
    with refused("privacy.score.empty"):
        choose(scores, 1)


@pytest.mark.parametrize("counts", [[-1], [2**60]])
def test_what_is_no_count(counts: list[int]) -> None:
    with refused("privacy.count.range"):
        poisson_counts(np.array(counts), 1)


def test_whole_numbers_beyond_64_bits_are_refused() -> None:
    with refused("privacy.value.type"):
        discrete_gaussian(np.array([2**63], dtype=np.uint64), 1)


def test_a_scale_is_rounded_up() -> None:
    for epsilon in (0.1, 0.3, 1 / 3, 0.7, 1.1, 2.0):
        assert noise.Fraction(noise._at_least(2, epsilon)) * noise.Fraction(epsilon) >= 2
        assert noise._at_least(2, epsilon) == pytest.approx(2 / epsilon, rel=1e-15)
    with refused("privacy.setting.too-small"):
        choose(np.array([1, 2]), 1e-310)


def test_without_the_extra_one_sentence_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("opendp"):
            raise ImportError
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    noise._chooser.cache_clear()
    for use in (lambda: discrete_gaussian(np.array([1]), 1), lambda: choose(np.array([1]), 1)):
        with refused("command.package.not-installed"):
            use()
    assert poisson_counts(np.array([1]), 1).size == 1
