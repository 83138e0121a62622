"""Measures of risk about groups: a row per household, and every number says so."""

from __future__ import annotations

from caveat.risk import Scenario, audit, audit_pairs
from caveat.table import Table, align
from caveat.table.grouping import group_pairs, group_tables

PEOPLE = Table.from_frame(
    {
        "home": ["b", "a", "b", "c", "b", "d"],
        "region": list("SNSNSN"),
        "sex": list("fmfmmm"),
        "ill": list("nynnny"),
    }
)
KEYS = ("number of members", "number of sex f")


def test_a_household_is_unique_where_its_members_are_not() -> None:
    """Rows: (f, S) twice, (m, N) three times, (m, S) once. Households: sizes 3, 1, 1, 1."""
    rows = audit(PEOPLE, PEOPLE, keys=["sex", "region"], targets=["ill"], measures=["repU"])
    assert rows["repU"].value == 1 / 6
    assert rows["repU"].per == ""
    assert "per" not in rows["repU"].to_dict()
    ours, theirs = group_tables([PEOPLE, PEOPLE], "home", ["region"], ["sex"])
    scenario = Scenario(KEYS, "region", unit="household")
    found = audit(ours, theirs, scenario, measures=["repU", "DiSCO"])
    assert (found["repU"].value, found["repU"].n) == (1 / 4, 4)
    assert found["DiSCO", "region"].value == 1
    assert found["DiSCO", "region"].per == "household"
    assert found["repU"].to_dict()["per"] == "household"


def test_pairs_of_tables_become_pairs_of_groups() -> None:
    """Fresh keys on one side, a control on the other."""
    fresh = PEOPLE.with_columns({"home": Table.from_frame({"k": [9, 8, 9, 7, 9, 5]})["k"]})
    pair = align(PEOPLE, fresh, PEOPLE.take([1, 3, 5]))
    (found,) = group_pairs([pair], "home", ["region"], ["sex"])
    assert found.control is not None
    assert (found.original.n_rows, found.synthetic.n_rows, found.control.n_rows) == (4, 4, 3)
    result = audit_pairs(
        [found], keys=KEYS, targets=["region"], measures=["repU", "DiSCO"], unit="household"
    )
    assert result["repU"].value == 1 / 4
    assert result["DiSCO", "region"].control == 1
    assert result["DiSCO", "region"].control_n == 3


def test_a_scenario_says_its_unit_only_if_it_is_no_row() -> None:
    assert repr(Scenario(("sex",), unit="household")) == "Scenario(sex; per household)"
    assert Scenario(("sex",), unit="household").to_dict()["unit"] == "household"
    assert "unit" not in Scenario(("sex",)).to_dict()
