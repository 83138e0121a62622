"""The exact attacker who is given noisy tables and choices, against the definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.attack import membership, posterior, privacy_loss
from caveat.attack.worlds import TableChanges
from caveat.synthesis import Synthesizer
from caveat.synthesis.margins.promise import NOT_COUNTED, Measured, expected, parts_of
from caveat.table import Table

SIZES = {"a": 2, "b": 3, "c": 2}


def drawn(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {name: rng.integers(0, size, n) for name, size in SIZES.items()}


def counted(cells: dict[str, np.ndarray], names: tuple[str, ...]) -> np.ndarray:
    counts = np.zeros([SIZES[name] for name in names], np.int64)
    for record in zip(*(cells[name] for name in names), strict=True):
        counts[record] += 1
    return counts


def some_measurement(rng: np.random.Generator, cells: dict[str, np.ndarray]) -> Measured:
    singles = {(n,): counted(cells, (n,)) + rng.integers(-2, 3, SIZES[n]) for n in SIZES}
    chosen: list[tuple[str, str]] = []
    for _ in range(2):
        where = parts_of(list(SIZES), chosen)
        pairs = [p for p in itertools.combinations(SIZES, 2) if where[p[0]] != where[p[1]]]
        chosen.append(pairs[rng.integers(len(pairs))])
    pairs = {p: counted(cells, p) + rng.integers(-3, 4, (SIZES[p[0]], SIZES[p[1]])) for p in chosen}
    sigmas = {**dict.fromkeys(singles, 1.5), **dict.fromkeys(pairs, 2.5)}
    return Measured(SIZES, {**singles, **pairs}, sigmas, tuple(chosen), 0.7)


def log_likelihood(measured: Measured, cells: dict[str, np.ndarray]) -> float:
    """By the definition: noise of every cell, and every choice among those still open."""
    total = 0.0
    for names, seen in measured.tables.items():
        noise = np.arange(-400, 401)
        for found, true in zip(seen.ravel(), counted(cells, names).ravel(), strict=True):
            if measured.alpha:
                mean = true + measured.alpha
                total += found * math.log(mean) - mean - math.lgamma(found + 1)
                continue
            width = 2 * measured.sigmas[names] ** 2
            total += -((found - true) ** 2) / width - math.log(np.exp(-(noise**2) / width).sum())
    if not measured.choices:
        return total
    independent = expected(measured.singles, SIZES)
    score = {p: np.abs(counted(cells, p) - e).sum() for p, e in independent.items()}
    chosen: list[tuple[str, str]] = []
    for pair in measured.choices:
        where = parts_of(list(SIZES), chosen)
        left = [p for p in score if where[p[0]] != where[p[1]]]
        weights = {p: math.exp(measured.choice_epsilon * score[p] / 2) for p in left}
        total += math.log(weights[pair] / sum(weights.values()))
        chosen.append(pair)
    return total


def without(cells: dict[str, np.ndarray], record: int) -> dict[str, np.ndarray]:
    return {name: np.delete(codes, record) for name, codes in cells.items()}


@settings(deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 7), st.booleans())
def test_every_record_left_out_or_changed_as_by_definition(seed, n, poisson):
    rng = np.random.default_rng(seed)
    cells = drawn(rng, n)
    measured = some_measurement(rng, cells)
    if poisson:
        names = tuple(SIZES)
        measured = Measured(SIZES, {names: rng.poisson(counted(cells, names) + 0.5)}, {}, alpha=0.5)
    changes = TableChanges(measured, cells)
    base = log_likelihood(measured, cells)
    records = np.arange(n)
    gone = [log_likelihood(measured, without(cells, record)) - base for record in records]
    assert changes.logs(records, None) == pytest.approx(gone, abs=1e-9)
    come = drawn(rng, n)
    changed = []
    for record in records:
        other = {name: codes.copy() for name, codes in cells.items()}
        for name in SIZES:
            other[name][record] = come[name][record]
        changed.append(log_likelihood(measured, other) - base)
    assert changes.logs(records, come) == pytest.approx(changed, abs=1e-9)


def test_by_hand_one_table():
    """Counts 3 and 1, seen 3 and 2, sigma 1: leaving cell 2 costs (4 - 1) / 2, cell 1 1 / 2."""
    cells = {"a": np.array([0, 0, 0, 1])}
    measured = Measured({"a": 2}, {("a",): np.array([3, 2])}, {("a",): 1.0})
    logs = TableChanges(measured, cells).logs(np.array([0, 3]), None)
    assert logs == pytest.approx([-0.5, -1.5])


def test_a_record_that_is_not_counted_moves_no_table():
    """Counts 3 and 1, seen 3 and 2, sigma 1; the last record is in no table."""
    cells = {"a": np.array([0, 0, 0, 1, NOT_COUNTED])}
    measured = Measured({"a": 2}, {("a",): np.array([3, 2])}, {("a",): 1.0})
    changes = TableChanges(measured, cells)
    assert changes.logs(np.array([3, 4]), None) == pytest.approx([-1.5, 0])
    come = {"a": np.array([NOT_COUNTED, NOT_COUNTED, 1])}
    assert changes.logs(np.array([3, 4, 4]), come) == pytest.approx([-1.5, 0, 0.5])


def test_without_the_model_nothing_is_attacked():
    table = Table.from_frame({"a": [0, 1] * 30})
    options = {"epsilon": 1.0, "columns": {"a": {"levels": [0, 1]}}}
    with refused("attack.model.absent", where="generator"):
        membership(table, table, generator=options)
    with refused("attack.model.absent", where="generator"):
        membership(table, table, generator=Synthesizer(**options))


def test_a_fitted_model_is_attacked_by_its_tables():
    pytest.importorskip("opendp")
    table = Table.from_frame({"a": [0, 1] * 30, "b": [0, 0, 1, 1] * 15})
    columns = {name: {"levels": [0, 1]} for name in table}
    model = Synthesizer(seed=1, epsilon=1.0, delta=1e-6, columns=columns).fit(table)
    release = model.tables()[0]
    measured = model.plan.margins.promise.measured
    cells = {name: table[name].codes.astype(np.int64) for name in table}
    by_hand = -TableChanges(measured, cells).logs(np.arange(60), None)
    assert membership(table, release, generator=model).log_ratio == pytest.approx(by_hand)
    loss = privacy_loss(table, [0], synthetic=release, generator=model)
    assert loss.observed[0] >= abs(by_hand[0]) - 1e-12
    truth = posterior(table, release, 0, generator=model, unknown=["a"])
    other = {**cells, "a": 1 - cells["a"]}
    change = TableChanges(measured, cells).logs(np.array([0]), {n: c[:1] for n, c in other.items()})
    assert truth.candidates.n_rows == 2
    assert truth.log_likelihood[1] - truth.log_likelihood[0] == pytest.approx(change[0], abs=1e-12)


def test_a_model_of_other_data_is_refused():
    pytest.importorskip("opendp")
    columns = {"a": {"levels": [0, 1]}}
    table = Table.from_frame({"a": [0, 1] * 500})
    model = Synthesizer(seed=1, epsilon=5.0, delta=1e-6, columns=columns).fit(table)
    release = model.tables()[0]
    assert len(membership(table, release, generator=model).records) == 1000
    with refused("attack.model.mismatch", where="generator"):
        membership(Table.from_frame({"a": [0, 1] * 250}), release, generator=model)
    alike = Measured({"a": 2}, {("a",): np.array([503, 499])}, {}, alpha=1.0)
    other = Measured({"a": 2}, {("a",): np.array([503, 999])}, {}, alpha=1.0)
    cells = {"a": np.array([0, 1] * 500)}
    assert not TableChanges(alike, cells).is_foreign
    assert TableChanges(other, cells).is_foreign
