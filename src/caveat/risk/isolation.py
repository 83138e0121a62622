"""Isolation: descriptions from the release that single out one original record, beyond chance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.risk.identity import margin_probability
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined, wilson
from caveat.risk.pair import ScenarioPair
from caveat.risk.prepare import group, select_common
from caveat.risk.scenario import Scenario
from caveat.table import Table, align_copies
from caveat.table.cells import dense

__all__ = [
    "ENTRIES",
    "Chance",
    "best_isolations",
    "count_gain",
    "isolation",
    "isolation_chances",
    "isolation_gain",
    "isolation_probability",
    "population_uniqueness",
    "tree_probability",
]

DACQUISTO = "D'Acquisto, Cohen, Naldi, Nissim (2024), From Isolation to Identification"


def isolation_probability(p: NDArray[np.float64] | float, n: int) -> NDArray[np.float64]:
    """Return the chance that a description of probability p matches exactly one of n records.

    Examples
    --------
    >>> float(isolation_probability(1 / 5, 5).round(4))
    0.4096
    """
    p = np.asarray(p, dtype=np.float64)
    if n <= 1:
        return n * p
    with np.errstate(divide="ignore"):
        return np.asarray(n * p * np.exp((n - 1) * np.log1p(-p)))


def best_isolations(k: int, n: int) -> float:
    """Return how many of k disjoint guesses, made without a release, isolate on average at best."""
    return k * float(isolation_probability(1 / max(k, n), n))


def population_uniqueness(p: float, n: int, population: int) -> float:
    """Return the chance that a description which isolates in the sample does in the population."""
    return float(np.exp((population - n) * np.log1p(-p)))


def count_gain(p: float, m: int, n: int) -> float:
    """Return the isolation gain from a published count m of a cell of probability p.

    The best guess is a part of the cell that each of its m records is in with chance 1/m. The cell
    must have been chosen without looking at the data.

    Examples
    --------
    >>> round(count_gain(1e-6, 1, 1000))
    1001
    """
    return float(isolation_probability(1 / m, m) / isolation_probability(p / m, n))


def tree_probability(pair: ScenarioPair) -> NDArray[np.float64]:
    """Return for each cell its probability if each key of the release hangs on one other key.

    The tree is the one of the largest mutual information (Chow and Liu 1968). Every conditional
    share leaves out one record of the cell, if the release has any there, and is drawn to the share
    without the condition as by one more record: nothing is rare because it was seen only once.
    """
    keys, cells = list(pair.cells.codes), pair.cells
    release = {key: pair.synthetic[key].codes.astype(np.int64) for key in keys}
    n = len(cells.synthetic)
    own = (cells.s > 0).astype(np.float64)
    shares = {key: pair.synthetic[key].counts / max(n, 1) for key in keys}
    w: NDArray[np.float64] = np.asarray(shares[keys[0]][cells.codes[keys[0]]], np.float64)
    for key, parent in _tree(keys, release):
        levels = pair.synthetic[key].n_levels
        seen = release[parent] * levels + release[key]
        asked = cells.codes[parent].astype(np.int64) * levels + cells.codes[key]
        both, _ = dense(np.append(seen, asked), levels * pair.synthetic[parent].n_levels)
        together = np.bincount(both[:n], minlength=int(both.max(initial=0)) + 1)[both[n:]] - own
        given = pair.synthetic[parent].counts[cells.codes[parent]] - own
        w = w * (together + shares[key][cells.codes[key]]) / (given + 1)
    return np.minimum(w, 1 - 1e-12)


def _tree(keys: Sequence[str], codes: dict[str, NDArray[np.int64]]) -> list[tuple[str, str]]:
    """Return each key but the first with the one it hangs on; the strongest tie next."""
    ties = {
        (a, b): _mutual_information(codes[a], codes[b])
        for i, a in enumerate(keys)
        for b in keys[:i]
    }
    inside, found = [keys[0]], []
    while len(inside) < len(keys):
        outside = [key for key in keys if key not in inside]
        choices = [(a, b) for a in outside for b in inside]
        best = max(choices, key=lambda c: ties[c] if c in ties else ties[c[::-1]])
        found.append(best)
        inside.append(best[0])
    return found


def _mutual_information(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    if not len(a):
        return 0.0
    levels = int(a.max()) + 1
    both, counts = np.unique(b * levels + a, return_counts=True)
    alone = np.bincount(a)[both % levels] * np.bincount(b)[both // levels]
    return float((counts * np.log(counts * len(a) / alone)).sum()) / len(a)


@dataclass(frozen=True)
class Chance:
    """How often the same descriptions isolate without the release, by one way to say P(B).

    Attributes
    ----------
    success, chance
        The shares of the descriptions that isolate in the original, and without the release.
    gain
        Their ratio; None where the chance was never seen.
    interval
        Its limits, at the unfavourable ends of the intervals of what was counted.
    """

    success: float
    chance: float
    gain: float | None
    interval: tuple[float, float]


def isolation_chances(
    original: Any, synthetic: Any, scenario: Scenario, control: Any = None
) -> dict[str, Chance]:
    """Return the gain of the release by each way to say what could be had without it.

    Parameters
    ----------
    original, synthetic
        The confidential table and the release.
    scenario
        Who attacks: its keys, and its population if only rare descriptions are to be tried.
    control
        People who were not in the data. Of two groups of different size random parts of the size of
        the smaller one are compared, so it may be small.

    Returns
    -------
    ``"independent"``: P(B) is the product of the margins of the keys; ``"tree"``: each key depends
    on one other (:func:`tree_probability`); ``"control"``: no model, the descriptions are tried on
    the control. Empty where the release has no description to try.

    Examples
    --------
    >>> people = {"age": [31, 31, 47, 52], "sex": list("ffmm")}
    >>> release = {"age": [31, 31, 47, 52], "sex": list("ffmm")}
    >>> others = {"age": [31, 47, 47, 52], "sex": list("ffmm")}
    >>> found = isolation_chances(people, release, Scenario(("age", "sex")), others)
    >>> round(found["independent"].gain, 2), round(found["control"].gain, 2)
    (2.99, 1.0)
    """
    given = [original, synthetic, *([] if control is None else [control])]
    tables = [Table.from_frame(table) for table in given]
    if not all(map(len, tables)):
        raise CaveatError(
            "a table has no rows", where="isolation", do="check the files", code="data.table.empty"
        )
    ours, theirs, *outside = select_common(tables, scenario.keys)
    common = align_copies(ours, [theirs], *outside)[0]
    (theirs, *people), _ = group([common.synthetic, *common.people], scenario.groups)
    keys = scenario.with_target(None)
    pair, *others = (ScenarioPair(table, theirs, keys) for table in people)
    predicates = _predicates(pair)
    if not predicates.any():
        return {}
    k, tried = int(predicates.sum()), pair.cells.d[predicates]
    success = float((tried == 1).mean())
    low, high = wilson(success * k, k)
    found = {}
    for name, w in (("independent", margin_probability(pair)), ("tree", tree_probability(pair))):
        chance = float(isolation_probability(w[predicates], pair.n).mean())
        if chance:
            limits = (low / chance, high / chance)
            found[name] = Chance(success, chance, success / chance, limits)
    if others:
        found["control"] = _by_control(pair, others[0], predicates)
    return found


def _by_control(pair: ScenarioPair, control: ScenarioPair, which: NDArray[np.bool_]) -> Chance:
    """Try the same descriptions, those of some rows of the release, on both groups of people."""
    rows = which[pair.cells.synthetic]
    size, k = min(pair.n, control.n), int(rows.sum())
    success, chance = (
        float(_in_a_part(one.cells.d[one.cells.synthetic[rows]], one.n, size).mean())
        for one in (pair, control)
    )
    (low, high), (least, most) = wilson(success * k, k), wilson(chance * k, k)
    limits = (low / most, high / least if least else math.inf)
    return Chance(success, chance, success / chance if chance else None, limits)


def _in_a_part(counts: NDArray[np.int64], n: int, size: int) -> NDArray[np.float64]:
    """Return the chance that exactly one of the records is in a random part of all n."""
    return np.asarray(scipy.stats.hypergeom.pmf(1, n, counts, size))


def isolation(pair: ScenarioPair) -> Measurement:
    """Return how often the keys of a unique synthetic record isolate an original one."""
    predicates = _predicates(pair)
    if not predicates.any():
        return undefined(_no_predicate(pair))
    n = pair.n
    success = predicates & (pair.cells.d == 1)
    weights = margin_probability(pair)[predicates]
    return rate(
        int(success.sum()),
        int(predicates.sum()),
        baseline=float(isolation_probability(weights, n).mean()),
        details={"best single guess": float(isolation_probability(1 / n, n)) if n else None},
        trace=lambda: success[pair.cells.original].astype(np.float64),
    )


def isolation_gain(pair: ScenarioPair) -> Measurement:
    """Return how many times as often as without the release."""
    found = isolation(pair)
    if found.value is None or found.baseline is None:
        return undefined(found.notes[0])
    if not found.baseline:
        return undefined(
            Note("tiny-baseline", "the chance without the release is too small to divide by")
        )
    low, high = found.interval or (found.value, found.value)
    return Measurement(
        found.value / found.baseline,
        interval=(low / found.baseline, high / found.baseline),
        baseline=1.0,
        n=found.n,
        details=found.details,
        trace=found.trace,
    )


def _predicates(pair: ScenarioPair) -> NDArray[np.bool_]:
    """Return which cells are tried: unique in the release, rare enough for the population."""
    chosen = pair.cells.s == 1
    if pair.scenario.population is not None:
        chosen &= margin_probability(pair) <= 1 / (100 * pair.scenario.population)
    return np.asarray(chosen)


def _no_predicate(pair: ScenarioPair) -> Note:
    if not (pair.cells.s == 1).any():
        return Note("no-unique", "no synthetic record is unique on these keys")
    says = "no unique synthetic record is rare enough to be unique in the population"
    return Note("no-rare-unique", says)


_TRIES = (
    "has the release only; tries the keys of every synthetic record that is unique there as a "
    "description of somebody in the original"
)
_INDEPENDENT = (
    "the chance for the same descriptions without a release, n·p·(1−p)^(n−1), with p the product "
    "of the key margins of the release"
)
_SPOT = (
    "Only uniques on the named keys are tried. The chance without the release rests on independent "
    "keys, which makes rare combinations look rarer than they are where keys depend on each other: "
    "prefer a control, or see isolation_chances in Python, which also lets each key depend on "
    "another. An isolated record need not be unique in the population."
)

ENTRIES = (
    Measure(
        name="isolation",
        function=isolation,
        family="isolation",
        says="unique synthetic key combinations that match exactly one original record",
        attacker=_TRIES,
        formula="#(q with s_q = 1 and d_q = 1) / #(q with s_q = 1) · 100; with a population N only "
        "q of probability ≤ 1/(100 N)",
        source=f"{DACQUISTO}, section 4, with predicates from the release",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; undefined is no all-clear",
        baseline=_INDEPENDENT,
        needs=frozenset({"keys"}),
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="isolationGain",
        function=isolation_gain,
        family="isolation",
        says="how many times as often as without the release",
        attacker=_TRIES,
        formula="G = Pr[isolates | release] / Pr[isolates without it]",
        source=f"{DACQUISTO}, Definition 3",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; baseline assumes independent keys",
        baseline="1: no gain",
        needs=frozenset({"keys"}),
        unit="ratio",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)
