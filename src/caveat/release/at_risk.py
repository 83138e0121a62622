"""Which records are at risk, and by which signs one would have known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack import Vulnerable, vulnerable
from caveat.release.material import Material
from caveat.table import Table
from caveat.table.cells import key_cells

__all__ = ["MOST_RECORDS", "AtRisk", "Signs", "worst_records"]

MOST_RECORDS = 50
"""Records that the evidence names."""

FAR = 0.99
"""A record is far from all others if its distance is beyond this share of all."""


@dataclass(frozen=True)
class AtRisk:
    """One record that a measure points at.

    Parameters
    ----------
    scenario, target, measure
        What points at it.
    record
        Its position among the fitted records.
    value
        What the measure says: the posterior, or the share that it carries.
    prior
        The same before the release.
    """

    scenario: str
    record: int
    target: str | None
    measure: str
    value: float
    prior: float | None

    @property
    def rise(self) -> float:
        """By how much the release raised the probability of the truth."""
        return 0.0 if self.prior is None else self.value - self.prior


class Signs:
    """Signs of exposure, for attackers who know some keys.

    Parameters
    ----------
    material
        The tables; without a model only uniqueness is looked for.
    keys
        What the attacker knows; everything if empty.
    """

    def __init__(self, material: Material, keys: Sequence[str]) -> None:
        self.material = material
        self.keys = tuple(keys) or material.columns()

    @cached_property
    def found(self) -> Vulnerable | None:
        """The signs of all fitted records; None without a model."""
        plan = self.material.plan
        if plan is None:
            return None
        return vulnerable(self.material.fitted, keys=self.keys, generator=plan)

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Which fitted records are alone with their keys."""
        if self.found is not None:
            return self.found.unique
        return _unique(self.material.fitted, self.keys)

    @cached_property
    def _scores(self) -> NDArray[np.float64]:
        return self.unique.astype(np.float64) if self.found is None else self.found.score

    @cached_property
    def _far(self) -> float:
        return np.inf if self.found is None else float(np.quantile(self.found.distance, FAR))

    def score(self, record: int) -> float:
        """Return how exposed a record is, from 0 to 1."""
        return float(self._scores[record])

    def first(self, most: int) -> NDArray[np.int64]:
        """Return the most exposed records."""
        return np.argsort(-self._scores, kind="stable")[:most]

    def of(self, record: int) -> list[str]:
        """Return the signs of a record in words."""
        signs = ["unique on the keys"] if self.unique[record] else []
        if self.found is not None:
            alone = int(self.found.sole_donor[record])
            if alone:
                columns = "1 column" if alone == 1 else f"{alone} columns"
                signs.append(f"only donor of its value in a leaf, in {columns}")
            if self.found.distance[record] > self._far:
                signs.append("far from all others")
        return signs


def _unique(table: Table, keys: Sequence[str]) -> NDArray[np.bool_]:
    (cells,), n = key_cells(
        [[table[key].codes for key in keys]], [table[key].n_levels for key in keys]
    )
    return np.asarray(np.bincount(cells, minlength=n)[cells] == 1)


def worst_records(
    by_scenario: Sequence[tuple[Sequence[AtRisk], Signs]],
) -> list[dict[str, Any]]:
    """Return the worst records of all scenarios, in turn from each, as the evidence holds them."""
    chosen: list[tuple[AtRisk, Signs]] = []
    longest = max((len(found) for found, _ in by_scenario), default=0)
    for place in range(longest):
        chosen += [(found[place], signs) for found, signs in by_scenario if place < len(found)]
        if len(chosen) >= MOST_RECORDS:
            break
    chosen = chosen[:MOST_RECORDS]
    chosen.sort(key=lambda pair: (-pair[0].rise, -pair[0].value, -pair[1].score(pair[0].record)))
    return [
        {
            "scenario": one.scenario,
            **({"table": signs.material.table} if signs.material.table else {}),
            "row": int(signs.material.rows[one.record]) + 1,
            "target": one.target,
            "measure": one.measure,
            "value": one.value,
            "prior": one.prior,
            "gain": one.value / one.prior if one.prior else None,
            "signs": signs.of(one.record),
        }
        for one, signs in chosen
    ]
