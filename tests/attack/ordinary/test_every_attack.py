"""Cases one can check by hand: tolerances, rates, chances, reconstructions, mistakes."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.attack.ordinary import (
    inference,
    linkability,
    outlier_links,
    singling_out,
)
from caveat.attack.registry import attacks_of, run_attack
from caveat.risk import MEASURES, audit

ORDINARY = attacks_of("ordinary")


ENTRIES = [measure for attack in ORDINARY.values() for measure in attack.measures]


OPTIONS = {
    "keys": ("age", "sex", "town"), "second": ("debt", "job"), "target": "ill", "n_attacks": 200,
    "fraction": 0.3,
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_every_attack_runs_and_the_same_seed_gives_the_same(name, original, fresh, control):
    told = {k: v for k, v in OPTIONS.items() if k in ORDINARY[name].takes}
    told["control"] = control
    once, again = (run_attack(name, original[:150], fresh[:150], **told) for _ in range(2))
    assert once
    assert [f.result.to_dict() for f in once] == [f.result.to_dict() for f in again]
    assert {f.measure for f in once} == {measure.name for measure in ORDINARY[name].measures}
    for finding in once:
        assert finding.measure in MEASURES
        assert finding.result.value is not None or name == "outliers"  # nobody beyond 3 sd


@pytest.mark.parametrize("measure", ENTRIES, ids=lambda m: m.name)
def test_entries_are_complete_and_not_part_of_an_audit(measure, original, fresh):
    assert measure.says
    assert measure.formula
    assert measure.source
    assert measure.blind_spot.endswith(".")
    assert len(measure.blind) <= 75
    assert "attack" in measure.needs
    found = audit(original, fresh, keys=["sex"], targets=["ill"], measures=["all"])
    assert measure.name not in set(found.to_frame("polars")["measure"])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda o: run_attack("guess", o, o), "attack.name.unknown"),
        (lambda o: run_attack("prediction", o, o, keys=("age",)), "attack.target.absent"),
        (lambda o: run_attack("inference", o, o, target="ill"), "attack.key.absent"),
        (lambda o: run_attack("membership", o, o), "attack.control.absent"),
        (lambda o: run_attack("linkability", o, o, keys=("age",)), "attack.option.absent"),
        (lambda o: linkability(o, o, first=["age"], second=["age"]), "attack.key.conflict"),
        (lambda o: inference(o, o, keys=["age"], target="age"), "attack.key.conflict"),
        (lambda o: singling_out(o, o, columns=99), "attack.setting.range"),
        (lambda o: outlier_links(o, o, keys=["sex"]), "attack.key.type"),
        (lambda o: singling_out(o, o[:0]), "data.table.empty"),
    ],
)
def test_mistakes_are_told_in_words(call, message, original):
    with refused(message):
        call(original)


@pytest.mark.parametrize("name", ORDINARY)
def test_options_that_an_attack_does_not_take_are_refused(name):
    with refused("attack.option.unknown"):
        ORDINARY[name].told({"trees": 2})
