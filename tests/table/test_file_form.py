"""Text that is written as another file came in."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.table import ColumnSchema, Kind, Schema, Table, read, write
from caveat.table.files import TextForm, form_of

GERMAN = (
    "ort;gehalt;quote;geburt;n\n"
    "München;1.767,26;0,31;31.01.1990;-8\nKöln;12,50;0,07;01.12.1985;\n;;;;3\n"
)


def test_a_file_comes_back_byte_by_byte(tmp_path: Path) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_bytes(GERMAN.encode("latin-1"))
    for decimal in (",", "."):
        table = read(source, decimal=decimal, encoding="latin-1")
        kinds = [str(table[name].kind) for name in table]
        assert kinds == ["category", "numeric", "numeric", "date", "integer"]
        form = form_of(source, decimal=decimal, encoding="latin-1")
        assert form == TextForm(";", decimal, "latin-1", {}, as_read=True)
        write(table, target, form=form, force=True)
        assert target.read_bytes() == source.read_bytes()
    write(table, target, force=True)
    assert target.read_text("utf-8").splitlines()[1] == "München,1767.26,0.31,1990-01-31,-8"


def test_a_declared_format_of_dates_is_kept(tmp_path: Path) -> None:
    source, target = tmp_path / "a.tsv", tmp_path / "b.tsv"
    source.write_text("d\tx\n31 Jan 1990\t1\n03 Feb 1991\t2\n")
    schema = Schema({"d": ColumnSchema(kind=Kind.DATE, date_format="%d %b %Y")})
    table = read(source, schema=schema)
    write(table, target, form=form_of(source, schema))
    assert target.read_text() == source.read_text()


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("x;t\n1,25;A\n999;999\n12,5;B\n", 999.0),
        ("x;t\n1,25;A\n999,00;999\n12,50;NA\n", 999),
        ("x;t\n1.234;A\n9.999;999\n12;B\n", 9999.0),
        ("x;t\n5;A\n999;999\n12;B\n", 999.0),
    ],
)
def test_codes_for_missing_are_written_as_they_came(
    text: str, declared: float, tmp_path: Path
) -> None:
    source, target = tmp_path / "a.csv", tmp_path / "b.csv"
    source.write_text(text)
    schema = Schema(
        {"x": ColumnSchema(missing={declared: ""}), "t": ColumnSchema(missing={"999": "?"})}
    )
    table = read(source, schema=schema, decimal=",")
    assert [table[name].is_missing.tolist()[1] for name in table] == [True, True]
    write(table, target, form=form_of(source, schema, decimal=","))
    assert target.read_text() == text


def test_text_that_looks_like_a_number_is_quoted_in_that_form(tmp_path: Path) -> None:
    form = TextForm(";", ",", as_read=True)
    texts = {"t": ["1,5", "2"], "n": [1.5, 2.0], "mixed": ["1,5", "x"]}  # the last tells by itself
    write(Table.from_frame(texts), tmp_path / "a.csv", form=form)
    assert (tmp_path / "a.csv").read_text() == 't;n;mixed\n"1,5";1,5;1,5\n"2";2;x\n'
    again = read(tmp_path / "a.csv", decimal=",")
    assert [again[name].values.tolist() for name in again] == list(texts.values())
    comma = TextForm(",", ",", as_read=True)
    write(Table.from_frame({"n": [1.5, 2.0]}), tmp_path / "b.csv", form=comma)
    assert (tmp_path / "b.csv").read_text() == 'n\n"1,5"\n2\n'


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    table = Table.from_frame({"t": ["日本", "x"]})
    with refused("data.encoding.unsupported"):
        write(table, tmp_path / "a.csv", form=TextForm(encoding="latin-1"))
    assert list(tmp_path.iterdir()) == []
    with refused("data.format.unsupported", where="a.parquet"):
        form_of("a.parquet")
