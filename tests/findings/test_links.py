"""Tables that belong together are recognised by their values."""

from __future__ import annotations

import numpy as np
import pandas as pd

from caveat.datasets import patients, register
from caveat.findings.keys import find_links
from caveat.table import Table


def test_patients_and_visits() -> None:
    found = find_links(patients())
    assert found.keys == {"patients": "patient", "visits": "visit"}
    assert found.parents == {"visits": {"patient": "patients"}}
    assert found.order == {"visits": "date"}
    assert found.sentences() == [
        "visits: patient refers to patient of patients; rows are ordered by date."
    ]


def test_one_to_one_tables_hang_on_the_larger_one() -> None:
    tables = register(rows=1500)
    for given in (tables, dict(reversed(tables.items()))):
        found = find_links(given)
        assert found.parents == {"benefits": {"person": "population"}}
        assert found.keys == {"population": "person"}


def test_three_levels_and_a_list_of_codes() -> None:
    rng = np.random.default_rng(3)
    wards = pd.DataFrame({"ward": [f"W{k}" for k in range(12)], "floor": rng.integers(0, 4, 12)})
    tables = patients(number=200)
    visits = tables["visits"].to_frame()
    visits["ward"] = rng.choice(wards["ward"], len(visits))
    doses = pd.DataFrame({"visit": rng.choice(visits["visit"], 900), "mg": rng.integers(1, 9, 900)})
    found = find_links(
        {
            "doses": Table.from_frame(doses),
            "patients": tables["patients"],
            "visits": Table.from_frame(visits),
            "wards": Table.from_frame(wards),
        }
    )
    assert found.parents == {
        "doses": {"visit": "visits"},
        "visits": {"patient": "patients", "ward": "wards"},
    }


def test_tables_that_have_nothing_in_common() -> None:
    tables = patients(number=200)
    other = register(rows=1000)["population"]
    found = find_links({"visits": tables["visits"], "population": other})
    assert found.parents == {}
    assert found.sentences() == []
