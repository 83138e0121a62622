"""A real PostgreSQL: types, labels and missing values come back, and nothing is half written."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.table import ColumnSchema, Kind, Missing, Schema, Table, read, write
from caveat.table.database import tables_of, write_database
from caveat.table.drafts import check_outputs
from caveat.table.files import check_target, write_blocks
from caveat.table.frames import tables_in
from caveat.table.source import source_of, without_password

dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")

PEOPLE = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE people (
  id bigint, age smallint, rooms integer, income numeric(12,2), share numeric, height real,
  weight double precision, member boolean, born date, seen timestamp, sent timestamptz,
  town text, code varchar(5), land character(3), mood mood, key uuid, note jsonb, price money);
INSERT INTO people VALUES
  (1, 40, 3, 1767.26, 0.125, 1.5, 70.25, true, '1990-01-31', '2024-02-29 10:30:00.25',
   '2024-02-29 10:30+02', 'Köln', '01067', 'de', 'ok', '836c8f91-9f1f-4e34-8ef3-ed768223c3c7',
   '{"a": 1}', 2.5),
  (2, -8, NULL, -3.50, 2, NULL, NULL, false, '1850-12-31', NULL, NULL, '', NULL, 'at', 'happy',
   NULL, NULL, NULL),
  (NULL, NULL, 4, NULL, NULL, 2.5, 1e70, NULL, NULL, '1999-12-31', NULL, NULL, 'x''"y', NULL, NULL,
   NULL, NULL, 1);
COMMENT ON COLUMN people.income IS 'Net income, in €';
COMMENT ON COLUMN people.age IS 'Age ''at'' survey';
"""


def run(server: str, *statements: str) -> list[tuple[Any, ...]]:
    """Execute statements; return the rows of the last one."""
    with dbapi.connect(server, autocommit=True) as connection, connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
        try:
            return list(cursor.fetchall())
        except dbapi.Error:
            return []


