"""SPSS, Stata and SAS files: labels, user-defined missing values, dates, and what does not fit."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.table.strategies import SIZED

from caveat.errors import CaveatError
from caveat.table import Column, Kind, Missing, Table, read, write

LABEL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12).map(str.strip)
WORD = st.text(
    st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=6
).filter(lambda text: not text.endswith(" "))


def column(values, levels, kind, missing=(), **rest) -> Column:
    return Column(np.array(values, np.int64), np.array(levels), kind, tuple(missing), **rest)


@pytest.fixture
def survey() -> Table:
    """A table with everything that both formats keep."""
    return Table(
        {
            "sex": column(
                [0, 1, 1, 0],
                [1, 2],
                Kind.CATEGORY,
                label="Sex of the person",
                value_labels={1: "male", 2: "female"},
            ),
            "income": column(
                [0, 1, 2, 3],
                [800, 1500],
                Kind.INTEGER,
                [Missing(), Missing(-8, "not asked")],
                label="Net income, €",
                value_labels={0: "none"},
            ),
            "bmi": column([0, 1, 2, 0], [21.5, 30.25], Kind.NUMERIC, [Missing()]),
            "town": Column(
                np.array([0, 1, 0, 2]),
                np.array(["Kraków", "Łódź"], object),
                Kind.CATEGORY,
                (Missing(),),
            ),
            "born": Column(
                np.array([0, 1, 0, 1]),
                np.array(["1582-10-15", "2024-02-29"], "datetime64[D]"),
                Kind.DATE,
            ),
            "seen": Column(
                np.array([0, 1, 2, 0]),
                np.array(["1960-01-01T00:00:00.001", "2024-02-29T23:59:59"], "datetime64[us]"),
                Kind.DATETIME,
                (Missing(),),
            ),
        }
    )


@pytest.mark.parametrize("suffix", [".sav", ".zsav"])
def test_spss_round_trip_keeps_labels_kinds_and_user_missing(survey, suffix, tmp_path) -> None:
    path = tmp_path / f"survey{suffix}"
    write(survey, path)
    assert read(path) == survey


def test_stata_round_trip_keeps_labels_kinds_and_tagged_missing(survey, tmp_path) -> None:
    tagged = replace(survey["income"], missing=(Missing(), Missing(".a", "not asked")))
    table = survey.with_columns({"income": tagged})
    write(table, tmp_path / "survey.dta")
    assert read(tmp_path / "survey.dta") == table


def test_other_software_sees_the_same_spss_file(survey, tmp_path) -> None:
    write(survey, tmp_path / "survey.sav")
    frame, _ = pyreadstat.read_sav(tmp_path / "survey.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "survey.sav", user_missing=True)
    assert meta.column_names_to_labels["income"] == "Net income, €"
    assert meta.variable_value_labels["sex"] == {1.0: "male", 2.0: "female"}
    assert meta.missing_ranges["income"] == [{"lo": -8.0, "hi": -8.0}]
    assert meta.variable_measure["sex"] == "nominal"
    assert frame["income"].isna().tolist() == [False, False, True, True]
    assert [str(day) for day in frame["born"][:2]] == ["1582-10-15", "2024-02-29"]
    assert str(frame["seen"][1]) == "2024-02-29 23:59:59"


def test_stata_writes_a_numeric_code_as_a_labelled_number(survey, tmp_path) -> None:
    write(survey.select(["income"]), tmp_path / "survey.dta")
    frame, meta = pyreadstat.read_dta(tmp_path / "survey.dta")
    assert frame["income"].tolist()[:2] == [800, 1500]
    assert frame["income"].tolist()[3] == -8
    assert meta.variable_value_labels["income"] == {-8: "not asked", 0: "none"}


def test_ranges_of_missing_values_are_read_code_by_code(tmp_path) -> None:
    frame = pd.DataFrame({"x": [5.0, -9.0, -8.0, 99.0, np.nan]})
    pyreadstat.write_sav(
        frame,
        tmp_path / "x.sav",
        variable_value_labels={"x": {-8: "refused", -7: "not asked", 99: "unknown"}},
        missing_ranges={"x": [{"lo": -9, "hi": -1}, 99]},
    )
    x = read(tmp_path / "x.sav")["x"]
    assert x.levels.tolist() == [5]
    assert x.missing == (
        Missing(),
        Missing(-9),
        Missing(-8, "refused"),
        Missing(-7, "not asked"),
        Missing(99, "unknown"),
    )
    assert x.values.tolist() == [5, -9, -8, 99, None]
    assert dict(x.value_labels) == {}


def test_many_missing_codes_become_a_range(tmp_path) -> None:
    codes = [Missing(-9, "a"), Missing(-8, "b"), Missing(-7, "c"), Missing(-6, "d"), Missing(99)]
    table = Table({"x": column([0, 1, 2, 3, 4, 5], [3], Kind.INTEGER, codes)})
    write(table, tmp_path / "x.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "x.sav", user_missing=True)
    assert meta.missing_ranges["x"] == [{"lo": -9.0, "hi": -6.0}, {"lo": 99.0, "hi": 99.0}]
    assert read(tmp_path / "x.sav") == table
    between = Table({"x": column([0, 1, 2, 3, 4, 5], [-7.5], Kind.NUMERIC, codes)})
    with refused("data.code.too-many", column="x"):
        write(between, tmp_path / "y.sav")
    assert not (tmp_path / "y.sav").exists()


def test_labelled_numbers_are_categories_only_if_every_value_is_labelled(tmp_path) -> None:
    frame = pd.DataFrame({"grade": [1, 2, 1], "age": [0, 31, 47], "rank": [1, 2, 2]})
    pyreadstat.write_sav(
        frame,
        tmp_path / "x.sav",
        variable_value_labels={
            "grade": {1: "low", 2: "high", 3: "never seen"},
            "age": {0: "newborn"},
            "rank": {1: "first", 2: "second"},
        },
        variable_measure={"rank": "ordinal"},
    )
    table = read(tmp_path / "x.sav")
    assert [table[name].kind for name in table] == [Kind.CATEGORY, Kind.INTEGER, Kind.ORDERED]
    assert table["grade"].levels.tolist() == [1, 2]
    assert table["grade"].value_labels[3] == "never seen"
    assert dict(table["age"].value_labels) == {0: "newborn"}


def test_ordered_words_become_labelled_numbers(tmp_path) -> None:
    frame = pd.DataFrame({"size": pd.Categorical(["M", "S", None], ["S", "M", "L"], ordered=True)})
    write(Table.from_frame(frame), tmp_path / "x.sav")
    size = read(tmp_path / "x.sav")["size"]
    assert size.kind is Kind.ORDERED
    assert size.values.tolist() == [2, 1, None]
    assert dict(size.value_labels) == {1: "S", 2: "M", 3: "L"}


def test_sas_transport_file_is_read_with_dates(tmp_path) -> None:
    frame = pd.DataFrame({"x": [1.5, None], "s": ["a", "b"], "d": [0.0, 23435.0]})
    pyreadstat.write_xport(
        frame, tmp_path / "x.xpt", column_labels={"x": "Ex"}, variable_format={"d": "DATE9"}
    )
    table = read(tmp_path / "x.xpt")
    assert table["x"].label == "Ex"
    assert table["x"].values.tolist() == [1.5, None]
    assert table["d"].kind is Kind.DATE
    assert [str(day) for day in table["d"].levels] == ["1960-01-01", "2024-02-29"]
    with refused("data.format.unsupported"):
        write(table, tmp_path / "y.xpt")


def test_plain_and_special_missing_stay_apart_in_any_order(tmp_path) -> None:
    x = column([2, 1, 0], [5], Kind.INTEGER, [Missing(), Missing(".a")])
    write(Table({"x": x}), tmp_path / "x.dta")
    assert read(tmp_path / "x.dta")["x"].values.tolist() == [".a", None, 5]


def test_columns_can_be_chosen(survey, tmp_path) -> None:
    write(survey, tmp_path / "survey.sav")
    assert read(tmp_path / "survey.sav", columns=["bmi", "sex"]).names == ("bmi", "sex")
    with refused("data.column.unknown"):
        read(tmp_path / "survey.sav", columns=["age"])


REFUSED = {
    "long name": (".dta", {"x" * 33: [1]}, "more than 32 characters"),
    "name with a blank": (".sav", {"a b": [1]}, "this name"),
    "name that is a word": (".dta", {"using": [1]}, "this name"),
    "case": (".sav", {"age": [1], "Age": [2]}, "differ in case only"),
    "large integer": (".sav", {"x": [2**53 + 1]}, "beyond 2\\^53"),
    "long text": (".dta", {"x": ["a" * 2045]}, "more than 2,044 bytes"),
    "trailing blank": (".sav", {"x": ["a "]}, "ends in a blank"),
    "NUL": (".sav", {"x": ["a\0b"]}, "NUL characters"),
    "microseconds": (
        ".sav",
        {"x": np.array(["2024-01-01T00:00:00.000001"], "datetime64[us]")},
        "as fine as these",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_format_cannot_hold_is_refused_before_writing(case, tmp_path) -> None:
    suffix, data, message = REFUSED[case]
    with pytest.raises(CaveatError, match=message):
        write(Table.from_frame(data), tmp_path / f"x{suffix}")
    assert list(tmp_path.iterdir()) == []


def test_a_number_that_stata_takes_as_missing_is_refused(tmp_path) -> None:
    with refused("data.value.too-large", column="x"):
        write(Table({"x": column([0, 1], [0.5, 1.0e308], Kind.NUMERIC)}), tmp_path / "x.dta")
    assert list(tmp_path.iterdir()) == []


def test_labels_that_do_not_fit_are_refused(tmp_path) -> None:
    text = Table.from_frame({"x": ["a", "b"]})["x"]
    with refused("data.label.unsupported", column="x"):
        write(Table({"x": replace(text, value_labels={"a": "Ah"})}), tmp_path / "x.dta")
    half = column([0], [0.5], Kind.NUMERIC, value_labels={0.5: "half"})
    with refused("data.label.unsupported", column="x"):
        write(Table({"x": half}), tmp_path / "x.dta")
    long = column([0], [1], Kind.INTEGER, value_labels={2: "x" * 121})
    with refused("data.label.too-long", column="x"):
        write(Table({"x": long}), tmp_path / "x.sav")
    word = column([0, 1], [1], Kind.INTEGER, [Missing(".a")])
    with refused("data.code.unsupported", column="x"):
        write(Table({"x": word}), tmp_path / "x.sav")


@st.composite
def numbers(draw: st.DrawFn, n: int, program: str) -> Column:
    whole = draw(st.booleans())
    value = st.integers(-(2**53), 2**53) if whole else SIZED.filter(lambda v: v != int(v))
    levels = draw(st.lists(value, min_size=1, max_size=5, unique=True).map(sorted))
    ways: list[Missing] = [Missing()]
    if program == "spss":
        codes = st.integers(-99, -1).filter(lambda code: code not in levels)
        ways += [Missing(code, draw(LABEL)) for code in sorted(draw(st.sets(codes, max_size=3)))]
    else:
        tags = sorted(draw(st.sets(st.sampled_from("abcxyz"), max_size=3)))
        ways += [Missing(f".{tag}", draw(LABEL)) for tag in tags]
    values = draw(st.lists(st.integers(0, len(levels) + len(ways) - 1), min_size=n, max_size=n))
    kind = Kind.INTEGER if whole else Kind.NUMERIC
    labels = {}
    if whole and draw(st.booleans()):
        small = [v for v in levels if abs(v) < 2**31 - 100]
        labels = {v: draw(LABEL.filter(bool)) for v in small}
    made = column(values, levels, kind, ways, label=draw(LABEL), value_labels=labels)
    made = _only_what_occurs(made)
    everywhere = len(made.levels) and set(made.levels.tolist()) <= set(labels)
    return replace(made, kind=Kind.CATEGORY) if everywhere else made


def _only_what_occurs(made: Column) -> Column:
    """Leave out what a file cannot know: levels and ways to be missing that no cell has."""
    made = made.compact()
    if not len(made.levels):
        return replace(made, levels=np.array([], np.float64), kind=Kind.NUMERIC)
    return made


@st.composite
def texts(draw: st.DrawFn, n: int, program: str) -> Column:
    levels = draw(st.lists(WORD, min_size=1, max_size=5, unique=True).map(sorted))
    values = draw(st.lists(st.integers(0, len(levels)), min_size=n, max_size=n))
    made = Column(np.array(values, np.int64), np.array(levels, object), Kind.CATEGORY, (Missing(),))
    made = replace(made.compact(), label=draw(LABEL))
    many = n >= 20 and len(made.levels) > n / 2
    return replace(made, kind=Kind.TEXT if many else Kind.CATEGORY)


@st.composite
def times(draw: st.DrawFn, n: int, program: str) -> Column:
    unit, kind = draw(st.sampled_from([("D", Kind.DATE), ("ms", Kind.DATETIME)]))
    ticks = {"D": 1, "ms": 86_400_000}[unit]
    tick = st.integers(-100_000 * ticks, 100_000 * ticks)
    levels = draw(st.lists(tick, min_size=1, max_size=5, unique=True).map(sorted))
    values = draw(st.lists(st.integers(0, len(levels)), min_size=n, max_size=n))
    typed = np.array(levels, f"datetime64[{unit}]")
    typed = typed.astype("datetime64[us]") if unit == "ms" else typed
    made = Column(np.array(values, np.int64), typed, kind, (Missing(),), label=draw(LABEL))
    return made.compact()


@st.composite
def labelled_tables(draw: st.DrawFn, program: str) -> Table:
    n = draw(st.integers(0, 25))
    makers = [numbers, texts, times]
    count = draw(st.integers(1, 4))
    return Table({f"v{i}": draw(draw(st.sampled_from(makers))(n, program)) for i in range(count)})


@pytest.fixture(scope="module")
def in_this_process():
    """Parse here: to start a process takes longer than all else in a round trip."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "executable", "")
        yield


