"""Correct attribution probability: the chance that a guess from the release is right."""

from __future__ import annotations

from typing import Any

from caveat.nearest import Floats, cell_pools
from caveat.notes import Note
from caveat.risk.attribute import UNLINKED, chance_of_disco
from caveat.risk.disclosure import matched
from caveat.risk.identity import RAAB
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair

__all__ = ["AVERAGE", "AVERAGE_FAILS", "AVERAGE_SHORT", "DRAW", "DRAWS", "ENTRIES", "cell_share"]

TAUB = "Taub, Elliot et al. (2018); Elliot, Little, Allmendinger (2024)"


def base_cap_d(pair: ScenarioPair) -> Measurement:
    """Return the chance to guess a target by drawing from the distribution of the original."""
    return _share(pair, pair.disclosure.baseCAPd)


def cap_d(pair: ScenarioPair) -> Measurement:
    """Return the chance to guess right when the original itself is looked up."""
    return _share(pair, pair.disclosure.CAPd, baseline=pair.disclosure.baseCAPd)


def cap_s(pair: ScenarioPair) -> Measurement:
    """Return the chance to guess a synthetic record's target from the release."""
    value, n = pair.disclosure.CAPs, len(pair.cells.synthetic)
    return rate(0 if value is None else value * n, n)


def dcap(pair: ScenarioPair) -> Measurement:
    """Return the mean chance to guess right by drawing from the records with the same keys."""
    found = pair.disclosure
    return _share(
        pair,
        found.DCAP,
        baseline=found.baseCAPd,
        reference=found.CAPd,
        trace=lambda: cell_share(pair)[pair.position],
    )


def scaled_dcap(pair: ScenarioPair) -> Measurement:
    """Return DCAP on the scale where guessing from the distribution of the target is 0."""
    return _scaled(pair, dcap(pair))


def scaled_tcap(pair: ScenarioPair) -> Measurement:
    """Return TCAP among disclosive keys on the scale where guessing is 0."""
    return _scaled(pair, tcap_disclosive(pair))


def tcap(pair: ScenarioPair) -> Measurement:
    """Return DiSCO as a share of the original records whose keys occur in the release."""
    n = matched(pair.joint, pair.counted)
    chance = chance_of_disco(pair)
    return _tcap(
        pair,
        n,
        Note("no-known-keys", "no original record has keys that occur in the release"),
        baseline=None if chance is None or not n else chance * pair.n / n,
        reference=pair.disclosure.Dorig,
    )


def tcap_disclosive(pair: ScenarioPair) -> Measurement:
    """Return DiSCO as a share of the original records whose keys are disclosive in the release."""
    n = int(pair.counted.DiS.sum())
    return _tcap(
        pair,
        n,
        Note(
            "no-disclosive-keys", "no original record has keys that are disclosive in the release"
        ),
        baseline=pair.disclosure.baseCAPd,
        reference=1.0,
    )


def tcap_all(pair: ScenarioPair) -> Measurement:
    """Return DiSCO under the name it has where keys not found count as wrong guesses."""
    return _tcap(
        pair,
        pair.n,
        Note("no-original-record", "there is no original record"),
        baseline=chance_of_disco(pair),
        reference=pair.disclosure.Dorig,
    )


def cell_share(pair: ScenarioPair) -> Floats:
    """Return the share of each target among the synthetic records with the same keys."""
    return cell_pools(pair.joint)[0]


def _share(pair: ScenarioPair, value: float | None, **more: Any) -> Measurement:
    return rate(0 if value is None else value * pair.n, pair.n, **more)


def _tcap(pair: ScenarioPair, n: int, reason: Note, **more: Any) -> Measurement:
    if not n:
        return undefined(reason)
    found = pair.counted.DiSCO
    return rate(
        int(found.sum()),
        n,
        details={"retained": n},
        trace=lambda: pair.carries("DiSCO"),
        **more,
    )


def _scaled(pair: ScenarioPair, raw: Measurement) -> Measurement:
    base = pair.disclosure.baseCAPd
    value = None if base is None else scaled(raw.value, base)
    if value is None:
        one_value = Note("one-value", "the target has one value: nothing to guess")
        return undefined(raw.notes[0] if raw.value is None else one_value)
    limits = None
    if raw.interval is not None and base is not None:
        ends = [scaled(end, base) for end in raw.interval]
        limits = (ends[0] or 0.0, ends[1] or 0.0)
    return Measurement(value, interval=limits, baseline=0.0, n=raw.n, trace=raw.trace)


DRAWS = (
    "has the release, knows the keys of somebody in the original, and guesses the target from the "
    "synthetic records with these keys"
)
DRAW = "guessing by a draw from the target's distribution in the original (baseCAPd)"
AVERAGE = (
    "An average over all records: a single record that is given away for certain moves it by 1/N, "
    "and what keys and target have in common in the population counts as risk."
)
AVERAGE_SHORT = "an average: one certain disclosure moves it by 1/N"
AVERAGE_FAILS = frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN})
_CONSTANT = (
    "Blind wherever a cell shows two targets; a constant target that is common in the original "
    "raises it."
)

