"""An original and a release seen through a scenario: joint counts, what is near or obvious."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.nearest import Floats, Split
from caveat.risk.scenario import Counted, Rules, Scenario, count, group, resolve, select_common
from caveat.showing import without_values
from caveat.table import Column, Pair, Table, align
from caveat.table.cells import Ints, Joint, cross, key_cells
from caveat.table.table import Codes


class Disclosure(NamedTuple):
    """The columns that synthpop prints; shares, ``None`` where nothing can be divided.

    With exclusions the four identity figures follow synthpop: they are counted in the table that is
    left, so they move with the target. ``UiO`` … ``repU`` in ``MEASURES`` do not.
    """

    UiO: float | None
    UiS: float | None
    UiOiS: float | None
    repU: float | None  # noqa: N815  (names of the field)
    Dorig: float | None
    Dsyn: float | None
    iS: float | None  # noqa: N815
    DiS: float | None
    DiSCO: float | None
    DiSDiO: float | None
    max_denom: int
    mean_denom: float | None
    baseCAPd: float | None  # noqa: N815
    CAPd: float | None
    CAPs: float | None
    DCAP: float | None
    TCAP: float | None


def disclosure_of_codes(
    original_keys: Sequence[Codes],
    original_target: Codes,
    synthetic_keys: Sequence[Codes],
    synthetic_target: Codes,
    n_levels: Sequence[int],
) -> Disclosure:
    """Return the figures for one pair of tables whose codes mean the same.

    Parameters
    ----------
    original_keys, synthetic_keys
        One array of codes per key.
    original_target, synthetic_target
        Codes of the target.
    n_levels
        Number of codes of each key, then of the target.

    Examples
    --------
    >>> import numpy as np
    >>> key, target = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    >>> found = disclosure_of_codes([key], target, [key], target, [3, 2])
    >>> found.UiO, found.repU, found.DiSCO, found.DCAP
    (0.5, 0.5, 0.5, 0.75)
    """
    (ours, theirs), n_cells = key_cells([original_keys, synthetic_keys], n_levels[:-1])
    return disclosure(cross(ours, original_target, theirs, synthetic_target, n_cells, n_levels[-1]))


def disclosure(
    joint: Joint, rules: Rules | None = None, tables: Counted | None = None
) -> Disclosure:
    """Return the figures of a joint table, with exclusions as synthpop applies them."""
    n_d, n_s = int(joint.d.sum()), int(joint.s.sum())
    tables = tables or count(joint, rules)
    d_cell, s_cell = joint.by_cell(tables.original), joint.by_cell(tables.synthetic)
    unique = d_cell == 1
    largest, mean = denominators(joint, tables, rules)

    def share(total: float, n: int) -> float | None:
        return float(total) / n if n else None

    # As in synthpop, shares are taken after exclusion, and presence in the synthetic table before.
    p_d = tables.original / np.maximum(joint.spread(d_cell), 1)
    p_s = tables.synthetic / np.maximum(joint.spread(s_cell), 1)
    return Disclosure(
        UiO=share(unique.sum(), n_d),
        UiS=share((s_cell == 1).sum(), n_s),
        UiOiS=share((unique & (joint.s_cell > 0)).sum(), n_d),
        repU=share((unique & (s_cell == 1)).sum(), n_d),
        Dorig=share(tables.Dorig.sum(), n_d),
        Dsyn=share(tables.Dsyn.sum(), n_s),
        iS=share(tables.iS.sum(), n_d),
        DiS=share(tables.DiS.sum(), n_d),
        DiSCO=share(tables.DiSCO.sum(), n_d),
        DiSDiO=share(tables.DiSDiO.sum(), n_d),
        max_denom=largest,
        mean_denom=mean,
        baseCAPd=share((joint.d_target.astype(float) ** 2).sum() / n_d, n_d) if n_d else None,
        CAPd=share((p_d * tables.original).sum(), n_d),
        CAPs=share((p_s * tables.synthetic).sum(), n_s),
        DCAP=share((p_s * tables.original).sum(), n_d),
        TCAP=share(tables.DiSCO.sum(), matched(joint, tables)),
    )


def denominators(
    joint: Joint, tables: Counted, rules: Rules | None = None
) -> tuple[int, float | None]:
    """Return the largest and the mean number of records in the cells counted by DiSCO.

    The records are those of the original, as in synthpop, or those of the synthetic table, as in
    the text that introduces the measure: ``rules.denominator``.
    """
    counted = tables.DiSCO > 0
    if not counted.any():
        return 0, None
    seen = rules is not None and rules.denominator == "synthetic"
    sizes = (joint.s if seen else tables.DiSCO)[counted]
    return int(sizes.max()), float(sizes.mean())


def matched(joint: Joint, tables: Counted) -> int:
    """Return how many original records have keys that occur in the release, after exclusions."""
    present = joint.spread(joint.by_cell(tables.synthetic) > 0).astype(bool)
    return int(tables.original[present].sum())


# -------------------------------------------------------------------------------------------------
# One original and one synthetic table, seen through one scenario.


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


# -------------------------------------------------------------------------------------------------
# Columns parted into what must be equal (categories, how a number is missing) and what is near.


def split(table: Table, columns: Sequence[str], tolerance: Mapping[str, float]) -> Split:
    """Part the columns of a table; those with a tolerance must hold numbers."""
    equal, levels, numbers = [], [], []
    for name in columns:
        column = table[name]
        if name not in tolerance:
            equal.append(column.codes)
            levels.append(column.n_levels)
            continue
        if not column.kind.is_number:
            raise CaveatError(
                "a tolerance needs numbers",
                column=name,
                do="drop it or mend the kind",
                code="attack.tolerance.unsupported",
            )
        status, values = _number(column)
        if column.missing:
            equal.append(status)
            levels.append(1 + len(column.missing))
        numbers.append(values)
    matrix = np.stack(numbers, axis=1) if numbers else np.zeros((len(table), 0))
    if not equal:
        equal, levels = [np.zeros(len(table), np.uint8)], [1]
    return Split(equal, levels, matrix)


def _number(column: Column) -> tuple[Ints, Floats]:
    """Return the way a cell is missing (0 if it is not) and its number."""
    n = len(column.levels)
    status = np.concatenate([np.zeros(n, np.int64), 1 + np.arange(len(column.missing))])
    values = np.concatenate([column.numbers, np.zeros(len(column.missing))])
    return status[column.codes], values[column.codes]


# -------------------------------------------------------------------------------------------------
# Apparent disclosures that anyone would guess: one common value, or one implied by one key.


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
