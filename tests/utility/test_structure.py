"""How rows belong together: by hand, on identical tables, under other orders and other keys."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.table import Table
from caveat.table.grouping import Groups
from caveat.table.linked import Link, Linked
from caveat.utility import (
    BEST,
    MEASURES,
    Composition,
    EditRule,
    WeightedPair,
    compare,
    compare_linked,
    count_groups,
    within_groups,
)
from caveat.utility.structure import check_rules, compositions, group_counts, joined_pair, one_value

NAMES = [name for name, measure in MEASURES.items() if measure.family == "structure"]
ORDER = Groups("home", order="-age")


def households(seed: int, n: int = 300, alike: float = 1.0) -> dict[str, Any]:
    """Couples, singles and children; partners are of about the same age."""
    rng = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {k: [] for k in ("home", "region", "size", "sex", "age", "job")}
    for home in range(n):
        adults = 1 + int(rng.random() < 0.6)
        children = int(rng.integers(0, 3))
        age = int(rng.integers(20, 80))
        region = rng.choice(["N", "S", "W"])
        for member in range(adults + children):
            old = age + round(rng.normal(0, 2)) if rng.random() < alike else rng.integers(20, 80)
            own = int(old) if member < adults else int(rng.integers(0, 18))
            rows["home"].append(f"h{home}")
            rows["region"].append(region)
            rows["size"].append(adults + children)
            rows["sex"].append("fm"[member % 2])
            rows["age"].append(own)
            rows["job"].append(rng.choice(["a", "b", "c"]) if own > 17 else "none")
    return {name: np.array(cells) for name, cells in rows.items()}


def value(name: str, original: Any, synthetic: Any, groups: Any = "home") -> float | None:
    return MEASURES[name](WeightedPair.of(original, synthetic, groups=groups)).value


def other_keys(table: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    keys, codes = np.unique(table["home"], return_inverse=True)
    return table | {"home": np.random.default_rng(seed).permutation(len(keys))[codes] + 900_000}


def mixed_rows(table: dict[str, Any], seed: int = 2) -> dict[str, Any]:
    order = np.random.default_rng(seed).permutation(len(table["home"]))
    return {name: cells[order] for name, cells in table.items()}


HOMES = households(1)
RELEASE = households(2, 250, alike=0.3)


@pytest.mark.parametrize("groups", ["home", ORDER])
@pytest.mark.parametrize("name", NAMES)
def test_identical_tables_under_fresh_keys_give_the_best_value(name: str, groups: Any) -> None:
    found = value(name, HOMES, other_keys(HOMES), groups)
    assert found == pytest.approx(BEST[name], abs=1e-12)


@pytest.mark.parametrize("groups", ["home", ORDER])
@pytest.mark.parametrize("name", [name for name in NAMES if name != "S_pMSE joined"])
def test_neither_the_order_of_rows_nor_the_keys_matter(name: str, groups: Any) -> None:
    expected = value(name, HOMES, RELEASE, groups)
    assert expected is not None
    found = value(name, mixed_rows(other_keys(HOMES)), mixed_rows(other_keys(RELEASE)), groups)
    assert found == pytest.approx(expected, rel=1e-9)


SHUFFLED = RELEASE | {"home": np.random.default_rng(3).permutation(RELEASE["home"])}


@pytest.mark.parametrize("name", [n for n in NAMES if n not in ("group count", "group sizes")])
def test_rows_that_do_not_belong_together_are_seen(name: str) -> None:
    better, worse = value(name, HOMES, households(9)), value(name, HOMES, SHUFFLED)
    assert better is not None
    assert worse is not None
    assert abs(worse - BEST[name]) > 2 * abs(better - BEST[name])


TINY = {"home": [1, 1, 2, 2, 3], "sex": list("fmfmf"), "age": [40, 44, 30, 8, 70]}
OTHER = {"home": [7, 7, 7, 8, 9], "sex": list("fmmff"), "age": [40, 44, 8, 30, 70]}


def test_sizes_by_hand() -> None:
    """Sizes 2, 2, 1 become 3, 1, 1: two thirds at 2 go, one third to 3 and one to 1."""
    pair = WeightedPair.of(TINY, OTHER, groups="home")
    assert MEASURES["group sizes"](pair).value == pytest.approx(2 / 3)
    assert MEASURES["group count"](pair).value == 0
    assert pair.names == ("sex", "age")


def test_the_number_of_groups_is_that_of_as_many_rows() -> None:
    """3 groups of 5 rows against 10 of 10 rows: 1 / 0.6 − 1."""
    release = {"home": list(range(10)), "sex": list("fm" * 5), "age": [40] * 10}
    found = group_counts(WeightedPair.of(TINY, release, groups="home"))
    assert (found.original, found.synthetic) == (3, 10)
    assert found.relative == pytest.approx(2 / 3)


def test_weights_of_rows_are_weights_of_groups() -> None:
    """Weights 1, 1, 1, 1, 6 scaled to 5 rows: groups of ½, ½ and 3, sizes 2, 2, 1."""
    pair = WeightedPair.of(TINY | {"w": [1, 1, 1, 1, 6]}, OTHER, weights="w", groups="home")
    assert group_counts(pair).original == pytest.approx(4)
    # shares of sizes 1, 2, 3: ¾, ¼, 0 against ⅔, 0, ⅓
    assert MEASURES["group sizes"](pair).value == pytest.approx(1 / 3)


def test_compositions_by_hand() -> None:
    """Original: both, both, women; synthetic: both, women, women."""
    pair = WeightedPair.of(TINY, OTHER, groups="home")
    assert compositions(pair)["sex"] == pytest.approx(1 / 3)


def test_kinds_of_groups_are_counted() -> None:
    kinds = {
        "children only": Composition(none=("age >= 18",)),
        "mixed adults": Composition(some=("age >= 18 and sex == 'f'", "age >= 18 and sex == 'm'")),
    }
    table = Table.from_frame(
        {"home": [1, 1, 2, 3, 3], "sex": list("fmfmf"), "age": [40, 44, 3, 50, 9]}
    )
    assert count_groups(table, "home", kinds) == {"children only": 1, "mixed adults": 1}
    weights = np.array([2.0, 4, 10, 1, 1])
    assert count_groups(table, "home", kinds, weights) == {"children only": 10, "mixed adults": 3}


def test_rules_of_groups_work_on_the_key_that_was_taken_out() -> None:
    rule = {"adult": EditRule("age >= 18", group="home")}
    release = OTHER | {"age": [4, 4, 8, 30, 70]}
    found = check_rules(WeightedPair.of(TINY, release, groups="home"), rule)["adult"]
    assert (found.original, found.synthetic) == (0.0, pytest.approx(1 / 3))
    assert (found.original_n, found.synthetic_n) == (3, 3)
    kept = check_rules(WeightedPair.of(TINY, release), rule)["adult"]
    assert kept.synthetic == found.synthetic


def test_one_value_and_size_by_hand() -> None:
    ours = {"home": [1, 1, 2, 2, 3], "region": list("NNSSN"), "size": [2, 2, 2, 2, 1]}
    theirs = {"home": [1, 1, 2, 2, 3], "region": list("NSSSN"), "size": [2, 2, 1, 2, 1]}
    pair = WeightedPair.of(ours | {"age": range(5)}, theirs | {"age": range(5)}, groups="home")
    assert one_value(pair) == {"region": 0.5, "size": 0.5}
    assert MEASURES["one value per group"](pair).value == 0.5
    assert MEASURES["size column"](pair).value == 0.8


def test_partners_by_hand() -> None:
    """The two oldest: (44, 40), (30, 20), (70, 60), and the correlation of these three."""
    ours = {"home": [1, 1, 1, 2, 2, 3, 3], "age": [40, 44, 3, 30, 20, 70, 60]}
    theirs = {"home": [1, 1, 2, 2, 3, 3, 3], "age": [50, 20, 40, 30, 60, 10, 9]}
    pair = WeightedPair.of(ours, theirs, groups=Groups("home", order="-age"))
    found = within_groups(pair)["age"]
    expected = (
        np.corrcoef([44, 30, 70], [40, 20, 60])[0, 1],
        np.corrcoef([50, 40, 60], [20, 30, 10])[0, 1],
    )
    assert found == pytest.approx(expected)


def every_pair(table: dict[str, Any], name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    home, cells = np.array(table["home"]), np.array(table[name])
    first, second, weight = [], [], []
    for i in range(len(home)):
        for j in range(len(home)):
            if i != j and home[i] == home[j]:
                first.append(cells[i])
                second.append(cells[j])
                weight.append(1 / ((home == home[i]).sum() - 1))
    return np.array(first), np.array(second), np.array(weight)


def test_without_an_order_every_two_members_are_compared() -> None:
    small = {name: cells[:60] for name, cells in HOMES.items()}
    found = within_groups(WeightedPair.of(small, small, groups="home"))
    x, y, w = every_pair(small, "age")
    mean = np.average(x, weights=w)
    r = np.average((x - mean) * (y - mean), weights=w) / np.average((x - mean) ** 2, weights=w)
    assert found["age"] == pytest.approx((r, r))
    x, y, w = every_pair(small, "job")
    levels = np.unique(x)
    joint = np.array([[w[(x == a) & (y == b)].sum() for b in levels] for a in levels])
    joint /= joint.sum()
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    v = np.sqrt(((joint - expected) ** 2 / expected).sum() / (len(levels) - 1))
    assert found["job"] == pytest.approx((v, v))


def test_an_order_that_is_not_compared_is_no_order() -> None:
    ours = WeightedPair.of(HOMES, RELEASE, groups="home")
    other = WeightedPair.of(HOMES, RELEASE, groups=Groups("home", ("region", "gone"), "person"))
    assert within_groups(other).keys() == within_groups(ours).keys()
    assert one_value(other).keys() == {"region"}


PATIENTS = {"id": [1, 2, 3, 4], "sex": list("ffmm")}
VISITS = {"of": [1, 1, 2, 4], "day": [3, 9, 4, 5], "cost": [10, 20, 5, 5]}


def linked(patients: dict[str, Any], visits: dict[str, Any]) -> Linked:
    tables = {"patients": Table.from_frame(patients), "visits": Table.from_frame(visits)}
    link = Link("visits", "of", "patients")
    return Linked(tables, {"patients": "id"}, (link,), order={"visits": "day"})


def test_children_of_parents() -> None:
    """Numbers of visits 2, 1, 0, 1 become 1, 1, 1, 1: half of the patients change theirs."""
    release = linked(PATIENTS | {"id": [11, 12, 13, 14]}, VISITS | {"of": [14, 13, 12, 11]})
    found = compare_linked(linked(PATIENTS, VISITS), release, resamples=1)
    assert list(found) == ["patients", "visits"]
    assert found["patients"].first.names == ("sex",)
    assert found["visits"].first.names == ("day", "cost")
    result = found["visits"]["group sizes"].copies[0]
    assert result.value == 0.5
    assert result.details["without members, original"] == 1
    assert result.details["without members, synthetic"] == 0
    assert found["visits"]["group count"].value == 0
    for one in found.values():
        json.dumps(one.to_dict(), allow_nan=False)


def test_copies_of_linked_tables_give_the_best_values() -> None:
    rng = np.random.default_rng(8)
    n = 200
    size = rng.integers(0, 4, n)
    patients = {"id": np.arange(n), "sex": rng.choice(["f", "m"], n)}
    visits = {"of": np.repeat(np.arange(n), size), "cost": rng.integers(1, 30, size.sum())}
    visits["day"] = rng.integers(1, 365, size.sum())
    fresh = linked(
        {name: cells[::-1] for name, cells in (patients | {"id": 9000 + patients["id"]}).items()},
        {name: cells[::-1] for name, cells in (visits | {"of": 9000 + visits["of"]}).items()},
    )
    found = compare_linked(linked(patients, visits), [fresh, fresh], measures=NAMES, resamples=1)
    assert found["patients"].results == ()
    for name in NAMES:
        result = found["visits"][name]
        if name in ("one value per group", "size column"):
            assert result.value is None
        else:
            assert result.value == pytest.approx(BEST[name], abs=1e-12)
            assert result.references.second_copy == pytest.approx(BEST[name], abs=1e-12)


def test_joined_parents_and_children() -> None:
    found = compare_linked(linked(PATIENTS, VISITS), linked(PATIENTS, VISITS), measures=[])
    frame = joined_pair(found["visits"].first).original.to_frame("dict")
    assert frame["sex"].tolist() == list("ffmm")
    assert frame["number of members"].tolist() == [2, 1, 0, 1]
    assert frame["largest cost"].tolist()[:2] == [20, 5]
    assert np.isnan(frame["mean of cost"].tolist()[2])
    assert frame["mean of cost"].tolist()[0] == 15


def test_relations_of_parents_and_children_are_seen() -> None:
    """Children swapped among parents change nothing but the tables of both.

    Of sick and visits (n/2, 0, 0, n/2) becomes about (n/4, n/4, n/4, n/4): VW is 4 n / 3, on three
    degrees of freedom. A tree sees nothing, for no single column differs: its entry says so.
    """
    rng = np.random.default_rng(5)
    n = 400
    sick = rng.random(n) < 0.5
    size = 1 + 3 * sick
    patients = {"id": np.arange(n), "sick": sick}
    visits = {"of": np.repeat(np.arange(n), size), "cost": rng.integers(1, 9, size.sum())}
    visits["day"] = np.arange(size.sum())
    release = linked(patients | {"sick": rng.permutation(sick)}, visits)
    names = ["group sizes", "pMSE joined", "S_pMSE two-way joined"]
    found = compare_linked(linked(patients, visits), release, measures=names)["visits"]
    assert found["group sizes"].value == 0
    assert found["pMSE joined"].value == 0
    result = found["S_pMSE two-way joined"]
    assert result.value > 3
    assert result.references.resample < 1.5
    assert result.copies[0].details["largest"] == pytest.approx(4 * n / 9, rel=0.1)


def test_a_table_of_keys_alone_is_left_out() -> None:
    bare = Linked(
        {"patients": Table.from_frame(PATIENTS), "visits": Table.from_frame({"of": [1, 2]})},
        {"patients": "id"},
        (Link("visits", "of", "patients"),),
    )
    assert list(compare_linked(bare, bare, measures=["category coverage"])) == ["patients"]


def test_reference_values_come_from_whole_groups() -> None:
    """A resample by rows would tear households apart: sizes and shared values would not hold."""
    control = households(4, 100)
    names = ["group sizes", "one value per group", "size column", "KS", "within-group correlation"]
    found = compare(HOMES, [RELEASE, households(6)], control=control, measures=names, groups="home")
    for label in ("one value per group", "size column"):
        assert found[label].references.resample == 1
        assert found[label].references.control == 1
        assert found[label].references.second_copy == 1
    assert found["group sizes"].references.resample < 0.1
    assert found["within-group correlation"].references.resample < 0.1
    assert "home" not in found.first.names
    assert not found.first.doubts


def test_weights_and_groups_together() -> None:
    """Records of weight 0 are nobody's members; references are drawn by weights of households."""
    w = np.where(HOMES["region"] == "N", 0.0, np.where(HOMES["region"] == "S", 1.0, 3.0))
    names = ["group count", "group sizes", "one value per group", "S_pMSE joined"]
    found = compare(
        HOMES | {"w": w}, RELEASE, measures=names, groups="home", weights="w",
        control=households(4, 80) | {"w": np.ones(len(households(4, 80)["home"]))},
    )  # fmt: skip
    kept = len(np.unique(HOMES["home"][w > 0]))
    assert found.first.groups is not None
    assert found.first.groups.original.n_groups == kept
    assert found["one value per group"].references.control == 1
    assert all(result.value is not None for result in found.results)


