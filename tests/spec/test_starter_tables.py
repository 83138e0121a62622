"""The starter specification of several tables: what the look found, and nothing of the data."""

from __future__ import annotations

import tomllib

import pandas as pd

from caveat.datasets import patients
from caveat.findings import look
from caveat.findings.links import Links, find_links
from caveat.spec.starter_tables import starter_of_tables
from caveat.table import Table


def test_keys_links_orders_and_columns() -> None:
    tables = patients(number=150)
    frame = tables["visits"].to_frame()
    frame["pressure"] = frame["pressure"].fillna(-8)
    tables["visits"] = Table.from_frame(frame)
    profiles = {name: look(table) for name, table in tables.items()}
    files = {"patients": "patients.csv", "visits": "data/visits.csv"}
    text = starter_of_tables(profiles, files, find_links(tables), {"decimal": ","})
    assert tomllib.loads(text) == {
        "data": {"decimal": ","},
        "tables": {
            "patients": {"file": "patients.csv", "key": "patient"},
            "visits": {
                "file": "data/visits.csv",
                "key": "visit",
                "links": {"patient": "patients"},
                "order": "date",
                "columns": {"pressure": {"missing": [-8]}},
            },
        },
        "synthesis": {"method": "guarded"},
    }


def test_a_table_that_nothing_binds_has_a_line_for_it() -> None:
    table = Table.from_frame(pd.DataFrame({"a b": [1, 2] * 20, "c": [3, 4] * 20}))
    profiles = {"one table": look(table), "other": look(table)}
    text = starter_of_tables(profiles, {"one table": "1.csv", "other": "2.csv"}, Links())
    assert '[tables."one table"]' in text
    assert text.count("# Nothing was found that binds it to the others: links = { column") == 2
    assert set(tomllib.loads(text)["tables"]) == {"one table", "other"}
