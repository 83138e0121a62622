"""What the evidence holds of groups: the numbers of the measures, column by column."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.sample import small

from caveat import Release
from caveat.evidence import check
from caveat.release.collect import Signs
from caveat.release.collect_audit import collect_audit
from caveat.release.collect_utility import collect_structure, collect_utility
from caveat.release.material import Material, hold_out
from caveat.table import Table
from caveat.table.grouping import Groups
from caveat.table.linked import members_of
from caveat.utility import WeightedPair

OURS = {
    "home": [1, 1, 2, 2, 3],
    "region": list("NNSSN"),
    "size": [2, 2, 2, 2, 1],
    "age": [40, 41, 30, 28, 7],
}
THEIRS = {
    "home": [1, 1, 1, 2, 3],
    "region": list("NSSSN"),
    "size": [2, 2, 1, 2, 1],
    "age": [40, 41, 30, 28, 7],
}


def test_structure_by_hand() -> None:
    found = collect_structure(WeightedPair.of(OURS, THEIRS, groups="home"))
    assert found["key"] == "home"
    assert (found["original"], found["synthetic"]) == (3, 3)
    third = pytest.approx(1 / 3)
    assert found["sizes"] == [
        {"members": 1, "original": third, "synthetic": pytest.approx(2 / 3)},
        {"members": 2, "original": pytest.approx(2 / 3), "synthetic": 0},
        {"members": 3, "original": 0, "synthetic": third},
    ]
    assert found["size_column"] == {"name": "size", "right": 0.2}
    assert found["one_value"] == [{"name": "region", "share": 0}, {"name": "size", "share": 0}]
    assert [c["name"] for c in found["compositions"]] == ["age"]
    assert [c["name"] for c in found["within"]] == ["age"]
    content = small()
    content["utility"]["structure"] = found
    check(content)


def test_large_groups_are_counted_together() -> None:
    whole = {"home": [1] * 40 + [2], "age": list(range(41))}
    sizes = collect_structure(WeightedPair.of(whole, whole, groups="home"))["sizes"]
    assert [s["members"] for s in sizes] == [1, 12]


def test_a_run_with_fresh_keys(specification) -> None:
    """The release has other keys: nothing is in doubt, and no variable is called home."""
    spec = Release.from_toml(specification(
        ('measures = ["S_pMSE two-way", "total variation"]', 'measures = ["total variation"]')
    )).spec  # fmt: skip
    table = spec.read_data()
    home = np.sort(np.random.default_rng(3).integers(0, 150, table.n_rows))
    table = table.with_columns(Table.from_frame({"home": home}).columns)
    rows, fitted, control = hold_out(table, 100, 1, "home")
    members = members_of(fitted, "home")
    again, drawn = members.take(np.random.default_rng(4).integers(0, members.n_groups, 120))
    fresh = Table.from_frame({"home": drawn.group + 5000}).columns
    release = fitted.take(again).with_columns(fresh)
    material = Material(
        table, rows, fitted, control, (release,), seed=1, groups=Groups("home", constant=())
    )
    assert "home" not in material.columns()
    assert "home" not in material.pairs[0].original
    found = collect_utility(material, spec, lambda share: None)
    assert found["structure"]["synthetic"] == 120
    assert {v["name"] for v in found["variables"]}.isdisjoint({"home"})
    (result,) = (m for m in found["measurements"] if m["measure"] == "total variation")
    assert not [note for note in result["notes"] if "home" in note["text"]]
    assert result["control"] is not None
    plain = Material(table, rows, fitted, control, (release,), seed=1)
    assert "structure" not in collect_utility(plain, spec, lambda share: None)


def test_an_audit_of_households(specification) -> None:
    """One row per household: numbers are about households, records are all of their members."""
    spec = Release.from_toml(specification()).spec
    table = Table.from_frame({
        "home": [1, 1, 1, 2, 3, 4, 4], "region": list("NNNSSNN"), "sex": list("fmffmff"),
    })  # fmt: skip
    release = table.with_columns(Table.from_frame({"home": [7, 7, 7, 5, 6, 9, 9]}).columns)
    material = Material(
        table, np.arange(7), table, None, (release,), seed=1, groups=Groups("home", ("region",))
    )
    scenario = replace(
        spec.scenarios[0],
        keys=("number of members", "number of sex f"),
        targets=("region",),
        circumstances={},
        limits=(),
        measures=("repU", "DiSCO"),
        unit="household",
    )
    found = collect_audit(material, scenario, Signs(material, ()), lambda share: None)
    by_name = {m["measure"]: m for m in found.measurements}
    assert (by_name["repU"]["value"], by_name["repU"]["n"]) == (1, 4)
    assert by_name["DiSCO"]["per"] == "household"
    assert sorted({one.record for one in found.at_risk}) == list(range(7))
    assert found.circumstances["unit"] == "household"
    rows = collect_audit(
        material, replace(scenario, keys=("sex",), unit=""), Signs(material, ("sex",)), print
    )
    assert all("per" not in m for m in rows.measurements)
    assert {m["target"] for m in rows.measurements} == {None, "region"}
