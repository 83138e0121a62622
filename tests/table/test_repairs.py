"""What the reader of text repairs: only what is proven, never silently, the same by every door."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatWarning
from caveat.findings import look
from caveat.release.opening import opened
from caveat.table import Kind, Schema, Table, read, write
from caveat.table._scan import distinct, encoding_in
from caveat.table.files import form_of, read_into

WORDS = (
    "k.A.;k. A.;keine Angabe;nicht erhoben;n/a;NA;-;.;missing;Missing;?;Not_Applicable;sans objet"
)


def table_of(folder: Path, content: str | bytes, **how: str) -> Table:
    path = folder / "x.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_into(None, path, **how)


def codes_of(table: Table) -> list[str]:
    return [note.code for note in table.notes]


@pytest.mark.parametrize("word", WORDS.split(";"))
@pytest.mark.parametrize("numbers", [("12", "999", "-8"), ("1.5", "2.25", "7")])
def test_words_for_missing_among_numbers_are_missing(tmp_path, word, numbers) -> None:
    cells = [numbers[0], word, numbers[1], "", numbers[2]]
    table = table_of(tmp_path, "v;w\n" + "\n".join(f"{cell};x" for cell in cells) + "\n")
    column = table["v"]
    assert column.kind is (Kind.INTEGER if numbers[0] == "12" else Kind.NUMERIC)
    assert sorted(column.levels.tolist()) == sorted(map(float, numbers))
    assert {m.code for m in column.missing} == {None, word}
    words = {"NA", "."}  # always were, and need no note
    assert codes_of(table) == ([] if word in words else ["words-as-missing"])
    write(table, tmp_path / "again.csv")
    assert read_into(None, tmp_path / "again.csv") == table


@pytest.mark.parametrize(
    "cells",
    [
        ("01067", "k.A.", "10115"),  # post codes
        ("1", "k.A.", "1"),  # one number is a mark
        ("north", "k.A.", "south"),
        ("5", "nil", "7"),  # none, or not known?
        ("5", "n.d.", "7"),  # not detected, or not done?
        ("5", "many", "7"),
        ("+48", "-", "+49"),
    ],
)
def test_what_may_be_levels_is_left_alone(tmp_path, cells) -> None:
    table = table_of(tmp_path, "v;w\n" + "\n".join(f"{cell};x" for cell in cells) + "\n")
    assert table["v"].kind in (Kind.CATEGORY, Kind.TEXT)
    assert not table["v"].missing
    assert table.notes == ()
    write(table, tmp_path / "again.csv")
    assert read_into(None, tmp_path / "again.csv")["v"].values.tolist() == list(cells)


def test_a_declared_kind_comes_before_a_repair(tmp_path) -> None:
    schema = Schema.from_mapping({"v": {"kind": "category"}})
    table = table_of(tmp_path, "v,w\n1,x\nk.A.,x\n2,x\n", schema=schema)
    assert table["v"].levels.tolist() == ["1", "2", "k.A."]
    write(table, tmp_path / "again.csv")
    assert read_into(None, tmp_path / "again.csv")["v"].levels.tolist() == ["1", "2", "k.A."]
    labelled = Schema.from_mapping({"v": {"missing": {"k.A.": "refused"}, "kind": "integer"}})
    found = read_into(None, tmp_path / "x.csv", schema=labelled)["v"]
    assert [(m.code, m.label) for m in found.missing] == [("k.A.", "refused")]


@pytest.mark.parametrize("date", ["2024-02-29", "29.02.2024"])
def test_words_for_missing_among_dates_are_missing(tmp_path, date) -> None:
    table = table_of(tmp_path, f"d;w\n{date};1\nkeine Angabe;2\n{date.replace('29', '28')};3\n")
    assert table["d"].kind is Kind.DATE
    assert [m.code for m in table["d"].missing] == ["keine Angabe"]
    assert "words-as-missing" in codes_of(table)


def test_formats_without_words_take_them_as_empty(tmp_path) -> None:
    table = table_of(tmp_path, "v,w\n1,1\nk.A.,2\n2,3\n")
    write(table, tmp_path / "x.sav")
    assert read_into(None, tmp_path / "x.sav")["v"].missing[0].code is None


@pytest.mark.parametrize(
    ("columns", "kinds"),
    [
        (("1,5 2,5 3,1", "0,31 1,25 7,75"), ("numeric", "numeric")),
        (("1,5 2,5 3,1", "0,31 1,25 k.A."), ("numeric", "numeric")),
        (("1,5 k.A. 3,1", "0,31 1,25 7,75"), ("numeric", "numeric")),
        (("1,234 2,5 3,1", "0,31 1,25 7,75"), ("numeric", "numeric")),
        (("1,5 2,5 3,1", "x y z"), ("category", "category")),  # two answers to one question?
        (("1,5 2,5 3,1", "0,31 1,25 7,75", "1.5 2.75 3.1"), ("category", "numeric", "numeric")),
        (("1,5 2,5 A1", "0,31 1,25 7,75"), ("category", "numeric")),
    ],
)
def test_a_decimal_comma_that_another_column_proves(tmp_path, columns, kinds) -> None:
    rows = zip(*(column.split() for column in columns), strict=True)
    names = ";".join("abc"[: len(columns)])
    table = table_of(tmp_path, f"{names}\n" + "".join(f"{';'.join(row)}\n" for row in rows))
    assert tuple(str(table[name].kind) for name in table) == kinds
    assert ("local-numbers" in codes_of(table)) == ("numeric" in kinds[:2])
    alone = read_into(None, tmp_path / "x.csv", columns=["a"])
    assert str(alone["a"].kind) == kinds[0]


def test_an_unproven_decimal_comma_is_a_finding_that_names_the_option(tmp_path) -> None:
    cells = "".join(f"{i},{i % 3};x\n" for i in range(1, 40))
    table_of(tmp_path, f"v;w\n{cells}")
    (found,) = (f for f in look(tmp_path / "x.csv").findings if f.code == "number-as-text")
    assert "--decimal ," in found.action


ENCODED = [
    ("Größe Übermaß", "cp1252", "cp1252"),
    ("Ærø smørrebrød på Ålborg", "cp1252", "cp1252"),
    ("São João, ações", "cp1252", "cp1252"),
    ("à Noël, créées: 20 €", "cp1252", "cp1252"),
    ("¿Qué? Año 2º", "latin-1", "cp1252"),
    ("Þórður Sæmundsson", "cp1252", "cp1252"),
    ("Größe", "utf-8", "utf-8"),
    ("Größe", "utf-8-sig", "utf-8"),
    ("Größe", "utf-16", "utf-16"),
    ("Größe", "utf-32", "utf-32"),
]
AMBIGUOUS = [
    ("Wałęsa", "cp1250"), ("Řehoř Dvořák Němec", "cp1250"), ("Győr", "cp1250"),
    ("Москва", "cp1251"), ("Αθήνα", "cp1253"), ("İstanbul güneş", "cp1254"),
    ("Größe", "mac_roman"), ("Größe", "cp850"), ("Größe", "utf-16-le"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "codec", "found"), ENCODED)
def test_an_encoding_that_only_one_can_be(tmp_path, text, codec, found) -> None:
    content = f"name;x\n{text};1\n".encode(codec)
    assert encoding_in(content) == found
    table = table_of(tmp_path, content)
    assert table["name"].values.tolist() == [text]
    assert codes_of(table) == ([] if found == "utf-8" else ["encoding-found"])
    assert form_of(tmp_path / "x.csv").encoding == found


@pytest.mark.parametrize(("text", "codec"), AMBIGUOUS)
def test_an_encoding_that_several_can_be_is_one_sentence(tmp_path, text, codec) -> None:
    with refused("data.encoding.mismatch"):
        table_of(tmp_path, f"name;x\n{text};1\n".encode(codec))
    table = table_of(tmp_path, f"name;x\n{text};1\n".encode(codec), encoding=codec)
    assert table["name"].values.tolist() == [text]
    assert table.notes == ()


def test_a_named_encoding_is_not_overruled(tmp_path) -> None:
    with refused("data.encoding.mismatch"):
        table_of(tmp_path, "größe\n1\n".encode("cp1252"), encoding="utf-8")


def test_columns_of_one_name_are_renamed_all_at_once(tmp_path) -> None:
    table = table_of(tmp_path, "x,y,x,x_2,y,x\n1,2,3,4,5,6\n")
    assert table.names == ("x", "y", "x_3", "x_2", "y_2", "x_4")
    assert [int(table[name].values[0]) for name in table] == [1, 2, 3, 4, 5, 6]
    assert codes_of(table) == ["columns-renamed"]
    assert all(name in table.notes[0] for name in ("x_3", "y_2", "x_4"))
    with refused("data.name.absent"):
        table_of(tmp_path, "x,,\n1,2,3\n")


def test_names_stay_distinct() -> None:
    names = distinct(["a", "a", "a_2", "a_2", "b", "a_3", "a"])
    assert len(set(names)) == len(names)
    assert [names[i] for i in (0, 2, 4, 5)] == ["a", "a_2", "b", "a_3"]


MESSY = "größe;wert;wert;art\n1,5;12;k.A.;a\n0,25;-;3;b\n1,2;14;4;a\n".encode("cp1252")
CODES = {"encoding-found", "columns-renamed", "words-as-missing", "local-numbers"}


def test_every_door_repairs_alike_and_says_so(tmp_path) -> None:
    table = table_of(tmp_path, MESSY)
    assert set(codes_of(table)) == CODES
    with pytest.warns(CaveatWarning) as warned:
        assert read(tmp_path / "x.csv") == table
    told = {str(note) for note in table.notes if note.code != "local-numbers"}
    assert {str(w.message).removeprefix("x.csv: ") for w in warned} == told
    shown = CODES - {"local-numbers"} | {"local-form"}
    result = CliRunner().invoke(app, ["look", str(tmp_path / "x.csv"), "--json", "-"])
    found = json.loads(result.output)
    assert shown <= {finding["code"] for finding in found["findings"]}
    assert [column["name"] for column in found["columns"]] == list(table)
    told = opened(tmp_path, ["x.csv"], lambda *_: None)  # what the app does with an upload
    (page,) = told["tables"].values()
    assert shown <= {finding["code"] for finding in page["findings"]}
    assert [c["kind"] for c in page["columns"]] == [str(c.kind) for c in table.columns.values()]
