"""Noisy tables in words: what is let out, and no more."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from caveat.synthesis.margins.guaranteed import NoisyTable, noisy_tables, plan_private, write_source
from caveat.synthesis.margins.plan import write_tables
from caveat.synthesis.margins.promise import Measured
from caveat.synthesis.plan import Plan
from caveat.table import read
from caveat.table.identifying import Output

EMPTY = {"missing": [""]}
COLUMNS = {
    "sex": {"levels": ["f", "m"], **EMPTY},
    "age": {"range": [0, 99, 1], "bins": 2, **EMPTY},
}
SIZES = {"sex": 3, "age": 3}


def planned(measured: Measured | None, **options: object) -> Plan:
    asked = {"columns": COLUMNS, "margins": [["sex", "age"]], **options}
    return plan_private(list(COLUMNS), asked, measured)[1]


@pytest.fixture
def gaussian() -> Plan:
    counts = {
        ("sex",): np.array([12, -3, 0]),
        ("age",): np.array([5, 4, 1]),
        ("sex", "age"): np.array([[7, 0, 1], [-2, 0, 0], [0, 0, 3]]),
    }
    sigmas = {("sex",): 2.5, ("age",): 2.5, ("sex", "age"): 4.0}
    return planned(Measured(SIZES, counts, sigmas), epsilon=1.0)


def test_cells_are_named_and_those_of_zero_left_out(gaussian: Plan) -> None:
    sex, _, pair = noisy_tables(gaussian)
    assert sex == NoisyTable(
        ("sex",), (("f",), ("m",)), (12, -3), 3, "discrete Gaussian, sigma 2.5"
    )
    assert pair.cells == (("f", "0 to 49"), ("f", "empty"), ("m", "0 to 49"), ("empty", "empty"))
    assert pair.counts == (7, 1, -2, 3)
    assert pair.line == {
        "cells": 9, "listed": 4, "total": 9, "noise": "discrete Gaussian, sigma 4",
    }  # fmt: skip
    assert repr(pair) == "<sex × age: 9 cells>"


def test_before_anything_is_measured_there_is_nothing() -> None:
    assert noisy_tables(planned(None, epsilon=1.0)) == ()


def test_the_manifest_has_the_noise(gaussian: Plan, tmp_path: Path) -> None:
    outputs = write_tables(noisy_tables(gaussian), tmp_path, Output("release"))
    assert [output.name for output in outputs] == [
        "01-sex.csv",
        "02-age.csv",
        "03-sex-age.csv",
        "manifest.csv",
    ]
    manifest = read(tmp_path / "manifest.csv")
    assert manifest.names == (
        "file", "columns", "cells", "listed", "total", "noise", "sha256",
    )  # fmt: skip
    assert manifest["total"].values.tolist() == [9, 10, 9]
    assert (tmp_path / "01-sex.csv").read_text() == "sex,count\nf,12\nm,-3\n"


def test_poisson_counts_say_what_was_added() -> None:
    counts = {("sex", "age"): np.arange(9).reshape(3, 3)}
    measured = Measured(SIZES, counts, {}, alpha=0.5)
    (table,) = noisy_tables(planned(measured, margins=[], poisson=0.5))
    assert (table.noise, table.n_cells, len(table.cells)) == ("Poisson(count + 0.5)", 9, 8)


def test_other_models_have_no_such_source(tmp_path: Path) -> None:
    assert write_source(None, tmp_path, Output("release")) == []
    assert not any(tmp_path.iterdir())
