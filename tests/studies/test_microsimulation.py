"""Deaths of a simulated town."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.studies.census import MICROSIMULATION_STUDY, K, deaths, town
from caveat.studies.study import Output


def test_no_small_count_is_shown_and_the_mean_stays():
    people, risk = town()
    found = deaths(runs=1000)
    assert people.size == 192
    assert not ((found.shown > 0) & (found.shown < K)).any()
    assert ((found.simulated > 0) & (found.simulated < K)).any()
    # Of a class: the variance of its deaths, and z (k − z) on average for the rounding.
    z = found.simulated
    rounding = np.where(z < K, z * (K - z), 0).mean(axis=0)
    error = np.sqrt((people * risk * (1 - risk) + rounding) / 1000)
    off = (found.shown.mean(axis=0) - people * risk) / error
    assert np.abs(off).max() < 4.5  # of 192
    assert (off**2).mean() == pytest.approx(1, abs=0.35)
    extra = ((found.shown - z) ** 2).mean(axis=0)
    busy = rounding > 0.5
    assert (extra[busy] / rounding[busy]).mean() == pytest.approx(1, abs=0.05)


def test_the_study():
    result = MICROSIMULATION_STUDY.run(Output(), None)
    classes, small, risk = result.numbers
    assert (classes.ours, small.ours, risk.ours) == (192, 0, None)
    (remark,) = result.remarks
    assert float(remark.split(" at most ")[1].split()[0]) < 4.5
    assert len(result.grids[0].rows) == 10
