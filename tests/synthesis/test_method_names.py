"""Methods by the names that users of synthpop know, and by what a column can have."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest

from caveat.errors import CaveatWarning
from caveat.synthesis import Synthesizer, make_plan
from caveat.synthesis.methods import METHODS
from caveat.synthesis.plan import SYNTHPOP, our_method
from caveat.table import Kind, Table

ANSWERS = ["no", "yes", "yes", None] * 30
TABLE = Table.from_frame(
    {"x": ["a", "b", "c"] * 40, "yes": ["no", "yes"] * 60, "blank": ANSWERS, "n": [*range(120)]}
)


def test_every_name_leads_to_a_method_of_ours():
    assert {ours for ours in SYNTHPOP.values() if ours} <= set(METHODS)
    assert not set(SYNTHPOP) & set(METHODS)


@pytest.mark.parametrize(
    ("theirs", "column", "ours"),
    [
        ("norm", "n", "normal"),
        ("polyreg", "x", "multinomial"),
        ("ranger", "x", "forest"),
        ("parametric", "n", "normrank"),
        ("parametric", "x", "multinomial"),
        ("parametric", "yes", "logistic"),
        ("parametric", "blank", "multinomial"),
        ("logistic", "blank", "multinomial"),
        ("logistic", "yes", "logistic"),
        ("guarded", "x", "guarded"),
    ],
)
def test_the_method_of_a_column(theirs: str, column: str, ours: str):
    assert our_method(theirs, TABLE[column], column, []) == ours


def test_ordered_levels_get_a_model_of_their_order():
    ordered = replace(TABLE["x"], kind=Kind.ORDERED)
    assert our_method("parametric", ordered, "x", []) == "ordinal"


def test_a_plan_says_once_what_it_made_of_a_name():
    plan = make_plan(TABLE.select(["yes", "x"]), {"method": "ctree"})
    assert plan.remarks.count("synthpop's method ctree is cart here") == 1
    assert {entry.settings.method for entry in plan.columns.values()} == {"cart"}


def test_yes_no_and_blank_is_drawn_with_its_blanks():
    single = {"blank": {"method": "logreg"}}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", CaveatWarning)
        model = Synthesizer(seed=1, columns=single).fit(TABLE.select(["x", "blank"]))
    assert any("blank is yes, no or missing" in str(w.message) for w in caught)
    drawn = model.tables(rows=2000)[0]["blank"]
    # A quarter is blank in each level of x: four standard errors of 2,000 draws.
    assert abs(drawn.is_missing.mean() - 0.25) < 4 * (0.25 * 0.75 / 2000) ** 0.5
