"""What options say about columns and their order, wherever they say it."""

from __future__ import annotations

from tests.refusals import refused

from caveat.synthesis.options import (
    look_ups,
    one_stratum,
    parents_first,
    single_columns,
    visit_order,
)
from caveat.table import Table

TABLE = Table.from_frame({name: [1, 2] for name in "abcdw"})


def test_options_of_single_columns_are_gathered():
    options = {
        "columns": {"a": {"method": "cart", "minbucket": 3}},
        "drop": ["b"],
        "derived": {"c": "a * 2", "d": {"lookup": "a"}},
        "special": {"a": [1]},
        "predictors": {"a": ["b"]},
    }
    assert single_columns(options, TABLE) == {
        "a": {"method": "cart", "minbucket": 3, "special": [1], "predictors": ["b"]},
        "b": {"method": "drop"},
        "c": {"method": "derived", "formula": "a * 2"},
        "d": {"method": "lookup", "predictors": "a"},
    }
    assert options["columns"] == {"a": {"method": "cart", "minbucket": 3}}
    with refused("data.column.unknown", where="synthesis, columns"):
        single_columns({"drop": ["z"]}, TABLE)
    with refused("synthesis.setting.type", where="synthesis, derived, c"):
        single_columns({"derived": {"c": 3}}, TABLE)


def test_the_order_is_what_is_named_then_the_rest_the_stratum_first():
    assert visit_order(TABLE, None, "", "") == list("abcdw")
    assert visit_order(TABLE, ["c", "a"], "", "w") == ["c", "a", "b", "d"]
    assert visit_order(TABLE, ["c"], "d", "w") == ["d", "c", "a", "b"]
    with refused("synthesis.column.duplicate", where="synthesis, order"):
        visit_order(TABLE, ["c", "c"], "", "")


def test_columns_that_are_looked_up_follow_their_sources_unless_they_are_named():
    options = {"derived": {"a": {"lookup": "c"}}, "columns": {"b": {"method": "lookup"}},
               "predictors": {"b": ["a", "d"]}}  # fmt: skip
    sources = look_ups(options)
    assert sources == {"a": ("c",), "b": ("a", "d")}
    assert visit_order(TABLE, None, "", "", sources) == ["c", "a", "d", "b", "w"]
    assert visit_order(TABLE, ["a"], "", "", sources) == ["a", "c", "d", "b", "w"]
    assert visit_order(TABLE, None, "", "", {"a": ("b",), "b": ("a",)}) == list("cdwab")


def test_parents_take_the_places_of_their_block():
    assert parents_first(list("abcd"), {"d": (), "b": ("d",)}) == ["a", "d", "c", "b"]
    assert parents_first(list("abcd"), {}) == list("abcd")


def test_strata_may_stand_in_a_list_and_are_one_column():
    assert one_stratum("sex") == one_stratum(["sex"]) == one_stratum(("sex",)) == "sex"
    with refused("synthesis.strata.too-many", where="synthesis, strata"):
        one_stratum(["sex", "region"])
