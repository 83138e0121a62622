"""Attribution with mixed keys: categories must agree, numbers may lie within a radius.

The paper that introduced GTCAP (arXiv 2310.06571) is known to us from a summary without formulas:
for statistical uniques, the probability of the target given the keys in the release is compared
with that in the original and with that without any key, and risk is what the attacker gains over
knowing nothing. So a release that tells nothing about the target must score 0, and the original 1.
The ratio of the mean gains does, in the mean; a mean of single ratios, each kept within 0 and 1,
does not: chance lifts some records above 0 and no record may fall below (SD2011 with shuffled
targets: 21 %). A public implementation that cites the paper also takes the ratio of the means.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from caveat.nearest import Floats, within
from caveat.notes import Z95, Note
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.near import split
from caveat.risk.pair import ScenarioPair
from caveat.table import Table
from caveat.table.cells import Ints

__all__ = ["ENTRIES", "Uniques", "gtcap", "gtcap_uniques", "near_dcap", "near_disco"]


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

ENTRIES = (
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
