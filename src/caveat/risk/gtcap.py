"""Attribution with mixed keys: categories must agree, numbers may lie within a radius.

The paper that introduced GTCAP is known to us from a summary without formulas. What is computed
here is our reading of it, in the definitions below; it is not claimed to give the paper's figures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from caveat.risk._near import Floats, near, split
from caveat.risk.cells import Ints
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.pair import Pair
from caveat.table import Table

__all__ = ["ENTRIES", "Uniques", "gtcap", "gtcap_uniques", "near_dcap", "near_disco"]


class Uniques(NamedTuple):
    """What is known about the target of each original record that is unique on the keys.

    Attributes
    ----------
    row
        Row of the original.
    original, synthetic
        Share of records with near keys whose target is near, in the two tables (the record itself
        included in the original); 0 where no synthetic record has near keys.
    marginal
        Share of all original records whose target is near.
    found
        Number of synthetic records with near keys.
    score
        How far the release goes from the marginal share to that of the original, 0 to 1.
    """

    row: Ints
    original: Floats
    synthetic: Floats
    marginal: Floats
    found: Ints
    score: Floats


def gtcap_uniques(pair: Pair) -> Uniques:
    """Return the three probabilities and the score of every statistical unique."""
    row = np.flatnonzero(pair.cells.d[pair.cells.original] == 1)
    some = pair.original.take(row)
    in_original, right_original = _near_counts(pair, some, pair.original)
    found, right = _near_counts(pair, some, pair.synthetic)
    marginal = _marginal(pair, some)
    original = right_original / np.maximum(in_original, 1)
    synthetic = right / np.maximum(found, 1)
    room = original - marginal
    score = np.where(room > 0, (synthetic - marginal) / np.where(room > 0, room, 1), 0.0)
    return Uniques(row, original, synthetic, marginal, found, np.clip(score, 0, 1))


def gtcap(pair: Pair) -> Measurement:
    """Return the mean score of the original records that are unique on the keys."""
    uniques = gtcap_uniques(pair)
    if not len(uniques.row):
        return undefined("no original record is unique on these keys")

    def trace() -> Floats:
        out = np.zeros(pair.n)
        out[uniques.row] = uniques.score
        return out

    return rate(
        float(uniques.score.sum()),
        len(uniques.row),
        baseline=0.0,
        reference=100.0 if (uniques.original > uniques.marginal).all() else None,
        details={
            "uniques": len(uniques.row),
            "without a near record": int((uniques.found == 0).sum()),
            "synthetic": 100 * float(uniques.synthetic.mean()),
            "original": 100 * float(uniques.original.mean()),
            "marginal": 100 * float(uniques.marginal.mean()),
        },
        trace=trace,
    )


def near_dcap(pair: Pair) -> Measurement:
    """Return the mean share of near targets among the synthetic records with near keys."""
    found, right = _near_counts(pair, pair.original, pair.synthetic)
    share = right / np.maximum(found, 1)
    baseline = 100 * float(_marginal(pair, pair.original).mean()) if pair.n else None
    return rate(float(share.sum()), pair.n, baseline=baseline, trace=lambda: share)


def near_disco(pair: Pair) -> Measurement:
    """Return the share of original records for whom every near synthetic record is nearly right."""
    found, right = _near_counts(pair, pair.original, pair.synthetic)
    given_away = (found > 0) & (found == right)
    return rate(int(given_away.sum()), pair.n, trace=lambda: given_away.astype(np.float64))


def _near_counts(pair: Pair, some: Table, data: Table) -> tuple[Ints, Ints]:
    """Count near keys, and near keys with a near target, for rows of the original."""
    keys, tolerance = pair.scenario.keys, pair.scenario.tolerance
    query = split(some, keys, tolerance)
    widths = [tolerance[key] for key in keys if key in tolerance]
    radius = np.broadcast_to(np.array(widths, np.float64), query.numbers.shape)
    target = [pair.scenario.target or ""]
    return near(
        query,
        split(data, keys, tolerance),
        radius,
        (split(some, target, tolerance), split(data, target, tolerance)),
        tolerance.get(target[0], 0.0),
    )


def _marginal(pair: Pair, some: Table) -> Floats:
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
        formula="mean over original uniques of (P_s − P_m)/(P_o − P_m), kept within 0 and 1; P_s, "
        "P_o: share of near targets among near keys in release and original, P_m: among all",
        source="our reading of arXiv 2310.06571, of which a summary without formulas was at hand",
        blind_spot="Records that are not unique on the exact keys are not looked at. The radii "
        "decide the result: report them. Records whose keys nobody in the release is near count as "
        "safe.",
        blind="only uniques on the keys; depends on the chosen tolerances",
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
