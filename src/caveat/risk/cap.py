"""Correct attribution probability: the chance that a guess from the release is right."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import numpy as np

from caveat.nearest import Floats, cell_pools, nearest_pools, within
from caveat.notes import Z95, Note
from caveat.risk.identity import RAAB, UNLINKED, chance_of_disco
from caveat.risk.measure import Measure, Measurement, Property, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair, matched, split
from caveat.table import Table
from caveat.table.cells import Ints

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


# -------------------------------------------------------------------------------------------------
# CAP by what is done with keys that the release does not have: 0, left out, or the nearest.


HITTMEIR = "Hittmeir, Mayer, Ekelhart (2020), A Baseline for Attribute Disclosure Risk"


def zero_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP with 0 for records whose keys the release does not have."""
    return _mean(pair, cell_share)


def i_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP of the records whose keys the release has."""
    return _mean_of_matched(pair, cell_share)


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


def zero_rule(pair: ScenarioPair) -> float | None:
    """Return how often the most frequent target of the release, guessed for all, is right."""
    if not pair.n or not len(pair.cells.synthetic):
        return None
    mode = pair.joint.s_target == pair.joint.s_target.max()
    return float(pair.joint.d_target[mode].mean()) / pair.n


def gcap_pools(pair: ScenarioPair) -> tuple[Floats, Floats, Ints]:
    """Return share, chance of a right guess and distance of the nearest pool of every pair."""
    keys = pair.scenario.keys
    codes = [pair.cells.codes[key] for key in keys]
    return nearest_pools(pair.joint, codes, [pair.original[key].n_levels for key in keys])


def _cell_credit(pair: ScenarioPair) -> Floats:
    return cell_pools(pair.joint)[1]


def _nearest(pair: ScenarioPair, which: Literal[0, 1], **more: Any) -> Measurement:
    if not len(pair.cells.synthetic):
        return undefined(Note("empty-release", "the release has no record"))
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
        return undefined(
            Note("no-known-keys", "no original record has keys that occur in the release")
        )
    return rate(
        float((of_pairs(pair) * d).sum()),
        int(d.sum()),
        details={"ignored": pair.n - int(d.sum())},
        trace=lambda: of_pairs(pair)[pair.position],
        **more,
    )


_MODE = "always guessing the most frequent target of the release"
_GUESSES: dict[str, Any] = {
    "family": "attribution",
    "blind_spot": AVERAGE + " Rare values are never the most frequent: they seem safe.",
    "blind": "an average; rare values are never guessed",
    "baseline": _MODE,
    "fails": frozenset({Property.CERTAINTY, Property.GAIN}),
    "default": False,
}

CAP_UNMATCHED_ENTRIES = (
    Measure(
        name="0CAP",
        function=zero_cap,
        family="attribution",
        says="mean CAP with 0 for keys not in the release; DCAP with shares before exclusions",
        attacker=DRAWS,
        formula="100/N_d · Σ_tq d_tq · s_tq/s_q",
        source=f"{HITTMEIR}, section 3, option 1",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="ICAP",
        function=i_cap,
        family="attribution",
        says="mean CAP of the records whose keys the release has",
        attacker=DRAWS,
        formula="100 · Σ_tq d_tq · s_tq/s_q / Σ_q d_q 1{s_q > 0}",
        source=f"{HITTMEIR}, section 3, option 2; DCAP of Elliot and Taub",
        blind_spot=AVERAGE + " Records without a match are left out, often the rare ones.",
        blind="an average that leaves out records without a match",
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="GCAP",
        function=gcap,
        family="attribution",
        says="mean CAP; keys not in the release are replaced by the nearest that are",
        attacker=DRAWS + ", or, if there are none, with the most keys in common (all of them)",
        formula="100/N_d · Σ_j share of t_j among synthetic records at the least Hamming distance",
        source=f"{HITTMEIR}, section 3, GCAP",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="R_0CAP",
        function=accuracy_zero,
        says="how often the most frequent target of the cell is right; no cell counts as wrong",
        attacker=DRAWS + ": the most frequent value, one at random if several are",
        formula="100/N_d · Σ_j 1{t_j = argmax_t s_tq}, ties shared",
        source=f"{HITTMEIR}, section 4, R after eq. 2.1",
        **_GUESSES,
    ),
    Measure(
        name="R_ICAP",
        function=accuracy_ignored,
        says="how often the most frequent target of the cell is right, where there is a cell",
        attacker=DRAWS + ": the most frequent value, one at random if several are",
        formula="Σ_j 1{t_j = argmax_t s_tq} / Σ_q d_q 1{s_q > 0} · 100, ties shared",
        source=f"{HITTMEIR}, section 4",
        **_GUESSES,
    ),
    Measure(
        name="R_GCAP",
        function=accuracy_nearest,
        says="how often the most frequent target among the nearest synthetic records is right",
        attacker=DRAWS + " or with the most keys in common: the most frequent value",
        formula="100/N_d · Σ_j 1{t_j = argmax_t of the nearest pool}, ties shared",
        source=f"{HITTMEIR}, section 4; the accuracy of the classifier of Algorithm 3.1",
        **_GUESSES,
    ),
)


# -------------------------------------------------------------------------------------------------
# Attribution with mixed keys: categories must agree, numbers may lie within a radius.
#
# The paper that introduced GTCAP (arXiv 2310.06571) is known to us from a summary without
# formulas: for statistical uniques, the probability of the target given the keys in the release
# is compared with that in the original and with that without any key, and risk is what the
# attacker gains over knowing nothing. So a release that tells nothing about the target must score
# 0, and the original 1. The ratio of the mean gains does, in the mean; a mean of single ratios,
# each kept within 0 and 1, does not: chance lifts some records above 0 and no record may fall
# below (SD2011 with shuffled targets: 21 %). A public implementation that cites the paper also
# takes the ratio of the means.


class Uniques(NamedTuple):
    """What is known about the target of each original record that is unique on the keys.

    Attributes
    ----------
    row
        Row of the original.
    original, synthetic
        Share of records with near keys whose target is near, in the two tables (the record itself
        included in the original). Where no synthetic record has near keys, the attacker is left
        with the marginal share.
    marginal
        Share of all original records whose target is near.
    found
        Number of synthetic records with near keys.
    score
        How far the release goes from the marginal share to that of the original, kept within 0
        and 1: for lists of records, not for means.
    """

    row: Ints
    original: Floats
    synthetic: Floats
    marginal: Floats
    found: Ints
    score: Floats


def gtcap_uniques(pair: ScenarioPair) -> Uniques:
    """Return the three probabilities and the score of every statistical unique."""
    row = np.flatnonzero(pair.cells.d[pair.cells.original] == 1)
    some = pair.original.take(row)
    in_original, right_original = _near_counts(pair, some, pair.original)
    found, right = _near_counts(pair, some, pair.synthetic)
    marginal = _marginal(pair, some)
    original = right_original / np.maximum(in_original, 1)
    synthetic = np.where(found > 0, right / np.maximum(found, 1), marginal)
    room = original - marginal
    score = np.where(room > 0, (synthetic - marginal) / np.where(room > 0, room, 1), 0.0)
    return Uniques(row, original, synthetic, marginal, found, np.clip(score, 0, 1))


def gtcap(pair: ScenarioPair) -> Measurement:
    """Return how much of what the original tells about the uniques' targets the release tells."""
    uniques = gtcap_uniques(pair)
    if not len(uniques.row):
        return undefined(Note("no-unique", "no original record is unique on these keys"))
    gain, room = uniques.synthetic - uniques.marginal, uniques.original - uniques.marginal
    if not room.mean() > 0:
        return undefined(
            Note("nothing-to-tell", "the keys tell nothing about the target in the original itself")
        )
    share = float(gain.mean() / room.mean())
    # Standard error of a ratio of two means over the same records.
    spread = float(np.std(gain - share * room)) / math.sqrt(len(room)) / float(room.mean())
    low, value, high = np.clip([share - Z95 * spread, share, share + Z95 * spread], 0, 1)

    def trace() -> Floats:
        out = np.zeros(pair.n)
        out[uniques.row] = uniques.score
        return out

    return Measurement(
        float(value),
        interval=(float(low), float(high)),
        n=len(room),
        baseline=0.0,
        reference=1.0,
        details={
            "uniques": len(uniques.row),
            "without a near record": int((uniques.found == 0).sum()),
            "synthetic": float(uniques.synthetic.mean()),
            "original": float(uniques.original.mean()),
            "marginal": float(uniques.marginal.mean()),
            "before it is kept within 0 and 1": share,
        },
        trace=trace,
    )


