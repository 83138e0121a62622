"""Two tables from anywhere on common codes."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from tests.refusals import refused
from tests.table.strategies import polars_frames

from caveat.table import Missing, Schema, Table, align, read
from caveat.table.align import recode_to


def differences(original: dict[str, list[object]], synthetic: dict[str, list[object]]) -> list[str]:
    result = align(Table.from_frame(original), Table.from_frame(synthetic))
    return [str(difference) for difference in result.differences]


def test_equal_codes_mean_equal_values() -> None:
    a = Table.from_frame({"x": ["b", "c"], "n": [1, 5]})
    b = Table.from_frame({"n": [2.5, 5.0, 1.0], "x": ["a", "c", "c"]})
    result = align(a, b)
    assert result.original["x"].codes.tolist() == [1, 2]
    assert result.synthetic["x"].codes.tolist() == [0, 2, 2]
    assert result.original["n"].codes.tolist() == [0, 2]
    assert result.synthetic["n"].codes.tolist() == [1, 2, 0]
    assert result.synthetic.names == ("x", "n")
    assert [str(d) for d in result.differences] == [
        "x: 1 value of 1 row does not occur in the original",
        "n: 1 value of 1 row does not occur in the original",
    ]


def test_missing_and_extra_columns_are_named() -> None:
    assert differences({"a": [1], "b": [1]}, {"b": [1], "c": [1]}) == [
        "a: missing in the synthetic table",
        "c: only in the synthetic table",
    ]


def test_numbers_against_text_are_compared_as_numbers() -> None:
    a = Table.from_frame({"x": [1, 2, 10]})
    b = Table.from_frame({"x": ["10", "2", "2"]})
    result = align(a, b)
    assert result.synthetic["x"].values.tolist() == [10, 2, 2]
    assert result.differences[0].what == (
        "category in the synthetic table, integer in the original; compared as integer"
    )
    swapped = align(b, a)
    assert swapped.original["x"].values.tolist() == [10, 2, 2]
    np.testing.assert_array_equal(swapped.synthetic["x"].codes, [0, 1, 2])


def test_numbers_against_words_are_compared_as_text() -> None:
    result = align(Table.from_frame({"x": [1, 2]}), Table.from_frame({"x": ["2", "many"]}))
    assert result.original["x"].codes.tolist() == [0, 1]
    assert result.synthetic["x"].codes.tolist() == [1, 2]
    assert "compared as category" in result.differences[0].what


def test_dates_against_iso_text_are_compared_as_dates() -> None:
    a = Table.from_frame({"d": [dt.date(2020, 1, 1), dt.date(2020, 2, 1)]})
    result = align(a, Table.from_frame({"d": ["2020-02-01", "2020-02-01"]}))
    assert result.synthetic["d"].codes.tolist() == [1, 1]


def test_missing_codes_of_the_original_hold_for_the_synthetic_table() -> None:
    schema = Schema.from_mapping({"income": {"missing": [-8]}})
    a = schema.apply(Table.from_frame({"income": [800, -8]}))
    result = align(a, Table.from_frame({"income": [-8, 800, 800]}))
    assert result.synthetic["income"].is_missing.tolist() == [True, False, False]
    assert result.original["income"].missing == result.synthetic["income"].missing == (Missing(-8),)


def test_new_missing_cells_are_a_difference() -> None:
    assert differences({"x": [1, 2]}, {"x": [1, None]}) == [
        "x: missing cells (empty) that the original does not have"
    ]


def test_declared_but_unused_categories_are_no_news() -> None:
    a = Table.from_frame(pd.DataFrame({"x": pd.Categorical(["lo"], ["lo", "hi"], ordered=True)}))
    result = align(a, Table.from_frame({"x": ["hi", "lo"]}))
    assert result.differences == ()
    assert result.synthetic["x"].codes.tolist() == [1, 0]


def test_no_common_column_is_an_error() -> None:
    with refused("data.column.mismatch"):
        differences({"a": [1]}, {"b": [1]})


@given(polars_frames(), polars_frames())
@settings(max_examples=150, deadline=None)
def test_alignment_keeps_every_value_or_says_otherwise(left, right) -> None:
    a, b = Table.from_frame(left), Table.from_frame(right)
    result = align(a, b)
    for name in result.original:
        ours, theirs = result.original[name], result.synthetic[name]
        assert ours.has_same_levels(theirs)
        if not any("compared as" in d.what for d in result.differences if d.column == name):
            for aligned, before in zip(ours.values, a[name].values, strict=True):
                assert aligned == before or str(aligned) == str(before)


def written(tmp_path, text: str) -> Table:
    path = tmp_path / f"{abs(hash(text))}.csv"
    path.write_text(text, encoding="utf-8")
    return read(path)


@pytest.mark.parametrize("theirs", ["", '""', "NA", '"NA"', "NULL", '""|', " ", '"  "'])
@pytest.mark.parametrize("ours", ["", '""', "NA", '"NA"', '""|', " "])
@pytest.mark.parametrize("values", [("AT", "DE"), ("7", "8"), ("2020-01-01", "2021-01-01")])
def test_empty_cells_are_the_same_however_they_are_written(tmp_path, ours, theirs, values) -> None:
    """Bare, quoted, some of both ("|"), or as the word that programs write for nothing."""

    def table(empty: str) -> Table:
        a, b = (f'"{v}"' if '"' in empty else v for v in values)
        cells = [a, empty.strip("|"), b, empty if "|" not in empty else ""]
        return written(tmp_path, "n,x\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells)))

    both = align(table(ours), table(theirs))
    codes = both.original["x"].codes
    np.testing.assert_array_equal(codes, both.synthetic["x"].codes)
    assert codes[1] == codes[3]
    assert len(set(codes.tolist())) == 3


def test_codes_that_mean_something_stay_apart() -> None:
    """A table that has both the word and empty cells tells them apart; so do labels and codes."""
    frame = {"x": ["a", None, "NA"], "y": ["a", "a", "."], "z": ["a", "b", "?"]}
    both = align(Table.from_frame(frame), Table.from_frame({**frame, "x": ["a", None, None]}))
    assert both.original["x"].codes.tolist() == [1, 2, 0]
    assert both.synthetic["x"].codes.tolist() == [1, 2, 2]
    schema = Schema.from_mapping({"x": {"missing": {"": "refused"}}})
    labelled = schema.apply(Table.from_frame({"x": ["a", "", None]}))
    both = align(labelled, Table.from_frame({"x": ["a", None, None]}))
    assert both.original["x"].codes.tolist()[1] != both.original["x"].codes.tolist()[2]
    coded = Schema.from_mapping({"x": {"missing": [-8]}}).apply(Table.from_frame({"x": [1, -8]}))
    both = align(coded, Table.from_frame({"x": [1, None]}))
    assert both.original["x"].codes[1] != both.synthetic["x"].codes[1]


def test_a_release_is_looked_up_whatever_its_empty_cells_look_like() -> None:
    known = Table.from_frame({"x": ["a", "b", None]})["x"]
    assert recode_to(Table.from_frame({"x": ["b", "", "c"]})["x"], known).tolist() == [1, 2, 3]
