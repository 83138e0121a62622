"""The audit: what it takes, what it refuses, what it prints, and the control."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.risk import ENTRIES, Scenario, audit, beyond_control, wilson
from caveat.risk.measure import Measurement
from caveat.table import Table

KEYS = ["sex", "age"]


def people(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n).tolist(),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(["baker", "clerk", "smith"], n).tolist(),
            "ill": rng.choice(["no", "yes"], n, p=[0.9, 0.1]).tolist(),
        }
    )


def test_table_a2_of_buyer_beware(sixteen, golden):
    """repU and DiSCO of all ten releases, from the printed counts."""
    original, releases = sixteen
    printed = golden("buyer_beware")
    found = audit(original, releases, keys=["var1", "var2", "var3"], targets=["var4"])
    assert [100 * r.value for r in found.each("repU")] == printed["repU"]
    assert [round(100 * r.value, 2) for r in found.each("DiSCO", "var4")] == printed["DiSCO"]
    assert round(100 * found.mean("DiSCO", "var4"), 2) == 1.32
    assert found["UiO"].value == 0
    assert found["Dorig", "var4"].value == 0
    text = str(found)
    assert "repU are 0, which is no all-clear" in text
    # The only default measure that moves with the copied record looks at whole rows.
    copied = [r.value for r in found.each("fullMatch")]
    assert copied == [0.001, 0, 0.001, 0.001, 0.001, 0.001, 0.001, 0, 0.001, 0.001]


def test_zero_disco_says_what_it_cannot_see(sixteen):
    original, releases = sixteen
    found = audit(original, releases[0], keys=["var1", "var2", "var3"], targets=["var4"])
    assert found["DiSCO", "var4"].value == 0
    assert "DiSCO: Blind wherever a cell shows two targets" in str(found)
    assert "TCAPdisclosive: no original record has keys that are disclosive" in str(found)


def test_control_rates_of_raab(golden):
    """R = (train - control) / (1 - control): all ten values of Table 3 to the printed digit."""
    for rows in golden("raab")["train and control"].values():
        for train, control, printed in rows:
            assert round(beyond_control(train / 100, control / 100), 2) == printed
            assert Measurement(train / 100, control=control / 100).beyond_control == pytest.approx(
                (train - control) / (100 - control)
            )
    assert beyond_control(0.5, 1.0) is None


def test_wilson():
    """Known values; the interval holds the share and shrinks with the number of records."""
    assert wilson(0, 10) == pytest.approx((0, 0.27753), abs=1e-5)
    assert wilson(5, 10) == pytest.approx((0.23659, 0.76341), abs=1e-5)
    assert wilson(10, 10) == pytest.approx((0.72247, 1), abs=1e-5)
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_wilson_covers():
    """95 % intervals of 4,000 draws with p = 0.1, n = 200 hold p about 95 times in 100."""
    rng = np.random.default_rng(11)
    limits = [wilson(int(count), 200) for count in rng.binomial(200, 0.1, 4000)]
    share = np.mean([low <= 0.1 <= high for low, high in limits])
    assert abs(share - 0.95) < 4 * np.sqrt(0.95 * 0.05 / 4000) + 0.01


def test_control_tells_copies_from_what_all_share():
    """A release copied from the original: the people in it are given away, those outside not."""
    original, outside = people(seed=1), people(seed=2)
    found = audit(original, original, keys=KEYS, targets=["job"], control=outside)
    disco = found["DiSCO", "job"]
    assert disco.control < disco.value
    low, high = disco.beyond_control_interval
    assert 0 < low < disco.beyond_control < high
    fresh = audit(original, people(seed=3), keys=KEYS, targets=["job"], control=outside)
    low, high = fresh["DiSCO", "job"].beyond_control_interval
    assert low < 0 < high


def test_control_of_another_size_is_refused_where_size_matters():
    original = people(seed=1)
    found = audit(original, people(seed=3), keys=KEYS, targets=["job"], control=people(50, seed=2))
    assert found["repU"].control is None
    assert "number of records" in found["repU"].notes[-1]
    assert found["DiSCO", "job"].control is not None


def as_dict(frame):
    return frame.to_dict(as_series=False)


FRAMES = [pl.DataFrame.clone, pl.DataFrame.to_pandas, pl.DataFrame.to_arrow, as_dict]


@pytest.mark.parametrize("make", [*FRAMES, Table.from_frame])
def test_any_frame(make):
    original, synthetic = people(seed=1), people(seed=2)
    found = audit(make(original), make(synthetic), keys=KEYS, targets=["job"])
    expected = audit(original, synthetic, keys=KEYS, targets=["job"])
    assert found.to_dict() == expected.to_dict()


def test_all_targets_by_default():
    found = audit(people(seed=1), people(seed=2), keys=KEYS)
    assert found.targets == ("job", "ill")
    assert found.keys == tuple(KEYS)


def test_every_subset_of_the_keys():
    original, synthetic = people(seed=1), people(seed=2)
    keys = ["sex", "age", "job"]
    found = audit(original, synthetic, keys=keys, targets=["ill"], subsets=2)
    frame = found.to_frame()
    assert set(frame["keys"]) == {"sex, age, job", "sex, age", "sex, job", "age, job"}
    alone = audit(original, synthetic, keys=["age", "job"], targets=["ill"])
    assert found.mean("DiSCO", "ill", ["age", "job"]) == alone.mean("DiSCO", "ill")
    assert "3 sets of 2 keys" in str(found)


def test_result_as_frame_and_json():
    found = audit(people(seed=1), [people(seed=2), people(seed=3)], keys=KEYS, targets=["job"])
    frame = found.to_frame()
    assert isinstance(frame, pd.DataFrame)
    assert len(frame) == len(found.rows)
    assert set(frame["copy"]) == {1, 2}
    assert found.to_frame("polars").height == len(frame)
    back = json.loads(found.to_json())
    assert back["n_synthetic"] == [200, 200]
    one = next(m for m in back["measurements"] if m["measure"] == "DiSCO" and m["copy"] == 2)
    assert one["value"] == found.each("DiSCO", "job")[1].value
    assert back["checks"][0]["exclusions"]["original"]["remaining"] == 200


def test_records():
    original, copies = people(seed=1), [people(seed=2), people(seed=3)]
    found = audit(original, copies, keys=KEYS, targets=["job"])
    records = found.records()
    assert records["row"].tolist() == list(range(1, 201))
    assert records["DiSCO job"].mean() == pytest.approx(found.mean("DiSCO", "job"))
    assert records["repU"].mean() == pytest.approx(found.mean("repU"))
    # Who carries repU is unique on the keys in the original and in that copy.
    ours = original.select(KEYS).rows()
    theirs = copies[0].select(KEYS).rows()
    carried = found.each("repU")[0].per_record
    expected = [ours.count(key) == 1 and theirs.count(key) == 1 for key in ours]
    assert carried.tolist() == expected


def test_numbers_as_text_and_floats_match():
    """57, 57.0 and "57" are one age, whoever wrote the file."""
    original = people(seed=1)
    expected = audit(original, original, keys=KEYS, targets=["job"]).mean("repU")
    for other in (pl.String, pl.Float64):
        release = original.with_columns(pl.col("age").cast(other))
        assert audit(original, release, keys=KEYS, targets=["job"]).mean("repU") == expected


BAD = {
    "a key is also the target": ({"keys": KEYS, "targets": ["age"]}, "key is also the target"),
    "a key the original lacks": ({"keys": ["sex", "zip"]}, "column zip: the original has no"),
    "a target it lacks": ({"keys": KEYS, "targets": ["zip"]}, "column zip"),
    "a key twice": ({"keys": ["sex", "sex"]}, "named twice"),
    "no key": ({"keys": []}, "no key is named"),
    "keys not named": ({}, "no key is named"),
    "keys as one text": ({"keys": "sex"}, "one text"),
    "too many keys in a subset": ({"keys": KEYS, "subsets": 3}, "no subsets of 3 among 2 keys"),
    "no keys in a subset": ({"keys": KEYS, "subsets": 0}, "no subsets of 0"),
    "one group": ({"keys": KEYS, "groups": {"age": 1}}, "fewer than two groups"),
    "a negative tolerance": ({"keys": KEYS, "tolerance": {"age": -1}}, "from 0 up"),
    "groups and tolerance": (
        {"keys": KEYS, "groups": {"age": 5}, "tolerance": {"age": 1}},
        "either cut into groups or matched",
    ),
    "an unknown level": (
        {"keys": KEYS, "targets": ["job"], "exclude_levels": {"job": ["pilot"]}},
        "column job: a level that is to be excluded does not occur",
    ),
    "an unknown measure": ({"keys": KEYS, "measures": ["DISCO"]}, "perhaps DiSCO"),
    "a measure that needs more": (
        {"keys": KEYS, "measures": ["GTCAP"]},
        "GTCAP needs tolerance",
    ),
    "limit 0": ({"keys": KEYS, "limit": 0}, "at least 1"),
    "a strange denominator": ({"keys": KEYS, "denominator": "both"}, "'original' or 'synthetic'"),
    "a short pair": ({"keys": KEYS, "exclude_pairs": (("job", "baker"),)}, "four parts"),
    "a pair without a key": (
        {"keys": KEYS, "targets": ["job"], "exclude_pairs": (("job", "baker", "ill", "no"),)},
        "no key",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_mistakes_are_named(case):
    arguments, message = BAD[case]
    with pytest.raises(CaveatError, match=message):
        audit(people(seed=1), people(seed=2), **arguments)


def test_a_key_not_in_the_synthetic_table():
    with refused("data.column.absent", column="age"):
        audit(people(), [people(), people().drop("age")], keys=KEYS, targets=["job"])


def test_zero_rows_are_refused():
    with refused("data.table.empty"):
        audit(people().clear(), people(), keys=KEYS)
    with refused("data.table.empty"):
        audit(people(), people().clear(), keys=KEYS)
    with refused("data.release.absent"):
        audit(people(), [], keys=KEYS)


def test_one_row():
    one = people(1)
    found = audit(one, one, keys=KEYS, targets=["job"], measures=["all"])
    assert found["repU"].value == 1
    assert found["DiSCO", "job"].value == 1
    assert found["scaledDCAP", "job"].value is None
    assert "one value" in found["scaledDCAP", "job"].notes[0]


def test_hardly_any_overlap_of_levels():
    """One record of the release, the oldest, keeps its age; its other keys occur nowhere."""
    original = people(seed=1)
    moved = pl.col("age") + 1000
    release = original.with_columns(
        age=pl.when(pl.col("age") < pl.col("age").max()).then(moved).otherwise("age")
    )
    release = release.with_columns(
        sex=pl.when(pl.col("age") < 1000).then(pl.lit("x")).otherwise("sex")
    )
    found = audit(original, release, keys=KEYS, targets=["job"], measures=["all"])
    assert found["iS", "job"].value == 0
    for name in ("TCAP", "TCAPdisclosive", "ICAP", "R_ICAP", "matchPrecision", "PI"):
        assert found[name, "job"].value is None, name
        assert found[name, "job"].notes, name
    assert found["GCAP", "job"].value > 0


def test_all_missing():
    """A column of nothing is one level: it neither identifies nor hides anybody."""
    empty = people(seed=1).with_columns(job=pl.lit(None, pl.String), sex=pl.lit(None, pl.String))
    found = audit(empty, empty, keys=KEYS, targets=["job"], measures=["all"])
    assert found["DiSCO", "job"].value == 1
    assert found["DiSCO", "job"].baseline == 1
    assert found["scaledDCAP", "job"].value is None
    excluded = audit(empty, empty, keys=KEYS, targets=["job"], exclude_missing=("job",))
    assert excluded["DiSCO", "job"].value == 0
    assert excluded["DiSCO", "job"].excluded == 200
    assert excluded["TCAP", "job"].value is None


def test_exclusions_are_counted_in_order():
    """A record that two rules would take is counted under the first."""
    frame = pl.DataFrame({"k": ["a", "a", None, "b"], "t": ["x", None, None, "y"]})
    found = audit(
        frame, frame, keys=["k"], targets=["t"], exclude_missing=("t", "k"),
        exclude_levels={"t": ["x"]},
    )  # fmt: skip
    removed = found.checks[0].removed["original"]
    assert removed == {
        "target level": 1,
        "missing target": 2,
        "missing key": 0,
        "pair of levels": 0,
        "over the limit": 0,
        "remaining": 1,
    }
    assert "excluded from the original: 1 target level, 2 missing target" in str(found)


def test_scenario_instead_of_its_parts():
    original, synthetic = people(seed=1), people(seed=2)
    scenario = Scenario(tuple(KEYS), "job", limit=3)
    found = audit(original, synthetic, scenario)
    parts = audit(original, synthetic, keys=KEYS, targets=["job"], limit=3)
    assert found.to_dict() == parts.to_dict()
    with refused("attack.option.conflict"):
        audit(original, synthetic, scenario, keys=KEYS)


def test_messages_hold_no_values():
    """A level of the data appears in no error message."""
    secret = people(seed=1).with_columns(job=pl.lit("secret-job"))
    with pytest.raises(CaveatError) as caught:
        audit(secret, secret, keys=KEYS, targets=["job"], tolerance={"job": 1}, measures=["GTCAP"])
    assert "secret-job" not in str(caught.value)


def test_groups_are_cut_over_all_tables():
    original = pl.DataFrame({"x": [1, 2, 3, 4], "t": list("abab")})
    release = pl.DataFrame({"x": [5, 6, 7, 8], "t": list("abab")})
    found = audit(original, release, keys=["x"], targets=["t"], groups={"x": 3}, measures=["iS"])
    assert found["iS", "t"].value == 0.25  # breaks 1, 3.33, 5.67, 8: only 4 shares a group
    text = audit(original, original, keys=["t"], targets=["x"], groups={"t": 3})
    assert text.remarks == ("t is not numeric and was not cut into groups",)


def test_an_unmeasured_measure_is_an_error():
    found = audit(people(seed=1), people(seed=2), keys=KEYS, targets=["job"])
    with refused("measure.result.absent"):
        found["GCAP", "job"]


def test_default_measures_need_no_option():
    found = audit(people(seed=1), people(seed=2), keys=KEYS, targets=["job"])
    measured = {row.measure for row in found.rows}
    defaults = {m.name for m in ENTRIES if m.default and "tolerance" not in m.needs}
    assert measured == defaults