def near_dcap(pair: ScenarioPair) -> Measurement:
    """Return the mean share of near targets among the synthetic records with near keys."""
    found, right = _near_counts(pair, pair.original, pair.synthetic)
    share = right / np.maximum(found, 1)
    baseline = float(_marginal(pair, pair.original).mean()) if pair.n else None
    return rate(float(share.sum()), pair.n, baseline=baseline, trace=lambda: share)


def near_disco(pair: ScenarioPair) -> Measurement:
    """Return the share of original records for whom every near synthetic record is nearly right."""
    found, right = _near_counts(pair, pair.original, pair.synthetic)
    given_away = (found > 0) & (found == right)
    return rate(int(given_away.sum()), pair.n, trace=lambda: given_away.astype(np.float64))


def _near_counts(pair: ScenarioPair, some: Table, data: Table) -> tuple[Ints, Ints]:
    """Count near keys, and near keys with a near target, for rows of the original."""
    keys, tolerance = pair.scenario.keys, pair.scenario.tolerance
    query = split(some, keys, tolerance)
    widths = [tolerance[key] for key in keys if key in tolerance]
    radius = np.broadcast_to(np.array(widths, np.float64), query.numbers.shape)
    target = [pair.scenario.target or ""]
    return within(
        query,
        split(data, keys, tolerance),
        radius,
        (split(some, target, tolerance), split(data, target, tolerance)),
        tolerance.get(target[0], 0.0),
    )


