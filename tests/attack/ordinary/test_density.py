"""Membership from scores."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack.ordinary import MembershipScores, density, membership_scores


def test_true_positives_and_f1_by_hand():
    members, outsiders = np.arange(90.0, 190.0), np.arange(0.0, 100.0)
    found = MembershipScores(members, outsiders, "density").true_positives(0.05)
    # Outsiders over 94: five of them. Members over 94: all but 90 to 94.
    assert found.value == 0.95
    assert found.control == 0.05
    # 90 to 99 are ten on both sides: a member is below an outsider in 45 pairs, level in 10.
    assert found.details["AUC"] == pytest.approx(1 - (45 + 10 / 2) / 100**2)
    # f = 1/2 claims the upper hundred of two hundred: 95 ... 189 and 95 ... 99.
    f1, without = MembershipScores(members, outsiders, "density").f1(0.5)
    assert f1 == pytest.approx(2 * 95 / (100 + 100))
    assert without == pytest.approx(2 / 3)


def test_scores_that_say_nothing_find_what_chance_finds():
    """1000 against 1000 equal scores: AUC one half; sd of the AUC is about 0.013."""
    rng = np.random.default_rng(1)
    found = MembershipScores(rng.random(1000), rng.random(1000), "density")
    assert abs(found.auc - 0.5) < 4 * 0.013
    low, high = found.true_positives(0.05).interval
    assert low < 0.05 < high


def homes(seed, n=60):
    """Households of one to four whose members share a place."""
    rng = np.random.default_rng(seed)
    size = rng.integers(1, 5, n)
    home = np.repeat(np.arange(n), size)
    place = rng.normal(0, 1, n)[home].round(3)
    return {"home": home, "place": place, "age": rng.integers(0, 90, len(home))}


@pytest.mark.parametrize("score", ["density", "distance"])
def test_households_are_scored_as_a_whole(monkeypatch, score):
    """The halves of the control share no household, and every household has one score."""
    seen = []
    plain = density._SCORES[score]

    def watched(people, release, reference):
        seen.append((people, reference))
        return plain(people, release, reference)

    monkeypatch.setitem(density._SCORES, score, watched)
    original, control = homes(1), homes(2)
    release = {name: cells for name, cells in original.items() if name != "home"}
    found = membership_scores(original, release, control=control, groups="home", score=score)
    assert len(found.members) == len(np.unique(original["home"]))
    assert len(found.outsiders) == 30
    (members, _), (outsiders, reference) = seen
    assert len(members) == len(original["home"])
    places = [set(t["place"].values.tolist()) for t in (outsiders, reference)]
    assert not places[0] & places[1]
    assert len(outsiders) + len(reference) == len(control["home"])
    assert found.auc > 0.9  # the release is a copy

    alone = membership_scores(original, release, control=control, score=score)
    assert len(alone.members) == len(original["home"])


def test_what_speaks_for_a_household_adds_up():
    original, control = homes(1), homes(2)
    release = {name: cells[::2] for name, cells in original.items() if name != "home"}
    found = membership_scores(original, release, control=control, groups="home", seed=3)
    single = {**original, "home": np.arange(len(original["home"]))}
    each = membership_scores(single, release, control=control, groups="home", seed=3)
    assert found.members == pytest.approx(np.bincount(original["home"], each.members))


def test_groups_that_cannot_be_split_are_refused():
    original = homes(1)
    few = {name: cells[:5] for name, cells in homes(2).items()} | {
        "home": np.array([1, 1, 2, 2, 3])
    }
    with refused("attack.control.too-few"):
        membership_scores(original, original, control=few, groups="home")
    with refused("data.column.unknown"):
        membership_scores(original, original, control=homes(2), groups="house")
