"""What the simulated attack reports: shares with bounds, and what they leave out."""

from __future__ import annotations

import re

import pytest
from tests.refusals import refused

from caveat.attack.strong import ATTACK, clopper_pearson, is_judged, simulated_findings
from caveat.datasets import buyer_beware
from caveat.generators import generator_of


def test_findings_of_a_copy():
    table = buyer_beware()
    found, lines = simulated_findings(
        table, [table], generator_of("copy"), record=1000, simulations=40
    )
    results = {one.label: one.result for one in found}
    assert list(results) == [
        "paired fits, false ≤ 10 %", "worst record, false ≤ 10 %", "paired fits, false ≤ 1 %",
        "worst record, false ≤ 1 %", "LiRA, false ≤ 10 %", "RMIA, false ≤ 10 %",
        "DOMIAS, false ≤ 10 %",
    ]  # fmt: skip
    assert all(re.fullmatch(ATTACK.labels, label) for label in results)
    mean = results["paired fits, false ≤ 10 %"]
    assert (mean.value, mean.baseline, mean.n) == (1.0, 0.1, 1)
    assert mean.interval == (pytest.approx(0.025 ** (1 / 20)), 1.0)
    assert mean.control <= 0.1
    assert results["paired fits, false ≤ 1 %"].value is None
    assert "198 simulations" in results["paired fits, false ≤ 1 %"].notes[0]
    assert [one.label for one in found if is_judged(one)] == list(results)[:2]
    assert lines["row"].tolist() == [1000]
    assert lines["probability"][0] > 0.9


def test_what_is_left_out_stands_beside_every_number():
    found, _ = simulated_findings(
        buyer_beware(), [], generator_of("uniform"), most=1, simulations=20
    )
    for one in found:
        assert [n.code for n in one.result.notes][-2:] == ["paired-fits", "recovered"]
    assert "with 16 simulations finds 30 % of what the exact one finds" in found[0].result.notes[1]


def test_clopper_pearson_by_its_closed_forms():
    assert clopper_pearson(0, 20) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert clopper_pearson(20, 20) == (pytest.approx(0.025 ** (1 / 20)), 1.0)


def test_a_row_that_is_not_there():
    with refused("attack.record.unknown", where="record"):
        simulated_findings(buyer_beware(), [], generator_of("copy"), record=1001)
