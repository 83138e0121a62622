"""Tables as outputs: which columns are what."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.outputs.cell_numbers import Marks
from caveat.outputs.output_table import Described, OutputTable
from caveat.outputs.publication import inner_cells, publish
from caveat.outputs.shown import shown_tables
from caveat.outputs.tables import Layout
from caveat.table import Table


def output(described: Described | None = None, **columns: list[object]) -> OutputTable:
    found = OutputTable.of(Table.from_frame(pd.DataFrame(columns)), described)
    assert found is not None
    return found


def test_columns_are_known_by_their_names() -> None:
    table = output(sex=["f", "m"], n=[12, 20], Mean=[1.5, 2.5], largest_2=[1, 2], largest_1=[3, 4])
    assert table.keys == ("sex",)
    assert table.counts is not None
    assert table.counts.tolist() == [12, 20]
    assert [one.barn.letter for one in table.statistics.values()] == ["d"]
    assert [column.tolist() for column in table.largest] == [[3, 4], [1, 2]]
    assert "12" not in repr(table)


def test_whole_numbers_are_keys_only_if_they_are_needed() -> None:
    assert output(age=[1, 2, 3], count=[20, 30, 40]).keys == ("age",)
    table = output(
        region=["n", "s"], age=[1, 2], year=[2026] * 2, turnover=[3.5, 7.0], count=[20, 30]
    )
    assert table.keys == ("region", "year")
    assert table.unknown == ("age", "turnover")
    described = Described(keys=("code", "n"), count="count")
    columns = {"region": ["n", "s"], "code": [1, 2], "n": [7, 8], "count": [20, 30]}
    assert output(described, **columns).keys == ("region", "code", "n")


def test_a_constant_is_no_key_unless_it_is_a_time() -> None:
    table = output(region=["n", "s"], persons_seen=[12, 12], year=[2026, 2026], count=[20, 30])
    assert (table.keys, table.unknown) == (("region", "year"), ("persons_seen",))
    assert output(region=["n", "s"], kind=["a", "a"], count=[20, 30]).keys == ("region", "kind")


def test_numbers_that_are_written_as_text() -> None:
    table = output(
        region=["n", "s", "w"], count=["5,000", "12*", "–"], mean=["€7,000", "€8,500.50", "c"],
        share=["3 %", "12.5 %", "<1 %"], turnover=["1 200", "900", ".."], code=["01a", "02a", "3"],
    )  # fmt: skip
    assert (table.keys, table.unknown) == (("region", "code"), ("turnover",))
    assert table.counts is not None
    np.testing.assert_array_equal(table.counts, [5000, 12, np.nan])
    np.testing.assert_array_equal(table.statistics["mean"].values, [7000, 8500.5, np.nan])
    np.testing.assert_array_equal(table.statistics["share"].values, [3, 12.5, np.nan])


def test_one_column_tells_the_decimal_sign_of_all() -> None:
    columns = {"region": ["n", "s"], "count": ["1.500", "12.000"], "mean": ["1.767,26", "0,5"]}
    table = output(**columns)
    assert table.counts is not None
    assert table.counts.tolist() == [1500, 12000]
    assert table.statistics["mean"].values.tolist() == [1767.26, 0.5]
    alone = output(Described(decimal=","), region=["n", "s"], count=["1.500", "12.000"])
    assert alone.counts is not None
    assert alone.counts.tolist() == [1500, 12000]


def test_a_statistic_with_a_word_in_it_is_not_silently_a_key() -> None:
    table = output(sex=["f", "m", "x"], mean=["12,000", "9,000", "see note"], count=[20, 30, 40])
    assert (table.keys, table.unknown) == (("sex",), ("mean",))
    assert output(persons=["1", "2", "3+"], count=[20, 30, 40]).keys == ("persons",)


@pytest.mark.parametrize("sign", ["", "*", "c", "<10", "..", "suppressed", "–", "/", "≤ 5", "[c]"])
def test_hidden_cells_are_known_by_their_sign(sign: str) -> None:
    table = output(sex=["f", "m", "x"], count=["12", sign, "1300"])
    assert table.counts is not None
    np.testing.assert_array_equal(table.counts, [12, np.nan, 1300])


def test_a_cross_table_is_taken_apart() -> None:
    table = output(
        Described(form="cross", across="region"), sex=["f", "m"], north=[1, 2], south=[3, 4]
    )
    assert table.keys == ("sex", "region")
    assert table.cells == (("f", "north"), ("f", "south"), ("m", "north"), ("m", "south"))
    assert table.counts is not None
    assert table.counts.tolist() == [1, 3, 2, 4]
    assert table.places[1] == (0, "south")


def test_a_description_comes_before_names() -> None:
    described = Described(count="people", statistics={"income": "median"}, largest=("a", "b"))
    table = output(described, sex=["f", "m"], people=[12, 20], income=[5, 6], a=[1, 1], b=[1, 0])
    assert table.count_name == "people"
    assert table.statistics["income"].barn.letter == "b"
    assert len(table.largest) == 2


def test_unknown_forms_are_none() -> None:
    assert OutputTable.of(Table.from_frame(pd.DataFrame({"a": ["x"], "b": ["y"]}))) is None


def test_mistakes_are_said() -> None:
    with refused("outputs.value.range", column="count", row=2):
        output(sex=["f", "m"], count=[12, -1])
    with refused("outputs.cell.duplicate", row=3):
        output(sex=["f", "m", "f"], count=[12, 13, 14])
    with refused("outputs.column.conflict"):
        output(sex=["f", "m"], n=[12, 13], count=[12, 13])
    with refused("data.column.unknown"):
        output(Described(count="people"), sex=["f"], n=[12])
    with refused("outputs.cell.type", column="people", row=2):
        output(Described(count="people"), sex=["f", "m"], people=["12", "many"])
    with refused("data.table.empty"):
        OutputTable.of(Table.from_frame(pd.DataFrame({"a": [], "count": []})))
    with refused("outputs.column.too-few"):
        output(Described(form="cross"), sex=["f"])


def test_what_caveat_tables_writes_is_read() -> None:
    done = publish(inner_cells(survey(rows=600), [Layout("t", ("region", "marital"))]))
    (shown,) = shown_tables(done.cells, done.values, done.done.hidden)
    table = output(**shown.columns())
    assert (table.keys, table.count_name, table.guessed) == (("region", "marital"), "count", False)
    assert table.counts is not None
    assert [None if np.isnan(one) else one for one in table.counts] == list(shown.values)
    hidden = frozenset(row for row, value in enumerate(shown.values) if value is None)
    assert len(hidden) == 4
    assert table.marks == Marks("status", hidden, reasons=False)


def test_a_value_beside_a_status_can_be_a_count_or_an_amount() -> None:
    columns = {"sex": ["f", "m"], "value": [20, None], "status": ["shown", "hidden"]}
    table = output(**columns)
    assert (table.keys, table.count_name, table.guessed) == (("sex",), "value", True)
    sure = output(Described(count="value"), **columns)
    assert (sure.keys, sure.guessed) == (("sex",), False)


def test_a_status_is_about_cells_or_about_persons() -> None:
    people = output(sex=["f", "m"], status=["employed", "retired"], count=[20, 30])
    assert (people.keys, people.marks) == (("sex", "status"), None)
    columns = {"branch": ["a", "b"], "value": [2.5, None], "status": ["shown", "hidden: few"]}
    amounts = output(**columns)
    assert (amounts.counts, amounts.statistics["value"].said) == (None, "total")
    assert amounts.marks == Marks("status", frozenset({1}), reasons=True)
    zero = output(branch=["a", "b"], n=[20, 0], remark=["", "hidden"])
    assert zero.keys == ("branch", "remark")
    told = output(Described(status="remark"), branch=["a", "b"], n=[20, 0], remark=["", "hidden"])
    assert told.keys == ("branch",)
    assert told.counts is not None
    np.testing.assert_array_equal(told.counts, [20, np.nan])
