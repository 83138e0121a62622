"""Five properties a measure of disclosure should have, on the published counter-examples.

The 16-cell example: a unique record 1111 comes back in eight of ten releases, and whoever knows
the other records and the generator is then certain of it; in releases 2 and 8 it does not. SD2011:
setting the target to 0 everywhere destroys all information about it. Which measure fails which
property is part of its entry in MEASURES; these tests say that the entry is right.
"""

from __future__ import annotations

import polars as pl
import pytest

from caveat.risk import ENTRIES, MEASURES, Property, Scenario, audit, pair

KEYS, TARGET = ("var1", "var2", "var3"), "var4"
CERTAIN = [0, 2, 3, 4, 5, 6, 8, 9]
UNSURE = [1, 7]
ABOUT_RELEASE = [m.name for m in ENTRIES if m.direction != "reference"]
EPS = 1e-9


def risk(measure, result):
    """The value, signed so that more is riskier; None where there is none."""
    if result.value is None:
        return None
    return -result.value if measure.direction == "lower is riskier" else result.value


def above_all_clear(measure, result):
    """Whether a reader would see a risk: above the baseline, or above nothing."""
    if measure.direction == "lower is riskier":
        return result.value < 1
    return result.value > (result.baseline or 0) + EPS


def shows_a_gain(measure, constant):
    """Whether a release that tells nothing about the target scores above nothing.

    The number itself counts here, not the number beside its baseline. Measures of the keys alone
    are left out: the keys were not touched.
    """
    if measure.needs == {"keys"}:
        return False
    nothing = -1 if measure.direction == "lower is riskier" else 0
    return any(r.value is not None and risk(measure, r) > nothing + EPS for r in constant)


@pytest.fixture(scope="module")
def sixteen_results(sixteen):
    """For each measure: the ten releases, one with var4 = 0 everywhere, the original itself."""
    original, releases = sixteen
    constant = [release.with_columns(var4=pl.lit(0)) for release in releases]
    scenario = Scenario(KEYS, TARGET, tolerance={"var4": 0})

    def measured(release):
        found = pair(original, release, scenario)
        return {name: MEASURES[name](found) for name in ABOUT_RELEASE}

    return (
        [measured(release) for release in releases],
        [measured(release) for release in constant],
        measured(original),
    )


def failures_on_sixteen(name, results):
    measure = MEASURES[name]
    releases, constant, itself = (
        [r[name] for r in results[0]],
        [r[name] for r in results[1]],
        results[2][name],
    )
    values = [risk(measure, r) for r in releases]
    destroyed = [risk(measure, r) for r in constant]
    whole = risk(measure, itself)
    failed = set()
    certain = [values[i] for i in CERTAIN]
    quiet = [values[i] for i in UNSURE if values[i] is not None]
    if None in certain or (quiet and min(certain) <= max(quiet)):
        failed.add(Property.CERTAINTY)
    if any(
        d is not None and (v is None or d > v + EPS) for v, d in zip(values, destroyed, strict=True)
    ):
        failed.add(Property.NOISE)
    others = [v for v in [*values, *destroyed] if v is not None]
    if (
        whole is None
        or whole < max(others) - EPS
        or whole <= max((d for d in destroyed if d is not None), default=-1e9)
    ):
        failed.add(Property.INFORMATION)
    if shows_a_gain(measure, constant):
        failed.add(Property.GAIN)
    if any(
        releases[i].value is not None and not above_all_clear(measure, releases[i]) for i in CERTAIN
    ):
        failed.add(Property.REASSURANCE)
    return failed


@pytest.fixture(scope="module")
def sd2011_results(sd2011, synthpop):
    """The five copies of R, as they are and with the target set to 0."""
    _, copies = synthpop
    scenario = Scenario(
        ("sex", "age", "region", "placesize"), "depress", tolerance={"age": 0, "depress": 0}
    )
    original = sd2011.select(copies[0].columns)
    constant = [copy.with_columns(depress=pl.lit(0)) for copy in copies]
    return [audit(original, side, scenario, measures=ABOUT_RELEASE) for side in (copies, constant)]


def failures_on_sd2011(name, results):
    measure = MEASURES[name]
    target = "depress" if "target" in measure.needs else None
    before, after = (found.each(name, target) for found in results)
    failed = set()
    pairs = [(risk(measure, b), risk(measure, a)) for b, a in zip(before, after, strict=True)]
    if any(a is not None and (b is None or a > b + EPS) for b, a in pairs):
        failed.add(Property.NOISE)
    if shows_a_gain(measure, after):
        failed.add(Property.GAIN)
    return failed


@pytest.mark.parametrize("name", ABOUT_RELEASE)
def test_no_failure_on_the_sixteen_cells_is_hidden(name, sixteen_results):
    assert failures_on_sixteen(name, sixteen_results) <= MEASURES[name].fails


@pytest.mark.parametrize("name", ABOUT_RELEASE)
def test_every_declared_failure_is_shown(name, sixteen_results, sd2011_results):
    shown = failures_on_sixteen(name, sixteen_results) | failures_on_sd2011(name, sd2011_results)
    assert shown == MEASURES[name].fails
