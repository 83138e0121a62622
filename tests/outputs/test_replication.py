"""How often small cells come out true over copies."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy import stats

from caveat.errors import CaveatError
from caveat.outputs.plan_risk import replication
from caveat.protect import stochastic_round
from caveat.table import Table


def town(ages, sexes):
    return Table.from_frame({"age": ages, "sex": sexes})


ORIGINAL = town([30, 30, 30, 40, 40, 95], ["f", "f", "f", "m", "m", "m"])
OTHER = town([30, 30, 40, 40, 40, 40], ["f", "m", "m", "m", "m", "f"])


def test_by_hand():
    found = replication(ORIGINAL, [ORIGINAL, OTHER], ["age", "sex"])
    assert found.cells == ((40, "m"), (95, "m"))
    assert found.counts.tolist() == [2, 1]
    assert found.seen.tolist() == [1, 0.5]
    assert found.true.tolist() == [0.5, 0.5]
    assert found.mean.tolist() == [2.5, 0.5]
    assert found.chance == pytest.approx(stats.poisson.pmf([2, 1], [2, 1]))
    assert found.margins == pytest.approx(stats.poisson.pmf([2, 1], [6 * 2 / 6 * 3 / 6, 0.5]))
    assert not found.systematic.any()
    assert found.averaged() == 0  # each mean is off by a half
    assert "95" not in repr(found)
    assert "95" not in " ".join(found.sentences())
    assert "cells" not in found.to_dict()
    assert json.loads(json.dumps(found.to_dict(cells=True)))["cells"][1] == {
        "cell": [95, "m"], "count": 1, "seen": 0.5, "true": 0.5, "mean": 0.5,
    }  # fmt: skip


def test_copies_are_systematic_and_random_draws_are_not():
    rng = np.random.default_rng(1)
    rates = rng.uniform(0.3, 2.5, 400)
    counts = rng.poisson(rates)

    def of(counts):
        ages = np.repeat(np.arange(400), counts)
        return town(ages, np.where(ages % 2, "f", "m"))

    original = of(counts)
    copied = replication(original, [original] * 10, ["age"])
    assert copied.true.tolist() == [1] * len(copied.counts)
    assert copied.by_chance < 0.2
    assert "WARNING: that is more than chance" in copied.sentences()[3]
    # Draws that keep the count of each cell on average replicate as chance does.
    drawn = [of(rng.poisson(counts)) for _ in range(200)]
    random = replication(original, drawn, ["age"])
    error = np.sqrt((random.chance * (1 - random.chance) / 200).mean() / len(random.counts))
    assert random.true.mean() == pytest.approx(random.chance.mean(), abs=4 * error + 0.005)
    assert not random.systematic.any()
    assert not any("WARNING" in line for line in random.sentences())


def test_the_mean_over_many_rounded_copies_tells_the_counts():
    """Unbiased over the runs: what the paper wants, and what an attacker has if runs repeat."""
    ages = np.repeat(np.arange(200), 1 + np.arange(200) % 2)
    same = town(ages, np.where(ages % 2, "f", "m"))

    def shown(counts, copy):
        return stochastic_round(counts, 3, seed=copy)

    few, many = (replication(same, [same] * n, ["age"], shown=shown).averaged() for n in (2, 120))
    assert few < 0.5
    assert many > 0.99
    found = replication(same, [same] * 2, ["age"], shown=shown)
    assert "who averages the rounded counts of all copies" in found.sentences()[-1]


def test_nothing_to_replicate():
    large = town([30] * 9, ["f"] * 9)
    found = replication(large, [large, large], ["age", "sex"])
    assert found.sentences() == [
        "no cell of age × sex holds fewer than 3 records: nothing to replicate"
    ]
    assert found.to_dict()["true"] is None


@pytest.mark.parametrize(
    ("copies", "told", "says"),
    [
        (1, {}, "replication: one copy does not tell what recurs; give two or more"),
        (2, {"columns": []}, "cells need columns, each named once"),
        (2, {"columns": ["age", "age"]}, "each named once"),
        (2, {"columns": ["gone"]}, "there is no column 'gone'"),
        (2, {"k": 1}, "k: no count lies below 2 and above 0"),
        (2, {"often": 0}, "often: a share of the copies lies above 0"),
    ],
)
def test_what_cannot_be_audited(copies, told, says):
    with pytest.raises(CaveatError, match=says):
        replication(ORIGINAL, [ORIGINAL] * copies, **{"columns": ["age"], **told})
