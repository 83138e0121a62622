"""Numbers that exactly one record has."""

from __future__ import annotations

import numpy as np

from caveat.findings import look
from caveat.table import Table
from caveat.table.cells import PrivateNumbers, chance_alone, remark_on, share_alone


def test_shares_are_counted_over_blocks_and_dictionaries() -> None:
    original = Table.from_frame(
        {"pay": [1.5, 1.5, 2.5, 3.5], "kind": list("abcd"), "text": ["1", "2", "2", "n/a"]}
    )
    assert [share_alone(original[name]) for name in original] == [0.5, 1.0, 0.25]
    count = PrivateNumbers(original, original.names)
    count.add(original.take([2, 2, 0]))
    count.add(
        Table.from_frame({"pay": [3.5, 9.0, 8.0], "kind": ["a"] * 3, "text": ["1", "1", "2"]})
    )
    assert count.shares == {"pay": 3 / 6, "kind": 1.0, "text": 3 / 6}


def test_chance_is_that_of_other_records_of_the_same_population() -> None:
    """Each record is counted against the others; a fresh half of the records says the same."""
    rng = np.random.default_rng(1)
    pay = rng.integers(0, 20_000, 40_000)
    first, second = (Table.from_frame({"pay": part}) for part in (pay[:20_000], pay[20_000:]))
    count = PrivateNumbers(first, ["pay"])
    count.add(second)
    assert abs(chance_alone(first["pay"]) - count.shares["pay"]) < 0.03
    assert share_alone(first["pay"]) > 0.3
    kinds = Table.from_frame({"kind": ["a"] * 6 + ["b"] * 5 + ["c"]})
    assert chance_alone(kinds["kind"]) == 5 / 12
    assert chance_alone(kinds["kind"].take(np.arange(0))) == 0.0


def test_the_remark_names_the_worst_first_and_only_what_is_remarkable() -> None:
    assert remark_on({"a": 0.04}) is None
    remark = remark_on({"a": 0.04, "b": 0.1, "c": 0.9})
    assert remark is not None
    assert ": c 90 %, b 10 %;" in remark


def test_the_look_says_how_many_records_have_a_number_for_themselves() -> None:
    pay = np.repeat(np.arange(40), 2)
    pay[:20] = 1000 + np.arange(20) * 37
    (found,) = look({"pay": pay, "sex": ["f", "m"] * 40}).about("private-numbers")
    assert (found.columns, found.share) == (("pay",), 0.25)
    assert "pay 25.0 %" in found.message
