"""Units: what is counted from 0 to 1, and what people read."""

from __future__ import annotations

from typing import get_args

import pytest

import caveat.attack.registry  # noqa: F401 (registers its measures)
from caveat.notes import SIGNS, Unit, printed
from caveat.risk import MEASURES as RISKS
from caveat.utility import MEASURES as UTILITIES


def test_shares_are_printed_in_per_cent_without_the_error_of_the_product():
    assert [printed(x, "share") for x in (0.07, 0.29, 1 / 3, -0.005)] == [
        7.0, 29.0, pytest.approx(100 / 3, rel=1e-14), -0.5
    ]  # fmt: skip
    assert printed(0.07, "ratio") == printed(0.07, "score") == 0.07


@pytest.mark.parametrize("measure", [*RISKS.values(), *UTILITIES.values()], ids=lambda m: m.name)
def test_every_measure_has_a_unit_of_the_set(measure):
    assert set(SIGNS) == set(get_args(Unit))
    assert measure.unit in SIGNS
