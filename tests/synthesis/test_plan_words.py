"""How a plan is told."""

from __future__ import annotations

from caveat.synthesis import make_plan
from caveat.synthesis.plan import described, methods_of, summary_of
from caveat.table import Table

TABLE = Table.from_frame(
    {"sex": ["f", "m"] * 2700, "age": [*range(25)] * 216, "twice": [0, 2] * 2700}
)
PLAN = make_plan(
    TABLE,
    {"derived": {"twice": "2 * age"}, "columns": {"age": {"method": "cart", "minbucket": 7}}},
)


def test_a_column_is_told_in_one_line():
    lines = {name: described(entry) for name, entry in PLAN.columns.items()}
    assert lines == {
        "sex": "guarded",
        "age": "cart from sex (minbucket 7; range 0 to 24 by 1, even cells, assumed public)",
        "twice": "derived: 2 * age",
    }


def test_a_notebook_gets_a_table_without_the_ends_of_ranges():
    shown = summary_of(PLAN.columns, ("a remark",))
    assert shown.title == "Plan: 3 columns (1 guarded, 1 cart, 1 derived)"
    assert shown.rows == [
        ("sex", "guarded", "", ""),
        ("age", "cart", "sex", "minbucket 7"),
        ("twice", "derived", "", "2 * age"),
    ]
    assert shown.notes == ("a remark",)
    ranged = make_plan(TABLE.select(["sex", "age"]), {})
    assert "range 0 to 24" in str(ranged)
    assert "24" not in ranged._repr_html_()
    assert methods_of(ranged.columns) == "2 guarded"
