"""Who is vulnerable, before any release."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack import membership, vulnerable
from caveat.datasets import buyer_beware, survey
from caveat.synthesis import Synthesizer
from caveat.table import Table


class TestVulnerable:
    def test_finds_the_unique_record(self):
        found = vulnerable(buyer_beware())
        assert found.first(1).tolist() == [999]
        assert found.unique.sum() == 1
        assert found.sole_donor[999] == 1  # of var4; the other three columns have company

    def test_those_named_first_are_exposed_more_often(self):
        table = survey(rows=400).select(["sex", "age", "region", "income", "marital"])
        found = vulnerable(table, keys=["sex", "age", "region"])
        release = Synthesizer(seed=3, method="cart").fit(table).tables()[0]
        first, last = found.first(30), found.first(400)[-30:]
        # an infinite ratio: the release is impossible without the record
        exposed = np.isinf(membership(table, release, records=first.tolist()).log_ratio)
        hidden = np.isinf(membership(table, release, records=last.tolist()).log_ratio)
        assert exposed.mean() > hidden.mean() + 0.2

    def test_distance_by_hand(self):
        table = Table.from_frame({"x": [0, 5, 10], "y": ["a", "a", "b"]})
        found = vulnerable(table, generator={"method": "cart", "minbucket": 1, "rare_below": 1})
        assert found.distance == pytest.approx([0.25, 0.25, 0.75])
