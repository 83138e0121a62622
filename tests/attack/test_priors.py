"""One default for what the attacker believes before, wherever she is asked for."""

from __future__ import annotations

import inspect

import pytest

from caveat.attack import attributes, posterior, proper_posterior, simulated_posterior
from caveat.attack.leak import filtered_posterior
from caveat.attack.priors import DEFAULT_PRIOR, PRIORS
from caveat.attack.registry import ATTACKS
from caveat.attack.simulated import posterior_by_runs
from caveat.attack.strong import StrongAttacker
from caveat.errors import CaveatError
from caveat.spec.entries import SCENARIO, TUNE
from caveat.spec.scenarios import ScenarioSpec
from caveat.tuning.bench import Question
from caveat.tuning.tune import TuneSpec

CALLS = [posterior, attributes, proper_posterior, simulated_posterior, posterior_by_runs,
         filtered_posterior, StrongAttacker, Question, ScenarioSpec]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
def test_one_default_in_python(call):
    assert inspect.signature(call).parameters["prior"].default == DEFAULT_PRIOR == "conditional"


def test_the_same_in_a_specification_and_on_the_command_line():
    assert SCENARIO.keys["prior"].default == DEFAULT_PRIOR
    assert TUNE.keys["attacker"].kind.keys["prior"].default == DEFAULT_PRIOR
    tune = {"limits": {"posterior": 1}, "objective": "pMSE", "settings": {"smallest": [50]}}
    assert TuneSpec.from_mapping({"tune": tune}).question.prior == DEFAULT_PRIOR
    option = ATTACKS["strong"].takes["prior"]
    assert option.default == DEFAULT_PRIOR
    assert all(name in option.help for name in PRIORS)


def test_an_unknown_name_is_refused_with_those_that_are_known():
    with pytest.raises(CaveatError, match=r"perhaps uniform .allowed: conditional, marginal, uni"):
        attributes({"a": ["x", "y"] * 9}, {"a": ["x", "y"] * 9}, "a", prior="unifrom")
