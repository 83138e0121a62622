"""What every method must do, run over all of them."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.synthesis.methods.cases import CASES, UNSEEN, fit, fixed_rows, inputs_for, target_for

from caveat.synthesis.methods import METHODS, Fitted, Inputs, Settings, Target
from caveat.synthesis.methods.normal import Normal

N = 400
DRAWS = 100_000
LEAST_P = 1e-4  # each chi-square test fails by chance with this probability; the seeds are fixed

EVERY = pytest.mark.parametrize(
    ("name", "variant"), sorted(CASES), ids=[" ".join(key) for key in sorted(CASES)]
)


def prepared(name: str, variant: str) -> tuple[Inputs, Target, Settings]:
    rng = np.random.default_rng(20)
    inputs = inputs_for(N, rng)
    case = CASES[name, variant]
    return inputs, target_for(case, inputs, rng), case.settings


def probabilities(model: Fitted, row: Inputs, n_levels: int) -> np.ndarray:
    """Return the probability of every outcome for the first row of the inputs."""
    if isinstance(model, Normal):
        grid = grid_of(model)
        many = row.take(np.zeros(len(grid), np.int64))
        return np.exp(model.log_prob_of_numbers(many, grid))
    many = row.take(np.zeros(n_levels, np.int64))
    return np.exp(model.log_prob(many, np.arange(n_levels)))


def grid_of(model: Normal) -> np.ndarray:
    """Return all numbers that a draw can be rounded to (up to 20 standard deviations away)."""
    unit = 10.0**-model.decimals
    reach = np.ceil((np.abs(model.numbers).max() + 20 * model.deviation + 5) / unit)
    return np.arange(-reach, reach + 1) * unit


def outcomes(model: Fitted, drawn: np.ndarray) -> np.ndarray:
    """Return the place of each draw among the outcomes of `probabilities`."""
    if not isinstance(model, Normal):
        return drawn
    grid = grid_of(model)
    return np.rint((drawn - grid[0]) * 10.0**model.decimals).astype(np.int64)


def through_a_file(state: dict) -> dict:
    """Write arrays as arrays and everything else as JSON, and read it back."""
    result = {}
    for name, value in state.items():
        if isinstance(value, dict):
            result[name] = through_a_file(value)
        elif isinstance(value, np.ndarray):
            buffer = io.BytesIO()
            np.save(buffer, value, allow_pickle=False)
            buffer.seek(0)
            result[name] = np.load(buffer, allow_pickle=False)
        else:
            result[name] = json.loads(json.dumps(value))
    return result


def test_every_method_is_tried():
    assert {name for name, _ in CASES} == set(METHODS)


@EVERY
def test_draws_follow_the_probabilities(name, variant):
    inputs, target, settings = prepared(name, variant)
    model = fit(name, inputs, target, settings)
    rng = np.random.default_rng(1)
    for row in fixed_rows(inputs, DRAWS):
        p = probabilities(model, row, target.n_levels)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        observed = np.bincount(outcomes(model, model.draw(row, rng)), minlength=len(p))
        assert observed[p == 0].sum() == 0
        rare = p * DRAWS < 5
        expected = np.append(p[~rare], p[rare].sum()) * DRAWS
        counted = np.append(observed[~rare], observed[rare].sum())
        if expected[-1] < 5:
            # too few are expected to compare, so only an impossible number can fail
            assert counted[-1] < 30
            expected, counted = expected[:-1], counted[:-1]
        if len(expected) > 1:
            scaled = expected * counted.sum() / expected.sum()
            assert chisquare(counted, scaled).pvalue > LEAST_P


@EVERY
def test_a_file_keeps_the_model(name, variant):
    inputs, target, settings = prepared(name, variant)
    model = fit(name, inputs, target, settings)
    again = METHODS[name].from_state(through_a_file(model.state()))
    drawn = [m.draw(inputs, np.random.default_rng(3)) for m in (model, again)]
    assert np.array_equal(*drawn)
    assert np.array_equal(*(m.log_prob(inputs, target.codes) for m in (model, again)))


@EVERY
def test_the_same_seed_gives_the_same_draws(name, variant):
    inputs, target, settings = prepared(name, variant)
    first, second = (fit(name, inputs, target, settings, seed=5) for _ in range(2))
    draws = [m.draw(inputs, np.random.default_rng(3)) for m in (first, second)]
    assert np.array_equal(*draws)
    assert len(draws[0]) == N


@EVERY
def test_weights_count_as_repeated_rows(name, variant):
    if name == "forest":
        pytest.skip("its trees draw rows, and repeated rows are other rows to draw from")
    if name == "guarded":
        pytest.skip("whether it splits hangs on the number of records, not on their weight")
    inputs, target, settings = prepared(name, variant)
    times = np.random.default_rng(4).integers(0, 4, N)
    repeated = np.repeat(np.arange(N), times)
    weights = np.maximum(times, 1.0)
    weighted = replace(target, weights=weights, rows=np.flatnonzero(times))
    one = fit(name, inputs, weighted, settings)
    other = fit(
        name, inputs.take(repeated), replace(target, codes=target.codes[repeated]), settings
    )
    for row in fixed_rows(inputs, 1):
        pair = [probabilities(m, row, target.n_levels) for m in (one, other)]
        if name == "normal":
            pair = [p[: min(map(len, pair))] for p in pair]
        assert pair[0] == pytest.approx(pair[1], abs=1e-6)


@EVERY
def test_a_weight_of_zero_takes_no_part(name, variant):
    if name in ("cart", "forest", "guarded"):
        pytest.skip("the tree engines count or refuse such rows; they are left out before it")
    inputs, target, settings = prepared(name, variant)
    weights = np.random.default_rng(4).integers(0, 3, N).astype(float)
    zero = fit(name, inputs, replace(target, weights=weights), settings)
    rows = np.flatnonzero(weights)
    without = fit(name, inputs, replace(target, weights=weights, rows=rows), settings)
    codes = target.codes
    assert zero.log_prob(inputs, codes) == pytest.approx(without.log_prob(inputs, codes), abs=1e-9)


@EVERY
def test_only_the_rows_that_take_part_count(name, variant):
    inputs, target, settings = prepared(name, variant)
    rows = np.arange(0, N, 3)
    part = fit(name, inputs, replace(target, rows=rows), settings)
    own = fit(name, inputs.take(rows), replace(target, codes=target.codes[rows]), settings)
    codes = target.codes
    assert part.log_prob(inputs, codes) == pytest.approx(own.log_prob(inputs, codes), abs=1e-9)


@EVERY
def test_one_training_row_is_enough(name, variant):
    inputs, target, settings = prepared(name, variant)
    settings = replace(settings, pseudo_count=0.0)
    only = replace(target, rows=np.array([9]))
    model = fit(name, inputs, only, settings)
    if name == "guarded":
        # It draws everything everywhere, and what nobody has as if half a record had it.
        logs = [model.log_prob(inputs, np.full(N, code)) for code in range(target.n_levels)]
        assert np.sum(np.exp(logs), axis=0) == pytest.approx(np.ones(N))
        assert (np.argmax(logs, axis=0) == target.codes[9]).all()
        return
    expected = target.codes[9] if target.numbers is None else target.numbers[target.codes[9]]
    drawn = model.draw(inputs, np.random.default_rng(0))
    if target.numbers is not None and not model.makes_numbers:
        drawn = target.numbers[drawn]
    assert drawn == pytest.approx(np.full(N, expected), abs=1e-12)
    assert model.log_prob(inputs, np.full(N, target.codes[9])) == pytest.approx(np.zeros(N))


@EVERY
def test_one_value_only(name, variant):
    inputs, target, settings = prepared(name, variant)
    settings = replace(settings, pseudo_count=0.0)
    model = fit(name, inputs, replace(target, codes=np.ones(N, np.uint8)), settings)
    if name == "guarded":
        assert (model.log_prob(inputs, np.ones(N, np.uint8)) > np.log(0.97)).all()
        assert np.isfinite(model.log_prob(inputs, np.zeros(N, np.uint8))).all()
        return
    assert model.log_prob(inputs, np.ones(N, np.uint8)) == pytest.approx(np.zeros(N), abs=1e-9)
    assert (np.exp(model.log_prob(inputs, np.zeros(N, np.uint8))) == 0).all()


@EVERY
def test_without_predictors_all_rows_are_alike(name, variant):
    _, target, settings = prepared(name, variant)
    nothing = Inputs((), N)
    model = fit(name, nothing, target, settings)
    shares = np.bincount(target.codes, minlength=target.n_levels) / N
    p = probabilities(model, nothing, target.n_levels)
    if name in ("forest", "normal", "lookup", "guarded") or settings.pseudo_count:
        # a bootstrap, another shape, the most frequent one only, and extra records
        assert p.sum() == pytest.approx(1)
    else:
        assert p == pytest.approx(shares, abs=1e-9)
    assert len(model.draw(nothing, np.random.default_rng(0))) == N


@EVERY
def test_an_unseen_level_has_probabilities(name, variant):
    inputs, target, settings = prepared(name, variant)
    assert (inputs.parts[1].codes != UNSEEN).all()
    model = fit(name, inputs, target, settings)
    row = fixed_rows(inputs, 50)[-1]
    log_p = model.log_prob(row, target.codes[:50])
    assert not np.isnan(log_p).any()
    assert (log_p <= 1e-12).all()


@EVERY
def test_a_proper_fit_differs_and_is_a_distribution(name, variant):
    inputs, target, settings = prepared(name, variant)
    row = fixed_rows(inputs, 1)[0]
    proper = replace(settings, proper=True)
    fits = [fit(name, inputs, target, proper, seed) for seed in (1, 2)]
    p = [probabilities(m, row, target.n_levels) for m in fits]
    assert [x.sum() for x in p] == pytest.approx([1, 1])
    if name not in ("lookup", "ipf", "margins"):  # a certain value; tables of a whole block
        assert len(p[0]) != len(p[1]) or not np.allclose(*p)


@EVERY
def test_no_rows_give_no_draws(name, variant):
    inputs, target, settings = prepared(name, variant)
    model = fit(name, inputs, target, settings)
    none = inputs.take(np.zeros(0, np.int64))
    assert len(model.draw(none, np.random.default_rng(0))) == 0
    assert len(model.log_prob(none, np.zeros(0, np.uint8))) == 0