def test_without_a_key_nothing_changes() -> None:
    plain = compare(HOMES, RELEASE, measures=["KS", "group sizes"])
    assert [result.label for result in plain.results] == ["KS"]


def test_training_and_test_records_are_of_different_households() -> None:
    from caveat.utility.regressions import _split

    pair = WeightedPair.of(HOMES, RELEASE, groups="home")
    held = np.random.default_rng(1).random(pair.n_original) < 0.9
    train, test = _split(pair, held, 0)
    home = HOMES["home"][held]
    assert not set(home[train]) & set(home[test])
    assert len(train) + len(test) == held.sum()
    assert 0.2 < len(test) / held.sum() < 0.4


def test_folds_hold_whole_households() -> None:
    from caveat.utility.stacked import _folds, detection

    pair = WeightedPair.of(HOMES, RELEASE, groups="home")
    response = np.arange(pair.n_synthetic + pair.n_original) < pair.n_synthetic
    home = np.concatenate([np.char.add("s", RELEASE["home"]), HOMES["home"]])
    tested = []
    for train, test in _folds(pair, response, 3, 0):
        assert not set(home[train]) & set(home[test])
        assert len(train) + len(test) == len(home)
        tested += test.tolist()
    assert sorted(tested) == list(range(len(home)))
    assert 0.5 < detection(pair).auc < 1


def test_groups_of_one_and_one_group_give_a_number_or_a_reason() -> None:
    single = {"home": list(range(30)), "sex": list("fm" * 15), "age": list(range(30))}
    whole = single | {"home": [1] * 30}
    for original, release in ((single, single), (whole, whole), (single, whole), (whole, single)):
        found = compare(
            original, release, groups="home", measures=[*NAMES, "detection AUC"], resamples=1
        )
        for result in found.results:
            assert result.value is not None or result.measurement.notes, result.label


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: WeightedPair.of(TINY | {"home": [1, 1, None, 2, 2]}, OTHER, groups="home"),
         "data.key.absent"),
        (lambda: WeightedPair.of(TINY, OTHER, groups="house"),
         "data.column.absent"),
        (lambda: compare(TINY, {"sex": ["f"]}, groups="home"),
         "data.column.absent"),
    ],
)  # fmt: skip
def test_mistakes(make: Any, words: str) -> None:
    with refused(words):
        make()
