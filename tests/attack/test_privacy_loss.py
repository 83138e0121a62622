"""The privacy loss of single records."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import privacy_loss
from caveat.datasets import buyer_beware
from caveat.table import Table


class TestPrivacyLoss:
    def test_hand_value(self):
        table = Table.from_frame({"x": ["a", "a", "a", "b", "b"]})
        release = Table.from_frame({"x": ["a", "a", "b"]})
        loss = privacy_loss(table, [0, 4], synthetic=release)
        base = (3 / 5) ** 2 * (2 / 5)
        first = max(abs(math.log(base / q)) for q in ((2 / 5) ** 2 * (3 / 5), 1 / 8))
        last = max(abs(math.log(base / q)) for q in ((4 / 5) ** 2 * (1 / 5), 9 / 64))
        assert loss.observed == pytest.approx([first, last], abs=1e-12)
        assert loss.adjacent.tolist() == [2, 2]

    def test_simulated_losses_are_infinite_when_the_unique_record_reappears(self):
        loss = privacy_loss(buyer_beware(), [999], simulations=12, seed=2)
        assert loss.simulated.shape == (1, 12)
        assert np.isinf(loss.simulated).any()
        assert not np.isinf(loss.simulated).all()
        assert loss.quantile(0.95)[0] == math.inf
        assert loss.observed is None

    def test_a_random_sample_of_records(self):
        loss = privacy_loss(
            buyer_beware(), sample=3, synthetic=buyer_beware(1), unknown=["var4"], seed=4
        )
        assert len(loss.records) == 3
        assert np.all(np.diff(loss.records) > 0)
        with refused("data.release.absent"):
            privacy_loss(buyer_beware(), [0])
