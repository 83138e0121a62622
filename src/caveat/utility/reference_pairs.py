"""Pairs of tables as good as can be: what the values of a release are judged by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from caveat.seeds import rng_of
from caveat.table import Table
from caveat.table.linked import Members
from caveat.utility.grouping import PairGroups, draw_again, draw_some
from caveat.utility.pair import WeightedPair
from caveat.utility.weighting import Weights, redraw

__all__ = ["RESAMPLES", "reference_pairs"]

RESAMPLES = 3


def reference_pairs(
    pairs: Sequence[WeightedPair], resamples: int, seed: int
) -> dict[str, list[WeightedPair]]:
    """Return pairs of tables that are as good as can be, by the kind of reference value."""
    first = pairs[0]
    original, weights, n, groups = first.original, first.weights, first.n_original, first.groups
    found: dict[str, list[WeightedPair]] = {"resample": []}
    for resample in range(resamples):
        generator, drawn = rng_of(seed, resample), None
        if groups is not None:
            rows, again = draw_again(groups.original, weights, generator)
            drawn = replace(groups, synthetic=again)
        elif weights is None:
            rows = generator.integers(0, n, n)
        else:
            rows = generator.choice(n, n, p=weights / n)
        pair = _against(first, original, original.take(rows), weights, drawn)
        pair.with_original_of(first)
        pair.twin = found["resample"][0] if resample else None
        found["resample"].append(pair)
    if len(pairs) > 1:
        second = pairs[1]
        theirs = None
        if groups is not None and second.groups is not None:
            theirs = replace(groups, original=groups.synthetic, synthetic=second.groups.synthetic)
        found["second_copy"] = [_against(first, first.synthetic, second.synthetic, None, theirs)]
    if first.control is not None:
        others, outside = first.control, None if groups is None else groups.control
        if first.control_weights is not None:
            rng = rng_of(seed, RESAMPLES, 2)
            if outside is None:
                rows = redraw(first.control_weights, len(others), rng)
            else:
                by_group = outside.means(first.control_weights)
                rows, outside = outside.take(redraw(by_group, outside.n_groups, rng))
            others = others.take(rows)
        if groups is None or outside is None:
            found["control"] = [_equal_sizes(first, others, seed)]
        else:
            found["control"] = [_equal_groups(first, others, groups, outside, seed)]
    return found


def _against(
    pair: WeightedPair,
    original: Table,
    synthetic: Table,
    weights: Weights,
    groups: PairGroups | None = None,
) -> WeightedPair:
    """Return other tables on the levels of a pair, with its control."""
    found = WeightedPair(
        original, synthetic, weights=weights,
        control=pair.control, control_weights=pair.control_weights, groups=groups,
    )  # fmt: skip
    found.model_rows = pair.model_rows
    return found


def _equal_sizes(pair: WeightedPair, control: Table, seed: int) -> WeightedPair:
    """Compare as many rows of both: most measures depend on the share of either table."""
    original, weights = pair.original, pair.weights
    n = min(len(original), len(control))
    generator = rng_of(seed, RESAMPLES, 1)
    if len(original) > n:
        rows = np.sort(generator.permutation(len(original))[:n])
        original, weights = original.take(rows), None if weights is None else weights[rows]
    if len(control) > n:
        control = control.take(np.sort(generator.permutation(len(control))[:n]))
    return _against(pair, original, control, weights)


def _equal_groups(
    pair: WeightedPair, control: Table, groups: PairGroups, outside: Members, seed: int
) -> WeightedPair:
    """Compare as many whole groups of both."""
    n = min(groups.original.n_groups, outside.n_groups)
    generator = rng_of(seed, RESAMPLES, 1)
    rows, ours = draw_some(groups.original, n, generator)
    theirs_rows, theirs = draw_some(outside, n, generator)
    return _against(
        pair,
        pair.original.take(rows),
        control.take(theirs_rows),
        None if pair.weights is None else pair.weights[rows],
        replace(groups, original=ours, synthetic=theirs),
    )
