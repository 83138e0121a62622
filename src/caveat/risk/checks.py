"""Apparent disclosures that anyone would guess: one common value, or one implied by one key."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from caveat.risk.pair import ScenarioPair
from caveat.table import Column

__all__ = ["OneWay", "TwoWay", "one_way", "two_way"]


class OneWay(NamedTuple):
    """One level of the target makes up nearly all of what DiSCO counts.

    Attributes
    ----------
    level
        The level of the target.
    share_of_original
        Share of the original records (after exclusions) that have it.
    disclosive, at_level, share_of_disclosive
        Records that DiSCO counts, those of them with this level, and their share.
    """

    level: str
    records: int
    share_of_original: float
    disclosive: int
    at_level: int
    share_of_disclosive: float


class TwoWay(NamedTuple):
    """A level of one key nearly implies a level of the target.

    Attributes
    ----------
    target_level, key, key_level
        The pair.
    records
        Records in large cells that DiSCO counts and that have both.
    together, with_key_level, share
        Original records with both levels, with the level of the key, and their share.
    """

    target_level: str
    key: str
    key_level: str
    records: int
    together: int
    with_key_level: int
    share: float


def one_way(pair: ScenarioPair, more_than: int = 50, share: float = 0.9) -> OneWay | None:
    """Return the level behind DiSCO, if it has many records and nearly all of them."""
    joint, tables = pair.joint, pair.counted
    by_level = np.bincount(joint.target, tables.DiSCO, joint.n_targets).astype(np.int64)
    total, level = int(by_level.sum()), int(by_level.argmax())
    at_level = int(by_level[level])
    if at_level <= more_than or at_level / total <= share:
        return None
    all_records = int(tables.original.sum())
    here = int(tables.original[joint.target == level].sum())
    return OneWay(
        level_name(pair.original[pair.scenario.target or ""], level),
        all_records,
        here / all_records,
        total,
        at_level,
        at_level / total,
    )


def two_way(pair: ScenarioPair, more_than: int = 4, share: float = 0.8) -> list[TwoWay]:
    """Return the pairs of levels behind large disclosive cells, the most frequent first."""
    joint, found = pair.joint, pair.counted.DiSCO
    large = np.flatnonzero(found > more_than)
    target = pair.original[pair.scenario.target or ""]
    pairs = []
    for key in pair.scenario.keys:
        column = pair.original[key]
        codes = pair.cells.codes[key][joint.cell[large]].astype(np.int64)
        code = codes * joint.n_targets + joint.target[large]
        weights = np.bincount(code, found[large])
        for both in np.flatnonzero(weights):
            key_code, target_code = divmod(int(both), joint.n_targets)
            with_key = column.codes == key_code
            together = int((target.codes[with_key] == target_code).sum())
            found_share = together / int(with_key.sum())
            if found_share > share:
                pairs.append(
                    TwoWay(
                        level_name(target, target_code),
                        key,
                        level_name(column, key_code),
                        int(weights[both]),
                        together,
                        int(with_key.sum()),
                        found_share,
                    )
                )
    return sorted(pairs, key=lambda found: -found.records)


def level_name(column: Column, code: int) -> str:
    """Return a level as text; empty cells are called missing."""
    n = len(column.levels)
    value: Any = column.levels[code] if code < n else column.missing[code - n].code
    return "missing" if value is None or value == "" or value != value else str(value)
