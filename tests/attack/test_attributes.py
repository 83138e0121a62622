"""One attribute of all records at once."""

from __future__ import annotations

import pytest
from tests.attack.test_updates import messy

from caveat.attack import attributes, posterior
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis import Synthesizer


class TestAttributes:
    def test_equals_the_posterior_of_single_records(self):
        table = messy(90, 3)
        release = Synthesizer(seed=2, method="cart").fit(table).tables()[0]
        for prior in ("uniform", "marginal", "conditional"):
            together = attributes(table, release, "marital", prior=prior)
            for record in (0, 17, 60):
                alone = posterior(table, release, record, unknown=["marital"], prior=prior)
                assert together.prior[record] == pytest.approx(alone.prior, abs=1e-12)
                assert together.probabilities[record] == pytest.approx(
                    alone.probabilities, abs=1e-7
                )
                assert together.probability[record] == pytest.approx(alone.probability, abs=1e-7)
                assert together.rank[record] == alone.rank
                assert together.correct[record] == alone.correct

    def test_the_unique_record_of_buyer_beware(self):
        result = attributes(buyer_beware(), buyer_beware(1), "var4", prior="uniform")
        assert result.probability[999] == 1.0
        assert result.gain[999] == 2.0
        # cell 0000: 69 of 129 have 0, the release has 68 and 60; the closed form of two worlds
        odds = (68 / 69) ** 68 * (61 / 60) ** 60
        assert result.probability[0] == pytest.approx(1 / (1 + odds), abs=1e-9)

    def test_bad_targets(self):
        table = buyer_beware()
        with pytest.raises(CaveatError, match="there is no column"):
            attributes(table, table, "var9")
        options = {"method": "cart", "columns": {"var4": {"method": "copy"}}}
        with pytest.warns(CaveatWarning, match="copied"):
            model = Synthesizer(seed=1, **options).fit(table)
        with pytest.raises(CaveatError, match="risk is 1 by construction"):
            attributes(table, model.tables()[0], "var4", generator=model)
        derived = {"method": "cart", "derived": {"var4": "var1 * var2"}}
        with pytest.raises(CaveatError, match="nothing to attack"):
            attributes(table, table, "var4", generator=derived)
        with pytest.raises(CaveatError, match="no prior"):
            attributes(table, table, "var4", prior="flat")
