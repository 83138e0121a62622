"""Numbers, dates and signs for missing that stand as text."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.findings import look
from caveat.table.written import read_dates, read_numbers


def levels(*values):
    return np.array(values, dtype=object)


def test_numbers_are_read_with_what_stands_between_them():
    reading = read_numbers(levels("-8", "0", "12", "N"))
    assert reading.tokens == (3,)
    assert reading.numbers[:3].tolist() == [-8, 0, 12]
    assert np.isnan(reading.numbers[3])


@pytest.mark.parametrize(
    ("values", "style", "numbers"),
    [
        (("1,5", "2,25", "3"), "decimal comma", [1.5, 2.25, 3]),
        (("1,500", "12,250", "300"), "thousands", [1500, 12250, 300]),
        (("007", "012"), "padded", [7, 12]),
        (("1e3", "2.5"), "", [1000, 2.5]),
    ],
)
def test_numbers_in_other_styles(values, style, numbers):
    reading = read_numbers(levels(*values))
    assert (reading.style, reading.numbers.tolist()) == (style, numbers)


def test_words_are_no_numbers():
    assert read_numbers(levels("a", "b", "c", "d", "1")) is None


@pytest.mark.parametrize(
    ("values", "formats"),
    [
        (("01.02.1990", "31.12.1991"), ("%d.%m.%Y",)),
        (("01/02/1990", "03/12/1991"), ("%d/%m/%Y", "%m/%d/%Y")),
        (("13/02/1990", "03/12/1991"), ("%d/%m/%Y",)),
        (("1990/02/01", "1991/12/31", "?"), ("%Y/%m/%d",)),
        (("12 Jan 1990", "3 Feb 1991"), ("%d %b %Y",)),
        (("1990-01-01 10:00", "1991-01-02 11:11"), ("%Y-%m-%d %H:%M",)),
    ],
)
def test_dates_and_their_formats(values, formats):
    assert read_dates(levels(*values)).formats == formats


@pytest.mark.parametrize(
    "values", [("16-24", "25-34"), ("25-00703", "25-00503"), ("1.5", "2.5"), ("1990", "1991")]
)
def test_what_only_resembles_a_date(values):
    assert read_dates(levels(*values)) is None


def test_numbers_as_text_with_a_code():
    profile = look({"months": [str(v) for v in ([-8] * 100 + list(range(1, 41)) * 2)]})
    (code,) = profile.about("missing-code")
    assert code.suggestion == {"missing": ["-8"]}
    assert code.rows == 100
    (number,) = profile.about("number-as-text")
    assert number.suggestion == {"kind": "integer"}


def test_a_letter_among_codes_of_groups_stands_for_missing():
    profile = look({"status": ["1", "2", "3", "N"] * 20})
    assert profile.about("missing-code")[0].suggestion == {"missing": ["N"]}
    assert not profile.about("number-as-text")


@pytest.mark.parametrize("level", ["3+", "5 or more", "<1"])
def test_open_classes_are_no_codes(level):
    assert look({"children": ["1", "2", level] * 20}).about("missing-code") == ()


def test_signs_and_words_for_missing():
    profile = look(
        {"a": ["?", "x", "y"] * 10, "b": ["Not_Applicable", "x", "y"] * 10, "c": ["NONE", "x"] * 15}
    )
    assert [f.columns for f in profile.about("missing-code")] == [("a",)]
    assert [f.columns for f in profile.about("missing-word")] == [("b",)]


def test_whole_numbers_that_are_dates():
    profile = look({"day": [19900101 + 100 * (i % 12) for i in range(40)], "x": list(range(40))})
    (found,) = profile.about("date-as-text")
    assert found.suggestion == {"kind": "date", "format": "%Y%m%d"}
