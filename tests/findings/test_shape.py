"""What a column is as a whole."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.findings import look
from caveat.findings.profile import CATALOGUE, Status
from caveat.spec.starter import dropped
from caveat.synthesis import make_plan
from caveat.table import Schema, Table

N = 400
RNG = np.random.default_rng(20)


def codes(values, name="x"):
    """The findings about one column, by code."""
    other = RNG.integers(0, 1000, len(values)) / 7
    return {f.code for f in look({name: values, "other": other}).findings if name in f.columns}


def test_constant_and_empty():
    assert codes(["a"] * N) == {"constant"}
    assert codes(pl.Series([None] * N, dtype=pl.String)) == {"all-missing"}


def test_nearly_constant_starts_at_its_share():
    assert "nearly-constant" in codes(["a"] * 380 + ["b"] * 20)
    assert "nearly-constant" not in codes(["a"] * 379 + ["b"] * 21)


@pytest.mark.parametrize(
    "values",
    [
        list(range(1, N + 1)),
        RNG.permutation(np.arange(10_000_000, 10_000_000 + N * 991, 991)),
        [f"{i:08x}" for i in RNG.permutation(N)],
        [f"p{i}@example.org" for i in range(N)],
    ],
)
def test_identifiers(values):
    assert "id-like" in codes(values)


def test_distinct_amounts_are_no_identifiers():
    amounts = np.unique(RNG.lognormal(8, 1, 3 * N).round())[:N]
    assert "id-like" not in codes(RNG.permutation(amounts))


def test_households_are_groups_and_share_their_values():
    household = np.repeat(np.arange(1, 151), 3)
    region = np.repeat(RNG.integers(0, 5, 150), 3)
    profile = look({"hh": household, "region": region, "age": RNG.integers(0, 90, 450)})
    assert profile.about("group-id", "hh")
    (shared,) = profile.about("same-in-group")
    assert shared.columns == ("region", "hh")


def test_free_text():
    words = ["the", "patient", "felt", "well", "and", "left", "early", "today"]
    texts = [" ".join(RNG.choice(words, 7)) for _ in range(N)]
    assert "free-text" in codes(texts)


def test_what_is_declared_as_an_id_is_one_whatever_its_values():
    table = Table.from_frame({"x": RNG.integers(0, 9, N), "y": RNG.integers(0, 9, N)})
    (found,) = look(Schema.from_mapping({"x": {"kind": "id"}}).apply(table)).about("id-like")
    assert (found.columns, found.suggestion) == (("x",), {"drop": True})


def test_a_factor_is_long_from_21_levels_on():
    for n, expected in ((20, False), (21, True)):
        assert ("long-factor" in codes([f"l{i % n}" for i in range(N)])) is expected


def test_rare_levels_are_counted():
    values = ["a"] * 1000 + ["b"] * 988 + ["c"] * 9 + ["d"] * 3
    (found,) = look({"x": values}).about("rare-levels")
    assert (found.rows, found.message) == (12, "2 levels have fewer than 10 rows: d (3), c (9).")


def test_few_whole_numbers_are_asked_about_together():
    data = {"edu": [1, 2, 3, 4] * 100, "sex": [1, 2] * 200, "age": list(range(20, 60)) * 10}
    (found,) = look(data).about("few-numbers")
    assert found.columns == ("edu",)


def test_duplicate_rows():
    (found,) = look({"a": [1, 1, 2, 1], "b": ["x", "x", "x", "y"]}).about("duplicate-rows")
    assert (found.rows, found.share) == (1, 0.25)


def test_texts_that_few_records_have_are_left_out_by_the_starter() -> None:
    rng = np.random.default_rng(2)
    frame = {
        "sex": rng.choice(["f", "m"], 300),
        "firm": rng.choice([f"Works {i}" for i in range(120)], 300),
        "town": rng.choice([f"Town {i}" for i in range(12)], 300),
    }
    profile = look(frame)
    (found,) = profile.about("mostly-rare")
    assert found.columns == ("firm",)
    assert found.suggestion == {"drop": True}
    assert "Works" not in found.message
    assert dropped(profile) == ["firm"]
    assert make_plan(Table.from_frame(frame)).columns["firm"].settings.method == "drop"


def test_nothing_is_said_about_columns_that_are_left_out() -> None:
    rng = np.random.default_rng(3)
    names = np.array([f"Name{i:03d} Sur{i:03d}" for i in range(300)], object)
    names[:9] = ["unknown"] * 9
    profile = look(
        {
            "case": [f"{i:04d}" for i in range(300)], "surname": names,
            "age": rng.integers(20, 90, 300), "place": [f"p{i // 2}" for i in range(300)],
        }
    )  # fmt: skip
    left_out = {"case", "surname", "place"}
    about = {f.code for f in profile.findings if left_out & set(f.columns)}
    assert left_out <= {f.columns[0] for f in profile.findings}
    assert about <= {"id-like", "person-name", "near-unique-text", "mostly-rare"}


def test_a_computed_number_needs_no_advice_of_its_own() -> None:
    rng = np.random.default_rng(4)
    kg, cm = rng.normal(70, 9, 400).round(1), rng.normal(170, 9, 400).round(1)
    (found,) = look({"kg": kg, "cm": cm, "bmi": kg / (cm / 100) ** 2}).about("private-numbers")
    assert set(found.columns) == {"kg", "cm"}


def test_only_rare_texts_are_pooled() -> None:
    text = look({"town": ["A"] * 997 + ["B"] * 3}).about("rare-levels")[0]
    number = look({"rooms": [1] * 500 + [2] * 497 + [3] * 3}).about("rare-levels")[0]
    assert (text.status, number.status) == (Status.SETTLED, Status.NOTE)


def test_no_advice_contradicts_another() -> None:
    """Guarded trees refuse smoothing, so that no finding may ask for it."""
    said = " ".join(f"{entry.title} {entry.action}" for entry in CATALOGUE.values())
    assert "smooth" not in said