@pytest.fixture
def people(server: str) -> str:
    """Give a server with a table."""
    run(server, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
    run(server, *(part for part in PEOPLE.split(";") if part.strip()))
    return server


def test_types_labels_and_missing_values_are_read(people: str) -> None:
    table = read(f"{people}#people")
    kinds = {name: str(table[name].kind) for name in table}
    assert kinds == {
        "id": "integer", "age": "integer", "rooms": "integer", "income": "numeric",
        "share": "numeric", "height": "numeric", "weight": "numeric", "member": "boolean",
        "born": "date", "seen": "datetime", "sent": "datetime", "town": "category",
        "code": "category", "land": "category", "mood": "category", "key": "category",
        "note": "category", "price": "numeric",
    }  # fmt: skip
    assert table["income"].values.tolist() == [1767.26, -3.5, None]
    assert table["income"].label == "Net income, in €"
    assert table["age"].label == "Age 'at' survey"
    assert table["mood"].levels.tolist() == ["sad", "ok", "happy"]
    assert table["land"].levels.tolist() == ["at", "de"]
    assert table["born"].levels.tolist() == [dt.date(1850, 12, 31), dt.date(1990, 1, 31)]
    assert table["seen"].levels.tolist()[1] == dt.datetime(2024, 2, 29, 10, 30, 0, 250000)
    assert table["sent"].levels.tolist() == [dt.datetime(2024, 2, 29, 8, 30)]
    assert table["town"].missing == (Missing(), Missing(""))
    assert table["price"].levels.tolist() == [1.0, 2.5] or table["price"].levels.tolist() == [
        1,
        2.5,
    ]
    schema = Schema({"age": ColumnSchema(missing={-8: "not asked"})})
    some = read(f"{people}#public.people", schema=schema, columns=["mood", "age"])
    assert some.names == ("mood", "age")
    assert some["age"].missing == (Missing(), Missing(-8, "not asked"))


def test_a_table_comes_back_with_its_types(people: str) -> None:
    table = read(f"{people}#people").drop(["key", "note", "price"])
    write(table, f"{people}#copy")
    again = read(f"{people}#copy")
    assert again == table
    assert {n: again[n].storage for n in again} == {n: table[n].storage for n in table}
    types = (
        "SELECT a.attname::text, format_type(a.atttypid, a.atttypmod) FROM pg_attribute a "
        "WHERE a.attrelid = '{}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum"
    )
    left_out = ("key", "note", "price")
    before = [row for row in run(people, types.format("people")) if row[0] not in left_out]
    assert run(people, types.format("copy")) == before
    gone = " UNION ALL ".join(
        f"(SELECT {', '.join(table)} FROM {a} EXCEPT SELECT {', '.join(table)} FROM {b})"
        for a, b in (("people", "copy"), ("copy", "people"))
    )
    assert run(people, gone) == []


def test_values_that_a_type_cannot_hold_get_the_usual_one(people: str) -> None:
    table = read(f"{people}#people", columns=["age", "income", "code", "mood"])
    wide = Table.from_frame(
        {"age": [70_000], "income": [1.005], "code": ["much longer"], "mood": ["furious"]}
    )
    from dataclasses import replace

    wide = wide.with_columns(
        {name: replace(wide[name], storage=table[name].storage) for name in wide}
    )
    write(wide, f"{people}#wide")
    query = "SELECT data_type FROM information_schema.columns WHERE table_name = 'wide'"
    assert [row[0] for row in run(people, query)] == ["bigint", "double precision", "text", "text"]
    assert read(f"{people}#wide")["mood"].levels.tolist() == ["furious"]


def test_what_a_file_says_of_its_cells_never_becomes_sql(people: str) -> None:
    from dataclasses import replace

    odd = Table.from_frame({'a"; DROP TABLE people; --': [1, 2]})
    name = odd.names[0]
    column = replace(odd[name], storage="sql:integer); DROP TABLE people; --", label="'; DROP --")
    enum = replace(Table.from_frame({"e": ["x", "y"]})["e"], storage='sql:enum "a"; DROP TABLE b')
    write(odd.with_columns({name: column}), f'{people}#"odd; ""table"')
    again = read(f'{people}#"odd; ""table"')
    assert again[name].values.tolist() == [1, 2]
    assert again[name].label == "'; DROP --"
    with refused("database.table.malformed", where='"a"; DROP TABLE b'):
        write(Table({"e": enum}), f"{people}#enum")
    assert run(people, "SELECT count(*) FROM people") == [(3,)]


def test_a_table_that_exists_is_kept_without_force(people: str) -> None:
    table = Table.from_frame({"x": [1, 2]})
    with refused("database.table.exists"):
        write(table, f"{people}#people")
    assert run(people, "SELECT count(*) FROM people") == [(3,)]
    write(table, f"{people}#people", force=True)
    assert run(people, "SELECT x FROM people ORDER BY x") == [(1,), (2,)]


def test_a_failing_write_leaves_the_old_table(people: str) -> None:
    source = source_of(f"{people}#people")
    assert source is not None

    def blocks() -> Iterator[Table]:
        yield Table.from_frame({"x": np.arange(100_000)})
        raise CaveatError("the disk is full", code="test.thing.failed")

    with pytest.raises(CaveatError):
        write_database(source, blocks(), force=True)
    assert run(people, "SELECT count(*) FROM people") == [(3,)]
    assert run(people, "SELECT col_description('people'::regclass, 4)") == [("Net income, in €",)]
    run(people, "CREATE VIEW seen AS SELECT * FROM people")
    with refused("database.table.refused"):
        write(Table.from_frame({"x": [1]}), f"{people}#people", force=True)
    with refused("database.schema.unknown"):
        write(Table.from_frame({"x": [1]}), f"{people}#nowhere.people")
    assert run(people, "SELECT count(*) FROM people") == [(3,)]


def test_blocks_are_one_table(people: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caveat.table.files.ROWS_IN_MEMORY", 10)
    parts = [Table.from_frame({"x": np.arange(8) + 8 * k}) for k in range(4)]
    write_blocks(parts, f"{people}#blocks")
    assert run(people, "SELECT count(*), sum(x) FROM blocks") == [(32, "496")]


def test_a_query_is_read_and_changes_nothing(people: str) -> None:
    table = read(f"{people}#select town, income * 2 as twice from people where id is not null;")
    assert table.names == ("town", "twice")
    assert sorted(table["twice"].values.tolist()) == [-7.0, 3534.52]
    for query, what in (
        ("select * from nothing", "there is no such table"),
        ("select nothing from people", "names a column that is not there"),
        ("select 1; drop table people", "not valid SQL"),
        ("select * from people) as x; drop table people; --", "not valid SQL"),
        ("select nextval('s')", "would change the database|there is no such table"),
        ("with x as (delete from people returning 1) select * from x", "would change"),
        ("select set_config('transaction_read_only', 'off', false)", "the server stopped"),
        ("select 1 as a, 2 as a", "column"),
    ):
        with pytest.raises(CaveatError, match=what):
            read(f"{people}#{query}")
    assert run(people, "SELECT count(*) FROM people") == [(3,)]


def test_an_error_of_the_server_shows_no_value(people: str) -> None:
    with pytest.raises(CaveatError) as caught:
        read(f"{people}#select town::integer as x from people")
    assert "Köln" not in str(caught.value)


def test_tables_are_listed(people: str) -> None:
    run(people, "CREATE SCHEMA other", "CREATE TABLE other.visits (day integer)")
    try:
        assert tables_of(people) == ["other.visits", "people"]
        assert [str(p).rpartition("#")[2] for p in tables_in(without_password(people))] == [
            "other.visits",
            "people",
        ]
        with refused("database.table.absent"):
            read(people)
    finally:
        run(people, "DROP SCHEMA other CASCADE")
    assert read(people).n_rows == 3
    assert read(f"{people}#select 1 as x where false").n_rows == 0


def test_no_password_in_what_is_said(server: str) -> None:
    with refused("database.server.failed") as caught:
        read("postgresql://ann:geheim@localhost:1/survey#people")
    assert "geheim" not in str(caught.value)
    assert "postgresql://ann@localhost:1/survey#people" in str(caught.value)
    with refused("database.table.absent") as caught:
        write(Table.from_frame({"x": [1]}), "postgresql://ann:geheim@localhost:1/survey")
    assert "geheim" not in str(caught.value)
    with_password = server.replace("user=keeper", "user=keeper&password=geheim")
    assert read(f"{with_password}#select 1 as x")["x"].values.tolist() == [1]
    assert read(f"{server}#select 1 as x")["x"].kind is Kind.INTEGER


def test_an_input_is_never_replaced_however_it_is_spelled(people: str) -> None:
    place, _, options = people.partition("?")
    turned = f"{place}?{'&'.join(reversed(options.split('&')))}"
    names = ("people", "public.people", '"people"', '"public"."people"')
    for read_ in names:
        for out in (f"{address}#{name}" for address in (people, turned) for name in names):
            with refused("database.table.conflict"):
                check_outputs([out], force=True, inputs=[f"{people}#{read_}"])
    run(people, "CREATE TABLE old (x int)", "CREATE VIEW seen AS SELECT * FROM people")
    check_outputs([f"{people}#old"], force=True, inputs=[f"{people}#people"])
    for read_ in ("select age from people", "seen"):
        check_outputs([f"{turned}#new"], force=True, inputs=[f"{people}#{read_}"])
        for out in ("people", "public.old"):
            with refused("database.table.conflict"):
                check_outputs([f"{turned}#{out}"], force=True, inputs=[f"{people}#{read_}"])


def test_neither_the_parts_of_an_input_nor_its_whole_are_replaced(people: str) -> None:
    run(
        people,
        "CREATE TABLE whole (x int) PARTITION BY LIST (x)",
        "CREATE TABLE part PARTITION OF whole FOR VALUES IN (1)",
    )
    for read_, out in (("whole", "part"), ("part", "whole")):
        with refused("database.table.conflict"):
            check_outputs([f"{people}#{out}"], force=True, inputs=[f"{people}#{read_}"])


def test_another_database_of_the_server_is_no_input(people: str) -> None:
    run(people, "DROP DATABASE IF EXISTS other", "CREATE DATABASE other")
    other = people.replace("/postgres?", "/other?")
    run(other, "CREATE TABLE people (x int)")
    for read_ in ("people", "select * from people"):
        check_outputs([f"{other}#people"], force=True, inputs=[f"{people}#{read_}"])


def test_what_cannot_be_replaced_is_known_before_anything_is_written(people: str) -> None:
    run(people, "CREATE VIEW seen AS SELECT * FROM people")
    run(
        people,
        "CREATE TABLE free (x int PRIMARY KEY)",
        "CREATE TABLE bound (x int REFERENCES free)",
    )
    for name in ("seen", "people", "free"):
        with refused("database.table.refused"):
            check_target(Path(f"{people}#{name}"), force=True)
    check_target(Path(f"{people}#bound"), force=True)
    run(people, "CREATE TABLE own (x int PRIMARY KEY, y int REFERENCES own, CHECK (x > y))")
    check_target(Path(f"{people}#own"), force=True)
    write(Table.from_frame({"x": [1]}), f"{people}#own", force=True)


def test_what_a_server_says_while_it_is_read_is_not_called_a_files(people: str) -> None:
    late = "select 10 / (60000 - n) as x from generate_series(1, 90000) as s(n)"
    with pytest.raises(CaveatError) as caught:
        read(f"{people}#{late}")
    assert caught.value.where == f"{people}#{late}"
    assert "the server stopped while the query was answered" in str(caught.value)
    with refused("database.query.refused"):
        read(f"{people}#with gone as (delete from people returning *) select * from gone")
    with refused("database.server.interrupted"):
        read(f"{people}#select 1 / (age - age) as x from people")


def test_long_numbers_stay_apart_or_are_refused(people: str) -> None:
    run(
        people,
        "CREATE TABLE long AS SELECT (100000000000000000 + i)::numeric(20,0) AS key, "
        "(i / 4.0)::numeric AS price, (1 / i::numeric) AS share, "
        "(12345678901234567.25 + i / 100.0)::numeric(20,2) AS lost "
        "FROM generate_series(1, 600) AS s(i)",
    )
    kept = read(f"{people}#long", columns=["key", "price", "share"])
    assert kept["key"].levels.tolist() == [10**17 + i for i in range(1, 601)]
    assert kept["price"].levels.tolist()[:3] == [0.25, 0.5, 0.75]
    assert len(kept["share"].levels) == 600
    with refused("data.value.too-long", column="lost"):
        read(f"{people}#long")
    assert read(f"{people}#select lost::text as lost from long")["lost"].n_levels == 600
    write(kept.drop(["price", "share"]), f"{people}#copy")
    assert run(people, "SELECT count(*) FROM long JOIN copy USING (key)") == [(600,)]
