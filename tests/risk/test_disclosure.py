"""The figures of synthpop's disclosure(): by hand, and equal to R on everything it was asked."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.risk import Scenario, disclosure, disclosure_of_codes, pair
from caveat.risk.pair import Disclosure, ScenarioPair, denominators
from caveat.risk.scenario import Rules, count, group
from caveat.table import Table, align_copies
from caveat.table.cells import cross, key_cells

VARIANTS = {
    "plain": {},
    "target_NA_out": {"exclude_missing": ("depress",)},
    "not_targetlev_0": {"exclude_levels": {"depress": ["0"]}},
    "denom_lim_1": {"limit": 1},
    "keys_sex_age": {},
    "keys_region": {},
    "key_age_in_10_groups": {"groups": {"age": 10}},
    "target_in_5_groups": {"groups": {"depress": 5}},
}
REASONS = {
    "target level": "excluded target",
    "missing target": "missing target",
    "missing key": "missing in  keys",
    "pair of levels": "set to exclude",
    "over the limit": "over denom_lim",
    "remaining": "remaining",
}


def letters(text: str) -> tuple[np.ndarray, np.ndarray]:
    """Codes of records written as key and target letter."""
    words = text.split()
    return np.array([ord(w[0]) - 65 for w in words]), np.array(["xy".index(w[1]) for w in words])


def in_percent(found: Disclosure) -> dict[str, float | None]:
    """The figures as R prints them."""
    numbers = {"max_denom", "mean_denom"}
    return {
        name: value if value is None or name in numbers else 100 * value
        for name, value in found._asdict().items()
    }


def test_hand_example(golden):
    example = golden("raab")["hand example"]
    (ours, ours_t), (theirs, theirs_t) = map(letters, (example["original"], example["synthetic"]))
    found = disclosure_of_codes([ours], ours_t, [theirs], theirs_t, [7, 2])
    assert in_percent(found) == pytest.approx(example["figures"], abs=1e-9)


def test_hand_example_with_a_limit_and_both_denominators(golden):
    example = golden("raab")["hand example"]
    (ours, ours_t), (theirs, theirs_t) = map(letters, (example["original"], example["synthetic"]))
    (a, b), n = key_cells([[ours], [theirs]], [7])
    joint = cross(a, ours_t, b, theirs_t, n, 2)
    assert n == example["cells"]
    for whose, expected in example["DiSCO with limit 1"].items():
        assert disclosure(joint, Rules(limit=1, denominator=whose)).DiSCO == expected / 100
    seen = denominators(joint, count(joint), Rules(denominator="synthetic"))
    assert seen == pytest.approx(example["denominators by synthetic count"])


def synthpop_pairs(reference, original, copies, world, variant):
    """The pairs that R was given, groups cut over the original and all copies."""
    asked = reference[world][variant]
    if world == "modified":
        copies = [copy.with_columns(depress=pl.lit(0)) for copy in copies]
    scenario = Scenario(tuple(asked["keys"]), asked["target"], **VARIANTS[variant])
    tables = [Table.from_frame(f.select(scenario.columns)) for f in (original, *copies)]
    pairs = align_copies(tables[0], tables[1:])
    tables, _ = group([pairs[0].original, *(p.synthetic for p in pairs)], scenario.groups)
    return asked, [ScenarioPair(tables[0], copy, scenario) for copy in tables[1:]]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("world", ["plain", "modified"])
def test_equal_to_synthpop(sd2011, synthpop, world, variant):
    reference, copies = synthpop
    asked, pairs = synthpop_pairs(reference, sd2011, copies, world, variant)
    for i, found in enumerate(pairs):
        expected = {**asked["ident"][i], **asked["attrib"][i], **asked["allCAPs"][i]}
        del expected["synthesis"]
        ours = in_percent(found.disclosure)
        assert set(ours) == set(expected)
        for name, value in expected.items():
            if value is None:
                assert ours[name] is None, name
            else:
                assert ours[name] == pytest.approx(value, rel=0, abs=1e-9), name


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("world", ["plain", "modified"])
def test_exclusion_table_equal_to_synthpop(sd2011, synthpop, world, variant):
    reference, copies = synthpop
    asked, pairs = synthpop_pairs(reference, sd2011, copies, world, variant)
    for expected, found in zip(asked["exclusions"], pairs, strict=True):
        for row in expected:
            ours = found.counted.removed[row.pop("row")]
            assert {REASONS[reason]: n for reason, n in ours.items()} == row


def test_ground_truth_of_sd2011(sd2011, golden):
    """Raab, first example: everything about the original needs no synthesiser."""
    expected = golden("raab")["sd2011"]
    for target, figures in expected["targets"].items():
        frame = sd2011.select([*expected["keys"], target])
        found = pair(frame, frame, Scenario(tuple(expected["keys"]), target))
        assert found.cells.n == expected["cells"]
        assert found.n_targets == figures["levels"]
        assert 100 * found.disclosure.UiO == pytest.approx(expected["UiO"], abs=1e-9)
        assert 100 * found.disclosure.Dorig == pytest.approx(figures["Dorig"], abs=1e-9)
        assert 100 * found.disclosure.CAPd == pytest.approx(figures["CAPd"], abs=5e-4)
        assert 100 * found.disclosure.baseCAPd == pytest.approx(figures["baseCAPd"], abs=5e-5)
        assert found.disclosure.max_denom == figures["largest"]
        assert found.counted.Dorig.max() == figures["largest"]


def test_identity_moves_with_exclusions_in_synthpop_only(sd2011, golden):
    expected = golden("raab")["sd2011"]
    from caveat.risk import MEASURES

    for target, value in expected["UiO in synthpop with limit 1"].items():
        frame = sd2011.select([*expected["keys"], target])
        found = pair(frame, frame, Scenario(tuple(expected["keys"]), target, limit=1))
        assert 100 * found.disclosure.UiO == pytest.approx(value, abs=1e-9)
        assert 100 * found.disclosure.Dorig == pytest.approx(48.38, abs=1e-9)
        assert 100 * MEASURES["UiO"](found).value == pytest.approx(expected["UiO"], abs=1e-9)


@pytest.fixture(scope="module")
def adult(shared):
    """AdultUCI of R's arules: both parts, with the income of the test part missing."""
    train = pl.read_csv(shared / "data" / "adult.csv")
    test = pl.read_csv(shared / "data" / "adult_test.csv")
    return Table.from_frame(pl.concat([train, test.with_columns(income=pl.lit(None, pl.String))]))


