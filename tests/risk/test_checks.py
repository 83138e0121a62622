"""One-way and two-way checks, summaries over targets and replicated uniques, as R prints them."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.risk import MEASURES, Scenario, audit, pair
from caveat.risk.pair import one_way, two_way

KEYS = ["sex", "age", "region", "placesize"]
VARIANTS = {
    "plain": {},
    "target_NA_out": {"exclude_missing": ("depress",)},
    "not_targetlev_0": {"exclude_levels": {"depress": [0]}},
    "denom_lim_1": {"limit": 1},
    "keys_sex_age": {},
    "keys_region": {},
    "key_age_in_10_groups": {"groups": {"age": 10}},
    "target_in_5_groups": {"groups": {"depress": 5}},
}


def modified(copies):
    return [copy.with_columns(depress=pl.lit(0)) for copy in copies]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("world", ["plain", "modified"])
def test_checks_equal_to_synthpop(sd2011, synthpop, world, variant):
    reference, copies = synthpop
    asked = reference[world][variant]
    found = audit(
        sd2011,
        copies if world == "plain" else modified(copies),
        keys=asked["keys"],
        targets=["depress"],
        measures=["DiSCO"],
        **VARIANTS[variant],
    )
    ones = [f.one_way for f in found.checks]
    for ours, theirs in zip(ones, asked["check_1way"], strict=True):
        assert (ours is None) == (theirs == "")
        if ours is not None:
            expected = theirs[0]
            assert ours.level == expected["Level"]
            assert (ours.records, ours.disclosive, ours.at_level) == (
                expected["All"],
                expected["totalDisclosive"],
                expected["nLevelDis"],
            )
            assert 100 * ours.share_of_original == pytest.approx(expected["PctLevelAll"], abs=1e-9)
            assert 100 * ours.share_of_disclosive == pytest.approx(
                expected["PctLevelDis"], abs=1e-9
            )
    for ours, theirs in zip((f.two_way for f in found.checks), asked["check_2way"], strict=True):
        got = [
            (f"{t.target_level}|{t.key_level}", t.records, t.key, t.together, t.with_key_level)
            for t in ours
        ]
        expected = [
            (
                row["target_key_levs"],
                row["npairs"],
                row["key"],
                row["key_target_total"],
                row["key_total"],
            )
            for row in theirs or ()
        ]
        assert got == expected
        for t, row in zip(ours, theirs or (), strict=True):
            assert 100 * t.share == pytest.approx(row["PctTargetKeyLevel"], abs=1e-9)


@pytest.mark.parametrize("world", ["plain", "modified"])
def test_multi_disclosure(sd2011, synthpop, world):
    """All targets at once: attribute measures are means over the copies."""
    reference, copies = synthpop
    copies = copies if world == "plain" else modified(copies)
    for name, measures in (
        ("multi_disclosure", ("Dorig", "DiSCO")),
        ("multi_disclosure_sex_age", ("Dorig", "DiSCO")),
        ("multi_disclosure_sex_age_DCAP", ("CAPd", "DCAP")),
    ):
        asked = reference[world].get(name)
        if asked is None:
            continue
        found = audit(sd2011.select(copies[0].columns), copies, keys=asked["keys"])
        rows = {row["target"].split()[1]: row for row in asked["attrib.table"]}
        assert set(found.targets) == set(rows)
        for target, row in rows.items():
            assert 100 * found.mean(measures[0], target) == pytest.approx(
                row["attrib.orig"], abs=1e-9
            )
            assert 100 * found.mean(measures[1], target) == pytest.approx(
                row["attrib.syn"], abs=1e-9
            )
            pairs = {(t.target_level, t.key, t.key_level) for t in found.flags(target)[1]}
            assert len(pairs) == row["Npairs"]
        # synthpop reports the first copy as if it were the mean; the mean is the other number.
        assert 100 * found["repU"].value == pytest.approx(asked["ident.syn"], abs=1e-9)
        assert 100 * found.mean("UiO") == pytest.approx(asked["ident.orig"], abs=1e-9)


@pytest.mark.parametrize("name", ["replicated_uniques", "replicated_uniques_all"])
def test_replicated_uniques(sd2011, synthpop, name):
    """The four lines of R's table are four measures."""
    reference, copies = synthpop
    asked = reference["plain"][name]
    scenario = Scenario(tuple(asked["keys"]))
    for copy, table in zip(copies, asked["tables"], strict=True):
        found = pair(sd2011.select(copy.columns), copy, scenario)
        ours = [MEASURES[measure](found) for measure in ("UiO", "UiS", "UiSiO", "repU")]
        assert [100 * m.value for m in ours] == pytest.approx([row["%"] for row in table], abs=1e-9)
        assert [m.value * m.n for m in ours] == pytest.approx([r["Number"] for r in table])


