"""Places before and after masking."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.protect import donut
from caveat.table import Table
from caveat.table.coordinates import points_of
from caveat.utility.places import Population, Zones, measure_places

WEST, SOUTH = 350_000.0, 5_640_000.0


def town(n=3000, seed=1):
    """Return people in a square of 3 km; in its east everybody is ill."""
    rng = np.random.default_rng(seed)
    e, north = WEST + 3000 * rng.random(n), SOUTH + 3000 * rng.random(n)
    east = e > WEST + 1500
    return Table.from_frame(
        {
            "e": e, "n": north, "sex": rng.choice(["f", "m"], n), "home": np.arange(n) // 3,
            "ill": np.where(east, "yes", "no"), "side": np.where(east, "east", "west"),
        }
    )  # fmt: skip


def test_what_a_ring_does():
    people = town()
    found = measure_places(people, donut(people, "e", "n", 100, 200, seed=1).table, "e", "n")
    assert 100 <= found.distance.min() <= found.distance.max() <= 200
    density = 3000 / 9e6
    assert found.anonymity.mean == pytest.approx(density * np.pi * 70_000 / 3, rel=0.05)
    assert found.before.n == found.after.n == 3000
    assert found.after.area > found.before.area
    assert (found.missing, found.apart, found.people, found.zones) == (0, 0, None, None)
    first, hides, pattern = found.sentences()
    assert first == "3,000 places moved by 100 to 200 m, the middle one by 150 m"
    assert "half of the places hide among" in hides
    assert "NOT below" not in hides
    assert "at random (below 1: clusters)" in pattern
    assert found.to_dict()["k"]["share below"] == found.anonymity.below()


def test_who_is_known_better_hides_among_fewer():
    people = town()
    moved = donut(people, "e", "n", 100, 200, seed=1).table
    plain = measure_places(people, moved, "e", "n").anonymity
    same = measure_places(people, moved, "e", "n", same=["sex", "ill"])
    assert (same.anonymity.k <= plain.k).all()
    assert same.anonymity.mean < 0.7 * plain.mean
    assert "with the same sex, ill" in same.sentences()[1]
    alone = measure_places(people, moved, "e", "n", same=["home"])
    assert "NOT below the 10 % that are tolerable" in alone.sentences()[1]
    assert "NOT below" not in alone.sentences(k=5)[1]


def test_a_population_counts_people():
    people = town()
    moved = donut(people, "e", "n", 100, 200, seed=1).table
    homes = points_of(people, "e", "n")
    ten = Population(homes, np.full(3000, 10.0))
    found = measure_places(people, moved, "e", "n", population=ten).people
    once = measure_places(people, moved, "e", "n", population=Population(homes)).people
    assert (found.k == 10 * once.k).all()
    assert found.against == "people"


@pytest.mark.parametrize("how", ["column", "places", "cell"])
def test_zones(how):
    people = town()
    moved = donut(people, "e", "n", 100, 200, seed=1).table
    told = {
        "column": {"column": "side"},
        "places": {"places": np.array([[WEST + 750, SOUTH + 1500], [WEST + 2250, SOUTH + 1500]]),
                   "names": np.array(["west", "east"], dtype=object)},
        "cell": {"cell": 500.0},
    }[how]  # fmt: skip
    found = measure_places(people, moved, "e", "n", zones=Zones("ill", "yes", **told)).zones
    if how == "cell":
        assert len(found.zones) > 36  # and those that the moved places fell into
        assert found.mean_difference < 0.1
    else:
        assert found.zones == ("east", "west")
        assert found.shares[0].tolist() == [1, 0]
        # Of those near the border, half cross it: a mean of 150 m / π on either side of 1,500.
        assert found.shares[1] == pytest.approx([1 - 150 / np.pi / 1500, 150 / np.pi / 1500],
                                                abs=0.012)  # fmt: skip
        assert found.changed == pytest.approx(150 / np.pi / 1500, abs=0.012)
    sentence = measure_places(
        people, moved, "e", "n", zones=Zones("ill", "yes", **told)
    ).sentences()[-1]
    assert "of the records are in another zone; the prevalence" in sentence


def test_neighbours_that_were_moved_apart_are_told():
    people = town(30)
    at_home = points_of(people, "e", "n")[people["home"].codes * 3]
    family = Table.from_frame(
        {"e": at_home[:, 0], "n": at_home[:, 1], "home": people["home"].values}
    )
    apart = measure_places(family, donut(family, "e", "n", 100, 200).table, "e", "n")
    assert apart.apart == 30
    assert "move them together" in apart.sentences()[-1]
    kept = donut(family, "e", "n", 100, 200, together="home").table
    assert measure_places(family, kept, "e", "n").apart == 0
    same = measure_places(family, family, "e", "n")
    assert "WARNING: 30 places were not moved at all" in same.sentences()


def test_records_in_another_order_are_suspected():
    people = town(300)
    moved = donut(people, "e", "n", 100, 200).table
    mixed = measure_places(people, moved.take(np.random.default_rng(1).permutation(300)), "e", "n")
    assert mixed.reordered == ("sex", "home", "ill", "side")
    assert any("nothing of this is true" in line for line in mixed.sentences())
    assert measure_places(people, moved, "e", "n").reordered == ()


def test_missing_places_are_left_out():
    people = Table.from_frame({"e": [1e5, 2e5, None], "n": [1e5, 2e5, None]})
    moved = Table.from_frame({"e": [1e5 + 100, None, None], "n": [1e5, None, None]})
    found = measure_places(people, moved, "e", "n")
    assert (found.missing, found.distance.tolist(), found.anonymity.k.tolist()) == (2, [100], [1])
    assert found.before is None
    assert "2 records have no place and are left out" in found.sentences()
    assert "too few places" in found.sentences()[-1]


def test_what_cannot_be_measured():
    people = town(30)
    moved = donut(people, "e", "n", 100, 200).table
    with refused("data.row.mismatch", where="places"):
        measure_places(people, moved.take(slice(0, 9)), "e", "n")
    with refused("data.level.unknown", column="ill"):
        measure_places(people, moved, "e", "n", zones=Zones("ill", "perhaps", cell=100))
    with refused("measure.setting.range", where="cell"):
        measure_places(people, moved, "e", "n", zones=Zones("ill", "yes", cell=0))
    nowhere = Table.from_frame({"e": [None, 1.5], "n": [None, 2.5]}).take(slice(0, 1))
    with refused("data.record.too-few", where="columns e and n"):
        measure_places(nowhere, nowhere, "e", "n")


def test_the_repr_says_no_place():
    people = town(30)
    found = measure_places(people, people, "e", "n")
    assert repr(found) == "<Places: missing 0, distance of 30, apart 0, reordered of 0>"
