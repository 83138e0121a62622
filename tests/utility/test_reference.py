"""synthpop's figures: equal where no random number enters, within sampling error where one does."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat.utility import (
    WeightedPair,
    all_tables,
    cross_table,
    expected_pmse,
    histogram,
    permutation_null,
    propensity,
)

CLOSE = {"rel": 1e-8, "abs": 1e-8}
WITH_TREE = ["cart_none", "cart_none_minbucket_50", "cart_none_subset", "cart_none_k_syn"]
WITH_LOGIT = ["logit_main", "logit_main_k_syn", "logit_main_subset", "logit_pairs_subset"]
GROUPED = ["cart_none_groups5", "logit_main_groups5"]
PERMUTED = ["cart_perm_seed1", "cart_perm_seed2", "cart_perm_subset", "logit_main_perm"]
# The score columns of propensity.csv and the settings they are from.
SCORES = {
    "cart": "cart_none",
    "cart_mb50": "cart_none_minbucket_50",
    "logit_main": "logit_main",
    "logit_pairs_subset": "logit_pairs_subset",
}


def settings(case: dict[str, Any]) -> dict[str, Any]:
    args = case["args"]
    found = {
        "model": args["method"],
        "names": args.get("vars"),
        "interactions": args.get("maxorder", 0),
        "groups": args.get("ngroups"),
    }
    return found | {k: args[k] for k in ("cp", "minbucket") if k in args}


def as_in_r(figure: str, value: float) -> float:
    """A figure as synthpop prints it: PO50 in per cent."""
    return 100 * value if figure == "PO50" else value


@pytest.mark.parametrize("name", [*WITH_TREE, *WITH_LOGIT, *GROUPED])
def test_general_utility(
    name: str, reference: dict[str, Any], sd2011: WeightedPair, sd2011_coded: WeightedPair
) -> None:
    case = reference["utility_gen"][name]
    pair = sd2011_coded if name in GROUPED else sd2011
    found = propensity(pair, **settings(case))
    for figure in ("pMSE", "SPECKS", "PO50", "U"):
        ours = as_in_r(figure, getattr(found, figure))
        assert ours == pytest.approx(case[figure], **CLOSE), figure
    if case["method"] == "cart":
        assert found.df == case["leaves"]
    else:
        df = found.df + bool(case["args"].get("k.syn"))
        assert df == case["df"]
        expected = expected_pmse(df, pair.n_original, pair.n_synthetic)
        assert found.pMSE / expected == pytest.approx(case["S_pMSE"], **CLOSE)


def test_small_cp_differs_only_where_splits_tie(
    reference: dict[str, Any], sd2011: WeightedPair
) -> None:
    """Where two splits are exactly as good, rpart's rounding decides: 4 of 863 splits, 72 rows."""
    case = reference["utility_gen"]["cart_none_cp_small"]
    found = propensity(sd2011, **settings(case))
    assert found.df == case["leaves"]
    assert found.pMSE == pytest.approx(case["pMSE"], rel=0.01)
    assert pytest.approx(case["U"], rel=0.002) == found.U