def _marginal(pair: ScenarioPair, some: Table) -> Floats:
    """Return for rows of the original the share of all original targets that are near theirs."""
    name = pair.scenario.target or ""
    column = pair.original[name]
    shares = column.counts / max(pair.n, 1)
    if name in pair.scenario.tolerance:
        width, numbers = pair.scenario.tolerance[name], column.numbers
        order = np.argsort(numbers)
        below = np.concatenate([[0.0], np.cumsum(shares[order])])
        low = np.searchsorted(numbers[order], numbers - width, side="left")
        high = np.searchsorted(numbers[order], numbers + width, side="right")
        shares[: len(numbers)] = below[high] - below[low]
    return shares[some[name].codes]


_NEAR = (
    "has the release, knows the keys of somebody in the original, numbers up to a tolerance, and "
    "guesses from the synthetic records that fit"
)
_TOLERANT = frozenset({"keys", "target", "tolerance"})

GTCAP_ENTRIES = (
    Measure(
        name="GTCAP",
        function=gtcap,
        family="near values",
        says="how far the release goes towards the original in telling the target of uniques",
        attacker=_NEAR,
        formula="(mean P_s − mean P_m)/(mean P_o − mean P_m) over original uniques, kept within 0 "
        "and 1; P_s, P_o: share of near targets among near keys in release and original, P_m: "
        "among all (also for P_s where no key is near)",
        source="our reading of arXiv 2310.06571, of which a summary without formulas was at hand",
        blind_spot="Records that are not unique on the exact keys are not looked at. The radii "
        "decide the result: report them. An average: one record that is given away is balanced by "
        "others about whom the release is wrong.",
        blind="an average over uniques on the keys; depends on the tolerances",
        baseline="0: the marginal share of near targets is taken off",
        needs=_TOLERANT,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        by_size=True,
    ),
    Measure(
        name="nearDCAP",
        function=near_dcap,
        family="near values",
        says="DCAP with tolerances for numeric keys and target",
        attacker=_NEAR,
        formula="100/N_d · Σ_j share of near targets among synthetic records with near keys",
        source="Raab (2024) names the idea; with all tolerances 0 it is DCAP",
        blind_spot="An average over all records, as DCAP; grows with the tolerances.",
        blind="an average; grows with the tolerances",
        baseline="mean share of the original whose target is near",
        needs=_TOLERANT,
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
    ),
    Measure(
        name="nearDiSCO",
        function=near_disco,
        family="near values",
        says="DiSCO with tolerances for numeric keys and target",
        attacker=_NEAR,
        formula="100/N_d · Σ_j 1{all synthetic records with near keys have a near target, ≥ 1}",
        source="Raab (2024) names the idea; with all tolerances 0 it is DiSCO",
        blind_spot="As DiSCO; wider key tolerances find more records and make agreement rarer.",
        blind="as DiSCO; 0 is no all-clear",
        needs=_TOLERANT,
        fails=frozenset(Property),
    ),
)