ENTRIES = (
    Measure(
        name="baseCAPd",
        function=base_cap_d,
        family="attribution",
        says="chance to guess the target without any release",
        attacker="knows the distribution of the target and draws from it",
        formula="100 · Σ_t (d_t / N_d)²",
        source=f"{RAAB}, eq. 14 (printed with one N_d too many, a slip)",
        blind_spot="Says nothing of the release. An attacker who always guesses the most frequent "
        "value does better.",
        blind="describes the original only",
        direction="reference",
    ),
    Measure(
        name="CAPd",
        function=cap_d,
        family="attribution",
        says="chance to guess the target if the original were released",
        attacker="holds the original itself: a reference for DCAP",
        formula="100/N_d · Σ_tq d_tq · d_tq/d_q",
        source=f"{RAAB}, eq. 7",
        blind_spot="Says nothing of the release.",
        blind="describes the original only",
        baseline=DRAW,
        direction="reference",
    ),
    Measure(
        name="CAPs",
        function=cap_s,
        family="attribution",
        says="chance to guess a synthetic record's target from the release",
        attacker="sees the release only",
        formula="100/N_s · Σ_tq s_tq · s_tq/s_q",
        source="Raab, Nowok, Dibben (2024), Practical privacy metrics for synthetic data",
        blind_spot="Says nothing of the original.",
        blind="describes the release only",
        direction="reference",
    ),
    Measure(
        name="DCAP",
        function=dcap,
        family="attribution",
        says="mean chance of a right guess; 0 for keys that the release does not have",
        attacker=DRAWS,
        formula="100/N_d · Σ_tq d_tq · s_tq/s_q; shares taken after exclusions, as synthpop does",
        source=f"{RAAB}, eq. 6",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline=DRAW,
        fails=AVERAGE_FAILS,
    ),
    Measure(
        name="scaledDCAP",
        function=scaled_dcap,
        family="attribution",
        says="DCAP on a scale from 0 (guessing without the release) to 100 (certainty)",
        attacker=DRAWS,
        formula="(DCAP − baseCAPd) / (100 − baseCAPd) · 100; may be negative",
        source=f"{RAAB}, lines after eq. 14",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline="0 by construction",
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="TCAP",
        function=tcap,
        family="attribution",
        says="DiSCO among the records whose keys occur in the release",
        attacker=DRAWS + ", if they all agree",
        formula="100 · Σ_tq d_tq 1{s_tq = s_q} / Σ_q d_q 1{s_q > 0} = 100 · DiSCO/iS",
        source=f"{RAAB}, eq. 13; the denominator that synthpop 1.9-3 uses",
        blind_spot=_CONSTANT,
        blind="two values in a cell hide it; 0 is no all-clear",
        baseline=UNLINKED,
        fails=frozenset(Property),
    ),
    Measure(
        name="TCAPdisclosive",
        function=tcap_disclosive,
        family="attribution",
        says="how often a reading is right, where the release shows one target only",
        attacker=DRAWS + ", if they all agree",
        formula="100 · Σ_tq d_tq 1{s_tq = s_q} / Σ_q d_q 1{max_t s_tq = s_q} = 100 · DiSCO/DiS",
        source=f"{TAUB}: records that are not matched or not disclosive are undefined",
        blind_spot="A precision: it says nothing of how many records it is about. Look at how many "
        "are retained. " + _CONSTANT,
        blind="a precision: may rest on very few records",
        baseline=DRAW,
        fails=AVERAGE_FAILS,
    ),
    Measure(
        name="TCAPall",
        function=tcap_all,
        family="attribution",
        says="DiSCO under its other name: keys not found count as wrong guesses",
        attacker=DRAWS + ", if they all agree",
        formula="100/N_d · Σ_tq d_tq 1{s_tq = s_q} = DiSCO",
        source=f"{TAUB}: records that are not matched are zero",
        blind_spot=_CONSTANT,
        blind="as DiSCO; 0 is no all-clear",
        baseline=UNLINKED,
        fails=frozenset(Property),
        default=False,
    ),
    Measure(
        name="scaledTCAP",
        function=scaled_tcap,
        family="attribution",
        says="TCAPdisclosive on a scale from 0 (guessing without the release) to 100",
        attacker=DRAWS + ", if they all agree",
        formula="(TCAPdisclosive − baseCAPd) / (100 − baseCAPd) · 100; may be negative",
        source=f"{TAUB}, calibrated TCAP",
        blind_spot="As TCAPdisclosive.",
        blind="a precision: may rest on very few records",
        baseline="0 by construction",
        fails=AVERAGE_FAILS,
        default=False,
    ),
)
