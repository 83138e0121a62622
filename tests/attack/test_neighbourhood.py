"""What a release shows around a record, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack.ordinary.density import Kernels
from caveat.attack.scores import Neighbourhood, Seen
from caveat.table import Table


def test_values_of_others_get_a_code_of_their_own_and_their_number():
    original = Table.from_frame({"x": ["a", "b", "a"], "y": [0, 5, 10]})
    seen = Seen.of(Table.from_frame({"x": ["b", "c"], "y": [5, 20]}), original)
    assert seen.codes.tolist() == [[1, 1], [2, 3]]
    assert np.isnan(seen.numbers[:, 0]).all()
    assert seen.numbers[:, 1].tolist() == [0.5, 2.0]


def test_counts_and_distances_by_hand():
    original = Table.from_frame({"x": ["a", "b", "b", "b"], "y": [0, 10, 10, 5]})
    seen = Seen.of(original, original)
    others = seen.take(np.array([1, 2, 3]))
    around = Neighbourhood(seen.take(np.array([0])), others, seen.kernels)
    assert around.radii.tolist() == [0.75, 1.0, 1.0, 1.0]
    release = Seen.of(Table.from_frame({"x": ["a", "a", "b"], "y": [0, 10, 10]}), original)
    found = around.features(release)
    # rows that differ in no column, in one, in two, in three at most
    assert (found[1:5] ** 2).tolist() == pytest.approx([1, 2, 3, 3])
    # rows within the radii: (a, 0) and (a, 10) lie within 0.75, all within 1
    assert (found[9:13] ** 2).tolist() == pytest.approx([2, 3, 3, 3])
    assert found[13:16].tolist() == pytest.approx([0.0, 0.0, 0.5])
    # more often together than among the others: the record's own values
    assert found[-1] > 0 > around.features(others)[-1] - 1e-9


def test_a_number_that_the_record_lacks_is_still_a_number():
    original = Table.from_frame({"x": ["a", "b", "b", "b"], "y": [None, 10.0, 10.0, 5.0]})
    seen = Seen.of(original, original)
    record = seen.take(np.array([0]))
    assert record.mixed.numbers.shape == (1, 1)
    around = Neighbourhood(record, seen.take(np.array([1, 2, 3])), seen.kernels)
    assert np.isfinite(around.features(seen)).all()


def test_missing_cells_do_not_widen_the_kernels():
    """A missing cell is coded far away; the width is that of the numbers that are there."""
    full = Table.from_frame({"x": ["a", "b", "b", "a"], "y": [0.0, 10.0, 10.0, 5.0]})
    lacking = Table.from_frame({"x": ["a", "b", "b", "a", "a"], "y": [0.0, 10.0, 10.0, 5.0, None]})
    nothing = Table.from_frame({"x": ["a", "b"], "y": [None, 3.0]})
    widths = [Seen.of(table, table).kernels.bandwidth[0] for table in (full, lacking, nothing)]
    spread = np.std([0.0, 1.0, 1.0, 0.5])
    assert widths == pytest.approx([spread * 4**-0.2, spread * 5**-0.2, 1.0])
    as_it_is_coded = Kernels.of(Seen.of(lacking, lacking).mixed, part=1.0)
    assert as_it_is_coded.bandwidth[0] > 5 * widths[1]
