"""What every measure must do, driven by the table of measures."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.utility import BEST, MEASURES, EditRule, WeightedPair, compare, find_measure

KEYWORDS: dict[str, dict[str, Any]] = {
    "model": {"model": "height ~ age + sex"},
    "target": {"target": "height"},
    "rules": {"rules": {"old": EditRule("old == 1", "age > 60")}},
}
# Their value depends on chance or on the order of rows (folds, splits, permutations).
BY_CHANCE = {"S_pMSE", "S_pMSE pairs", "detection AUC", "TSTR"}
# Measures of groups need a table in which rows belong together: see test_structure.
NAMES = [name for name, measure in MEASURES.items() if "groups" not in measure.needs]


def value_of(name: str, original: Table, synthetic: Table) -> float | None:
    measure = MEASURES[name]
    keywords = {k: v for need in measure.needs - {"copies"} for k, v in KEYWORDS[need].items()}
    if name in (
        "coefficient ratio",
        "interval overlap",
    ):  # of the small table no coefficient of height differs from 0
        keywords["model"] = "age ~ old + sex"
    if "copies" in measure.needs:
        rows = np.random.default_rng(8).integers(0, len(original), (2, len(original)))
        keywords["copies"] = [WeightedPair(original, original.take(drawn)) for drawn in rows]
    return measure(WeightedPair.of(original, synthetic), **keywords).value


def shuffled(table: Table, share: float, seed: int = 3) -> Table:
    """Shuffle a growing part of the cells of every column, each column for itself."""
    columns = {}
    for i, name in enumerate(table):
        rng = np.random.default_rng([seed, i])
        order = rng.permutation(len(table))
        rows = order[: round(share * len(table))]
        codes = table[name].codes.copy()
        codes[rows] = codes[np.roll(rows, 1)]
        columns[name] = table[name].with_codes(codes)
    return table.with_columns(columns)


@pytest.mark.parametrize("name", NAMES)
def test_identical_tables_give_the_best_value(name: str, people: Table) -> None:
    value = value_of(name, people, people)
    if name == "detection AUC":  # every row has a twin: the model is wrong on purpose
        assert value is not None
        assert value < BEST[name]
    elif name == "TSTR":  # the synthetic table holds the test records too
        assert value is not None
        assert value > BEST[name]
    else:
        assert value == pytest.approx(BEST[name], abs=1e-9)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in BY_CHANCE])
def test_order_of_rows_does_not_matter(name: str, people: Table) -> None:
    rng = np.random.default_rng(5)
    other = shuffled(people, 0.5)
    mixed = value_of(
        name, people.take(rng.permutation(len(people))), other.take(rng.permutation(len(other)))
    )
    assert mixed == pytest.approx(value_of(name, people, other), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in BY_CHANCE])
def test_names_of_levels_do_not_matter(name: str, people: Table) -> None:
    """New names for the jobs turn their order around; nothing else may change."""
    other = shuffled(people, 0.5)

    def renamed(table: Table) -> Table:
        frame = table.to_frame("dict")
        names = {"baker": "z", "smith": "y", "clerk": "x", "nurse": "w"}
        jobs = np.array([names[job] for job in frame["job"]])
        return table.with_columns({"job": Table.from_frame({"job": jobs})["job"]})

    value = value_of(name, renamed(people), renamed(other))
    assert value == pytest.approx(value_of(name, people, other), rel=1e-9, abs=1e-12)


RELATIONS = ["pMSE", "S_pMSE", "S_pMSE pairs", "detection AUC", "S_pMSE two-way",
             "S_pMSE three-way", "Hellinger two-way", "k-marginal", "MAE two-way",
             "joint Wasserstein", "k-marginal by subgroup",
             "JSD two-way", "TSTR",
             "correlation difference", "coefficient difference", "lack of fit",
             "coefficient ratio", "automatic coefficient ratio",
             "rule violations"]  # fmt: skip


@pytest.fixture(scope="module")
def related() -> Table:
    """Four variables that go together strongly, so that shuffling must show."""
    rng = np.random.default_rng(11)
    n = 1500
    age = rng.integers(16, 90, n)
    sex = rng.choice(["f", "m"], n)
    height = np.round(168 + 10 * (sex == "m") - 0.15 * age + rng.normal(0, 3, n), 1)
    weight = np.round(height - 100 + rng.normal(0, 4, n), 1)
    return Table.from_frame(
        {"sex": sex, "age": age, "old": age > 60, "height": height, "weight": weight}
    )


@pytest.mark.parametrize("name", RELATIONS)
def test_shuffling_more_cells_is_worse(name: str, related: Table) -> None:
    """A resample of the rows keeps the relations; then 0, 20, 60 and 100 % of the cells move."""
    rng = np.random.default_rng(2)
    release = related.take(rng.integers(0, len(related), len(related)))
    values = [value_of(name, related, shuffled(release, share)) for share in (0, 0.2, 0.6, 1)]
    assert None not in values
    better = MEASURES[name].direction == "higher is better"
    steps = np.diff(np.array(values, dtype=float)) * (-1 if better else 1)
    assert (steps > 0).all(), values


MARGINS = [m.name for m in MEASURES.values() if m.family == "variables"]


@pytest.mark.parametrize("name", MARGINS)
def test_measures_of_single_variables_are_blind_to_shuffling(name: str, people: Table) -> None:
    """The blind spot that their entries state."""
    value = value_of(name, people, shuffled(people, 1.0))
    assert value == pytest.approx(BEST[name], abs=1e-12)


def test_every_entry_says_what_it_cannot_see() -> None:
    for measure in MEASURES.values():
        assert measure.blind_spot.endswith(".")
        assert measure.formula
        assert measure.source
        assert measure.direction in ("higher is better", "lower is better")
        assert measure.name in BEST


def test_unknown_measure_is_named() -> None:
    with refused("measure.name.unknown"):
        find_measure("pmse")


def test_one_copy_equals_a_list_of_one_copy(people: Table) -> None:
    release = shuffled(people, 0.5)
    names = ["S_pMSE two-way", "KS", "correlation difference"]
    one = compare(people, release, measures=names)
    many = compare(people, [release], measures=names)
    for name in names:
        assert one[name].value == many[name].value
        assert one[name].references == many[name].references


def test_references(people: Table) -> None:
    """Copies are averaged; the second copy, a resample and a control stand beside the mean."""
    first, second = shuffled(people, 0.4), shuffled(people, 0.8, seed=4)
    found = compare(
        people, [first, second], control=people.take(slice(0, 300)), measures=["S_pMSE two-way"]
    )
    result = found["S_pMSE two-way"]
    each = [value_of("S_pMSE two-way", people, copy) for copy in (first, second)]
    assert result.value == pytest.approx(np.mean(each))
    expected = value_of("S_pMSE two-way", first, second)
    assert result.references.second_copy == pytest.approx(expected)
    # A resample of the rows is what the statistic takes as right: 1 on average over 15 tables.
    assert result.references.resample == pytest.approx(1.0, abs=0.25)
    assert result.references.control is not None
    interval = result.measurement.interval
    assert interval is not None
    assert interval[0] < np.mean(each) < interval[1]
    assert result.measurement.details["copy 1"] == pytest.approx(each[0])
    assert any("300 rows" in remark for remark in found.remarks)


def test_same_seed_same_result(people: Table) -> None:
    release = shuffled(people, 0.3)
    names = ["S_pMSE", "detection AUC"]
    first, second = (compare(people, release, measures=names, seed=9) for _ in range(2))
    for name in names:
        assert first[name].value == second[name].value
        assert first[name].references == second[name].references


def test_what_cannot_be_computed_says_why(people: Table) -> None:
    single = people.select(["sex"])
    found = compare(single, single, measures=["S_pMSE two-way", "KS", "Kendall difference"])
    for result in found.results:
        assert result.value is None
        assert result.measurement.notes
    assert found.to_dict()["tables"]["two-way"] == []


@pytest.mark.parametrize(
    ("original", "synthetic"),
    [
        ({"a": [1] * 30, "b": ["x"] * 30}, {"a": [1] * 30, "b": ["x"] * 30}),
        ({"a": np.full(30, np.nan), "b": range(30)}, {"a": np.full(30, np.nan), "b": range(30)}),
        ({"a": ["x"] * 30, "c": [1] * 30}, {"a": ["y"] * 30, "c": [2] * 30}),
        ({"a": [1], "b": ["x"]}, {"a": [2], "b": ["y"]}),
        ({"a": range(30), "b": [True] * 30}, {"a": range(90), "b": [True, False, True] * 30}),
    ],
    ids=["constant", "all missing", "disjoint", "one row", "other size"],
)  # fmt: skip
def test_odd_tables_give_numbers_or_reasons(original: Any, synthetic: Any) -> None:
    names = [m.name for m in MEASURES.values() if not m.needs]
    frames = [{k: np.array(v) for k, v in side.items()} for side in (original, synthetic)]
    found = compare(*frames, measures=names, resamples=1)
    for result in found.results:
        assert (result.value is not None) or result.measurement.notes, result.label
    json.dumps(found.to_dict(), allow_nan=False)


def test_free_text_is_left_out(people: Table) -> None:
    from caveat.table import Kind

    marked = people.with_columns({"job": replace(people["job"], kind=Kind.TEXT)})
    found = compare(marked, marked, measures=["total variation"])
    assert "job" not in found.first.names
    assert any(remark.startswith("job: left out") for remark in found.remarks)
