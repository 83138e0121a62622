"""The posterior of one record: against refits by hand, with priors, candidates and bad input."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import posterior
from caveat.attack.posterior import bayes
from caveat.datasets import buyer_beware
from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer, make_plan
from caveat.table import Table

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")


def small(n: int = 60, seed: int = 1) -> Table:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    age = rng.integers(20, 30, n)
    job = np.where(rng.random(n) < 0.5, np.where(age > 25, "baker", "smith"), "tailor")
    income = [None if rng.random() < 0.15 else int(v) for v in rng.integers(8, 15, n) * 100]
    return Table.from_frame({"sex": sex, "age": age, "job": job, "income": income})


def by_hand(table: Table, release: Table, record: int, target: str, options: dict) -> np.ndarray:
    """Posterior under a uniform prior from whole new fits of the synthesiser."""
    logs = []
    for code in range(table[target].n_levels):
        codes = table[target].codes.copy()
        codes[record] = code
        world = table.with_columns({target: table[target].with_codes(codes)})
        logs.append(Synthesizer(seed=3, **options).fit(world).log_prob(release).total)
    weights = np.exp(np.array(logs) - max(logs))
    return weights / weights.sum()


@pytest.mark.parametrize("target", ["sex", "age", "job", "income"])
def test_equals_refits_of_the_whole_synthesiser(target):
    table = small()
    release = Synthesizer(seed=7, method="cart").fit(table).tables()[0]
    result = posterior(table, release, 11, unknown=[target], prior="uniform")
    expected = by_hand(table, release, 11, target, {"method": "cart"})
    assert result.probabilities == pytest.approx(expected, abs=1e-9)
    assert result.truth == table[target].codes[11]
    assert result.probability == pytest.approx(expected[result.truth], abs=1e-9)


@pytest.mark.parametrize(
    "options",
    [
        {"strata": "sex"},
        {"weights": "age"},
        {"rules": ["if age < 22 then job = 'tailor'"]},
        {"derived": {"income": "age * 2"}},
        {"special": {"income": [800]}},
        {"order": ["income", "job"], "minbucket": 2},
        {"columns": {"age": {"method": "sample"}}},
    ],
)
def test_plans_of_every_kind(options):
    options = {"method": "cart", **options}
    table = small()
    with pytest.warns() if "rules" in options else _nothing():
        release = Synthesizer(seed=5, **options).fit(table).tables()[0]
    target = "job"
    with pytest.warns() if "rules" in options else _nothing():
        expected = by_hand(table, release, 30, target, options)
    result = posterior(table, release, 30, unknown=[target], generator=options, prior="uniform")
    assert result.probabilities == pytest.approx(expected, abs=1e-9)


def _nothing():
    import contextlib

    return contextlib.nullcontext()


def test_several_copies_add_their_log_likelihoods():
    table = small()
    copies = Synthesizer(seed=2, method="cart").fit(table).tables(copies=3)
    together = posterior(table, copies, 4, unknown=["job"])
    apart = [posterior(table, copy, 4, unknown=["job"]).log_likelihood for copy in copies]
    assert together.log_likelihood == pytest.approx(np.sum(apart, axis=0), rel=1e-12)
    assert together.probabilities == pytest.approx(
        posterior(table, copies[::-1], 4, unknown=["job"]).probabilities, abs=0
    )


def test_the_generator_may_be_given_in_any_form():
    table = small()
    synthesizer = Synthesizer(seed=2, method="cart", minbucket=3)
    model = synthesizer.fit(table)
    release = model.tables()[0]
    options = {"method": "cart", "minbucket": 3}
    forms = [synthesizer, model, model.plan, options, make_plan(table, options)]
    results = [posterior(table, release, 0, unknown=["age"], generator=f) for f in forms]
    for result in results[1:]:
        assert np.array_equal(result.log_likelihood, results[0].log_likelihood)


def test_threads_do_not_change_the_result():
    table = small()
    release = Synthesizer(seed=2, method="cart").fit(table).tables()[0]
    one, two = (posterior(table, release, 0, unknown=["job"], threads=t) for t in (1, 3))
    assert np.array_equal(one.log_likelihood, two.log_likelihood)


def test_a_candidate_that_no_record_has_can_be_considered():
    table = small()
    release = Synthesizer(seed=2, method="cart").fit(table).tables()[0]
    candidates = {"age": [*range(20, 30), 77]}
    flat = {"unknown": ["age"], "prior": "uniform"}
    result = posterior(table, release, 0, candidates=candidates, **flat)
    assert len(result.probabilities) == 11
    # 77 takes a share away from the others and nobody in the release has it
    assert 0 < result.probabilities[10] < 1
    usual = posterior(table, release, 0, **flat)
    kept = result.probabilities[:10] / result.probabilities[:10].sum()
    assert kept == pytest.approx(usual.probabilities, abs=1e-9)


def test_an_impossible_candidate_has_probability_zero():
    # Only record 0 has level "z"; a release with a "z" rules all other worlds out.
    table = Table.from_frame({"x": ["z", *["a", "b"] * 20]})
    release = Table.from_frame({"x": ["z", *["a", "b"] * 10]})
    result = posterior(table, release, 0)
    assert result.log_likelihood[:2].tolist() == [-math.inf, -math.inf]
    assert result.probabilities.tolist() == [0.0, 0.0, 1.0]
    assert result.correct


def test_hand_value_for_one_column():
    # Others: 3 a, 1 b; Z = a, a, b. p(Z|a) = (4/5)^2 (1/5), p(Z|b) = (3/5)^2 (2/5).
    table = Table.from_frame({"x": ["a", "a", "a", "b", "b"]})
    release = Table.from_frame({"x": ["a", "a", "b"]})
    result = posterior(table, release, 4, prior="uniform")
    assert result.probabilities == pytest.approx([16 / 34, 18 / 34], abs=1e-12)
    assert result.rank == 1
    marginal = posterior(table, release, 4, prior="marginal")
    assert marginal.prior == pytest.approx([3.5 / 5, 1.5 / 5])
    assert marginal.probabilities == pytest.approx([16 * 3.5 / 83, 18 * 1.5 / 83])


def test_conditional_prior_counts_those_who_agree_in_what_is_known():
    table = Table.from_frame({"k": ["u", "u", "u", "v", "v"], "t": ["a", "a", "b", "b", "b"]})
    release = table
    result = posterior(table, release, 2, unknown=["t"])  # the default
    # others with k = u: a, a; marginal of the others: a 2, b 2 -> (2.5, 2.5) / 5
    assert result.prior == pytest.approx([2.5 / 3, 0.5 / 3])


def test_unknown_columns_that_are_too_many_are_cut_with_a_warning():
    rng = np.random.default_rng(1)
    table = Table.from_frame({"x": rng.integers(0, 60, 80), "y": rng.integers(0, 60, 80)})
    release = Synthesizer(seed=1, method="cart").fit(table).tables()[0]
    with pytest.warns(CaveatWarning, match="combinations"):
        result = posterior(table, release, 3)
    assert result.notes
    truth = result.candidates.take([result.truth])
    assert truth["x"].values[0] == table["x"].values[3]
    assert result.probabilities.sum() == pytest.approx(1.0)


def test_bayes_works_along_the_last_axis():
    logs = np.array([[0.0, -math.inf], [-1.0, -1.0]])
    assert bayes(np.array([0.25, 0.75]), logs) == pytest.approx(np.array([[1, 0], [0.25, 0.75]]))


def test_a_copied_column_is_disclosed_by_construction():
    table = small()
    options = {"method": "cart", "columns": {"sex": {"method": "copy"}}}
    with pytest.warns(CaveatWarning, match="copied"):
        release = Synthesizer(seed=1, **options).fit(table).tables()[0]
    with pytest.warns(CaveatWarning, match="risk is 1 by construction"):
        result = posterior(table, release, 5, unknown=["sex"], generator=options)
    assert result.probability == 1.0
    assert "risk is 1 by construction" in result.notes[0]


class TestBadInput:
    def test_record_out_of_range(self):
        with refused("attack.record.unknown"):
            posterior(buyer_beware(), buyer_beware(1), 1000)
        with refused("attack.record.unknown"):
            posterior(buyer_beware(), buyer_beware(1), -1)

    def test_a_release_that_the_generator_cannot_have_made(self):
        table = small()
        release = Synthesizer(seed=1, method="cart").fit(table).tables()[0].to_frame("pandas")
        release.loc[:2, "age"] = 99
        with refused("attack.release.mismatch", column="age"):
            posterior(table, release, 0, unknown=["job"])

    def test_a_model_fitted_on_other_data(self):
        model = Synthesizer(seed=1, method="cart").fit(small(seed=2))
        release = model.tables()[0]
        with refused("attack.model.mismatch", where="column sex"):
            posterior(small(seed=1), release, 0, generator=model)
        shorter = small().take(slice(0, 50))
        with refused("attack.model.mismatch", where="60 records in the model, 50 in the table"):
            posterior(shorter, release, 0, generator=model)

    def test_smoothed_numbers_have_no_exact_probability(self):
        table = small()
        options = {"method": "cart", "smoothing": "kernel"}
        release = Synthesizer(seed=1, **options).fit(table).tables()[0]
        with refused("attack.probability.unsupported", column="age"):
            posterior(table, release, 0, unknown=["job"], generator=options)

    def test_names_and_numbers(self):
        table, release = buyer_beware(), buyer_beware(1)
        with refused("data.column.unknown"):
            posterior(table, release, 0, unknown=["nope"])
        with refused("attack.setting.type"):
            posterior(table, release, 0, unknown="var1")
        with refused("data.column.duplicate", where="unknown"):
            posterior(table, release, 0, unknown=["var1", "var1"])
        with refused("attack.prior.unknown", where="prior"):
            posterior(table, release, 0, prior="flat")
        with refused("attack.prior.mismatch"):
            posterior(table, release, 0, prior=[0.5, 0.5])
        with refused("attack.candidate.absent", where="row 1"):
            posterior(table, release, 0, unknown=["var1"], candidates={"var1": [1]})
        with refused("data.column.absent", column="var4", where="copy 1"):
            posterior(table, release.drop(["var4"]), 0)
        with refused("attack.generator.type", where="generator"):
            posterior(table, release, 0, generator=7)