def test_adult_table_2(adult, golden):
    """All 45 'orig' values of Table 2, through the exclusions, to the printed digit."""
    expected = golden("raab")["adult"]
    common = {"capital_gain": ["0"], "capital_loss": ["0"], "native_country": ["United-States"]}
    keys = tuple(expected["keys"])
    for target, printed in expected["Dorig"].items():
        columns = [
            {},
            {"exclude_levels": common},
            {"exclude_levels": common, "exclude_missing": (target,)},
            {"exclude_levels": common, "exclude_missing": (target,), "limit": 1},
            {"limit": 1},
        ]
        frame = adult.select([*keys, target])
        for options, value in zip(columns, printed, strict=True):
            found = pair(frame, frame, Scenario(keys, target, **options))
            assert round(100 * found.disclosure.Dorig, 2) == value, (target, options)
        assert found.cells.n == expected["cells"]
        options = {**columns[3], "exclude_missing": (target, "occupation")}
        without = pair(frame, frame, Scenario(keys, target, **options))
        wanted = expected["limit 1 without missing keys"][target]
        assert round(100 * without.disclosure.Dorig, 2) == wanted, target


def test_adult_further_figures(adult, golden):
    expected = golden("raab")["adult"]
    keys = tuple(expected["keys"])
    for target, value in expected["CAPd"].items():
        frame = adult.select([*keys, target])
        found = pair(frame, frame, Scenario(keys, target)).disclosure
        assert 100 * found.UiO == pytest.approx(expected["UiO"], abs=5e-5)
        assert 100 * found.CAPd == pytest.approx(value, abs=5e-4)
        assert 100 * found.baseCAPd == pytest.approx(expected["baseCAPd"][target], abs=5e-4)
