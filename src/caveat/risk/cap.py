"""Correct attribution probability: the chance that a guess from the release is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from caveat.nearest import Floats, cell_pools, nearest_pools
from caveat.risk.attribute import UNLINKED, chance_of_disco
from caveat.risk.disclosure import matched
from caveat.risk.identity import RAAB
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair
from caveat.table.cells import Ints

__all__ = ["ENTRIES", "gcap", "gcap_pools"]

HITTMEIR = "Hittmeir, Mayer, Ekelhart (2020), A Baseline for Attribute Disclosure Risk"
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
    return rate(0 if value is None else value / 100 * n, n)


def dcap(pair: ScenarioPair) -> Measurement:
    """Return the mean chance to guess right by drawing from the records with the same keys."""
    found = pair.disclosure
    return _share(
        pair,
        found.DCAP,
        baseline=found.baseCAPd,
        reference=found.CAPd,
        trace=lambda: _cell_share(pair)[pair.position],
    )


def scaled_dcap(pair: ScenarioPair) -> Measurement:
    """Return DCAP on the scale where guessing from the distribution of the target is 0."""
    return _scaled(pair, dcap(pair))


def scaled_tcap(pair: ScenarioPair) -> Measurement:
    """Return TCAP among disclosive keys on the scale where guessing is 0."""
    return _scaled(pair, tcap_disclosive(pair))


def zero_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP with 0 for records whose keys the release does not have."""
    return _mean(pair, _cell_share)


def i_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP of the records whose keys the release has."""
    return _mean_of_matched(pair, _cell_share)


def gcap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP, keys not in the release taken from the nearest ones that are."""
    return _nearest(pair, 0)


