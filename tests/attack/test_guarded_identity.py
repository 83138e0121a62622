"""What must hold on average over fits and releases if p(Z, T | D) is a probability.

Over fits on D the mean of p(Z, T | D') / p(Z, T | D) is 1. That alone does not see a factor that is
left out altogether (the rest has the mean 1 too), so the ratio is also put to work: it must turn
means over fits on D into means over fits on D', for what the structure and the release look like.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.attack.guarded_tables import make_problem

from caveat.attack.adjacent import with_each_value, without_each
from caveat.attack.worlds import Worlds, draw_release
from caveat.synthesis.fitting import fit_columns

N_FITS = 300
RELEASED = 5
RECORD = 4
STATES = ("removed", "changed")


def problem():
    return make_problem(["three", "both", "seven"], 40, 11, temperature=1.0, smallest=10.0)


def changed_code(name: str) -> int:
    """Return a code of the column that the record does not have: the last, far away."""
    column = problem().table[name]
    return int(column.n_levels - 1 - (column.codes[RECORD] == column.n_levels - 1))


@cache
def runs(how: str, from_other: bool) -> np.ndarray:
    """Return log p(Z, T | D), the incremental log p(Z, T | D'), and statistics, for many fits.

    They are fits on D, or on D' if ``from_other``: so a record that is removed is also one that is
    added, and the one that is changed enters and leaves the kinds of a number.

    The statistics are log p(T | D') - log p(T | D), the share of the first class of the last column
    in Z, and the number of nodes.
    """
    base = problem()
    table, plan = base.table, base.plan
    name = "b" if how == "changed" else ""
    lookup = Worlds(table, plan, [], 0)
    other = lookup.changed(RECORD, {name: changed_code(name)}) if name else lookup.without(RECORD)
    found = []
    for seed in range(N_FITS):
        made = Worlds(other if from_other else table, plan, [], seed)
        release = draw_release(made.model(made.original, ()), RELEASED, seed, 7)
        worlds = Worlds(table, plan, [release], seed)
        # The same structures, whoever they were drawn from, counted on D.
        worlds.__dict__["base"] = fit_columns(table, plan, seed, 1, structures=made.base)
        if name:
            log_q = with_each_value(worlds, name, [RECORD], 1)[0, changed_code(name)]
            log_p = worlds.evidence(table, ()).log_likelihood
        else:
            log_p, (log_q,) = without_each(worlds, [RECORD], 1)
        logs = [
            sum(m.log_structure for m in models.values())
            for models in (worlds.base, worlds.model(other).columns)
        ]
        first = np.mean(release["c"].codes == 0)
        nodes = sum(len(m.values.tree.candidate) for m in worlds.base.values())
        found.append([log_p, log_q, logs[1] - logs[0], first, nodes])
    return np.array(found)


def off_by(values: np.ndarray, expected: float = 0.0) -> float:
    """Return how many standard errors a mean is away from what it should be."""
    return float((values.mean() - expected) / (values.std(ddof=1) / np.sqrt(len(values))))


@pytest.mark.parametrize("from_other", [False, True], ids=["there", "back"])
@pytest.mark.parametrize("how", STATES)
def test_the_mean_of_the_ratio_is_one(how, from_other):
    log_p, log_q, *_ = runs(how, from_other).T
    ratio = np.exp(log_p - log_q if from_other else log_q - log_p)
    # A few large ratios must not carry the mean, and it must not be 1 for want of any effect.
    assert 0.1 < ratio.std() < 4
    assert ratio.max() < 0.2 * ratio.sum()
    assert abs(off_by(ratio, 1.0)) < 4


def misfit(how: str, statistic: int, without_structure: bool = False) -> float:
    """Return how many standard errors a mean over fits on D, reweighted, is off that on D'."""
    here, there = runs(how, False), runs(how, True)
    logs = here[:, 1] - here[:, 0]
    if without_structure:
        logs = logs - here[:, 2]
    ours, theirs = np.exp(logs) * here[:, statistic], there[:, statistic]
    error = np.sqrt(ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs))
    return float((ours.mean() - theirs.mean()) / error)


@pytest.mark.parametrize("statistic", [2, 3, 4], ids=["structure", "release", "nodes"])
@pytest.mark.parametrize("how", STATES)
def test_the_ratio_turns_fits_on_one_table_into_fits_on_the_other(how, statistic):
    assert abs(misfit(how, statistic)) < 4


@pytest.mark.parametrize("how", STATES)
def test_it_would_show_if_the_structure_were_left_out(how):
    assert abs(misfit(how, 2, without_structure=True)) > 5
