"""Where tables are: sheets, tables of databases, addresses without their passwords."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.table.source import (
    file_of,
    has_password,
    hide_password,
    name_of,
    seen_in,
    shown,
    source_of,
    without_password,
)


@pytest.mark.parametrize(
    ("text", "sort", "place", "part"),
    [
        ("a/b.xlsx", "excel", "a/b.xlsx", ""),
        ("a/b.XLSX#Blatt 1", "excel", "a/b.XLSX", "Blatt 1"),
        ("b.db#t", "sqlite", "b.db", "t"),
        ("b.sqlite3#main.t", "sqlite", "b.sqlite3", "main.t"),
        ("b.duckdb#select 1 / 2 as x", "duckdb", "b.duckdb", "select 1 / 2 as x"),
        ("postgresql://host/db#s.t", "postgresql", "postgresql://host/db", "s.t"),
        ("postgres:///db", "postgresql", "postgresql:///db", ""),
        (
            "postgresql://ann@host:5432/db?sslmode=require#t",
            "postgresql",
            "postgresql://ann@host:5432/db?sslmode=require",
            "t",
        ),
        (
            "postgresql:///db?host=/var/run#t",
            "postgresql",
            "postgresql:///db?host=/var/run",
            "t",
        ),
    ],
)
def test_a_place_is_the_same_as_text_and_as_path(
    text: str, sort: str, place: str, part: str
) -> None:
    for path in (text, Path(text)):
        found = source_of(path)
        assert found is not None
        assert (found.sort, found.place, found.part) == (sort, place, part)


@pytest.mark.parametrize("text", ["a.csv", "a.csv#b", "survey.parquet", "my.db.csv", ".xlsx"])
def test_ordinary_files_are_no_place_for_several_tables(text: str) -> None:
    assert source_of(text) is None
    assert file_of(text) == Path(text)


def test_a_part_may_be_a_query() -> None:
    def is_query(text: str) -> bool:
        found = source_of(text)
        assert found is not None
        return found.is_query

    assert is_query("a.db#select * from t")
    assert is_query("a.db#WITH x AS (select 1) select * from x")
    assert not is_query("a.db#selected")
    assert not is_query("a.xlsx#select all")  # a sheet may be called so


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://ann:s%23cret@host/db#t", "postgresql://ann@host/db#t"),
        ("postgresql://host/db?user=ann&password=s%23cret#t", "postgresql://host/db?user=ann#t"),
        ("postgresql://ann@host/db?password=s%23cret", "postgresql://ann@host/db"),
        ("  postgresql://ann:s%23cret@host/db#t", "postgresql://ann@host/db#t"),
    ],
)
def test_a_password_is_remembered_and_not_shown(given: str, kept: str) -> None:
    assert hide_password(given) == kept
    assert shown(given) == kept
    assert "cret" not in str(without_password(given))
    assert "cret" not in repr(source_of(given))
    again = source_of(Path(kept))
    assert again is not None
    assert again.address.endswith("password=s%23cret")


def test_other_text_has_no_password() -> None:
    assert hide_password("people:secret@home.csv") == "people:secret@home.csv"


def test_a_specification_names_places_from_its_folder() -> None:
    assert seen_in(Path("x"), "a.xlsx#b") == Path("x/a.xlsx#b")
    assert seen_in(Path("x"), "postgresql://h/d#t") == Path("postgresql://h/d#t")
    assert file_of("x/a.xlsx#b") == Path("x/a.xlsx")
    assert name_of("x/a.xlsx") == "a"
    assert name_of('a.duckdb#"b.c"') == "c"
    assert name_of("a.duckdb#select 1 as x") == "a"


def test_a_password_may_hold_an_at_sign_and_an_option_be_one() -> None:
    assert hide_password("postgresql://ann:se@cret@host/db") == "postgresql://ann@host/db"
    found = source_of("postgresql://ann@host/db")
    assert found is not None
    assert found.address == "postgresql://ann@host/db?password=se%40cret"
    given = "postgresql://bob@host/db?sslpassword=secret&sslmode=require#t"
    assert hide_password(given) == "postgresql://bob@host/db?sslmode=require#t"
    found = source_of(given)
    assert found is not None
    assert found.address == "postgresql://bob@host/db?sslmode=require&sslpassword=secret"


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://keeper:se/cret@host/db",
        "postgresql://keeper:12/cret@host/db",
        "postgresql://keeper:sec#ret@host/db",
        "postgresql://keeper:12#cret@host/db",
        "postgresql://keeper:12/a#cret@host/db",
        "postgresql://keeper:se?cret@host/db",
        "postgresql://keeper:se@a?b=cret@host/db",
        "postgresql+psycopg://keeper:secret@host/db",
        "mysql://keeper:secret@host/db",
        "  mysql://keeper:secret@host/db",
        "https://host/a.csv?password=secret",
        "host=localhost user=keeper password=secret",
        "password = secret host=localhost",
    ],
)
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(text: str) -> None:
    assert has_password(text)
    for use in (hide_password, source_of, file_of, shown, name_of, without_password):
        with refused("database.address.malformed", where="the address") as caught:
            use(text)
        assert not any(part in str(caught.value) for part in ("keeper", "secret", "cret", "mysql"))


@pytest.mark.parametrize(
    "text",
    [
        "C:/data/a@b.csv",
        "data/a:b@c.csv",
        "https://host/a.csv",
        "postgresql://[::1]:5432/db#t",
        "postgresql://a:1,b:2/db#t",
        'postgresql://ann@host/db#"a@b"',
        "postgresql://ann@host/db#select '@' as x",
        "postgresql://host/db?user=ann@corp#t",
        "age=3",
        "a.db#select password = 1 as x, user = 2 as y from t",
    ],
)
def test_what_holds_no_password_stays_as_it_is(text: str) -> None:
    assert hide_password(text) == text
    assert not has_password(text)