@pytest.mark.parametrize("column", SCORES)
def test_scores_row_by_row(
    column: str, folder: Path, reference: dict[str, Any], sd2011: WeightedPair
) -> None:
    with (folder / "propensity.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    expected = np.array([float(row[column]) for row in rows])
    found = propensity(sd2011, **settings(reference["utility_gen"][SCORES[column]]))
    assert np.array_equal(found.is_synthetic, [row["synthetic"] == "1" for row in rows])
    assert np.abs(found.scores - expected).max() < 1e-8


@pytest.mark.parametrize("name", PERMUTED)
def test_permutation_null(name: str, reference: dict[str, Any], sd2011: WeightedPair) -> None:
    """Both means are over 50 permutations: they differ by about √2 standard errors."""
    case = reference["utility_gen"][name]
    null = permutation_null(sd2011, repetitions=50, seed=1, **settings(case))
    error = null.values.std(ddof=1) / 2 / np.sqrt(50)
    assert abs(null.halved - case["null_pMSE_mean_halved"]) < 4 * np.sqrt(2) * error
    assert null.without_split == case["nulls_without_split"] == 0


def test_tables_of_utility_tab(reference: dict[str, Any], sd2011: WeightedPair) -> None:
    for case in reference["utility_tab"]:
        args = case["args"] or {}
        found = cross_table(
            sd2011,
            case["vars"],
            groups=args.get("ngroups", 5),
            style=args.get("style", "quantile"),
            use_empty=args.get("useNA", True),
            k_syn=args.get("k.syn", False),
        )
        for figure, value in found.statistics.items():
            ours = as_in_r(figure, value)
            assert ours == pytest.approx(case[figure], **CLOSE), (case["vars"], figure)
        assert found.empty == case["nempty"]
        if "observed" not in case:
            continue
        for side in ("observed", "synthetic"):
            ours = cells_by_label(getattr(found, side), found.labels, found.names)
            shape = case[side]["dim"]
            theirs = np.array(case[side]["values_column_major"]).reshape(shape, order="F")
            labels = [case[side]["dimnames"][name] for name in found.names]
            spelled = [["empty" if x is None else x for x in levels] for levels in labels]
            assert ours == cells_by_label(theirs, spelled, found.names)


def cells_by_label(counts: np.ndarray, labels: Any, names: Any) -> dict[tuple[str, ...], int]:
    """Counts of the filled cells by the names of their levels: the order of levels is free."""
    assert len(labels) == len(names) == counts.ndim
    return {
        tuple(labels[axis][i] for axis, i in enumerate(place)): int(counts[tuple(place)])
        for place in np.argwhere(counts > 0)
    }


@pytest.mark.parametrize("ways", [1, 2, 3])
def test_all_tables(ways: int, reference: dict[str, Any], sd2011: WeightedPair) -> None:
    case = reference["utility_tables"][ways - 1]
    found = all_tables(sd2011, ways)
    assert len(found) == case["n_tables"]
    for ours, theirs in zip(found.rows(), case["tabs"], strict=True):
        assert ":".join(ours["variables"]) == ":".join(
            part[3:] for part in theirs["table"].split(":")
        )
        for figure in theirs.keys() - {"table"}:
            value = as_in_r(figure, ours[figure])
            assert value == pytest.approx(theirs[figure], **CLOSE), theirs["table"]
    for of, key in (("median", "medians"), ("max", "maxima")):
        for figure, value in found.summary(of).items():
            ours = as_in_r(figure, value)
            assert ours == pytest.approx(case[key][figure], **CLOSE), (of, figure)
    scores = found.variable_scores()
    assert [f"{name}" for name in scores] == [name[3:] for name in case["variable_scores"]]
    for name, value in case["variable_scores"].items():
        assert scores[name[3:]] == pytest.approx(value, **CLOSE)
    worst = [":".join(names) for names, _ in found.ranked()[:5]]
    assert worst == [":".join(p[3:] for p in key.split(":")) for key in case["worst"]]


@pytest.mark.parametrize("name", ["percents", "counts", "breaks10"])
def test_compare(name: str, reference: dict[str, Any], sd2011: WeightedPair) -> None:
    case = reference["compare"][name]
    bins = case["args"]["breaks"] if case["args"] and "breaks" in case["args"] else 20
    for variable, table in case["tables"].items():
        found = histogram(sd2011, variable, bins)
        sides = found.observed, found.synthetic
        if name != "counts":
            sides = tuple(100 * side for side in found.shares)
        words = {None: "empty", "miss.NA": "empty", "miss.-8": "-8"}
        for side, key in zip(sides, ("observed", "synthetic"), strict=True):
            ours = dict(zip(found.labels, side.tolist(), strict=True))
            theirs = {
                words.get(label, label): value
                for label, value in zip(table["categories"], table[key], strict=True)
            }
            assert ours == pytest.approx(theirs, rel=1e-10), (variable, key)
    one_way = all_tables(sd2011, 1)
    by_name = {row["variables"][0]: row for row in one_way.rows()}
    for row in case["utility"]:
        for figure in row.keys() - {"variable"}:
            value = as_in_r(figure, by_name[row["variable"]][figure])
            assert value == pytest.approx(row[figure], **CLOSE)
