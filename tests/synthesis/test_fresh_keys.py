"""Fresh keys: of the kind of the real ones, and none of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from caveat.synthesis.replacing import FreshKeys
from caveat.table import Table

NUMBERS = st.integers(-(10**9), 10**9)
WORDS = st.text("abk0123456789-", min_size=1, max_size=6)


@pytest.mark.parametrize("kind", [NUMBERS, WORDS])
def test_no_fresh_key_is_a_real_one(kind):
    @given(st.lists(kind, min_size=1, max_size=20, unique=True))
    def check(real):
        column = Table.from_frame({"key": real})["key"]
        made = FreshKeys.unlike(column).make(50)
        assert len(set(made.values)) == 50
        assert not set(made.values) & set(column.values)
        assert made.kind == column.kind

    check()


def test_fresh_keys_say_nothing_but_how_many_digits_the_real_ones_have():
    one, other = ({"key": [3, 5, 9]}, {"key": [8, 1, 2]})
    keys = [FreshKeys.unlike(Table.from_frame(t)["key"]).make(3) for t in (one, other)]
    assert keys[0] == keys[1]
    assert keys[0].values.tolist() == [11, 12, 13]
