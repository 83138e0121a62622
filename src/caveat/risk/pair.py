"""One original and one synthetic table, seen through one scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.risk.disclosure import Disclosure, disclosure
from caveat.risk.exclusions import Counted, Rules, count
from caveat.risk.prepare import group, resolve, select_common
from caveat.risk.scenario import Scenario
from caveat.showing import without_values
from caveat.table import Pair, Table, align
from caveat.table.cells import Ints, Joint, cross, key_cells

__all__ = ["KeyCells", "ScenarioPair", "pair"]


@dataclass(frozen=True, eq=False)
class KeyCells:
    """The cells of the keys: shared by all targets of one pair of tables.

    Attributes
    ----------
    original, synthetic
        The cell of each row.
    n
        Number of cells.
    codes
        For each key, its code in each cell.
    """

    original: Ints
    synthetic: Ints
    n: int
    codes: Mapping[str, NDArray[np.integer[Any]]]

    __repr__ = without_values

    @cached_property
    def d(self) -> Ints:
        """Original records in each cell."""
        return np.bincount(self.original, minlength=self.n)

    @cached_property
    def s(self) -> Ints:
        """Synthetic records in each cell."""
        return np.bincount(self.synthetic, minlength=self.n)

    @classmethod
    def of(cls, original: Table, synthetic: Table, keys: tuple[str, ...]) -> KeyCells:
        """Find the cells of two tables on common levels."""
        tables = [[table[key].codes for key in keys] for table in (original, synthetic)]
        (ours, theirs), n = key_cells(tables, [original[key].n_levels for key in keys])
        codes = {}
        for key, mine, other in zip(keys, *tables, strict=True):
            codes[key] = np.zeros(n, mine.dtype)
            codes[key][ours] = mine
            codes[key][theirs] = other
        return cls(ours, theirs, n, codes)


class ScenarioPair(Pair):
    """A pair of tables under a scenario; what several measures need is computed once.

    Parameters
    ----------
    original, synthetic
        Tables in which equal codes mean equal values, with numbers cut into groups already.
    scenario
        Who attacks; its columns are in both tables.
    cells
        The cells of the keys, if they are known already.
    rows
        The whole tables, numbers as they are, for measures that compare whole rows.
    """

    def __init__(
        self,
        original: Table,
        synthetic: Table,
        scenario: Scenario,
        cells: KeyCells | None = None,
        rows: Pair | None = None,
    ) -> None:
        super().__init__(original, synthetic)
        self.scenario = scenario
        self.rows = rows or Pair(original, synthetic)
        if cells is not None:
            self.cells = cells

    @cached_property
    def cells(self) -> KeyCells:
        """The cells of the keys."""
        return KeyCells.of(self.original, self.synthetic, self.scenario.keys)

    @cached_property
    def joint(self) -> Joint:
        """Cells by target."""
        ours, theirs = self.target
        return cross(
            self.cells.original, ours, self.cells.synthetic, theirs, self.cells.n, self.n_targets
        )

    @property
    def target(self) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]]:
        """Codes of the target in both tables."""
        if self.scenario.target is None:
            raise CaveatError(
                "this measure needs a target",
                do="name one in the scenario",
                code="attack.target.absent",
            )
        name = self.scenario.target
        return self.original[name].codes, self.synthetic[name].codes

    @property
    def n_targets(self) -> int:
        """Number of codes of the target."""
        return self.original[self.scenario.target or ""].n_levels

    @cached_property
    def rules(self) -> Rules:
        """Exclusions in terms of codes."""
        return resolve(self.scenario, self.original, self.cells.codes)

    @cached_property
    def counted(self) -> Counted:
        """The disclosure tables after exclusions."""
        return count(self.joint, self.rules)

    @cached_property
    def disclosure(self) -> Disclosure:
        """The figures of synthpop for this pair."""
        return disclosure(self.joint, self.rules, self.counted)

    @cached_property
    def key_counts(self) -> tuple[Ints, Ints]:
        """Records per cell in both tables; cells with an excluded missing key are empty."""
        out = self.rules.missing_key
        if out is None:
            return self.cells.d, self.cells.s
        return np.where(out, 0, self.cells.d), np.where(out, 0, self.cells.s)

    @cached_property
    def position(self) -> Ints:
        """Position in the joint table of each original record."""
        return self.joint.find(self.cells.original, self.target[0])

    def carries(self, table: str) -> NDArray[np.float64]:
        """Return 1 for the original records that a disclosure table counts, 0 for the others."""
        counted: Ints = getattr(self.counted, table)
        return (counted > 0)[self.position].astype(np.float64)

    def forget(self) -> None:
        """Drop what was computed; it is computed again when asked for."""
        for name in ("joint", "counted", "disclosure", "position", "key_counts", "rules"):
            self.__dict__.pop(name, None)

    @property
    def n(self) -> int:
        """Number of original records."""
        return len(self.cells.original)


def pair(original: Any, synthetic: Any, scenario: Scenario) -> ScenarioPair:
    """Make a pair from two frames or tables of any origin.

    Examples
    --------
    >>> a = {"sex": ["f", "m", "m"], "job": ["baker", "smith", "baker"]}
    >>> pair(a, a, Scenario(("sex",), "job")).joint.d.tolist()
    [1, 1, 1]
    """
    tables = [Table.from_frame(original), Table.from_frame(synthetic)]
    whole = [name for name in tables[0] if name in tables[1]]
    columns = list(dict.fromkeys([*scenario.columns, *whole]))
    rows = align(*select_common(tables, columns))
    both = [t.select(scenario.columns) for t in (rows.original, rows.synthetic)]
    (ours, theirs), _ = group(both, scenario.groups)
    return ScenarioPair(ours, theirs, scenario, rows=rows)
