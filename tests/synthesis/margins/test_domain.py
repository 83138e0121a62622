"""Declared domains: nothing comes from the data, and every record is coded by itself."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.synthesis.coding import Coding, Grid
from caveat.synthesis.margins.guaranteed import declared_codings, plan_private
from caveat.synthesis.margins.promise import NOT_COUNTED, cells_in, declared_table, outside
from caveat.synthesis.margins.tables import count_tables, n_cells_of
from caveat.table import Kind, Table, read

DECLARED = {
    "sex": {"levels": ["f", "m"], "missing": [""]},
    "code": {"levels": [1, 2], "missing": [None]},
    "age": {"range": [0, 99, 1], "missing": [-8, ""]},
}
ALONE = {"sex": {"levels": ["f", "m"]}, "age": {"range": [0, 99, 1], "missing": []}}


def codings(declared: dict[str, Any] = DECLARED) -> dict[str, Coding]:
    table = declared_table(list(declared), declared)
    grids = {"age": Grid(0, 99, 1, bins=4, declared=True)}
    return {name: Coding.of(table[name], (), name, grids.get(name)) for name in table}


def test_the_declaration_makes_a_table_without_rows():
    table = declared_table(list(DECLARED), DECLARED)
    assert table.n_rows == 0
    assert table["sex"].levels.tolist() == ["f", "m"]
    assert table["age"].kind is Kind.INTEGER
    assert [way.code for way in table["age"].missing] == [None, -8]
    assert [way.code for way in table["code"].missing] == [None]


def test_nothing_is_missing_that_was_not_declared():
    table = declared_table(list(ALONE), ALONE)
    assert [table[name].missing for name in table] == [(), ()]
    assert {name: n_cells_of(coding) for name, coding in codings(ALONE).items()} == {
        "sex": 2, "age": 4,
    }  # fmt: skip


def test_a_record_with_an_undeclared_value_is_in_no_table():
    table = Table.from_frame({"sex": ["f", None, "x", "m"], "age": [24, 30, 40, 130]})
    cells = cells_in(codings(ALONE), table)
    assert cells["sex"].tolist() == [0, -1, -1, 1]
    assert cells["age"].tolist() == [0, -1, -1, 3]
    counts = count_tables(cells, {"sex": 2, "age": 4}, [("sex",), ("age", "sex")])
    assert counts["sex",].tolist() == [1, 1]
    assert counts["age", "sex"].tolist() == [[1, 0], [0, 0], [0, 0], [0, 1]]


def test_every_value_has_a_cell_by_hand():
    table = Table.from_frame(
        {
            "sex": ["f", "m", "x", None],
            "code": [1, 2, 3, 1],
            "age": [24, 25, 120, -8],
        }
    )
    cells = cells_in(codings(), table)
    assert cells["sex"].tolist() == [0, 1, 2, 2]  # what is not declared is an empty cell
    assert cells["code"].tolist() == [0, 1, 2, 0]
    assert cells["age"].tolist() == [0, 1, 3, 5]  # 120 is the end of the range, -8 the last way
    assert dict(outside(codings(), table)) == {"sex": 1, "code": 1, "age": 1}


def test_words_where_numbers_are_declared_are_empty_cells():
    table = Table.from_frame({"sex": ["f"], "code": [1], "age": ["young"]})
    assert cells_in(codings(), table)["age"].tolist() == [4]


def test_what_fits_is_not_outside():
    table = Table.from_frame({"sex": ["f", None], "code": [2, 2], "age": [0, 99]})
    assert dict(outside(codings(), table)) == {}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "not declared"),
        ({"levels": []}, "list of different values"),
        ({"levels": ["a", "a"]}, "list of different values"),
        ({"levels": ["a", 1]}, "all words or all whole numbers"),
        ({"levels": ["a"], "range": [0, 1, 1]}, "levels and a range"),
        ({"range": [0, 1]}, "three numbers"),
        ({"range": [0, 9, 1], "special": ["x"]}, "special value is no number"),
        ({"levels": ["a", ""]}, "empty or means missing"),
        ({"levels": ["a", "-8"], "missing": ["-8"]}, "empty or means missing"),
    ],
)
def test_a_wrong_declaration_is_one_sentence(given, says):
    with pytest.raises(CaveatError, match=says):
        declared_table(["x"], {"x": given})


def test_all_undeclared_columns_are_counted():
    with refused("synthesis.column.undeclared", column="x", where="synthesis"):
        declared_table(["x", "y", "z"], {})


def test_cells_never_move_with_the_data():
    small = Table.from_frame({"sex": ["m"], "code": [1], "age": [50]})
    large = Table.from_frame({"sex": ["m", "q"], "code": [1, 9], "age": [50, 10_000]})
    ours, theirs = cells_in(codings(), small), cells_in(codings(), large)
    assert all(np.array_equal(ours[name], theirs[name][:1]) for name in ours)


def test_one_stray_word_moves_nobody_else():
    """A record of words makes a column of words: all others must keep their cells."""
    tidy = Table.from_frame({"sex": ["f", "m"], "code": [1, 2], "age": [30, 80]})
    stray = Table.from_frame(
        {"sex": ["f", "m", "7"], "code": ["1", "02", "x"], "age": ["30", "80.0", "old"]}
    )
    ours, theirs = cells_in(codings(), tidy), cells_in(codings(), stray)
    for name, cells in ours.items():
        assert theirs[name][:2].tolist() == cells.tolist()


@pytest.mark.parametrize("value", [-8, -8.0, "-8", "-8.0"])
def test_a_missing_code_is_one_however_it_is_written(value):
    table = Table.from_frame({"sex": ["f"], "code": [1], "age": [value]})
    assert cells_in(codings(), table)["age"].tolist() == [5]


def test_times_are_the_same_as_words():
    declared = {"at": {"levels": ["2024-02-01 10:00", "2024-02-01 11:00"]}}
    table = declared_table(["at"], declared)
    coding = {"at": Coding.of(table["at"], (), "at")}
    times = np.array(["2024-02-01T10:00", "2024-02-01T11:00"], "M8[us]")
    words = ["2024-02-01 10:00", "2024-02-01T11:00:00", "unknown"]
    assert cells_in(coding, Table.from_frame({"at": times}))["at"].tolist() == [0, 1]
    assert cells_in(coding, Table.from_frame({"at": words}))["at"].tolist() == [0, 1, -1]
    for unit in ("s", "ms", "ns"):
        frame = pd.DataFrame({"at": times.astype(f"M8[{unit}]")})
        assert cells_in(coding, Table.from_frame(frame))["at"].tolist() == [0, 1]


TIMES = [f"2020-01-{day:02d} 10:00:00" for day in (1, 2, 3)]
PLAIN = st.characters(exclude_characters=',\r\n"\x00', codec="utf-8")
ODD = st.text(PLAIN, max_size=12) | st.sampled_from(
    ["", "NA", " ", "2020-01-01 10:00:00.000000001", "2020-01-01 10:00:00.5", "2020-01-01", "x",
     "0001-01-01", "9999-12-31 23:59:59.999999", "2020-01-01T10:00:00+02:00", "1e308", "-1e308",
     "1e-320", "-0.0", "1.5", "007", "9" * 30, "true", "inf", "\u202e", "é", "'", "01.02.2020"]
)  # fmt: skip
CELLS = {
    "at": st.sampled_from(TIMES),
    "on": st.sampled_from(["2020-01-01", "2020-02-29"]),
    "age": st.integers(0, 99).map(str),
    "pay": st.sampled_from(["0.5", "10", "12.25"]),
    "ill": st.sampled_from(["true", "false"]),
    "sex": st.sampled_from(["f", "m"]),
}
RECORDS = st.lists(st.fixed_dictionaries(CELLS), min_size=1, max_size=5)
WHOLE = {
    "at": {"levels": TIMES},
    "on": {"levels": ["2020-01-01", "2020-02-29"]},
    "age": {"range": [0, 99, 1], "missing": [-8]},
    "pay": {"range": [0, 20, 0.25]},
    "ill": {"levels": [True, False]},
    "sex": {"levels": ["f", "m"], "missing": [""]},
}


@pytest.mark.filterwarnings("ignore::caveat.errors.CaveatWarning")  # a number that is read as zero
@settings(max_examples=60, deadline=None)
@given(RECORDS, st.sampled_from(sorted(WHOLE)), ODD, st.booleans())
def test_one_odd_record_moves_nobody_elses_cell(records, name, odd, as_file):
    """One record of nanoseconds once emptied everybody else's cells."""
    plan = plan_private(list(WHOLE), {"columns": WHOLE, "epsilon": 1.0})[1]
    found = []
    for rows in (records, [*records, {**records[0], name: odd}]):
        if as_file:
            with TemporaryDirectory() as folder:
                file = Path(folder) / "x.csv"
                lines = [",".join(WHOLE), *(",".join(row[n] for n in WHOLE) for row in rows)]
                file.write_text("\n".join(lines) + "\n", "utf-8")
                try:
                    table = read(file)
                except CaveatError:  # a file that is refused has no promise to keep
                    return
        else:
            table = Table.from_frame({n: [row[n] for row in rows] for n in WHOLE})
        found.append(cells_in(declared_codings(plan), table))
    before, after = found
    assert all(np.array_equal(cells, after[n][: len(records)]) for n, cells in before.items())
    assert all((cells != NOT_COUNTED).all() for cells in before.values())


def test_a_time_with_nanoseconds_leaves_all_others(tmp_path):
    file = tmp_path / "x.csv"
    file.write_text("at\n" + "\n".join(TIMES) + "\n2020-01-01 10:00:00.000000001\n")
    coding = {"at": Coding.of(declared_table(["at"], WHOLE)["at"], (), "at")}
    table = read(file)
    assert table["at"].levels.dtype == np.dtype("M8[ns]")
    assert cells_in(coding, table)["at"].tolist()[:3] == [0, 1, 2]


def test_a_declared_range_may_be_wider_than_64_bits():
    given = {"x": {"range": [-1e75, 1e75, 1e70]}, "n": {"range": [0, 9, 1], "special": [2.5]}}
    table = declared_table(["x", "n"], given)
    assert table["x"].levels.tolist() == [-1e75, 1e75]
    assert table["x"].kind is table["n"].kind is Kind.NUMERIC
    assert table["n"].levels.tolist() == [0, 2.5, 9]  # 2.5 was cut down to 2
