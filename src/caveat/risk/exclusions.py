"""Cells that do not count as disclosure: the order in which they go, and how many records went.

Whether a cell is disclosive is decided before anything is excluded, and the number of records by
which counts are divided never changes: an exclusion sets counts to zero and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from caveat.risk.scenario import Denominator
from caveat.showing import without_values
from caveat.table.cells import Ints, Joint

__all__ = ["REASONS", "Counted", "Rules", "count"]

#: The reasons in the order in which they are applied.
REASONS = ("target level", "missing target", "missing key", "pair of levels", "over the limit")

Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Rules:
    """Exclusions of a scenario in terms of codes.

    Parameters
    ----------
    levels, missing_target
        For each target code, whether it is left out.
    missing_key
        For each cell, whether it is left out because a key is missing.
    pairs
        Pairs of (key code of a cell, target code): for each cell and target code that is out.
    limit, denominator
        Largest count of a cell that counts, and whose records are counted.
    """

    levels: Flags | None = None
    missing_target: Flags | None = None
    missing_key: Flags | None = None
    pairs: tuple[tuple[Flags, int], ...] = field(default_factory=tuple)
    limit: int | None = None
    denominator: Denominator = "original"

    __repr__ = without_values

    def masks(self, joint: Joint) -> list[tuple[str, Flags]]:
        """Return for each rule but the limit which pairs of the table it takes out."""
        out = []
        if self.levels is not None:
            out.append((REASONS[0], self.levels[joint.target]))
        if self.missing_target is not None:
            out.append((REASONS[1], self.missing_target[joint.target]))
        if self.missing_key is not None:
            out.append((REASONS[2], self.missing_key[joint.cell]))
        if self.pairs:
            hit = np.zeros(len(joint.cell), dtype=bool)
            for cells, target in self.pairs:
                hit |= cells[joint.cell] & (joint.target == target)
            out.append((REASONS[3], hit))
        return out


@dataclass(frozen=True, eq=False)
class Counted:
    """The tables of a disclosure assessment after exclusions, pair by pair.

    Attributes
    ----------
    original, synthetic
        Records of the two tables.
    Dorig, Dsyn
        Those in cells with one target only.
    iS, DiS, DiSCO, DiSDiO
        Original records: whose cell occurs in the synthetic table; has one target there; and
        that is theirs; and their cell has one target in the original too.
    removed
        For each of these tables, how many records each rule took, and how many remain.
    """

    original: Ints
    synthetic: Ints
    Dorig: Ints
    Dsyn: Ints
    iS: Ints  # noqa: N815  (name of the field)
    DiS: Ints
    DiSCO: Ints
    DiSDiO: Ints
    removed: dict[str, dict[str, int]]

    __repr__ = without_values


def count(joint: Joint, rules: Rules | None = None) -> Counted:
    """Split the records of a joint table by what the synthetic table gives away, then exclude."""
    both = joint.disclosive_in_synthetic & joint.disclosive_in_original
    tables = {
        "original": joint.d,
        "synthetic": joint.s,
        "Dorig": np.where(joint.disclosive_in_original, joint.d, 0),
        "Dsyn": np.where(joint.disclosive_in_synthetic, joint.s, 0),
        "iS": np.where(joint.s_all > 0, joint.d, 0),
        "DiS": np.where(joint.cell_disclosive_in_synthetic, joint.d, 0),
        "DiSCO": np.where(joint.disclosive_in_synthetic, joint.d, 0),
        "DiSDiO": np.where(both, joint.d, 0),
    }
    removed = {name: dict.fromkeys(REASONS, 0) for name in tables}
    rules = rules or Rules()
    for reason, mask in rules.masks(joint):
        for name, counts in tables.items():
            removed[name][reason] = int(counts[mask].sum())
            tables[name] = np.where(mask, 0, counts)
    if rules.limit is not None:
        for name, counts in tables.items():
            seen = rules.denominator == "synthetic" and name in ("iS", "DiS", "DiSCO", "DiSDiO")
            over = (joint.s_all if seen else counts) > rules.limit
            removed[name][REASONS[4]] = int(counts[over].sum())
            tables[name] = np.where(over, 0, counts)
    for name, counts in tables.items():
        removed[name]["remaining"] = int(counts.sum())
    return Counted(**tables, removed=removed)
