"""Several releases attacked together, against the definition computed by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import attributes, membership
from caveat.attack.attributes import (
    Said,
    SaidOfTarget,
    arrays_of,
    levels_of,
    prior_of_each,
    said_by,
    said_of,
    told_of,
    told_of_members,
)
from caveat.synthesis import Synthesizer
from caveat.table import Table

SEX = ["f"] * 12 + ["m"] * 12
ILL = ["yes"] * 3 + ["no"] * 9 + ["no"] * 8 + ["yes"] * 3 + ["maybe"]
TABLE = Table.from_frame({"sex": SEX, "ill": ILL})
EVERY = np.arange(24)


def likelihood(table: Table, release: Table) -> float:
    """The probability of a release of one tree without splits: shares of the whole, by hand."""
    chance = 1.0
    for name in ("sex", "ill"):
        own = table[name].values.tolist()
        for value in release[name].values.tolist():
            chance *= own.count(value) / len(own)
    return chance


def made(seed: int, rare_below: int = 1) -> tuple[Table, object]:
    """A release that is drawn from shares, column by column: its probability is a product."""
    options = {"method": "sample", "rare_below": rare_below}
    model = Synthesizer(seed=seed, anyway=True, **options).fit(TABLE)
    return model.tables(6)[0], model.plan


def said(seed: int, rare_below: int = 1) -> tuple[Said, Table]:
    release, plan = made(seed, rare_below)
    found = said_by(TABLE, EVERY, TABLE, [release], plan, members=EVERY,  # type: ignore[arg-type]
                    targets={"ill": EVERY})  # fmt: skip
    return found, release


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
def test_membership_is_that_of_the_product_of_both_likelihoods() -> None:
    (one, first), (two, second) = said(1), said(2)
    told = told_of_members([one, two])
    assert told.rows.tolist() == EVERY.tolist()
    assert told.releases == 2
    for row in (0, 5, 14, 23):
        without = TABLE.take(np.delete(EVERY, row))
        inside = likelihood(TABLE, first) * likelihood(TABLE, second)
        outside = likelihood(without, first) * likelihood(without, second)
        assert told.probability[row] == pytest.approx(inside / (inside + outside), abs=1e-12)


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
def test_a_level_that_was_pooled_is_as_likely_as_what_it_became() -> None:
    found, _ = said(1, rare_below=5)
    logs = found.targets["ill"].log_likelihood
    maybe, no = (TABLE["ill"].levels.tolist().index(level) for level in ("maybe", "no"))
    assert np.isfinite(logs).all()
    assert np.array_equal(logs[:, maybe], logs[:, no])


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
def test_the_posterior_has_the_prior_once_and_both_likelihoods() -> None:
    (one, first), (two, second) = said(1), said(2)
    told = told_of(TABLE, "ill", [one, two])
    levels = TABLE["ill"].levels.tolist()
    prior = prior_of_each("conditional", TABLE, "ill")
    for row in (0, 5, 20):
        weights = []
        for code in range(len(levels)):
            codes = TABLE["ill"].codes.copy()
            codes[row] = code
            world = TABLE.with_columns({"ill": TABLE["ill"].with_codes(codes)})
            weights.append(prior[row, code] * likelihood(world, first) * likelihood(world, second))
        truth = int(TABLE["ill"].codes[row])
        assert told.probability[row] == pytest.approx(weights[truth] / sum(weights), abs=1e-12)
        assert told.prior[row] == pytest.approx(prior[row, truth])


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
@pytest.mark.parametrize("options", [{"method": "cart", "minbucket": 3, "rare_below": 1}, {}])
def test_two_fits_are_added_as_two_copies_of_one_fit_are(options: dict[str, object]) -> None:
    """Of plain trees both releases come from one model, which may be attacked with both copies."""
    models = [Synthesizer(seed=s, anyway=True, **options).fit(TABLE) for s in (1, 2)]  # type: ignore[arg-type]
    drawn = [model.tables()[0] for model in models]
    each = [
        said_by(TABLE, EVERY, TABLE, [d], m.plan, members=EVERY, targets={"ill": EVERY})
        for d, m in zip(drawn, models, strict=True)
    ]
    alone = [membership(TABLE, d, generator=m.plan) for d, m in zip(drawn, models, strict=True)]
    total = alone[0].log_ratio + alone[1].log_ratio
    told = told_of_members(each)
    assert told.probability == pytest.approx(1 / (1 + np.exp(-total)))
    if options:
        both = attributes(TABLE, drawn, "ill", generator=models[0].plan)
        assert told_of(TABLE, "ill", each).probability == pytest.approx(both.probability)


def by_hand(fitted: list[bool], ratio: list[float], **targets: SaidOfTarget) -> Said:
    return Said(np.array(fitted), np.array(ratio, float), targets)


def test_who_was_held_out_counts_nothing_and_who_was_not_attacked_is_left_out() -> None:
    one = by_hand([True, True, False, False], [2.0, np.nan, 0.0, 0.0])
    two = by_hand([True, True, True, False], [np.inf, 1.0, -1.0, 0.0])
    told = told_of_members([one, two])
    assert told.rows.tolist() == [0, 2]
    assert told.probability == pytest.approx([1.0, 1 / (1 + np.e)])
    assert told_of_members([two]).rows.tolist() == [0, 1, 2]


def test_values_that_one_release_does_not_consider_are_in_none() -> None:
    table = Table.from_frame({"x": ["a", "b", "c", "a"]})
    levels = levels_of(table["x"])
    logs = np.log([[0.5, 0.25, 0.25]])
    one = by_hand([True] * 4, [0.0] * 4, x=SaidOfTarget(np.array([0]), logs, levels))
    less = np.array([[0.0, 0.0, np.nan]])
    two = by_hand([True] * 4, [0.0] * 4, x=SaidOfTarget(np.array([0]), less, levels))
    other = by_hand([True] * 4, [0.0] * 4, x=SaidOfTarget(np.array([0]), logs, "another"))
    told = told_of(table, "x", [one, two, other, by_hand([True] * 4, [0.0] * 4)], "uniform")
    assert (told.rows.tolist(), told.releases) == ([0], 2)
    assert told.prior.tolist() == [0.5]
    assert told.probability == pytest.approx([2 / 3])
    with refused("attack.target.unknown", column="x"):
        told_of(table, "x", [other])


def test_files_hold_the_same_and_those_about_other_records_are_refused() -> None:
    own = SaidOfTarget(np.array([1, 3]), np.array([[0.0, -1.0], [np.nan, 2.0]]), "abc")
    found = said_of(arrays_of(by_hand([True] * 4, [1, np.inf, np.nan, 0], x=own)), 4)
    assert found.log_ratio.tolist()[:2] == [1, np.inf]
    assert found.targets["x"].levels == "abc"
    assert found.targets["x"].rows.tolist() == [1, 3]
    assert np.isnan(found.targets["x"].log_likelihood[1, 0])
    arrays = arrays_of(found)
    with pytest.raises(ValueError, match="other records"):
        said_of(arrays, 5)
    with pytest.raises(ValueError, match="other records"):
        said_of({**arrays, "0-rows": np.array([1, 4])}, 4)
    with pytest.raises(ValueError, match="other records"):
        said_of({**arrays, "0-rows": np.array([1])}, 4)
