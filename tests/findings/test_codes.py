"""Codes for missing among numbers: what is found, how surely, and what is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from caveat.findings.codes_and_kinds import find_codes


def codes(levels: list[float], counts: list[int] | None = None, known=frozenset()):
    """The values found, with their strength."""
    levels = np.array(levels, dtype=float)
    counts = np.full(len(levels), 10) if counts is None else np.array(counts)
    return {float(levels[c.position]): str(c.strength) for c in find_codes(levels, counts, known)}


def whole(low: int, high: int) -> list[float]:
    return [float(v) for v in range(low, high + 1)]


@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        ([-8, *whole(0, 48)], {-8: "likely"}),
        ([-8, 100, 110, 16000], {-8: "likely"}),
        ([-1, 1, 2], {-1: "likely"}),
        ([-1, 0.5, 2.25, 80.1], {-1: "likely"}),
        ([-9, -8, -7, *whole(1, 5)], {-9: "likely", -8: "likely", -7: "likely"}),
        ([-999, -998, 0, 1, 2], {-999: "likely", -998: "likely"}),
        ([*whole(0, 97), 999], {999: "likely"}),
        ([*whole(1937, 2011), 9999], {9999: "likely"}),
        ([1, 2, 3, 77, 88, 99], {77: "likely", 88: "likely", 99: "likely"}),
        ([0.5, 1.5, 12.25, 99.9], {99.9: "possible"}),
        ([0, 114, 3000, 41310, 99999], {99999: "possible"}),
        ([*whole(18, 85), 99], {99: "possible"}),
        ([*whole(1, 5), 9], {9: "possible"}),
        ([*whole(1, 4), 8, 9], {8: "possible", 9: "possible"}),
        ([-9999, *whole(-40, 40)], {-9999: "likely"}),
        ([-1, *whole(0, 10)], {-1: "possible"}),
        ([-2, -1, *whole(0, 10)], {-2: "possible", -1: "possible"}),
    ],
)
def test_codes_are_found(levels, expected):
    assert codes(levels) == expected


@pytest.mark.parametrize(
    "levels",
    [
        whole(16, 97),
        whole(1, 99),  # hours a week: 99 follows 98
        [*whole(0, 97), 98, 99],
        [-1, 0, 1],  # a scale around zero
        [-1, -0.33, 0.33, 1],
        whole(-5, 30),  # a temperature
        [-1653.05, 0, 0.89, 112072.94],  # a loss
        [-28690.28, -159.26, 0, 27018.14],
        [1, 2, 3, 5, 6, 7, 8, 9],  # nine is one of the groups
        [2, 4, 5, 6, 9],
        [0.1, 0.12, 1.9, 9.0],  # a single digit is a code among whole numbers only
        [0, 1, 5, 64, 70, 80, 85, 99],  # a sparse tail
        [0, 1],
        [5],
        [],
        whole(0, 21),
    ],
)
def test_ordinary_values_are_left_alone(levels):
    assert codes(levels) == {}


def test_the_tail_of_a_scale_thins_out_and_codes_do_not():
    tail = whole(-4, 20)
    assert codes(tail, [1, 3, 6, 9, *[12] * 21]) == {}
    assert set(codes(tail, [400, 3, 60, 9, *[12] * 21])) == {-4, -3, -2, -1}


def test_a_code_seen_once_is_only_possible():
    assert codes([-8, 0, 1, 2], [1, 9, 9, 9]) == {-8: "possible"}


def test_codes_of_other_columns_speak_for_a_doubtful_one():
    assert codes([-1, 0, 1]) == {}
    assert codes([-1, 0, 1], known=frozenset({-1.0})) == {-1: "possible"}


def test_nines_next_to_other_values_are_codes_only_as_a_pile():
    ages = whole(0, 99)
    assert codes(ages, [20] * 99 + [700]) == {99: "possible"}
    assert codes(ages, [20] * 99 + [500]) == {}  # not ten times the three values before
    assert codes(whole(0, 90), [20] * 90 + [700]) == {}  # 90 is no code


def test_zero_apart_is_a_question():
    pressures = [0.0, *whole(24, 120)]
    assert codes(pressures, [35, *[7] * 97]) == {0: "possible"}
    assert codes(pressures, [7000, *[7] * 97]) == {}  # the usual case is no gap in the answers
    assert codes([0.0, *whole(1, 60)], [35, *[7] * 60]) == {}


@given(
    st.sets(st.integers(0, 5000), min_size=2, max_size=60),
    st.sampled_from([-8, -9, -99, -998]),
)
def test_an_added_negative_code_is_always_found(values, code):
    assume(values != {0, -code})  # -8, 0, 8 is a scale
    levels = [float(code), *sorted(map(float, values))]
    assert float(code) in codes(levels)


@given(st.integers(-50, 50), st.integers(2, 120))
def test_consecutive_values_are_never_likely_codes(low, n):
    assert "likely" not in codes(whole(low, low + n)).values()


def test_spellings_that_differ_in_case_or_blanks() -> None:
    from caveat.findings import look

    profile = look({"sex": ["m"] * 30 + ["M"] * 8 + ["m "] * 2 + ["f"] * 30, "n": list(range(70))})
    (found,) = profile.about("spellings")
    assert found.suggestion == {"recode": {"M": "m", "m ": "m"}}
    assert found.rows == 40
    assert 'recode = { "M" = "m", "m " = "m" }' in found.message


def test_999_among_words() -> None:
    from caveat.findings import look

    answers = ["yes"] * 30 + ["no"] * 20 + ["999"] * 5
    profile = look({"x": answers, "y": ["a", "b", "c", "d", "3"] * 11})
    (found,) = profile.about("missing-code")
    assert (found.columns, found.suggestion) == (("x",), {"missing": ["999"]})
    assert str(found.strength) == "possible"
