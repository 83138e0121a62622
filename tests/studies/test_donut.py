"""The rings of Cremer, Jehmlich and Lenz on a city that is made up."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.risk.places import CRITICAL, TOLERABLE
from caveat.studies import STUDIES
from caveat.studies.settings import PRINTED_K, PRINTED_RATIO, RINGS, _formulas, anonymity, city
from caveat.utility.places import nearest_neighbours


def test_the_printed_formulas():
    expected, *ratios = _formulas()
    assert expected.ours == pytest.approx(36.49, abs=0.005)
    assert [round(one.ours, 4) for one in ratios] == [one.printed for one in ratios]
    assert ratios[0].printed == 0.2288
    assert len(ratios) == len(PRINTED_RATIO) == 8


def test_the_two_recommended_rings_hide_nine_in_ten():
    """Place alone, 100–200 m; four ages and gender, 100–400 m: below 10 % with k < 3."""
    made = city()
    found = anonymity(made, ((100, 200), (100, 400)))
    assert found["place alone", (100, 200)][0].below(CRITICAL) < 0.01
    assert found["age in 4 classes, gender", (100, 400)][0].below(CRITICAL) < TOLERABLE
    # And what the paper advises against does not.
    assert found["age in 11 classes, gender", (100, 200)][0].below(CRITICAL) > 0.3
    assert found["age in 4 classes, gender", (100, 200)][0].below(CRITICAL) > TOLERABLE
    for (what, ring), (one, masked) in found.items():
        assert one.mean == pytest.approx(PRINTED_K[what][RINGS.index(ring)][0], rel=0.15)
        d = np.hypot(*(masked - made.places).T)
        assert ring[0] <= d.min() <= d.max() <= ring[1]
    before = nearest_neighbours(made.places)
    after = nearest_neighbours(found["place alone", (100, 200)][1])
    assert before.expected == pytest.approx(36.49, rel=0.01)
    assert before.ratio == pytest.approx(0.2288, abs=0.03)
    assert after.ratio == pytest.approx(0.6232, abs=0.08)
    assert after.area > before.area


def test_a_city_is_the_same_for_a_seed():
    assert (city(500, 3).places == city(500, 3).places).all()
    assert (city(500, 3).places != city(500, 4).places).any()
    assert STUDIES["donut"].paper.startswith("Cremer")
