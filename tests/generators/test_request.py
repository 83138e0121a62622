"""What a generator in another process is given."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from tests.generators.conformance import people

from caveat.generators.process import plain_missing, write_request
from caveat.table import Column, Kind, Missing, Table

WAYS = (Missing(), Missing(-8, "not asked"))


def test_numbers_have_gaps_and_levels_keep_their_ways_to_be_missing(tmp_path: Path) -> None:
    codes = np.array([0, 1, 2, 3])
    table = Table(
        {
            "pay": Column(codes, np.array([800, 950]), Kind.INTEGER, WAYS),
            "job": Column(codes, np.array(["a", "b"], object), Kind.CATEGORY, WAYS),
            "rank": Column(codes, np.array([1, 2]), Kind.ORDERED, WAYS),
        }
    )
    request = json.loads(write_request(tmp_path, table, 3, 4, 1, {}).read_text("utf-8"))
    data = pq.read_table(tmp_path / request["data"]).to_pydict()
    assert data == {
        "pay": [800, 950, None, None],
        "job": ["a", "b", None, "-8"],
        "rank": ["1", "2", None, "-8"],
    }
    assert [column["kind"] for column in request["schema"]] == ["integer", "category", "ordered"]
    assert request["schema"][1]["levels"] == ["a", "b", "-8"]
    assert request["schema"][0]["missing"] == [
        {"code": None, "label": ""}, {"code": -8, "label": "not asked"},
    ]  # fmt: skip


def test_every_kind_of_a_survey_is_told(tmp_path: Path) -> None:
    request = json.loads(write_request(tmp_path, people(), 1, 5, 1, {}).read_text("utf-8"))
    found = {column["name"]: column for column in request["schema"]}
    assert found["interviewed"]["kind"] == "date"
    assert found["interviewed"]["low"] < found["interviewed"]["high"]
    assert found["education"]["levels"] == ["primary", "vocational", "secondary", "higher"]
    assert (found["bmi"]["kind"], found["bmi"]["decimals"]) == ("number", 1)


def test_an_empty_cell_is_the_plain_way_or_the_most_frequent() -> None:
    codes = np.array([0, 1, 2, 2])
    plain = Column(codes, np.array([5]), Kind.INTEGER, (Missing(-8), Missing()))
    coded = Column(codes, np.array([5]), Kind.INTEGER, (Missing(-8), Missing(-9)))
    none = Column(np.array([0]), np.array([5]), Kind.INTEGER)
    assert [plain_missing(column) for column in (plain, coded, none)] == [2, 2, None]
