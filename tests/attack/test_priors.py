"""One default for what the attacker believes before, wherever she is asked for."""

from __future__ import annotations

import inspect

import pytest
from tests.refusals import refused

from caveat.attack import attributes, posterior, proper_posterior, simulated_posterior
from caveat.attack.posterior import prior_of
from caveat.attack.registry import ATTACKS
from caveat.attack.simulated import posterior_by_runs
from caveat.attack.strong import StrongAttacker, filtered_posterior
from caveat.risk.scenario import DEFAULT_PRIOR, PRIORS
from caveat.spec.entries import SCENARIO, TUNE
from caveat.spec.scenarios import ScenarioSpec
from caveat.table import Table
from caveat.tuning.bench import Question
from caveat.tuning.tune import TuneSpec

CALLS = [posterior, attributes, proper_posterior, simulated_posterior, posterior_by_runs,
         filtered_posterior, StrongAttacker, Question, ScenarioSpec]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_one_default_in_python(call):
    assert inspect.signature(call).parameters["prior"].default == DEFAULT_PRIOR == "conditional"


def test_the_marginal_prior_holds_one_record_spread_over_the_candidates():
    others = Table.from_frame({"x": ["a"] * 3 + ["b"] * 2 + ["c"], "y": list("uuvvvv")})
    candidates = others.select(["x"]).take([0, 3])
    nothing = others.take([0]).select([])
    # Of two candidates 3 and 2 of 5 records have each; half a record more for each.
    expected = [3.5 / 6, 2.5 / 6]
    assert prior_of("marginal", others, nothing, candidates) == pytest.approx(expected)
    alike = others.take([0]).select(["y"])  # u: two records, both a
    conditional = [(2 + 3.5 / 6) / 3, (2.5 / 6) / 3]
    assert prior_of("conditional", others, alike, candidates) == pytest.approx(conditional)


def test_the_same_in_a_specification_and_on_the_command_line():
    assert SCENARIO.keys["prior"].default == DEFAULT_PRIOR
    assert TUNE.keys["attacker"].kind.keys["prior"].default == DEFAULT_PRIOR
    tune = {"limits": {"posterior": 1}, "objective": "pMSE", "settings": {"smallest": [50]}}
    assert TuneSpec.from_mapping({"tune": tune}).question.prior == DEFAULT_PRIOR
    option = ATTACKS["strong"].takes["prior"]
    assert option.default == DEFAULT_PRIOR
    assert all(name in option.help for name in PRIORS)


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with refused("attack.prior.unknown", where="prior"):
        attributes({"a": ["x", "y"] * 9}, {"a": ["x", "y"] * 9}, "a", prior="unifrom")
