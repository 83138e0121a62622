"""Linkage of outliers (Trindade, Antunes, Carvalho and Moniz 2024), with the control it lacked.

The outliers among the original records are linked with synthetic records that agree on the
categories and nearly agree on the numbers. One link only is the dangerous case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from caveat.attack.figures import Attack, Finding, Option
from caveat.attack.ordinary.common import (
    CONTROL,
    KEYS,
    SEED,
    attack_measure,
    attack_rate,
    dense,
    prepare,
)
from caveat.errors import CaveatError
from caveat.nearest import Floats, within
from caveat.notes import Note
from caveat.registry import Late
from caveat.risk.measure import Measurement, undefined
from caveat.risk.pair import split
from caveat.table import Column, Pair, Table

__all__ = ["ATTACK", "Rule", "outlier_links", "outliers"]

_ensemble = Late("sklearn.ensemble")

Rule = Literal["z", "mad", "depth"]
Flags = NDArray[np.bool_]

# The median absolute deviation of a normal variable is its standard deviation divided by this.
NORMAL_MAD = 1.4826022185056018
# Share of the records that count as outliers by leaf depth.
SHALLOW = 0.02
# Without a tolerance numbers may lie off by this many standard deviations of the original.
DEFAULT_TOLERANCE = 0.25


def outlier_links(
    original: Any,
    synthetic: Any,
    *,
    keys: Sequence[str],
    target: str | None = None,
    control: Any = None,
    tolerance: Mapping[str, float] | None = None,
    rule: Rule = "z",
    limit: float = 3.0,
    seed: int = 0,
) -> Measurement:
    """Return the share of original outliers that exactly one synthetic record is linked with.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables; the outliers of the control are found by the limits of the original.
    keys
        Columns that are compared. Categories and missing numbers must agree.
    target
        A further column: how often the one link tells it rightly is among the details.
    tolerance
        How far a number may lie off, by key; a quarter of the standard deviation by default. The
        paper's Gaussian score of 0.5 is met at offset + scale: age=10, income=2000.
    rule, limit
        "z": more than ``limit`` standard deviations from the mean in any number; "mad": the same
        with median and median absolute deviation, which the outliers themselves do not inflate;
        "depth": the 2 % of the records in the shallowest leaves of random trees.
    seed
        Root of the randomness of the trees.

    Returns
    -------
    A share of the outliers. The reference are the links of the original with itself. Without
    a release there are no links: the baseline is 0, and the control says what chance links.
    """
    tables = prepare(original, synthetic, control, [*keys, *([target] if target else [])])
    numbers = [key for key in keys if tables.original[key].kind.is_number]
    radius = _radius(tables.original, numbers, tolerance or {})
    flags = outliers(tables, numbers, rule, limit, seed)
    if not flags[0].any():
        return undefined(Note("no-outlier", "no original record is an outlier by this rule"))
    far = [t.take(np.flatnonzero(flag)) for t, flag in zip(tables.people, flags, strict=True)]
    results = [_links(table, tables.synthetic, keys, target, radius) for table in far]
    found, right = results[0]
    itself, _ = _links(far[0], tables.original, keys, target, radius)
    unique = found == 1
    details = _counts(found)
    if target is not None:
        details["one link tells the target"] = int(right[unique].sum())
    return attack_rate(
        unique,
        results[1][0] == 1 if len(results) > 1 else None,
        baseline=0.0,
        reference=float(np.mean(itself == 1)),
        details=details,
        trace=lambda: _spread_out(flags[0], unique),
    )


def _counts(found: NDArray[np.int64]) -> dict[str, float | int | None]:
    linked, pairs = int((found > 0).sum()), int(found.sum())
    return {"outliers": len(found), "linked pairs": pairs, "linked": linked}


def _radius(
    original: Table, numbers: Sequence[str], tolerance: Mapping[str, float]
) -> dict[str, float]:
    """Return how far each number may lie off."""
    if not numbers:
        raise CaveatError(
            "outliers need a number among the keys", do="name one", code="attack.key.type"
        )
    radius = {key: _spread(original[key]) * DEFAULT_TOLERANCE for key in numbers}
    for key, width in tolerance.items():
        if key not in numbers:
            raise CaveatError(
                "a tolerance needs numbers", column=key, code="attack.tolerance.unsupported"
            )
        radius[key] = width
    return radius


def outliers(
    tables: Pair, numbers: Sequence[str], rule: Rule, limit: float, seed: int
) -> list[Flags]:
    """Return which records of the original, and of the control if there is one, are outliers."""
    if rule == "depth":
        return _by_depth(tables, numbers, seed)
    if rule not in ("z", "mad"):
        raise CaveatError(
            f"there is no rule {rule!r}", do="choose z, mad or depth", code="attack.setting.unknown"
        )
    flags = [np.zeros(len(table), dtype=bool) for table in tables.people]
    for name in numbers:
        column = tables.original[name]
        numbers_of = np.repeat(column.numbers, column.counts[: len(column.levels)])
        if not len(numbers_of):
            continue
        if rule == "z":
            centre, width = float(numbers_of.mean()), float(numbers_of.std(ddof=1))
        else:
            centre = float(np.median(numbers_of))
            width = NORMAL_MAD * float(np.median(np.abs(numbers_of - centre)))
        far = np.append(
            np.abs(column.numbers - centre) > limit * width, np.zeros(len(column.missing), bool)
        )
        for flag, table in zip(flags, tables.people, strict=True):
            flag |= far[table[name].codes]
    return flags


def _by_depth(tables: Pair, numbers: Sequence[str], seed: int) -> list[Flags]:
    parts = dense(tables.original, tables.people, numbers)
    with threadpool_limits(1):
        forest = _ensemble.IsolationForest(random_state=seed % 2**32).fit(parts[0])
        scores = [forest.score_samples(part) for part in parts]
    cut = np.quantile(scores[0], SHALLOW)
    return [np.asarray(score <= cut) for score in scores]


def _links(
    people: Table,
    data: Table,
    keys: Sequence[str],
    target: str | None,
    radius: Mapping[str, float],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return for each person how many records are linked, and how many of them tell the target."""
    # The windows of a search are narrowest along the number with the most levels.
    order = sorted(keys, key=lambda key: -data[key].n_levels if key in radius else 0)
    query, offered = (split(table, order, radius) for table in (people, data))
    widths = np.array([radius[key] for key in order if key in radius])
    targets = None
    if target is not None:
        wanted, given = (split(table, [target], {}) for table in (people, data))
        targets = (wanted, given)
    # Half a part in a billion of slack: differences of decimals are rounded.
    reach = np.tile(widths * (1 + 5e-10), (len(people), 1))
    return within(query, offered, reach, targets)


