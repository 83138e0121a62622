"""Numbers as tables print them."""

from __future__ import annotations

import math

import pytest

from caveat.outputs.cell_numbers import bound_of, decimal_of, number_of


@pytest.mark.parametrize(
    ("text", "point", "comma"),
    [
        ("5,000", 5000, 5),
        ("1,234,567", 1234567, None),
        ("1.767,26", None, 1767.26),
        ("1,767.26", 1767.26, None),
        ("12.500", 12.5, 12500),
        ("0,125", None, 0.125),
        ("1 234 567", 1234567, 1234567),
        ("1\u202f234", 1234, 1234),
        ("12'500", 12500, 12500),
        ("-3", -3, -3),
        ("\u22123.5", -3.5, None),
        ("3 %", 3, 3),
        ("€7,000", 7000, 7),
        ("7.000 €", 7, 7000),
        ("-€70", -70, -70),
        ("EUR 70", 70, 70),
        ("12*", 12, 12),
        ("0.53***", 0.53, None),
        ("12²", 12, 12),
        ("(12)", 12, 12),
        ("~50", 50, 50),
        ("1e5", 100000, 100000),
        (".5", 0.5, None),
    ],
)
def test_numbers(text: str, point: float | None, comma: float | None) -> None:
    assert (number_of(text), number_of(text, ",")) == (point, comma)


@pytest.mark.parametrize("text", ["", "-", "–", "<10", "< 0,1", "≥ 5", "..", "X", "[c]", "k.A."])
def test_hidden_cells(text: str) -> None:
    assert math.isnan(number_of(text) or 0)


@pytest.mark.parametrize(
    "text",
    ["north", "0-19", "65+", "01a", "12,34,56", "1e400", "1,2.3,4", "<10 (3)", ">2 and <4", "<",
     "<few", "< <3", "<10 of 12"],
)  # fmt: skip
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None
    assert number_of(text, ",") is None


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        ("<10", ("<", 10)), ("< 5", ("<", 5)), ("≤1", ("<=", 1)), ("<= 1", ("<=", 1)),
        ("&lt;10", ("<", 10)), (">5", (">", 5)), ("≥ 1,000", (">=", 1000)), ("<10*", ("<", 10)),
        ("10", None), ("*", None), ("<10 (3)", None), (">2 and <4", None), ("<>3", None),
    ],
)  # fmt: skip
def test_a_bound_is_a_sign_and_a_number(text: str, bound: tuple[str, float] | None) -> None:
    assert bound_of(text) == bound


def test_the_decimal_sign_is_seen_only_where_one_fits() -> None:
    assert decimal_of([["n", "s"], ["1,5", "<1"]]) == ","
    assert decimal_of([["1,234.5", "7"]]) == "."
    assert decimal_of([["1.500", "2.300"]]) is None
    assert decimal_of([["1,5"], ["1.5"]]) is None
    assert decimal_of([["*", ".."]]) is None
