"""What the user declares about columns."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError, CaveatWarning
from caveat.table import ColumnSchema, Kind, Missing, Schema, Table, read

SURVEY = Table.from_frame(
    {
        "income": [800, -8, 1500, None],
        "size": ["10", "-8", "2.5", "2.50"],
        "edu": ["low", "high", "mid", "low"],
        "born": ["01.02.1970", "24.12.1960", "01.02.1970", None],
        "vote": ["1", "0", "1", "1"],
    }
)


def apply(text: str, tmp_path: Path) -> Table:
    path = tmp_path / "schema.toml"
    path.write_text(text, "utf-8")
    return Schema.from_toml(path).apply(SURVEY)


def test_declarations_are_carried_out(tmp_path: Path) -> None:
    table = apply(
        """
        [columns.income]
        label = "monthly income"
        missing = { "-8" = "not asked" }
        [columns.size]
        kind = "numeric"
        missing = ["-8"]
        [columns.edu]
        kind = "ordered"
        levels = ["low", "mid", "high"]
        value_labels = { low = "primary" }
        [columns.born]
        kind = "date"
        format = "%d.%m.%Y"
        [columns.vote]
        kind = "boolean"
        """,
        tmp_path,
    )
    assert table["income"].missing == (Missing(), Missing(-8, "not asked"))
    assert table["income"].label == "monthly income"
    assert table["size"].levels.tolist() == [2.5, 10.0]
    assert table["size"].codes.tolist() == [1, 2, 0, 0]
    assert table["size"].missing == (Missing(-8),)
    assert table["edu"].kind is Kind.ORDERED
    assert table["edu"].codes.tolist() == [0, 2, 1, 0]
    assert table["edu"].value_labels == {"low": "primary"}
    assert table["born"].levels.astype(str).tolist() == ["1960-12-24", "1970-02-01"]
    assert table["born"].is_missing.tolist() == [False, False, False, True]
    assert table["vote"].values.tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "[columns.age]\nkind = 'integer'",
            "column age: the schema names a column that the data do",
        ),
        (
            "[columns.edu]\nkind = 'nominal'",
            "schema, column edu: there is no kind 'nominal'; choose",
        ),
        ("[columns.edu]\nsort = 'x'", "schema, column edu: 'sort' is no property of a column; use"),
        ("[columns]\nedu = 'x'", "schema, column edu: a column is described by a table"),
        ("[columns.edu]\nkind = 'numeric'", "column edu, row 1: 4 cells are not of kind numeric"),
        ("[columns.born]\nkind = 'date'", "column born, row 1: 3 cells are not of kind date"),
        ("[columns.edu]\nlevels = ['low', 'mid']", "column edu, row 2: 1 of its levels"),
        ("[columns.size]\nkind = 'integer'", "column size, row 3: 2 cells are not of kind integer"),
        ("[columns", "not valid TOML"),
    ],
)
def test_bad_declarations_are_refused_without_showing_values(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(CaveatError) as caught:
        apply(text, tmp_path)
    assert message in str(caught.value)
    assert "1970" not in str(caught.value)


def test_a_missing_schema_file_is_named(tmp_path: Path) -> None:
    with refused("spec.file.absent"):
        Schema.from_toml(tmp_path / "nowhere.toml")


def test_integers_declared_as_categories_keep_their_numbers() -> None:
    column = Schema.from_mapping({"x": {"kind": "category"}}).apply(
        Table.from_frame({"x": [3, 1, 3]})
    )["x"]
    assert (column.kind, column.levels.tolist()) == (Kind.CATEGORY, [1, 3])


def test_spellings_are_read_as_one_level() -> None:
    table = Table.from_frame({"sex": ["m", "M", "f", "m ", None], "n": [1, 9, 2, 9, 1]})
    schema = Schema(
        {
            "sex": ColumnSchema(recode={"M": "m", "m ": "m"}, missing={"x": ""}),
            "n": ColumnSchema(recode={"9": 2}),
        }
    )
    read = schema.apply(table)
    assert read["sex"].values.tolist() == ["m", "m", "f", "m", None]
    assert read["sex"].levels.tolist() == ["f", "m"]
    assert read["n"].values.tolist() == [1, 2, 2, 2, 1]


def test_the_name_of_a_kind_is_as_good_as_the_kind():
    table = Table.from_frame({"school": ["low", "high", "low"]})
    named = ColumnSchema(kind="ordered", levels=["low", "high"])
    assert named.kind is Kind.ORDERED
    assert Schema({"school": named}).apply(table)["school"].kind is Kind.ORDERED
    with refused("data.kind.unknown", where="schema"):
        ColumnSchema(kind="sorted")


@pytest.mark.parametrize("sign", [1, -1])
def test_numbers_beyond_any_use_are_refused_and_system_missing_is_missing(sign, tmp_path):
    with refused("data.value.too-large", column="x", row=2):
        Table.from_frame({"x": [1.0, sign * 1e76]})
    system = sign * sys.float_info.max
    with pytest.warns(CaveatWarning, match="SPSS"):
        frame = Table.from_frame({"x": [1.5, system, None, sign * 1e75]})
    lines = ((1.5, "NA"), (system, 1), ("", 1), (sign * 1e75, 1))
    for table in (
        frame,
        _read(tmp_path, "x,y\n" + "".join(f"{x},{y}\n" for x, y in lines)),
        _read(tmp_path, "y,x\n" + "".join(f"{y},{x or 'NA'}\n" for x, y in lines)),
    ):
        assert table["x"].is_missing.tolist() == [False, True, True, False]
        assert sorted(table["x"].levels.tolist()) == sorted([1.5, sign * 1e75])


def test_a_number_too_small_to_be_squared_is_zero(tmp_path):
    with pytest.warns(CaveatWarning, match="closer to zero"):
        table = Table.from_frame({"x": [0.5, 5e-324, -1e-80]})
    assert table["x"].levels.tolist() == [0.0, 0.5]
    words = Table.from_frame({"x": ["0.5", "1e-300", "NA"]})
    schema = Schema.from_mapping({"x": {"kind": "numeric", "missing": ["NA"]}})
    with pytest.warns(CaveatWarning, match="closer to zero"):
        assert schema.apply(words)["x"].levels.tolist() == [0.0, 0.5]


def _read(folder, text):
    file = folder / "x.csv"
    file.write_text(text)
    with pytest.warns(CaveatWarning, match="SPSS"):
        return read(file)
