"""The picture of an audit shows the numbers of the audit."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.datasets import buyer_beware
from caveat.risk import audit
from caveat.risk.charts import audit_chart


def test_shares_are_drawn_in_per_cent_beside_baseline_and_control():
    found = audit(buyer_beware(), buyer_beware(1), keys=["var1", "var2"], targets=["var3"])
    drawn = audit_chart(found).to_dict()
    sets = drawn["datasets"].values()
    rows = {row["label"]: row for rows in sets for row in rows if "label" in row}
    shown = next(row for label, row in rows.items() if "(repU)" in label)
    assert shown["value"] == pytest.approx(100 * found["repU"].value)
    assert shown["value_text"] == f"{100 * found['repU'].value:.2f} %"
    target = next(row for label, row in rows.items() if "(DiSCO)" in label)
    assert any(label.startswith("var3: ") for label in rows)
    assert target["baseline"] == pytest.approx(100 * found["DiSCO", "var3"].baseline)
    assert not any("(UiO)" in label for label in rows)  # it describes the original alone


def test_an_audit_without_shares_has_no_picture():
    found = audit(buyer_beware(), buyer_beware(1), keys=["var1"], measures=["UiO"])
    with refused("chart.measure.absent"):
        audit_chart(found)
