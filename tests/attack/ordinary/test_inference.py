"""Inference: guesses from the nearest synthetic record."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from caveat.attack.ordinary import (
    inference,
)
from caveat.attack.ordinary.three_risks import is_right, rights_by_level
from caveat.cli import app
from caveat.table import Table


@pytest.mark.parametrize("sign", [1, -1])
def test_tolerance_is_the_same_for_negative_numbers(sign):
    """100 for 96 is within 5 % of the truth, 100 for 94 and for −50 is not; whatever the sign."""
    levels = sorted([sign * 100, sign * 96, sign * 94, sign * -50])
    column = Table.from_frame({"x": levels})["x"]
    place = {value: i for i, value in enumerate(levels)}
    truth = np.array([place[sign * 100]] * 3)
    guess = np.array([place[sign * 96], place[sign * 94], place[sign * -50]])
    assert is_right(column, truth, guess, 0.05, 0).tolist() == [True, False, False]
    assert is_right(column, truth, guess, 0, 6).tolist() == [True, True, False]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.one_of(st.none(), st.integers(-50, 50)), min_size=1, max_size=30),
    st.floats(0, 1),
    st.floats(0, 20),
)
def test_chance_of_a_drawn_guess(values, relative, absolute):
    """The exact baseline is the mean over all pairs of a truth and a guess."""
    column = Table.from_frame(pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}))["x"]
    n = len(values)
    truth, guess = np.repeat(column.codes, n), np.tile(column.codes, n)
    pairs = is_right(column, truth, guess, relative, absolute).reshape(n, n).mean(axis=1)
    assert rights_by_level(column, relative, absolute)[column.codes] == pytest.approx(pairs)


def test_command_line(tmp_path, original, fresh, control):
    paths = []
    for name, table in (("o", original), ("s", fresh), ("c", control)):
        paths.append(str(tmp_path / f"{name}.csv"))
        table.write_csv(paths[-1])
    arguments = ["attack", "inference", paths[0], paths[1], "--control", paths[2]]
    arguments += ["--keys", "age,sex", "--target", "debt", "--tolerance", "50"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0
    assert "inference cannot see" in shown.output
    out = tmp_path / "found.json"
    assert CliRunner().invoke(app, [*arguments, "--json", str(out)]).exit_code == 0
    content = json.loads(out.read_text("utf-8"))
    (finding,) = content["copies"][0]
    expected = inference(
        Table.from_frame(original), fresh, keys=["age", "sex"], target="debt", control=control,
        relative=0, absolute=50,
    )  # fmt: skip
    assert finding["value"] == pytest.approx(expected.value)
    assert finding["control"] == pytest.approx(expected.control)
