"""Simulation agrees with the exact answer where there is one, within its own error."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import posterior, proper_posterior, simulated_posterior
from caveat.datasets import buyer_beware
from caveat.generators import generator_of
from caveat.synthesis import Synthesizer
from caveat.table import Table

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")


PROPER = {"method": "cart", "proper": True}


def tiny() -> Table:
    return Table.from_frame({"x": ["a"] * 12 + ["b"] * 7 + ["c"], "y": ["u", "v"] * 10})


def test_simulated_cells_agree_with_the_exact_posterior():
    table = tiny().select(["x"])
    release = Synthesizer(seed=4, method="cart", rare_below=1).fit(table).tables()[0]
    exact = posterior(table, release, 19)
    found = simulated_posterior(
        table,
        release,
        19,
        generator_of("cart", {"rare_below": 1}),
        simulations=200,
        seed=1,
        summary="cells",
    )
    assert not found.exact
    # with one column the counts of the candidates are sufficient; only their sum is not fixed
    assert np.all(np.abs(found.probabilities - exact.probabilities) < 4 * found.error + 0.06)
    assert 0 < found.error.max() < 0.1


def test_simulation_finds_the_unique_record_of_buyer_beware():
    found = simulated_posterior(
        buyer_beware(), buyer_beware(4), 999, generator_of("cart"),
        simulations=25, unknown=["var4"], summary="cells", seed=2,
    )  # fmt: skip
    # three rows 1111: with rate 1/1000 likely, without it impossible up to the half count
    assert found.probability > 0.99
    assert found.correct


def test_a_summary_of_the_users_own():
    table = Table.from_frame({"x": [0] * 10 + [1] * 9 + [50]})
    release = Synthesizer(seed=8, method="cart").fit(table).tables()[0]
    found = simulated_posterior(
        table, release, 19, generator_of("cart"), simulations=60, seed=3,
        prior="uniform", summary=lambda copy: [float(np.mean(copy["x"].numbers[copy["x"].codes]))],
    )  # fmt: skip
    has_outlier = 50 in release["x"].values
    assert (found.probability > 0.5) == has_outlier


class Bootstrap:
    """Rows of the original drawn with replacement, by somebody else."""

    name, is_seeded = "bootstrap", True

    def fit(self, table, seed):
        self = Bootstrap()
        self.table, self.seed = table, seed
        return self

    def sample(self, rows=None, copies=1):
        rng = np.random.default_rng(self.seed)
        n = self.table.n_rows
        return [self.table.take(rng.integers(0, n, rows or n)) for _ in range(copies)]


def test_any_generator_that_can_be_run():
    table = tiny().select(["x"])
    release = Table.from_frame({"x": ["a"] * 10 + ["b"] * 9 + ["c"]})
    found = simulated_posterior(
        table, release, 19, Bootstrap(), simulations=50, prior="uniform", summary="cells"
    )
    # "c" was drawn once; the other worlds never draw it, which 50 x 20 rows can only bound
    assert 0.9 < found.probability < 1
    for summary in ("around", "cells", lambda _: [0.0]):
        with refused("attack.setting.range"):
            simulated_posterior(table, table, 0, Bootstrap(), simulations=1, summary=summary)


@pytest.mark.parametrize("summary", ["around", "cells"])
def test_buyer_beware_bootstrapped_is_proof(summary):
    table = buyer_beware()
    # three rows 1111, which no world without the record can give
    release = next(
        one for one in (Bootstrap().fit(table, seed).sample()[0] for seed in range(50))
        if _copies(one, table) == 3
    )  # fmt: skip
    found = simulated_posterior(
        table, release, 999, Bootstrap(), simulations=20, prior="uniform", summary=summary
    )
    assert len(found.prior) == 16
    assert found.probability > 0.99
    assert found.correct


@pytest.mark.parametrize("summary", ["around", "cells"])
def test_margins_of_buyer_beware_say_next_to_nothing(summary):
    table, margins = buyer_beware(), generator_of("margins")
    release = margins.fit(table, 0).sample()[0]
    found = simulated_posterior(
        table, release, 999, margins, simulations=20, prior="uniform", summary=summary
    )
    # the odds are fitted: what cannot be told apart gets about the sixteenth that it had
    assert np.all(np.abs(found.probabilities - 1 / 16) < 0.05)


def _copies(release, table):
    same = [release[name].values == table[name].values[999] for name in table]
    return int(np.all(same, axis=0).sum())


class TestProper:
    def test_the_bayesian_bootstrap_of_one_column_by_the_closed_form(self):
        """The weights are exponential, so the shares are Dirichlet(counts) and the probability of
        the sequence Z is a ratio of gamma functions."""
        from scipy.special import gammaln

        others, released = np.array([8, 5, 3]), np.array([4, 4, 2])
        levels = np.array(["a", "b", "c"])
        table = Table.from_frame({"x": [*np.repeat(levels, others), "c"]})
        release = Table.from_frame({"x": np.repeat(levels, released)})
        logs = np.zeros(3)
        for c in range(3):
            n = others + (np.arange(3) == c)
            logs[c] = (gammaln(n + released) - gammaln(n)).sum()
        expected = np.exp(logs - logs.max())
        expected /= expected.sum()
        options = {"method": "sample", "proper": True, "rare_below": 1}
        found = proper_posterior(
            table, release, 16, generator=options, prior="uniform", draws=800, seed=1, threads=1
        )
        assert np.all(np.abs(found.probabilities - expected) < 4 * found.error)
        assert found.error.max() < 0.05

    def test_without_randomness_it_is_the_exact_posterior(self):
        table = tiny()
        release = Synthesizer(seed=4, method="cart").fit(table).tables()[0]
        exact = posterior(table, release, 3, unknown=["y"])
        found = proper_posterior(table, release, 3, unknown=["y"], draws=3)
        assert found.probabilities == pytest.approx(exact.probabilities, abs=1e-12)
        assert found.error == pytest.approx(np.zeros(2), abs=1e-12)

    def test_proper_trees_blur_the_unique_record_no_more_than_they_should(self):
        table = buyer_beware()
        with refused("attack.probability.unsupported", column="var1"):
            posterior(table, buyer_beware(4), 999, generator=PROPER)
        found = proper_posterior(
            table, buyer_beware(4), 999, unknown=["var4"], generator=PROPER, draws=20
        )
        # 1111 is in the release: worlds without it stay impossible in every draw
        assert found.probability == 1.0
