"""One attribute of all records at once."""

from __future__ import annotations

import numpy as np
import pytest
from tests.attack.test_updates import messy
from tests.refusals import refused

from caveat.attack import attributes, posterior
from caveat.attack.attributes import cells_of_values
from caveat.attack.groups import group_posterior
from caveat.datasets import buyer_beware, households
from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer
from caveat.table import Table


class TestAttributes:
    def test_equals_the_posterior_of_single_records(self):
        table = messy(90, 3)
        release = Synthesizer(seed=2, method="cart").fit(table).tables()[0]
        for prior in ("uniform", "marginal", "conditional"):
            together = attributes(table, release, "marital", prior=prior)
            for record in (0, 17, 60):
                alone = posterior(table, release, record, unknown=["marital"], prior=prior)
                assert together.prior[record] == pytest.approx(alone.prior, abs=1e-12)
                assert together.probabilities[record] == pytest.approx(
                    alone.probabilities, abs=1e-7
                )
                assert together.probability[record] == pytest.approx(alone.probability, abs=1e-7)
                assert together.rank[record] == alone.rank
                assert together.correct[record] == alone.correct

    def test_the_unique_record_of_buyer_beware(self):
        result = attributes(buyer_beware(), buyer_beware(1), "var4", prior="uniform")
        assert result.probability[999] == 1.0
        assert result.gain[999] == 2.0
        # cell 0000: 69 of 129 have 0, the release has 68 and 60; the closed form of two worlds
        odds = (68 / 69) ** 68 * (61 / 60) ** 60
        assert result.probability[0] == pytest.approx(1 / (1 + odds), abs=1e-9)

    def test_bad_targets(self):
        table = buyer_beware()
        with refused("data.column.unknown"):
            attributes(table, table, "var9")
        options = {"method": "cart", "columns": {"var4": {"method": "copy"}}}
        with pytest.warns(CaveatWarning, match="copied"):
            model = Synthesizer(seed=1, **options).fit(table)
        with refused("attack.target.unsupported", column="var4"):
            attributes(table, model.tables()[0], "var4", generator=model)
        derived = {"method": "cart", "derived": {"var4": "var1 * var2"}}
        with refused("attack.target.unsupported", column="var4"):
            attributes(table, table, "var4", generator=derived)
        with refused("attack.prior.unknown", where="prior"):
            attributes(table, table, "var4", prior="flat")


def clients(n: int = 300) -> Table:
    rng = np.random.default_rng(3)
    balance = np.round(np.exp(rng.normal(6, 1, n)))
    balance[::9] = 0
    return Table.from_frame(
        {
            "job": rng.choice(["a", "b", "c"], n),
            "balance": [None if i % 17 == 0 else int(value) for i, value in enumerate(balance)],
            "y": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        }
    )


def test_cells_of_guarded_trees_are_the_sum_of_their_values():
    table = clients()
    model = Synthesizer(method="guarded", seed=1).fit(table)
    release, records = model.sample(), [0, 1, 9, 17, 40]
    values = attributes(table, release, "balance", generator=model, records=records)
    cells = attributes(table, release, "balance", generator=model, records=records, cells=True)
    place = cells_of_values(values.target, model.plan.columns["balance"])
    assert len(place) == values.target.n_levels
    assert cells.target.n_levels == place.max() + 1 < values.target.n_levels / 3
    for cell in range(cells.target.n_levels):
        inside = place == cell
        np.testing.assert_allclose(cells.prior[:, cell], values.prior[:, inside].sum(axis=1))
        np.testing.assert_allclose(
            cells.probabilities[:, cell], values.probabilities[:, inside].sum(axis=1), atol=1e-12
        )
    assert np.array_equal(cells.target.codes, place[values.target.codes])


def test_special_and_missing_values_are_cells_of_their_own():
    table = clients()
    model = Synthesizer(method="guarded", seed=1, columns={"balance": {"special": [0]}}).fit(table)
    column = table["balance"]
    place = cells_of_values(column, model.plan.columns["balance"])
    zero = int(np.flatnonzero(column.levels == 0)[0])
    for code in (zero, column.n_levels - 1):
        assert np.flatnonzero(place == place[code]).tolist() == [code]


def test_plain_trees_are_refitted_with_one_value_of_each_class():
    table = clients()
    model = Synthesizer(method="cart", seed=1).fit(table)
    release, records = model.sample(), [0, 1, 9, 17]
    found = attributes(table, release, "balance", generator=model, records=records, cells=True)
    n = found.target.n_levels
    assert 15 <= n <= 21  # twenty classes at most, and the missing ones
    assert found.log_likelihood.shape == (4, n)
    np.testing.assert_allclose(found.prior.sum(axis=1), 1)
    counts = np.bincount(found.target.codes)
    assert counts.max() < 3 * table.n_rows / n
    fewer = attributes(
        table, release, "balance", generator=model, records=records, cells=True, candidates=5
    )
    assert fewer.target.n_levels <= 6


def test_candidates_are_the_most_frequent_and_the_own_value():
    table = clients()
    model = Synthesizer(method="cart", seed=1).fit(table)
    release, records = model.sample(), list(range(30))
    every = attributes(table, release, "job", generator=model, records=records)
    two = attributes(table, release, "job", generator=model, records=records, candidates=2)
    rare = int(np.argmin(every.target.counts))
    own = every.target.codes[:30] == rare
    assert np.isneginf(two.log_likelihood[~own, rare]).all()
    np.testing.assert_allclose(two.log_likelihood[own], every.log_likelihood[own])
    np.testing.assert_allclose(two.prior.sum(axis=1), 1)
    assert (two.prior[~own, rare] == 0).all()


def test_values_of_groups_are_tried_one_for_each_cell():
    people = households(40)
    model = Synthesizer(groups="household", method="guarded", seed=1, rules=[]).fit(people)
    release = model.sample()
    values = group_posterior(people, release, model, "income", [0, 3])
    cells = group_posterior(people, release, model, "income", [0, 3], cells=True)
    assert np.array_equal(values.records, cells.records)
    n = cells.target.n_levels
    assert n < values.target.n_levels
    np.testing.assert_allclose(cells.prior.sum(axis=1), 1)
    # The likelihood of the own cell lies between those of the values that were tried in it.
    own = cells.target.codes[cells.records]
    truth = np.take_along_axis(cells.log_likelihood, own[:, None].astype(int), axis=1)[:, 0]
    base = values.log_likelihood[np.arange(len(own)), values.target.codes[values.records]]
    assert np.abs(truth - base).max() < 3
