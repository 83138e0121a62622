"""The contract, for every generator that runs in this process."""

from __future__ import annotations

import pytest
from tests.generators.conformance import check_generator, fit, people
from tests.refusals import refused

from caveat.attack import posterior
from caveat.attack.worlds import plan_of
from caveat.datasets import buyer_beware
from caveat.generators import REFERENCES, exact_model, generator_of

OURS = {"cart": {}, "guarded": {}, "forest": {"trees": 3}, "saturated": {}}


@pytest.mark.parametrize("name", [*OURS, *REFERENCES])
def test_every_generator_in_this_process_keeps_the_contract(name: str) -> None:
    check_generator(generator_of(name, OURS.get(name, {})), people())


def test_protections_are_part_of_a_generator() -> None:
    steps = [{"name": "round_numbers", "base": {"age": 10}}]
    generator = generator_of("cart", {"protect": steps})
    assert generator.name == "cart, round numbers"
    (made,) = fit(generator, people()).sample()
    assert {int(age) % 10 for age in made["age"].levels} == {0}


@pytest.mark.parametrize("name", ["cart", "guarded"])
def test_the_exact_attacker_takes_a_fitted_generator(name: str) -> None:
    original = buyer_beware()
    fitted = fit(generator_of(name), original)
    model = exact_model(fitted)
    assert model is not None
    release = fitted.sample()[0]
    by_fit = posterior(original, release, 999, unknown=["var4"], generator=fitted)
    by_plan = posterior(original, release, 999, unknown=["var4"], generator=model.plan)
    assert (by_fit.probability, by_fit.truth) == (by_plan.probability, by_plan.truth)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("forest", {"trees": 2}),
        ("cart", {"proper": True}),
        ("cart", {"protect": [{"name": "distance_filter"}]}),
    ],
)
def test_what_is_drawn_or_changed_afterwards_has_no_exact_attacker(
    name: str, settings: dict[str, object]
) -> None:
    fitted = fit(generator_of(name, settings), buyer_beware())
    assert exact_model(fitted) is None
    with refused("attack.probability.unsupported", where="generator"):
        plan_of(fitted, buyer_beware())  # type: ignore[arg-type]


def test_a_reference_generator_is_no_plan() -> None:
    fitted = generator_of("copy").fit(buyer_beware(), 1)
    assert exact_model(fitted) is None
    with refused("attack.generator.type", where="generator"):
        plan_of(fitted, buyer_beware())  # type: ignore[arg-type]
