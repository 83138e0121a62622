"""Tables as they are shown."""

from __future__ import annotations

import numpy as np
from tests.outputs.test_tables import two_tables

from caveat.outputs.shown import Shown, page, shown_tables


def test_hidden_values_are_nowhere_on_the_page() -> None:
    cells = two_tables()
    values = 1000 + np.arange(cells.n_cells)
    hidden = np.zeros(cells.n_cells, bool)
    hidden[3] = True
    fine, coarse = shown_tables(cells, values, hidden)
    assert fine.codes[0] == ("Total", "Total")
    assert fine.values[3] is None
    assert coarse.columns()["place"] == ["Total", "north", "south"]
    html = page([fine, coarse])
    assert "1,003" not in html
    assert html.count("1,004") == 2 - ("1,004" not in page([coarse]))
    assert "×" in html
    assert "1003" not in repr(fine)


def test_names_are_escaped() -> None:
    from dataclasses import replace

    one = replace(shown_tables(two_tables(), np.zeros(30, int), None)[0], name="<b>")
    assert "<h2>&lt;b&gt;" in page([one])


def test_no_column_of_a_table_is_replaced_by_its_values() -> None:
    by = ("count", "cell count", "status")
    one = Shown("t", by, (("a", "b", "c"), ("d", "e", "f")), (5, None))
    assert one.columns() == {
        "count": ["a", "d"],
        "cell count": ["b", "e"],
        "status": ["c", "f"],
        "cell cell count": [5, None],
        "cell status": ["shown", "hidden"],
    }
