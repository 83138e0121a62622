"""Code books: what columns can be, and never what they are in the records."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.spec.codebook import (
    Codebook,
    Domain,
    declared_in,
    domain_lines,
    missing_line,
    read_codebook,
)
from caveat.synthesis.margins.promise import declared_table
from caveat.table import Table, read, write

BOOK = """\
column,value,label,missing,low,high,step
sex,1,woman,,,,
sex,2,man,no,,,
sex,,,yes,,,
region,01,,,,,
region,NA,Namibia,,,,
income,,,,0,5e4,0.5
income,-8,not asked,TRUE,,,
income,-9,,1,,,
"""


@pytest.fixture
def book(tmp_path) -> Codebook:
    return read_codebook(written(tmp_path, BOOK))


def written(folder: Path, text: str) -> Path:
    path = folder / "codes.csv"
    path.write_text(text, "utf-8")
    return path


def test_values_ranges_and_missing_codes(book):
    assert book.columns == {
        "sex": Domain(("1", "2"), missing={"": ""}),
        "region": Domain(("01", "NA")),
        "income": Domain((), (0, 50000, 0.5), {"-8": "not asked", "-9": ""}),
    }


def test_only_values_or_only_ranges(tmp_path):
    assert read_codebook(written(tmp_path, "column;value\nsex;f\nsex;m\n")).columns == {
        "sex": Domain(("f", "m"))
    }
    text = "column;low;high;step\nage;-0,5;9,5;0,25\n"
    found = read_codebook(written(tmp_path, text), decimal=",")
    assert found.columns == {"age": Domain(range=(-0.5, 9.5, 0.25))}


def test_the_code_book_decides_what_levels_of_a_text_file_are(book, tmp_path):
    data = tmp_path / "data.csv"
    for last, unfit in (("2,NA,-8", ()), ("x,NA,-8", ("sex",)), ("2,02,-7", ("region", "income"))):
        data.write_text(f"sex,region,income\n1,01,3\n{last}\n")
        table = read(data, schema=book.schema(data), partial=True)
        held = book.held_against(table, data)
        assert held.domains["sex"] == Domain((1, 2), missing={"": ""}, kind="category")
        assert held.domains["region"] == Domain(("01", "NA"), kind="category")
        assert (held.unfit, held.unknown) == (unfit, ())
        assert [str(way) for way in table["income"].missing] == ["-8 (not asked)", "-9"]


def test_words_among_the_codes_make_them_text(tmp_path):
    book = Codebook({"sex": Domain(("1", "2"), missing={"NK": ""})})
    data = tmp_path / "data.csv"
    data.write_text("sex,age\n1,3\n2,4\n")
    held = book.held_against(read(data, schema=book.schema(data), partial=True), data)
    assert (held.domains["sex"].levels, held.unfit) == (("1", "2"), ())


def test_levels_of_other_files_are_what_the_file_stores(book, tmp_path):
    data = tmp_path / "data.parquet"
    write(Table.from_frame({"sex": [1, 2], "region": ["01", "x"], "job": ["a", "b"]}), data)
    table = read(data, schema=book.schema(data), partial=True)
    held = book.held_against(table, data)
    sex = Domain((1, 2), missing={"": ""})
    assert held.domains == {"sex": sex, "region": Domain(("01", "NA"))}
    assert (held.unfit, held.unknown) == (("region",), ("income",))
    truth = Codebook({"ill": Domain(("TRUE", "false"))})
    assert truth.held_against(Table.from_frame({"ill": [True]}), data).domains == {
        "ill": Domain((True, False))
    }


@pytest.mark.parametrize(
    ("values", "fits"),
    [
        ([0.0, 7.5, 50000.0], True),
        ([-1, 3], False),
        ([50001], False),
        ([0.25], False),
        ([None, None], True),
        (["a", "b"], False),
    ],
)
def test_numbers_beyond_the_range_or_between_the_steps_are_noticed(book, values, fits):
    table = Table.from_frame({"income": values})
    assert book.held_against(table, "x.csv").unfit == (() if fits else ("income",))


def test_what_is_written_is_a_declaration(book):
    lines: list[str] = []
    for name, domain in book.columns.items():
        lines += [f"[synthesis.columns.{name}]", *domain_lines(domain)]
    content = tomllib.loads("\n".join(lines))["synthesis"]
    assert content["columns"] == {
        "sex": {"levels": ["1", "2"]},
        "region": {"levels": ["01", "NA"]},
        "income": {"range": [0, 50000, 0.5]},
    }
    assert declared_in(content) == {"sex", "region", "income"}
    declared = declared_table(list(content["columns"]), content["columns"])
    assert declared["sex"].levels.tolist() == ["1", "2"]
    assert declared["income"].levels.tolist() == [0, 50000]


def test_odd_values_survive_being_written():
    levels = ('a "b"', "x\ny", "\x7f", "ä = #", "", *(f"level number {i}" for i in range(20)))
    text = "\n".join(domain_lines(Domain(levels)))
    assert text.startswith('levels = [\n  "a \\"b\\"",\n')
    assert tomllib.loads(text)["levels"] == list(levels)
    labelled = Domain(missing={"-8": 'not "asked"', ".a": ""})
    assert tomllib.loads(missing_line(labelled)) == {"missing": {"-8": 'not "asked"', ".a": ""}}
    assert missing_line(Domain(missing={"-8": "", "08": ""})) == 'missing = [-8, "08"]'


HEAD = "column,value,missing,low,high,step\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sex,age\nsecret,3\n", "this is no code book; its columns are column and value"),
        ("column,low,high\nsecret,3,4\n", "this is no code book"),
        ("column,value\n", "the code book has no lines"),
        ("", "the file is empty"),
        (HEAD + "age,secret,,0,9,1\n", "column age, row 1: the line has a range, and a value"),
        (HEAD + "age,,yes,0,9,1\n", "column age, row 1: the line has a range, and a value"),
        (HEAD + "a,secret,,,,\na,,,0,9,1\n", "column a, row 2: the column has values and a range"),
        (HEAD + "a,,,0,9,1\na,secret,,,,\n", "column a, row 2: the column has values and a range"),
        (HEAD + "a,,,0,9,1\na,,,0,9,1\n", "column a, row 2: the column has two ranges"),
        (HEAD + "a,secret,,,,\na,secret,,,,\n", "column a, row 2: the value is listed twice"),
        (HEAD + "a,secret,,,,\na,secret,yes,,,\n", "column a, row 2: the value is listed twice"),
        (HEAD + "a,,,,,\n", "column a, row 1: the line has no value and no range"),
        (HEAD + ",secret,,,,\n", "row 1: the line names no column"),
        (HEAD + "a,secret,maybe,,,\n", "column a, row 1: missing is neither yes nor no"),
        (HEAD + "a,,,0,,1\n", "column a, row 1: a range has three numbers"),
        (HEAD + "a,,,secret,9,1\n", "column a, row 1: a range has three numbers"),
        (HEAD + "a,,,0,inf,1\n", "column a, row 1: a range has three numbers"),
        (HEAD + "a,,,9,0,1\n", "column a, row 1: the range has no points, or too many"),
        (HEAD + "a,,,0,9,0\n", "column a, row 1: the range has no points, or too many"),
        (HEAD + "a,,,0,1,1e-12\n", "column a, row 1: the range has no points, or too many"),
    ],
)
def test_mistakes_are_said_with_their_line_and_without_a_value(tmp_path, text, says):
    with pytest.raises(CaveatError) as error:
        read_codebook(written(tmp_path, text))
    assert says in str(error.value)
    assert "codes.csv" in str(error.value)
    assert "secret" not in str(error.value)


def test_the_header_of_a_labelled_file_is_a_code_book(tmp_path):
    path = tmp_path / "data.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"sex": [1.0, 2.0, 7.0], "age": [3.0, 4.0, -3.0], "reg": ["a", "c", "z"]}),
        path,
        variable_value_labels={
            "sex": {1: "woman", 2: "man", 3: "other", 9: "refused"},
            "age": {-8: "not asked", 0: "under one", 99: "99 and more"},
            "reg": {"a": "north", "b": "south", "z": "unknown"},
        },
        missing_ranges={"sex": [9], "age": [{"lo": -9, "hi": -1}], "reg": ["z"]},
        variable_measure={"sex": "nominal", "age": "scale"},
    )
    # 7 of sex and -3 of age occur in the records and have no label: they are not there.
    book = read_codebook(path)
    assert book.columns == {
        "sex": Domain(("1", "2", "3"), missing={"9": "refused"}),
        "age": Domain(missing={"-8": "not asked"}),
        "reg": Domain(("a", "b"), missing={"z": "unknown"}),
    }
    held = book.held_against(read(path, schema=book.schema(path)), path)
    assert held.domains["sex"].levels == (1, 2, 3)
    assert held.unfit == ("sex", "reg")


def test_letters_of_stata_are_missing_codes_with_their_labels(tmp_path):
    path = tmp_path / "data.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"sex": pd.Series([1, 2, "a", 7], dtype=object)}),
        path,
        variable_value_labels={"sex": {1: "woman", 2: "man", "a": "refused"}},
        missing_user_values={"sex": ["a"]},
    )
    book = read_codebook(path)
    assert book.columns == {"sex": Domain(("1", "2"), missing={".a": "refused"})}
    table = read(path, schema=book.schema(path))
    assert [str(way) for way in table["sex"].missing] == [".a (refused)"]
    assert book.held_against(table, path).unfit == ("sex",)


def test_a_labelled_file_without_labels_is_none(tmp_path):
    path = tmp_path / "data.sav"
    pyreadstat.write_sav(pd.DataFrame({"sex": [1.0, 2.0]}), path)
    with refused("spec.codebook.empty"):
        read_codebook(path)
    path.write_bytes(b"nothing")
    with refused("data.file.damaged"):
        read_codebook(path)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_fit_whatever_their_unit(unit, tmp_path):
    at = np.array(["2020-01-01T10:00", "2020-01-02T10:00"], f"M8[{unit}]")
    table = Table.from_frame(pd.DataFrame({"at": at}))
    both = Codebook({"at": Domain(("2020-01-01 10:00:00", "2020-01-02 10:00:00"))})
    one = Codebook({"at": Domain(("2020-01-01 10:00:00",))})
    assert both.held_against(table, tmp_path / "x.parquet").unfit == ()
    assert one.held_against(table, tmp_path / "x.parquet").unfit == ("at",)
