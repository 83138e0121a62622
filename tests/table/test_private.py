"""Numbers that exactly one record has."""

from __future__ import annotations

import numpy as np

from caveat.findings import look
from caveat.table import Table
from caveat.table.private import PrivateNumbers, remark_on, share_alone


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
