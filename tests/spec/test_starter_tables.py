"""The starter specification of several tables: what the look found, and nothing of the data."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
from tests.app.files import homes

from caveat.datasets import patients
from caveat.findings import look
from caveat.findings.keys import Links, find_links
from caveat.spec.starter import released_of_tables, starter_of_tables
from caveat.table import Table, read


def test_keys_links_orders_and_columns() -> None:
    tables = patients(number=150)
    frame = tables["visits"].to_frame()
    frame["pressure"] = frame["pressure"].fillna(-8)
    tables["visits"] = Table.from_frame(frame)
    profiles = {name: look(table) for name, table in tables.items()}
    files = {"patients": "patients.csv", "visits": "data/visits.csv"}
    text = starter_of_tables(profiles, files, find_links(tables), {"decimal": ","})
    content = tomllib.loads(text)
    assert content.pop("release")["access"] == "secure"
    few, everybody = content.pop("scenario")
    assert few["keys"] == ["sex", "born", "region"]
    assert everybody["attacker"] == "strong"
    assert content.pop("output") == {"folder": "release", "reports": ["internal", "external"]}
    assert content.pop("utility") == {}
    assert content == {
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


def test_weights_of_whole_groups_and_what_names_people(tmp_path) -> None:
    homes(tmp_path, 150)
    tables = {name: read(tmp_path / f"{name}.csv") for name in ("households", "persons")}
    profiles = {name: look(table) for name, table in tables.items()}
    links = find_links(tables)
    text = starter_of_tables(profiles, {name: f"{name}.csv" for name in tables}, links)
    synthesis = tomllib.loads(text)["synthesis"]
    assert (synthesis["drop"], synthesis["weights"]) == (["weight"], "weight")
    assert tomllib.loads(text)["scenario"][0]["keys"] == ["sex", "age", "region"]
    assert released_of_tables(profiles, links) == {
        "households": ["region", "tenure", "hhsize", "hhincome"],
        "persons": ["role", "age", "sex", "marital", "education", "income"],
    }
    # The weights of persons are those of no group: they only do not leave.
    frame = tables["persons"].to_frame().assign(fnlwgt=np.arange(tables["persons"].n_rows) + 70.5)
    tables["persons"] = Table.from_frame(frame)
    tables["households"] = tables["households"].drop(["weight"])
    profiles = {name: look(table) for name, table in tables.items()}
    text = starter_of_tables(profiles, {name: f"{name}.csv" for name in tables}, links)
    synthesis = tomllib.loads(text)["synthesis"]
    assert (synthesis["drop"], synthesis.get("weights")) == (["fnlwgt"], None)


def test_keys_of_an_attacker_are_of_rows_that_belong_together() -> None:
    people = pd.DataFrame({"id": np.arange(50) + 100, "region": ["N", "S"] * 25})
    jobs = pd.DataFrame({"of": np.arange(50) + 100, "occupation": ["a", "b"] * 25})
    own = {"age": np.arange(50) % 20, "sex": ["f", "m"] * 25}
    visits = pd.DataFrame({"of": np.arange(50) + 100, **own})
    tables = {"people": people, "jobs": jobs, "visits": visits}
    profiles = {name: look(Table.from_frame(frame)) for name, frame in tables.items()}
    links = Links({"people": "id"}, {"jobs": {"of": "people"}, "visits": {"of": "people"}})
    text = starter_of_tables(profiles, {name: f"{name}.csv" for name in tables}, links)
    assert tomllib.loads(text)["scenario"][0]["keys"] == ["sex", "age", "region"]
    assert "occupation" not in text  # no row has it beside the age
