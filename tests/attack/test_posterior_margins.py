"""The strong attacker of margins: refits of the plan against frequencies counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.attack import membership, posterior
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.model import Model, written
from caveat.table import Table

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")

SHAPE = (2, 3, 2)
NAMES = ("a", "b", "c")
CHAIN = [["a", "b"], ["b", "c"]]
CIRCLE = [["a", "b"], ["b", "c"], ["a", "c"]]


def table_of(codes: np.ndarray) -> Table:
    """Return records with all levels in the dictionary."""
    letters = [np.array(list(text)) for text in ("fm", "xyz", "no")]
    whole = {n: letters[j][: SHAPE[j]] for j, n in enumerate(NAMES)}
    columns = {}
    for j, name in enumerate(NAMES):
        levels = Table.from_frame({name: whole[name]})[name]
        columns[name] = levels.with_codes(codes[:, j])
    return Table(columns)


def small(seed: int, n: int = 24) -> np.ndarray:
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 2, n)
    return np.column_stack([a, (a + rng.integers(0, 2, n)) % 3, (a + rng.integers(0, 2, n)) % 2])


def chain_by_hand(codes: np.ndarray, release: np.ndarray) -> float:
    """Log probability of a release from p(a) p(b|a) p(c|b) of the records."""
    total = 0.0
    a, b, c = codes.T
    for x, y, z in release:
        p = (a == x).mean()
        p *= ((a == x) & (b == y)).sum() / max((a == x).sum(), 1)
        p *= ((b == y) & (c == z)).sum() / max((b == y).sum(), 1)
        total += np.log(p) if p > 0 else -np.inf
    return total


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 9999))
def test_the_posterior_over_every_record_there_could_be(seed):
    codes = small(seed)
    table = table_of(codes)
    options = {"method": "margins", "margins": CHAIN, "rare_below": 1}
    release = Synthesizer(seed=seed, anyway=True, **options).fit(table).tables(8)[0]
    drawn = np.column_stack([release[n].codes for n in NAMES]).astype(int)
    found = posterior(
        table, release, 3, unknown=list(NAMES), generator=options, prior="uniform"
    )  # fmt: skip
    worlds = [np.array(cell) for cell in np.ndindex(SHAPE)]
    logs = []
    for cell in worlds:
        world = codes.copy()
        world[3] = cell
        logs.append(chain_by_hand(world, drawn))
    weights = np.exp(np.array(logs) - max(logs))
    assert found.probabilities == pytest.approx(weights / weights.sum(), abs=1e-9)


CLEARED = {"threshold": 3, "multiple": 3}


@pytest.mark.parametrize("margins", [CHAIN, CIRCLE], ids=["chain", "circle"])
@pytest.mark.parametrize("clearing", [None, CLEARED], ids=["plain", "cleared"])
@pytest.mark.parametrize("target", NAMES)
def test_a_posterior_equals_whole_refits(margins, clearing, target):
    table = table_of(small(5, 60))
    options = {"method": "margins", "margins": margins, "rare_below": 1}
    if clearing is not None:
        options["clearing"] = clearing
    plan = make_plan(table, options)
    release = Synthesizer(seed=4, **options).fit(table).tables()[0]
    found = posterior(table, release, 7, unknown=[target], generator=plan, prior="uniform")
    logs = []
    for code in range(table[target].n_levels):
        codes = table[target].codes.copy()
        codes[7] = code
        world = table.with_columns({target: table[target].with_codes(codes)})
        model = Model(plan, fit_columns(world, plan, 1, 1), written(plan, world), 60, 1)
        logs.append(model.log_prob(release).total)
    weights = np.exp(np.array(logs) - max(logs))
    assert found.probabilities == pytest.approx(weights / weights.sum(), abs=1e-9)


def test_a_record_that_changes_no_cleared_table_is_not_seen():
    counts = [12, 16, 17, 13]
    table = table_of(np.repeat([[0, 0, 0], [0, 1, 1], [1, 2, 0], [1, 1, 1]], counts, axis=0))
    options = {"method": "margins", "margins": CHAIN, "rare_below": 1}
    rules = {"clearing": {"threshold": 3, "multiple": 5}}
    plain = Synthesizer(seed=1, **options).fit(table)
    model = Synthesizer(seed=1, **options, **rules).fit(table)
    # One of 13 gone: 12 is rounded to 10, not to 15. The other cells, and 12, 17, 29, stay.
    assert [cleared.changed_by for cleared in model.cleared] == [13, 0]
    found = membership(table, model.tables()[0], generator=model, records=[0, 20, 40, 57])
    assert found.log_ratio[:3].tolist() == [0, 0, 0]
    assert found.log_ratio[3] != 0
    found = membership(table, plain.tables()[0], generator=plain, records=[0, 20, 40, 57])
    assert (found.log_ratio != 0).all()


def test_a_world_in_which_nothing_is_published_is_impossible():
    codes = np.repeat([[0, 0, 0], [1, 1, 1]], [3, 3], axis=0)
    table = table_of(codes)
    options = {"method": "margins", "margins": CHAIN, "clearing": {"threshold": 3}, "rare_below": 1}
    release = Synthesizer(seed=2, anyway=True, **options).fit(table).tables(30)[0]
    found = posterior(table, release, 0, unknown=["a"], generator=make_plan(table, options))
    assert found.probability == 1  # without her the table of a × b has two records in that cell


@pytest.mark.parametrize("target", NAMES)
def test_what_a_column_of_ipf_is_given_another_hangs_on_a_third(target):
    table = table_of(small(6, 60))
    options = {"method": "ipf", "margins": [["a", "c"], ["b", "c"]]}
    release = Synthesizer(seed=4, **options).fit(table).tables()[0]
    found = posterior(table, release, 7, unknown=[target], generator=options, prior="uniform")
    logs = []
    for code in range(table[target].n_levels):
        codes = table[target].codes.copy()
        codes[7] = code
        world = table.with_columns({target: table[target].with_codes(codes)})
        logs.append(Synthesizer(seed=4, **options).fit(world).log_prob(release).total)
    weights = np.exp(np.array(logs) - max(logs))
    assert found.probabilities == pytest.approx(weights / weights.sum(), abs=1e-9)
