"""What published tables would give away, and small combinations that single out a record."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.pair import KeyCells, ScenarioPair
from caveat.table.cells import key_cells

__all__ = [
    "ENTRIES",
    "TableRisk",
    "group_disclosure",
    "minimal_uniques",
    "msu_risk",
    "naive_targets",
    "table_risk",
    "table_risks",
    "tcap_ratio",
]

KOLB = "Kolb, Tang, Giessing (2024), Comparing Utility and Risk in Microdata and Tables"
# Tables of up to this many keys by the target are looked at, as in the source (dimensions 2 to 5).
LARGEST_TABLE = 4
# A target value this frequent in the original is guessed anyway.
NAIVE_SHARE = 0.9
# Combinations of up to this many columns are searched for minimal sample uniques.
LARGEST_UNIQUE = 6


class TableRisk(NamedTuple):
    """Disclosive cells of one table: keys by target.

    Attributes
    ----------
    keys
        The keys that span the table.
    synthetic, original
        Combinations of these keys with one target only.
    common
        Those that both tables have, with the same target.
    """

    keys: tuple[str, ...]
    synthetic: int
    original: int
    common: int


def table_risks(pair: ScenarioPair, largest: int = LARGEST_TABLE) -> list[TableRisk]:
    """Count disclosive cells in the tables of every set of keys by the target."""
    naive = naive_targets(pair)
    return [
        table_risk(pair, keys, naive)
        for size in range(1, min(largest, len(pair.scenario.keys)) + 1)
        for keys in combinations(pair.scenario.keys, size)
    ]


def naive_targets(pair: ScenarioPair) -> NDArray[np.bool_]:
    """Return which values of the target are so frequent in the original that anyone guesses."""
    return np.asarray(pair.joint.d_target / max(pair.n, 1) >= NAIVE_SHARE)


def table_risk(pair: ScenarioPair, keys: tuple[str, ...], naive: NDArray[np.bool_]) -> TableRisk:
    """Count disclosive cells of the table of some of the keys by the target.

    Parameters
    ----------
    pair
        The tables.
    keys
        Some of the keys.
    naive
        Values of the target that do not count.
    """
    cells = None if keys != pair.scenario.keys else pair.cells
    cells = cells or KeyCells.of(pair.original, pair.synthetic, keys)
    joint = ScenarioPair(pair.original, pair.synthetic, pair.scenario, cells).joint
    counts = ~naive[joint.target]
    ours, theirs = joint.disclosive_in_original & counts, joint.disclosive_in_synthetic & counts
    return TableRisk(keys, int(theirs.sum()), int(ours.sum()), int((ours & theirs).sum()))


def group_disclosure(pair: ScenarioPair) -> Measurement:
    """Return which share of the disclosive cells of synthetic tables is true of the original."""
    tables = table_risks(pair)
    seen, true = sum(t.synthetic for t in tables), sum(t.common for t in tables)
    there = sum(t.original for t in tables)
    details = {"tables": len(tables), "disclosive": seen, "true": true, "in the original": there}
    if not seen:
        return undefined(
            Note("no-disclosive-cell", "no table of the release has a disclosive cell"),
            details=details,
        )
    return rate(true, seen, reference=1.0, details=details)


def tcap_ratio(pair: ScenarioPair) -> Measurement:
    """Return which share of the disclosive combinations of all keys is true of the original."""
    found = table_risk(pair, pair.scenario.keys, np.zeros(pair.n_targets, bool))
    details = {"disclosive": found.synthetic, "true": found.common}
    if not found.synthetic:
        return undefined(
            Note("no-disclosive-keys", "no combination of keys is disclosive in the release"),
            details=details,
        )
    return rate(found.common, found.synthetic, reference=1.0, details=details)


def minimal_uniques(
    columns: Sequence[NDArray[np.integer[Any]]], n_levels: Sequence[int], largest: int
) -> dict[tuple[int, ...], NDArray[np.bool_]]:
    """Find minimal sample uniques: values that only one row has together, and no part of them.

    Parameters
    ----------
    columns
        Codes, one array per column.
    n_levels
        Number of codes of each column.
    largest
        Largest number of columns combined.

    Returns
    -------
    For each set of columns, which rows are minimal uniques on it; sets without any are left out.

    Notes
    -----
    A row that is unique on a set is unique on every larger one. So only the sets with one column
    less need be looked at to see whether a unique is minimal, and such rows no longer matter to
    the others.
    """
    n = len(columns[0])
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(n, dtype=bool)}
    minimal = {}
    for size in range(1, min(largest, len(columns)) + 1):
        for chosen in combinations(range(len(columns)), size):
            known = np.any([unique[part] for part in combinations(chosen, size - 1)], axis=0)
            rows = np.flatnonzero(~known)
            flags = np.zeros(n, dtype=bool)
            if len(rows):
                (cells,), m = key_cells(
                    [[columns[j][rows] for j in chosen]], [n_levels[j] for j in chosen]
                )
                flags[rows] = (np.bincount(cells, minlength=m) == 1)[cells]
            if flags.any():
                minimal[chosen] = flags
            unique[chosen] = known | flags
    return minimal


def msu_risk(pair: ScenarioPair) -> Measurement:
    """Return which share of the synthetic rows with a minimal unique has one of the original."""
    names = pair.scenario.columns
    levels = [pair.original[name].n_levels for name in names]
    tables = [[t[name].codes for name in names] for t in (pair.original, pair.synthetic)]
    ours, theirs = (minimal_uniques(columns, levels, LARGEST_UNIQUE) for columns in tables)
    any_unique, common = np.zeros((2, len(pair.synthetic)), dtype=bool)
    carries = np.zeros(pair.n, dtype=bool)
    for chosen, flags in theirs.items():
        any_unique |= flags
        if chosen not in ours:
            continue
        rows = np.flatnonzero(flags), np.flatnonzero(ours[chosen])
        sides = [[tables[1 - i][j][rows[i]] for j in chosen] for i in (0, 1)]
        (here, there), _ = key_cells(sides, [levels[j] for j in chosen])
        common[rows[0][np.isin(here, there)]] = True
        carries[rows[1][np.isin(there, here)]] = True
    details = {"with a minimal unique": int(any_unique.sum()), "shared": int(common.sum())}
    if not any_unique.any():
        return undefined(
            Note("no-minimal-unique", "the release has no minimal sample unique"), details=details
        )
    return rate(
        int(common.sum()),
        int(any_unique.sum()),
        reference=1.0,
        details=details,
        trace=lambda: carries.astype(np.float64),
    )


_PRECISION = (
    "A precision: a release that destroys the data scores low and may still publish many false "
    "disclosures; and it is undefined where nothing is homogeneous, however much is copied. Look "
    "at the counts beside it."
)

ENTRIES = (
    Measure(
        name="groupDisclosure",
        function=group_disclosure,
        family="tables",
        says="true share of the homogeneous cells in tables of up to four keys by the target",
        attacker="sees tables made from the release and reads cells in which all share one target",
        formula="Σ_tables #(disclosive cells common to both) / Σ_tables #(disclosive in the "
        "release); target values of 90 % or more of the original are not counted",
        source=f"{KOLB}, eq. 1",
        blind_spot=_PRECISION,
        blind="a precision; undefined or low is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="TCAPratio",
        function=tcap_ratio,
        family="tables",
        says="true share of the combinations of all keys that show one target in the release",
        attacker="sees the release and reads combinations of keys in which all share one target",
        formula="#(q with s_tq = s_q and d_tq = d_q > 0) / #(q with s_tq = s_q)",
        source=f"{KOLB}, eq. 2",
        blind_spot=_PRECISION + " Combinations count once, however many people they hold.",
        blind="a precision; undefined or low is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="MSU",
        function=msu_risk,
        family="tables",
        says="synthetic rows with a minimal sample unique that share one with the original",
        attacker="looks for combinations of few values that single out one synthetic record",
        formula="#(synthetic rows with a minimal unique that is one of the original) / #(synthetic "
        "rows with a minimal unique); up to six of keys and target combined",
        source=f"{KOLB}, eq. 3",
        blind_spot="Values must be unique in both tables: a unique that the release shows twice is "
        "not seen. A precision: look at the counts.",
        blind="a unique shown twice is not seen; 0 is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.GAIN}),
        default=False,
        by_size=True,
    ),
)
