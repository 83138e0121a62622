"""The linked tables of a run: whole groups on either side, and rows with what they belong to."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from caveat.release.material import TablesMaterial, synthesise_tables
from caveat.spec.against_data import check_tables
from caveat.spec.spec import ReleaseSpec


@pytest.fixture(scope="module")
def material(tables_folder: Path) -> TablesMaterial:
    spec = ReleaseSpec.from_toml(tables_folder / "release.toml")
    linked = spec.read_linked()
    asked = check_tables(spec, linked)
    return synthesise_tables(spec, linked, asked, 1, None, lambda _: lambda _: None)


def keys(linked, table: str, column: str) -> set[str]:
    return set(linked.tables[table].to_frame("pandas")[column])


def test_whoever_is_held_out_is_so_with_all_that_belongs_to_her(material: TablesMaterial) -> None:
    ours, others = material.fitted, material.control
    assert others is not None
    assert not keys(ours, "patients", "patient") & keys(others, "patients", "patient")
    assert not keys(ours, "visits", "patient") & keys(others, "visits", "patient")
    whole = material.original.tables["visits"].n_rows
    assert ours.tables["visits"].n_rows + others.tables["visits"].n_rows == whole


def test_views_have_rows_of_their_table_and_the_columns_above(material: TablesMaterial) -> None:
    people, visits = material.views["patients"], material.views["visits"]
    assert people.groups is None
    assert visits.groups is not None
    assert visits.groups.constant == ("number of visits", "sex", "born", "region", "smoker")
    assert visits.fitted.n_rows == len(visits.rows) == material.fitted.tables["visits"].n_rows
    original = material.original.tables["visits"].to_frame("pandas")["pressure"]
    fitted = visits.fitted.to_frame("pandas")["pressure"]
    np.testing.assert_array_equal(
        original.to_numpy(float, na_value=-1)[visits.rows], fitted.to_numpy(float, na_value=-1)
    )
    assert "patient" not in visits.columns()


def test_a_control_without_rows_of_a_table_is_none(material: TablesMaterial) -> None:
    control = material.control
    assert control is not None
    none = replace(control, tables={**control.tables, "visits": control.tables["visits"].take([])})
    views = replace(material, control=none).views
    assert views["visits"].control is None
    assert views["patients"].control is not None
    empty = replace(material, releases=(none,))
    assert empty.is_empty("visits")
    assert not empty.is_empty("patients")
