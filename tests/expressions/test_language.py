"""What the look suggests in the language of rules and formulas is read back as it was meant."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from caveat.expressions import FUNCTIONS, Expression
from caveat.expressions.parser import (
    RESERVED,
    can_be_named,
    fixed,
    is_one_of,
    literal,
    named,
    suggest,
)
from caveat.findings.arithmetic import PRODUCTS, Identity
from caveat.synthesis.options import Fixed, Order, parse_rule
from caveat.table import Table

NAMES = st.one_of(
    st.text(min_size=1, max_size=12).filter(str.strip),
    st.sampled_from(
        ["class", "log", "missing", "net pay", "2nd", "größe", "µg", "if x then y = 1"]
    ),
).filter(can_be_named)
VALUES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.text(max_size=12),
    st.sampled_from(["it's", '"a"', "a`b`c", "x then y = 2", "a\\", "<=50K"]),
)
RNG = np.random.default_rng(26)


def test_the_words_of_the_language():
    assert {*FUNCTIONS, "missing"} == RESERVED


@pytest.mark.parametrize("name", ["a`b", "a\nb", "now then x"])
def test_names_that_cannot_be_written_are_left_out(name):
    rule = fixed(name, is_one_of(name, [1]), "y", "2")
    assert suggest([rule]) == {"rules": [], "between": []}


@given(NAMES, NAMES, VALUES)
def test_a_rule_is_read_as_it_was_written(source, target, value):
    (text,) = suggest([fixed(source, is_one_of(source, [value]), target, literal(value))])["rules"]
    rule = parse_rule(text)
    assert isinstance(rule, Fixed)
    assert (rule.condition.columns, rule.column) == ((source,), target)
    assert (rule.value, type(rule.value)) == (value, type(value))


@given(NAMES, NAMES)
def test_an_order_is_read_as_it_was_written(lower, upper):
    assert parse_rule(f"{named(lower)} <= {named(upper)}") == Order(lower, upper)


@settings(deadline=None)
@given(NAMES, st.lists(st.text(max_size=6).filter(bool), min_size=2, max_size=6, unique=True))
def test_a_condition_holds_for_its_values_alone(name, values):
    table = Table.from_frame({name: np.array(values, dtype=object)})
    some = values[: len(values) // 2]
    holds = Expression(is_one_of(name, some)).evaluate(table.columns)
    assert holds.tolist() == [value in some for value in values]


SHAPES = [
    *((powers, False) for powers in PRODUCTS),
    ((1,), False),
    ((1, 1), True),
    ((1, -1), True),
    ((1, 1, 1), True),
]


@pytest.mark.parametrize(
    "factor", [1.0, -1.0, 10_000.0, 1 / 12, -1 / 3, 0.45359237, 1 / 1.61, 1e17]
)
@pytest.mark.parametrize("constant", [0.0, 32.0, -459.67, 1234567.89])
@pytest.mark.parametrize(("powers", "is_sum"), SHAPES)
def test_every_formula_computes_what_the_identity_says(powers, is_sum, factor, constant):
    if is_sum:
        factor, constant = 1.0, 0.0
    elif len(powers) > 1:
        constant = 0.0  # only new units of a single column have one
    names = ("net pay", "log", "x")[: len(powers)]
    identity = Identity("y", names, powers, is_sum, factor, constant)
    values = {name: RNG.uniform(1, 50, 40) for name in names}
    computed = Expression(identity.formula(exact=True)).evaluate(Table.from_frame(values).columns)
    np.testing.assert_allclose(computed, identity.compute(values), rtol=1e-12, atol=1e-9)
