"""The study of the risk of tables from synthetic data."""

from __future__ import annotations

import numpy as np

from caveat.studies import promise as study
from caveat.studies.study import Output
from caveat.table import read


def test_there_are_21_settings_and_columns_that_stay():
    every = dict(study.settings(study.SD2011_TABLES))
    assert len(every) == 21
    options = every["leaf 5, 7 predictors"]
    assert options["given"] == ("sex", "agegr", "edu", "region", "placesize")
    assert options["columns"]["eduspec"]["predictors"] == [
        "sex", "agegr", "edu", "ls", "marital", "region", "placesize"
    ]  # fmt: skip


def test_the_tables_of_the_study(monkeypatch):
    monkeypatch.setattr(study, "LEAVES", (1, 20, 200))
    monkeypatch.setattr(study, "PREDICTORS", (5,))
    monkeypatch.setattr(study, "COPIES", 1)
    monkeypatch.setattr(
        study, "SURVEY_TABLES", study.SURVEY_TABLES._replace(levels=((), ("region",)))
    )
    found = study.run_tables_risk(Output())
    by_size, by_setting = found.grids
    assert [row[0] for row in by_setting.rows] == [
        "leaf 1, 5 predictors", "leaf 20, 5 predictors", "leaf 200, 5 predictors"
    ]  # fmt: skip
    assert len(by_size.rows) == 8
    risks = [float(row[4]) for row in by_setting.rows]
    distances = [float(row[6]) for row in by_setting.rows]
    assert risks == sorted(risks, reverse=True)  # larger leaves, less that is true
    assert distances == sorted(distances)  # and less that is useful
    assert "sd2011.csv" in found.remarks[-1]


def test_tcap_ratio_follows_the_risk_of_tables_of_small_places(shared):
    """Near 1 over 21 settings; with the most extreme one left out too."""
    variables = study.SD2011_TABLES._replace(levels=(("region", "placesize"),))
    columns = [*variables.fixed, *variables.synthesised]
    original = read(shared / "data" / "sd2011.csv").select(columns)
    every = {
        how: study.measured(original, variables, options, copies=1)
        for how, options in study.settings(variables)
    }
    assert len(every) == 21
    large = [one for one in study.correlations(list(every.values())) if len(one.columns) >= 4]
    assert np.median([one.with_tcap.value for one in large]) > 0.97
    del every["leaf 1, 7 predictors"]
    fewer = [one for one in study.correlations(list(every.values())) if len(one.columns) == 5]
    assert np.median([one.with_tcap.value for one in fewer]) > 0.95