def accuracy_zero(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target of the cell is right, no cell counting as wrong."""
    return _mean(pair, _cell_credit, baseline=zero_rule(pair))


def accuracy_ignored(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target of the cell is right, where there is a cell."""
    return _mean_of_matched(pair, _cell_credit, baseline=zero_rule(pair))


def accuracy_nearest(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target among the nearest records is right."""
    return _nearest(pair, 1, baseline=zero_rule(pair))


def tcap(pair: ScenarioPair) -> Measurement:
    """Return DiSCO as a share of the original records whose keys occur in the release."""
    n = matched(pair.joint, pair.counted)
    chance = chance_of_disco(pair)
    return _tcap(
        pair,
        n,
        "no original record has keys that occur in the release",
        baseline=None if chance is None or not n else chance * pair.n / n,
        reference=pair.disclosure.Dorig,
    )


def tcap_disclosive(pair: ScenarioPair) -> Measurement:
    """Return DiSCO as a share of the original records whose keys are disclosive in the release."""
    n = int(pair.counted.DiS.sum())
    return _tcap(
        pair,
        n,
        "no original record has keys that are disclosive in the release",
        baseline=pair.disclosure.baseCAPd,
        reference=100.0,
    )


def tcap_all(pair: ScenarioPair) -> Measurement:
    """Return DiSCO under the name it has where keys not found count as wrong guesses."""
    return _tcap(
        pair,
        pair.n,
        "there is no original record",
        baseline=chance_of_disco(pair),
        reference=pair.disclosure.Dorig,
    )


def zero_rule(pair: ScenarioPair) -> float | None:
    """Return how often the most frequent target of the release, guessed for all, is right."""
    if not pair.n or not len(pair.cells.synthetic):
        return None
    mode = pair.joint.s_target == pair.joint.s_target.max()
    return 100 * float(pair.joint.d_target[mode].mean()) / pair.n


def gcap_pools(pair: ScenarioPair) -> tuple[Floats, Floats, Ints]:
    """Return share, chance of a right guess and distance of the nearest pool of every pair."""
    keys = pair.scenario.keys
    codes = [pair.cells.codes[key] for key in keys]
    return nearest_pools(pair.joint, codes, [pair.original[key].n_levels for key in keys])


def _cell_share(pair: ScenarioPair) -> Floats:
    return cell_pools(pair.joint)[0]


def _cell_credit(pair: ScenarioPair) -> Floats:
    return cell_pools(pair.joint)[1]


def _nearest(pair: ScenarioPair, which: Literal[0, 1], **more: Any) -> Measurement:
    if not len(pair.cells.synthetic):
        return undefined("the release has no record")
    *found, distance = gcap_pools(pair)
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    d = pair.counted.original
    return rate(
        float((found[which] * d).sum()),
        pair.n,
        details={
            "not in the release": int(d[distance > 0].sum()),
            "largest distance": int(distance.max(initial=0)),
        },
        trace=lambda: gcap_pools(pair)[which][pair.position],
        **more,
    )


def _mean(
    pair: ScenarioPair, of_pairs: Callable[[ScenarioPair], Floats], **more: Any
) -> Measurement:
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    total = float((of_pairs(pair) * pair.counted.original).sum())
    return rate(total, pair.n, trace=lambda: of_pairs(pair)[pair.position], **more)


def _mean_of_matched(
    pair: ScenarioPair, of_pairs: Callable[[ScenarioPair], Floats], **more: Any
) -> Measurement:
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    d = pair.counted.iS
    if not d.any():
        return undefined("no original record has keys that occur in the release")
    return rate(
        float((of_pairs(pair) * d).sum()),
        int(d.sum()),
        details={"ignored": pair.n - int(d.sum())},
        trace=lambda: of_pairs(pair)[pair.position],
        **more,
    )


def _share(pair: ScenarioPair, value: float | None, **more: Any) -> Measurement:
    return rate(0 if value is None else value / 100 * pair.n, pair.n, **more)


def _tcap(pair: ScenarioPair, n: int, reason: str, **more: Any) -> Measurement:
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
        reason = raw.notes[0] if raw.value is None else "the target has one value: nothing to guess"
        return undefined(reason)
    limits = None
    if raw.interval is not None and base is not None:
        ends = [scaled(end, base) for end in raw.interval]
        limits = (ends[0] or 0.0, ends[1] or 0.0)
    return Measurement(value, interval=limits, baseline=0.0, n=raw.n, trace=raw.trace)


_DRAWS = (
    "has the release, knows the keys of somebody in the original, and guesses the target from the "
    "synthetic records with these keys"
)
_DRAW = "guessing by a draw from the target's distribution in the original (baseCAPd)"
_MODE = "always guessing the most frequent target of the release"
_AVERAGE = (
    "An average over all records: a single record that is given away for certain moves it by 1/N, "
    "and what keys and target have in common in the population counts as risk."
)
_AVERAGE_SHORT = "an average: one certain disclosure moves it by 1/N"
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
        baseline=_DRAW,
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
        attacker=_DRAWS,
        formula="100/N_d · Σ_tq d_tq · s_tq/s_q; shares taken after exclusions, as synthpop does",
        source=f"{RAAB}, eq. 6",
        blind_spot=_AVERAGE,
        blind=_AVERAGE_SHORT,
        baseline=_DRAW,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
    ),
    Measure(
        name="scaledDCAP",
        function=scaled_dcap,
        family="attribution",
        says="DCAP on a scale from 0 (guessing without the release) to 100 (certainty)",
        attacker=_DRAWS,
        formula="(DCAP − baseCAPd) / (100 − baseCAPd) · 100; may be negative",
        source=f"{RAAB}, lines after eq. 14",
        blind_spot=_AVERAGE,
        blind=_AVERAGE_SHORT,
        baseline="0 by construction",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="TCAP",
        function=tcap,
        family="attribution",
        says="DiSCO among the records whose keys occur in the release",
        attacker=_DRAWS + ", if they all agree",
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
        attacker=_DRAWS + ", if they all agree",
        formula="100 · Σ_tq d_tq 1{s_tq = s_q} / Σ_q d_q 1{max_t s_tq = s_q} = 100 · DiSCO/DiS",
        source=f"{TAUB}: records that are not matched or not disclosive are undefined",
        blind_spot="A precision: it says nothing of how many records it is about. Look at how many "
        "are retained. " + _CONSTANT,
        blind="a precision: may rest on very few records",
        baseline=_DRAW,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
    ),
    Measure(
        name="TCAPall",
        function=tcap_all,
        family="attribution",
        says="DiSCO under its other name: keys not found count as wrong guesses",
        attacker=_DRAWS + ", if they all agree",
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
        attacker=_DRAWS + ", if they all agree",
        formula="(TCAPdisclosive − baseCAPd) / (100 − baseCAPd) · 100; may be negative",
        source=f"{TAUB}, calibrated TCAP",
        blind_spot="As TCAPdisclosive.",
        blind="a precision: may rest on very few records",
        baseline="0 by construction",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="0CAP",
        function=zero_cap,
        family="attribution",
        says="mean CAP with 0 for keys not in the release; DCAP with shares before exclusions",
        attacker=_DRAWS,
        formula="100/N_d · Σ_tq d_tq · s_tq/s_q",
        source=f"{HITTMEIR}, section 3, option 1",
        blind_spot=_AVERAGE,
        blind=_AVERAGE_SHORT,
        baseline=_DRAW,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="ICAP",
        function=i_cap,
        family="attribution",
        says="mean CAP of the records whose keys the release has",
        attacker=_DRAWS,
        formula="100 · Σ_tq d_tq · s_tq/s_q / Σ_q d_q 1{s_q > 0}",
        source=f"{HITTMEIR}, section 3, option 2; DCAP of Elliot and Taub",
        blind_spot=_AVERAGE + " Records without a match are left out, often the rare ones.",
        blind="an average that leaves out records without a match",
        baseline=_DRAW,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="GCAP",
        function=gcap,
        family="attribution",
        says="mean CAP; keys not in the release are replaced by the nearest that are",
        attacker=_DRAWS + ", or, if there are none, with the most keys in common (all of them)",
        formula="100/N_d · Σ_j share of t_j among synthetic records at the least Hamming distance",
        source=f"{HITTMEIR}, section 3, GCAP",
        blind_spot=_AVERAGE,
        blind=_AVERAGE_SHORT,
        baseline=_DRAW,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="R_0CAP",
        function=accuracy_zero,
        family="attribution",
        says="how often the most frequent target of the cell is right; no cell counts as wrong",
        attacker=_DRAWS + ": the most frequent value, one at random if several are",
        formula="100/N_d · Σ_j 1{t_j = argmax_t s_tq}, ties shared",
        source=f"{HITTMEIR}, section 4, R after eq. 2.1",
        blind_spot=_AVERAGE + " Rare values are never the most frequent: they seem safe.",
        blind="an average; rare values are never guessed",
        baseline=_MODE,
        fails=frozenset({Property.CERTAINTY, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="R_ICAP",
        function=accuracy_ignored,
        family="attribution",
        says="how often the most frequent target of the cell is right, where there is a cell",
        attacker=_DRAWS + ": the most frequent value, one at random if several are",
        formula="Σ_j 1{t_j = argmax_t s_tq} / Σ_q d_q 1{s_q > 0} · 100, ties shared",
        source=f"{HITTMEIR}, section 4",
        blind_spot=_AVERAGE + " Rare values are never the most frequent: they seem safe.",
        blind="an average; rare values are never guessed",
        baseline=_MODE,
        fails=frozenset({Property.CERTAINTY, Property.GAIN}),
        default=False,
    ),
    Measure(
        name="R_GCAP",
        function=accuracy_nearest,
        family="attribution",
        says="how often the most frequent target among the nearest synthetic records is right",
        attacker=_DRAWS + " or with the most keys in common: the most frequent value",
        formula="100/N_d · Σ_j 1{t_j = argmax_t of the nearest pool}, ties shared",
        source=f"{HITTMEIR}, section 4; the accuracy of the classifier of Algorithm 3.1",
        blind_spot=_AVERAGE + " Rare values are never the most frequent: they seem safe.",
        blind="an average; rare values are never guessed",
        baseline=_MODE,
        fails=frozenset({Property.CERTAINTY, Property.GAIN}),
        default=False,
    ),
)
