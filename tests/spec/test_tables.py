"""The sections about groups and linked tables: what is read, and each mistake with its line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

from caveat.datasets import patients
from caveat.errors import CaveatError
from caveat.spec.data_entries import read_groups, read_linked, read_tables
from caveat.spec.document import Document
from caveat.spec.entries import json_schema
from caveat.table import Table, write
from caveat.table.grouping import Groups
from caveat.table.linked import Link, Linked

GOOD = """\
[columns.pressure]
label = "systolic"

[tables.patients]
file = "patients.csv"
key = "patient"

[tables.visits]
file = "visits.csv"
key = "visit"
links = { patient = "patients" }
order = "date"
[tables.visits.columns.diagnosis]
kind = "category"

[[scenario]]
name = "a neighbour"
keys = ["sex", "born"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, table in patients(number=120).items():
        write(table, tmp_path / f"{name}.csv")
    return tmp_path


def linked(folder: Path, text: str = GOOD) -> Linked:
    path = folder / "release.toml"
    path.write_text(text)
    document = Document.read(path)
    document.check()
    return read_linked(document, read_tables(document), {})


def message(folder: Path, text: str = GOOD) -> str:
    with pytest.raises(CaveatError) as caught:
        linked(folder, text)
    return str(caught.value)


def test_the_tables_are_read_and_linked(folder: Path) -> None:
    found = linked(folder)
    assert found.sequence == ("patients", "visits")
    assert found.keys == {"patients": "patient", "visits": "visit"}
    assert found.links == (Link("visits", "patient", "patients"),)
    assert found.order == {"visits": "date"}
    assert found.tables["visits"]["pressure"].label == "systolic"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('file = "visits.csv"', 'file = "no.csv"',
         "line 9: tables.visits.file: no.csv: there is no such file; check the name."),
        ('file = "visits.csv"', 'file = "patients.csv"',
         "line 9: tables.visits.file: two files are called so; rename one."),
        ('file = "visits.csv"\n', "", "line 8: tables.visits.file is missing; it must be a text "
         "that is not empty."),
        ('key = "visit"', 'key = "visits"', "line 10: tables.visits.key: the file has no column "
         "'visits'; perhaps visit (allowed: visit, patient, date, diagnosis, pressure)."),
        ('key = "visit"', 'key = "date"', "line 10: tables.visits.key, column date: 33 keys stand "
         "in more than one row; name a column that numbers the rows."),
        ("{ patient", "{ person", "line 11: tables.visits.links: the file has no column 'person'"),
        ('"patients" }', '"people" }', "line 11: tables.visits.links: there is no table 'people'; "
         "use patients, visits."),
        ('order = "date"', 'order = "-day"', "line 12: tables.visits.order: the file has no "
         "column 'day'"),
        ("diagnosis]", "diagnose]", "line 13: tables.visits.columns: the file has no column "
         "'diagnose'; perhaps diagnosis"),
        ("[columns.pressure]", "[columns.presure]", "line 1: columns.presure: no file has such a "
         "column; perhaps pressure"),
        ("[[scenario]]", '[data]\npath = "x.csv"\n[[scenario]]', "line 17: data.path names one "
         "file, and [tables] several; remove one of the two."),
        ('key = "patient"\n', 'key = "patient"\nlookups = true\n', "line 7: there is no key "
         "'lookups' in [tables.patients]; perhaps lookup"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_with_its_line(folder: Path, old: str, new: str, expected: str) -> None:
    assert GOOD.count(old) == 1
    found = message(folder, GOOD.replace(old, new))
    assert "\n" not in found
    assert expected in found


def test_children_without_a_parent_are_counted_and_none_is_named(folder: Path) -> None:
    visits = patients(number=120)["visits"].to_frame()
    visits.loc[:2, "patient"] = "Q999999"
    write(Table.from_frame(visits), folder / "visits.csv", force=True)
    found = message(folder)
    assert "3 rows of visits have no parent in patients" in found
    assert found.startswith("release.toml, line 11: tables.visits.links.patient: ")
    assert "Q999999" not in found


def test_keys_that_are_empty_or_twice(folder: Path) -> None:
    people = patients(number=120)["patients"].to_frame()
    people.loc[4, "patient"] = None
    write(Table.from_frame(people), folder / "patients.csv", force=True)
    assert "1 rows have no key" in message(folder)
    people.loc[4, "patient"] = people.loc[5, "patient"]
    write(Table.from_frame(people), folder / "patients.csv", force=True)
    assert "1 keys stand in more than one row" in message(folder)


def test_tables_that_are_parents_of_each_other(folder: Path) -> None:
    rows = pd.DataFrame({"a": np.arange(20), "b": np.arange(20)})
    write(Table.from_frame(rows), folder / "a.csv")
    write(Table.from_frame(rows), folder / "b.csv")
    text = (
        '[tables.a]\nfile = "a.csv"\nkey = "a"\nlinks = { b = "b" }\n'
        '[tables.b]\nfile = "b.csv"\nkey = "b"\nlinks = { a = "a" }\n'
        '[[scenario]]\nname = "x"\nkeys = ["a"]\n'
    )
    assert "a and b are parents of each other" in message(folder, text)


def test_the_schema_of_editors_allows_tables_instead_of_a_file() -> None:
    check = jsonschema.Draft202012Validator(json_schema())
    assert not list(check.iter_errors(tomllib.loads(GOOD)))
    assert not list(check.iter_errors(tomllib.loads('[data]\ndecimal = ","\n' + GOOD)))
    scenario = GOOD[GOOD.index("[[scenario]]") :]
    for wrong in (scenario, f"[data]\n{scenario}", GOOD.replace('file = "visits.csv"\n', "")):
        assert list(check.iter_errors(tomllib.loads(wrong)))


def groups(folder: Path, text: str) -> Groups | None:
    path = folder / "release.toml"
    path.write_text(text)
    document = Document.read(path)
    document.check(("groups", "tables"))
    return read_groups(document)


def test_groups_are_read(folder: Path) -> None:
    assert groups(folder, "") is None
    assert groups(folder, '[groups]\nkey = "hh"\n') == Groups("hh")
    text = '[groups]\nkey = "hh"\nconstant = ["region"]\norder = "-age"\nrole = "role"\n'
    assert groups(folder, text) == Groups("hh", ("region",), "-age", "role")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[groups]\n", "release.toml, line 1: groups.key is missing; it must be a text"),
        ('[groups]\nkey = ["hh"]\n', "line 2: groups.key must be a text that is not empty."),
        ('[groups]\nkey = "hh"\nconstants = []\n', "line 3: there is no key 'constants' in "),
        ('[groups]\nkey = "hh"\nconstant = "x"\n', "line 3: groups.constant must be a list of "),
        ('[groups]\nkey = "hh"\n[tables.a]\nfile = "a.csv"\n', "line 1: [groups] is about one "),
    ],
)
def test_mistakes_in_groups(folder: Path, text: str, expected: str) -> None:
    with pytest.raises(CaveatError) as caught:
        groups(folder, text)
    assert expected in str(caught.value)