def test_synthetic_uniques_in_original_by_hand():
    """Six people, five of them released: of the keys shown once, b is shared and d is nobody's."""
    original = pl.DataFrame({"key": list("aabbbc")})
    release = pl.DataFrame({"key": list("abccd")})
    found = MEASURES["UiSiO"](pair(original, release, Scenario(("key",))))
    assert found.value == pytest.approx(2 / 5)  # a and b
    assert found.n == 5
    assert found.reference == pytest.approx(1 / 6)  # c alone
    assert found.per_record == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 0])
    # a and b have share 1/5 in the release, c 2/5: the chance of exactly one among five
    once = 2 * 5 * 0.2 * 0.8**4 + 5 * 0.4 * 0.6**4
    assert found.baseline == pytest.approx(once / 5)


def test_replicated_uniques_of_synthpop_miss_keys_of_other_width(sd2011, synthpop):
    """R pads numbers to the width of the column, so 0 and " 0" differ and it finds none.

    With the target among the keys and 0 everywhere, synthpop says 0 replicated uniques. The same
    keys compared as numbers have hundreds; compared as padded text they have R's 0.
    """
    reference, copies = synthpop
    asked = reference["modified"]["replicated_uniques_all"]
    scenario = Scenario(tuple(asked["keys"]))
    width = pl.col("depress").cast(pl.String).str.pad_start(2)
    for copy, table in zip(modified(copies), asked["tables"], strict=True):
        original = sd2011.select(copy.columns)
        padded = pair(
            original.with_columns(width),
            copy.with_columns(pl.col("depress").cast(pl.String)),
            scenario,
        ).cells
        counts = [int((padded.d == 1).sum()), int((padded.s == 1).sum())]
        counts.append(int(((padded.s == 1) & (padded.d == 1)).sum()))
        assert counts == [table[i]["Number"] for i in (0, 1, 3)]
        assert counts[2] == 0
        right = pair(original, copy, scenario).cells
        ours, theirs = (
            frame.fill_null(-1).group_by(asked["keys"]).len().filter(pl.col("len") == 1)
            for frame in (original, copy)
        )
        replicated = ours.join(theirs, on=asked["keys"]).height
        assert int(((right.s == 1) & (right.d == 1)).sum()) == replicated > 150


def test_checks_say_nothing_about_nothing(sd2011):
    frame = sd2011.select([*KEYS, "depress"])
    found = pair(frame, frame.with_columns(depress=pl.lit(99)), Scenario(tuple(KEYS), "depress"))
    assert found.disclosure.DiSCO == 0
    assert one_way(found) is None
    assert two_way(found) == []


def test_two_way_pairs_are_what_an_exclusion_needs(sd2011):
    """Every pair found can be excluded by name, and then it is gone."""
    frame = sd2011.select([*KEYS, "marital"])
    before = pair(frame, frame, Scenario(tuple(KEYS), "marital"))
    pairs = two_way(before)
    assert ("SINGLE", "age", "19", 91, 92) in [
        (t.target_level, t.key, t.key_level, t.together, t.with_key_level) for t in pairs
    ]
    excluded = tuple(("marital", t.target_level, t.key, t.key_level) for t in pairs)
    after = pair(frame, frame, Scenario(tuple(KEYS), "marital", exclude_pairs=excluded))
    assert two_way(after) == []
    removed = after.counted.removed["original"]["pair of levels"]
    together = np.sum([t.together for t in {(t.key, t.key_level): t for t in pairs}.values()])
    assert removed == together
