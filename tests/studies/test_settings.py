"""The study of settings as protections, on few settings of the simulated survey."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caveat.studies import settings as study
from caveat.studies.study import Output
from caveat.table import ColumnSchema, Schema, read
from caveat.tuning import Question, risk_utility_map


def test_the_tables_of_the_study(monkeypatch):
    every = study.settings(("sex", "age", "region"), "marital")
    few = {name: every[name] for name in ("minbucket 5", "minbucket 200", "proper")}
    monkeypatch.setattr(study, "LEAVES", (5, 200))
    monkeypatch.setattr(study, "SEEDS", 2)
    monkeypatch.setattr(study, "settings", lambda keys, target: few)
    found = study.run_settings(Output())
    leaves, settings = found.grids
    fresh = {row[0]: float(row[1].split(" ")[0]) for row in leaves.rows}
    assert fresh["5"] < fresh["200"]  # larger leaves make more combinations that nobody has
    rows = {row[0]: dict(zip(settings.header, row, strict=True)) for row in settings.rows}
    assert list(rows) == list(few)
    assert rows["proper"]["sure"] == rows["proper"]["median"] == "none"
    assert float(rows["minbucket 200"]["median"]) <= float(rows["minbucket 5"]["median"])
    utility = [float(rows[name]["S_pMSE two-way"].split(" ")[0]) for name in list(few)[:2]]
    assert utility[0] < utility[1]


@pytest.mark.parametrize("leaf", [1, 20, 200])
def test_new_keys_are_near_the_published_shares(shared, leaf):
    keys = study.COLUMNS[:4]
    original = Schema().apply(read(shared / "data" / "sd2011.csv").select(keys))
    ours = study.new_keys(original, keys, {"method": "cart", "minbucket": leaf}, 1)
    printed = study.PRINTED["new keys"][study.LEAVES.index(leaf)]
    # One release of each: shares of about 2,400 combinations, binomial error 1.0 at most.
    assert 100 * ours == pytest.approx(printed, abs=4 * np.sqrt(2))


def test_a_row_of_the_page_on_protections(shared):
    schema = Schema({"income": ColumnSchema(missing={-8: "not asked"})})
    original = schema.apply(read(shared / "data" / "sd2011.csv").select(study.COLUMNS))
    keys, target, name = study.COLUMNS[:4], "depress", "minbucket 5"
    setting = study.settings(keys, target)[name]
    question = Question(study.MEASURES, keys, (target,))
    found = risk_utility_map(original, [setting], question, seeds=study.SEEDS)
    (row,) = study._all({name: found.points[0]}, {name: None}, "").rows
    page = (Path(__file__).parents[2] / "docs" / "protect.md").read_text("utf-8")
    assert f"| {' | '.join(row[:5])} |" in page
