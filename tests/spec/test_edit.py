"""Changes of single entries that leave the rest of a specification as it was written."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.spec.document import edited, entry_in

TEXT = """\
# A head.
[release]
title = "A"  # on the report
# seed = 1

[synthesis]
method = "guarded"
order = [
  "sex",  # first
  "age",
]
columns = { age = { range = [0, 120, 1] } }

[synthesis.derived]
"net pay" = "pay - tax"

# The first attacker.
[[scenario]]
name = "one"
limits = { repU = 5 }

[[scenario]]
name = "two"

[utility]
rules.adult = { then = "age >= 18" }

[output]
folder = "release"
"""


def changed(entry, value):
    new = edited(TEXT, {entry: value})
    return new, [line for line in new.splitlines() if line not in TEXT.splitlines()]


@pytest.mark.parametrize(
    ("entry", "value", "lines"),
    [
        (("release", "title"), 'B "x"', ['title = "B \\"x\\""  # on the report']),
        (("release", "copies"), 3, ["copies = 3"]),
        (("synthesis", "guard"), "strong", ['guard = "strong"']),
        (("synthesis", "derived", "bmi"), "a / b", ['bmi = "a / b"']),
        (("synthesis", "derived", "net pay"), "x", ['"net pay" = "x"']),
        (("synthesis", "columns", "pay", "range"), [0, 9, 1],
         ["columns = { age = { range = [0, 120, 1] }, pay = { range = [0, 9, 1] } }"]),
        (("scenario", 0, "limits", "DiSCO"), 2.5, ["limits = { repU = 5, DiSCO = 2.5 }"]),
        (("scenario", 1, "keys"), ["sex"], ['keys = ["sex"]']),
        (("scenario", 2, "name"), "three", ['name = "three"']),
        (("columns", "a b", "kind"), "category", ['[columns."a b"]', 'kind = "category"']),
        (("utility", "rules", "x"), {"then": "age < 9"}, ['rules.x = { then = "age < 9" }']),
        (("synthesis", "order"), ["age", "sex"], ['order = ["age", "sex"]']),
    ],
)  # fmt: skip
def test_one_entry_is_changed_and_the_rest_stays(entry, value, lines):
    new, different = changed(entry, value)
    assert different == lines
    assert entry_in(tomllib.loads(new), entry) == value
    assert "# The first attacker." in new
    assert "# seed = 1" in new


@pytest.mark.parametrize(
    ("entry", "gone"),
    [
        (("release", "title"), ['title = "A"  # on the report']),
        (("scenario", 1), ['name = "two"']),
        (("scenario", 0, "limits"), ["limits = { repU = 5 }"]),
        (("synthesis", "derived"), ["[synthesis.derived]", '"net pay" = "pay - tax"']),
        (("release", "nothing"), []),
    ],
)
def test_an_entry_is_removed(entry, gone):
    new = edited(TEXT, {entry: None})
    assert [line for line in TEXT.splitlines() if line not in new.splitlines()] == gone
    assert entry_in(tomllib.loads(new), entry) is None


def test_a_value_that_is_the_same_is_left_as_it_is_written():
    assert edited(TEXT, {("synthesis", "order"): ["sex", "age"]}) == TEXT


def test_several_changes_and_an_empty_text():
    new = edited("", {("release", "title"): "T", ("scenario", 0, "name"): "n"})
    assert tomllib.loads(new) == {"release": {"title": "T"}, "scenario": [{"name": "n"}]}


def test_what_cannot_be_said_so_is_refused():
    with refused("app.entry.unsupported"):
        edited('[data]\npath = ["a"]\n', {("data", "path", "x"): 1})


keys = st.sampled_from(["release", "synthesis", "columns", "x y", "ü"])


@given(
    st.lists(
        st.tuples(
            st.tuples(keys, keys) | st.tuples(keys, keys, keys),
            st.none() | st.booleans() | st.integers() | st.text() | st.lists(st.text(), max_size=3),
        ),
        max_size=6,
    )
)
def test_any_text_says_afterwards_what_was_asked_for(steps):
    text = ""
    for entry, value in steps:
        try:
            text = edited(text, {entry: value})
        except CaveatError:  # a value stands where a table is asked for
            continue
        assert entry_in(tomllib.loads(text), entry) == value