@pytest.mark.usefixtures("in_this_process")
@settings(max_examples=80, deadline=None)
@given(labelled_tables("spss"), st.sampled_from([".sav", ".zsav"]))
def test_spss_round_trip_is_the_identity(tmp_path_factory, table, suffix) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / f"any{suffix}"
    write(table, path, force=True)
    assert read(path) == table


@pytest.mark.usefixtures("in_this_process")
@settings(max_examples=80, deadline=None)
@given(labelled_tables("stata"))
def test_stata_round_trip_is_the_identity(tmp_path_factory, table) -> None:
    path = Path(tmp_path_factory.getbasetemp()) / "any.dta"
    write(table, path, force=True)
    assert read(path) == table


@pytest.mark.parametrize("suffix", ["sav", "zsav", "dta"])
def test_the_time_of_writing_is_not_in_the_file(tmp_path, suffix):
    path = tmp_path / f"people.{suffix}"
    write(Table.from_frame({"age": [31, 47], "sex": ["f", "m"]}), path)
    head = path.read_bytes()[:400]
    assert b"01 Jan 20" in head if suffix == "dta" else b"01 Jan 0000:00:00" in head
    assert read(path)["age"].values.tolist() == [31, 47]


def test_the_measurement_level_of_spss_is_the_kind_and_stays(tmp_path) -> None:
    levels = {"plz": "nominal", "grade": "ordinal", "income": "scale", "likert": "scale"}
    frame = pd.DataFrame(
        {"plz": [10.0, 20.0, 10.0], "grade": [1.0, 3.0, 2.0], "income": [5.0, 7.5, 9.0],
         "likert": [1.0, 2.0, 1.0]}
    )  # fmt: skip
    labels = {"likert": {1: "no", 2: "yes"}}
    pyreadstat.write_sav(
        frame, tmp_path / "a.sav", variable_measure=levels, variable_value_labels=labels
    )
    table = read(tmp_path / "a.sav")
    kinds = {name: str(table[name].kind) for name in table}
    assert kinds == {
        "plz": "category", "grade": "ordered", "income": "numeric", "likert": "category",
    }  # fmt: skip
    write(table, tmp_path / "b.sav")
    _, meta = pyreadstat.read_sav(tmp_path / "b.sav")
    assert meta.variable_measure == levels
    assert read(tmp_path / "b.sav") == table