def _spread(column: Column) -> float:
    values = np.repeat(column.numbers, column.counts[: len(column.levels)])
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _spread_out(flags: Flags, unique: Flags) -> Floats:
    out = np.zeros(len(flags))
    out[np.flatnonzero(flags)[unique]] = 1
    return out


def _run(original: Any, synthetic: Any, **told: Any) -> list[Finding]:
    rules: tuple[Rule, ...] = ("z", "mad", "depth")
    return [
        Finding("outlierLinks", rule, outlier_links(original, synthetic, rule=rule, **told))
        for rule in rules
    ]


ATTACK = Attack(
    name="outliers",
    does="links unusual people to the one synthetic record like them",
    run=_run,
    options=(
        KEYS,
        Option("target", "column", "A column that a link may tell."),
        Option("tolerance", "numbers by column", "How far a number may lie off.", {}),
        CONTROL,
        SEED,
    ),
    measures=(
        attack_measure(
            "keys",
            name="outlierLinks",
            function=outlier_links,
            says="outliers of the original that exactly one synthetic record agrees with",
            attacker="knows the keys of unusual people, numbers nearly",
            formula="100/#outliers · #(outliers with one synthetic record within the tolerance)",
            source="Trindade, Antunes, Carvalho, Moniz (2024), Synthetic Data Outliers; "
            "control added",
            blind_spot="A link is no disclosure: see how often it tells the target. The "
            "outliers of the z rule are those that the largest outliers leave over. "
            "More links can mean fewer unique ones: the share does not rise with "
            "what is given away.",
            blind="a link is no disclosure; more links can mean fewer unique ones",
            baseline="0: no links without a release; the control says what chance links",
            by_size=True,
        ),
    ),
    example="--keys age,income,sex --tolerance age=10 --tolerance income=2000",
    labels="z|mad|depth",
    usual=True,
)
