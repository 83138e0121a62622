"""Distances: diagnostics that are no evidence of safety."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from caveat.attack.ordinary import (
    closest_record,
    closest_share,
    epsilon_identifiability,
    identical_matches,
    neighbour_ratio,
    singling_out,
)
from caveat.cli import app


def test_diagnostics_do_not_see_the_published_counter_example():
    """16 cells: whether the one record is given away or not, copies and distances are the same."""
    from caveat.attack.ordinary import closest_record, identical_matches
    from caveat.datasets import buyer_beware

    original = buyer_beware()
    given_away, kept = buyer_beware(1), buyer_beware(3)
    for run in (closest_record, identical_matches):
        assert run(original, given_away).value == run(original, kept).value


def test_what_several_measures_cannot_see_is_said_once(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("a,b\n1,2\n3,4\n")
    printed = CliRunner().invoke(app, ["attack", "distances", str(file), str(file)]).output
    assert printed.count("Counter-examples") == 3  # common to four, and with a remark to two


def test_a_smaller_control_does_not_hide_a_copy():
    """100 originals, 40 of them compared: the note has the value of the whole, by hand."""
    rng = np.random.default_rng(1)
    original = pl.DataFrame({"x": rng.normal(size=100), "y": rng.normal(size=100)})
    control = pl.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})
    same = identical_matches(original, original, control=control)
    assert (same.value, same.control) == (0.4, 0)
    assert same.notes[0].endswith("cut to 40 records each, to be compared; on the whole original "
                                  "the value is 100.0 %")  # fmt: skip
    assert closest_record(original, original, control=control).notes[0].endswith("0.0000")
    assert neighbour_ratio(original, original, control=control).notes[0].endswith("0.0000")
    assert singling_out(original, original, control=control, columns=2).notes[0].endswith("100.0 %")
    share = closest_share(original, original, control=control)
    assert share.value == 1
    assert share.baseline == pytest.approx(100 / 140)
    assert identical_matches(original, original, control=original).notes == ()


@pytest.mark.parametrize("copied", [True, False])
def test_distances(original, control, fresh, copied):
    release = original if copied else fresh
    closest = closest_record(original, release, control=control)
    ratio = neighbour_ratio(original, release, control=control)
    share = closest_share(original, release, control=control)
    if copied:
        assert closest.value == ratio.value == 0
        assert share.value == 1
        return
    assert closest.value == pytest.approx(closest.control, rel=0.1)
    assert ratio.value == pytest.approx(ratio.control, abs=0.1)
    assert share.interval[0] <= 0.5 <= share.interval[1]


def test_independent_data_score_a_half_on_epsilon_identifiability(original, fresh):
    """n/(2n − 1); the standard error for n = 600 is 2 %, four of them are allowed."""
    found = epsilon_identifiability(original, fresh)
    assert found.baseline == pytest.approx(600 / 1199)
    assert abs(found.value - found.baseline) < 4 * np.sqrt(0.25 / 600)
