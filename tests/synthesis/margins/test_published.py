"""Cleared tables in words and in files: what a clerk counts is what the manifest says."""

from __future__ import annotations

import csv
import hashlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from caveat.synthesis import Synthesizer
from caveat.synthesis.margins.plan import MANIFEST, Published, write_tables
from caveat.table.identifying import Origin, Output, clear

pytestmark = [
    pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning"),
    pytest.mark.filterwarnings("ignore:born. the range was read off:caveat.errors.CaveatWarning"),
]


def people() -> pd.DataFrame:
    count = [12, 3, 13, 27]
    age = [25, 70, 25, 70]
    return pd.DataFrame(
        {
            "sex": np.repeat(["f", "f", "m", "m"], count),
            "age": np.repeat(age, count),
            "born": pd.to_datetime(np.repeat(["2001-03-01", "1956-03-01"] * 2, count)),
            "income": np.repeat([0.5, -9, 2.25, np.nan], count),
        }
    )


def cleared(**options) -> tuple[Published, ...]:
    columns = {
        "age": {"range": [0, 99, 1], "bins": [0, 65, 100]},
        "born": {"bins": 2, "scale": "even"},
        "income": {"special": [-9], "range": [0, 3, 0.25], "bins": 2},
    }
    rules = {"threshold": 10, "multiple": 5}
    model = Synthesizer(
        seed=1, method="margins", columns=columns, clearing=rules, **options
    ).fit(people())  # fmt: skip
    return model.cleared


MARGINS = [["sex", "age"], ["age", "born"], ["sex", "income"]]


def test_tables_by_hand():
    one, two, three = cleared(margins=MARGINS)
    assert one.columns == ("sex", "age")
    assert one.cells == (("f", "0 to 64"), ("m", "0 to 64"), ("m", "65 to 99"))
    assert one.counts == (10, 15, 25)
    assert (one.multiple, one.suppressed, one.changed_by) == (5, 1, 13)
    assert [cell[1][:4] for cell in two.cells] == ["1978", "1956"]
    assert two.counts == (25, 30)
    assert three.cells == (("f", "0 to 1.25"), ("m", "1.5 to 3"), ("m", "empty"))
    assert three.counts == (10, 15, 25)
    assert repr(one) == "<sex × age: 3 cells>"


def test_a_table_is_a_frame_and_a_column_called_count_is_no_trouble():
    one = cleared(margins=MARGINS)[0]
    frame = one.table.to_frame("pandas")
    assert frame["count"].tolist() == [10, 15, 25]
    odd = Published(("count",), (("a",),), (5,), 5, 0, 0)
    assert odd.table.names == ("count", "count_")


def test_the_manifest_can_be_checked_by_hand(tmp_path: Path):
    tables = cleared(margins=MARGINS)
    outputs = write_tables(tables, tmp_path, Output("release", {"sex": Origin.DRAWN}))
    names = [output.name for output in outputs]
    assert not any(clear(output).confidential for output in outputs)
    assert names == ["01-sex-age.csv", "02-age-born.csv", "03-sex-income.csv", MANIFEST]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)
    with (tmp_path / MANIFEST).open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    for line, table in zip(lines, tables, strict=True):
        path = tmp_path / line["file"]
        assert line["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        with path.open(encoding="utf-8", newline="") as file:
            counts = [int(row["count"]) for row in csv.DictReader(file)]
        assert line["columns"] == " × ".join(table.columns)
        assert int(line["cells"]) == len(counts)
        assert int(line["records"]) == sum(counts)
        assert int(line["smallest"]) == min(counts)
        assert int(line["rounded to"]) == 5
        # How many cells are hidden, and whom a table shows, is not for its readers.
        assert not {"suppressed", "changed by"} & set(line)


def test_names_of_columns_cannot_lead_out_of_the_folder(tmp_path: Path):
    odd = Published(("../a/b", "x" * 300), (("1", "2"),), (5,), 5, 0, 0)
    outputs = write_tables([odd], tmp_path, Output("release"))
    assert outputs[0].name == f"01-_a_b-{'x' * 55}.csv"


def test_a_file_that_holds_no_table_is_refused():
    state = cleared(margins=MARGINS)[0].state()
    assert Published.from_state(state).state() == state
    for wrong in (
        {"counts": [10, 15]},
        {"counts": [10, 15, -5]},
        {"counts": [10, 15, 2.5]},
        {"cells": [["f"], ["m"], ["m"]]},
        {"cells": [["f", 1], ["m", 1], ["m", 2]]},
        {"suppressed": "1"},
    ):
        with pytest.raises(ValueError, match="no table"):
            Published.from_state({**state, **wrong})
