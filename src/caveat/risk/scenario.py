"""Who attacks, what she knows and wants, and what does not count as disclosure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.table import Column, Kind, Table
from caveat.table.cells import Ints, Joint, breaks, cut

Denominator = Literal["original", "synthetic"]

NamedPrior = Literal["conditional", "marginal", "uniform"]
PRIORS: tuple[NamedPrior, ...] = get_args(NamedPrior)
DEFAULT_PRIOR: NamedPrior = "conditional"
"""What she believes unless something else is said, in Python, on the command line and in a
specification: she has all other records, so what those who agree with the person tell her is known
before the release, and is neither counted as its doing nor left out of what she ends up with."""


@dataclass(frozen=True)
class Scenario:
    """An attacker with keys, a target, and the circumstances.

    Parameters
    ----------
    keys
        Columns that the attacker knows about a person.
    target
        Column that she wants to learn; ``None`` for measures of identity only.
    groups
        Number of groups that a numeric column is cut into, by column. Without it every distinct
        value is a level of its own.
    tolerance
        For numeric columns: values that differ by no more than this count as equal. Used by the
        measures that match near values (GTCAP, nearDCAP, nearDiSCO) and by no other.
    exclude_levels
        By target: levels that anyone would guess, whose disclosure does not count.
    exclude_missing
        Columns, keys or targets, whose missing values do not count.
    exclude_pairs
        Quadruples (target, target level, key, key level) that do not count.
    limit
        Cells with more records than this do not count.
    denominator
        Whose records are counted for ``limit`` and for the size of a disclosive cell: those of the
        original (as in synthpop) or of the synthetic table (what an attacker can see).
    population
        Number of people that the original was drawn from, if known.
    unit
        Whom the numbers are about, if it is not what the rows of the data are: "household" where
        each row of the tables stands for a group (:func:`caveat.table.grouping.group_tables`).

    Examples
    --------
    >>> Scenario(keys=("sex", "age"), target="income", groups={"age": 10})
    Scenario(sex, age -> income; age in 10 groups)
    """

    keys: tuple[str, ...]
    target: str | None = None
    groups: Mapping[str, int] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    exclude_levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    exclude_missing: tuple[str, ...] = ()
    exclude_pairs: tuple[tuple[str, Any, str, Any], ...] = ()
    limit: int | None = None
    denominator: Denominator = "original"
    population: int | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", _names(self.keys, "keys"))
        object.__setattr__(self, "exclude_missing", _names(self.exclude_missing, "exclude_missing"))
        object.__setattr__(self, "exclude_pairs", tuple(tuple(p) for p in self.exclude_pairs))
        for name in ("groups", "tolerance", "exclude_levels"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        self._check_names()
        self._check_numbers()

    def __getstate__(self) -> dict[str, Any]:  # for workers: what cannot be changed cannot travel
        held = vars(self).items()
        return {n: dict(v) if isinstance(v, MappingProxyType) else v for n, v in held}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def _check_names(self) -> None:
        if not self.keys:
            raise CaveatError(
                "no key is named",
                do="say which columns an attacker may know",
                code="attack.key.absent",
            )
        repeated = {key for key in self.keys if self.keys.count(key) > 1}
        if repeated:
            raise CaveatError(
                "a key is named twice", column=min(repeated), code="attack.key.duplicate"
            )
        if self.target in self.keys:
            raise CaveatError(
                "a key is also the target",
                column=self.target,
                do="what the attacker knows she need not learn: remove it from one of the two",
                code="attack.key.conflict",
            )
        if any(len(pair) != 4 for pair in self.exclude_pairs):
            raise CaveatError(
                "an excluded pair has four parts",
                do="give (target, its level, key, its level)",
                code="attack.setting.malformed",
            )

    def _check_numbers(self) -> None:
        for name, n in self.groups.items():
            if n < 2:
                raise CaveatError(
                    "a column cannot be cut into fewer than two groups",
                    column=name,
                    code="attack.setting.range",
                )
            if name in self.tolerance:
                raise CaveatError(
                    "a column is either cut into groups or matched with a tolerance",
                    column=name,
                    do="choose one",
                    code="attack.option.conflict",
                )
        for name, width in self.tolerance.items():
            if not width >= 0:
                raise CaveatError(
                    "a tolerance is a number from 0 up", column=name, code="attack.tolerance.range"
                )
        if self.limit is not None and self.limit < 1:
            raise CaveatError(
                "the limit of records in a cell is at least 1", code="attack.setting.range"
            )
        if self.denominator not in ("original", "synthetic"):
            raise CaveatError(
                "the denominator is 'original' or 'synthetic'",
                where="denominator",
                code="attack.setting.unknown",
            )
        if self.population is not None and self.population < 1:
            raise CaveatError(
                "the population has at least one person",
                where="population",
                code="attack.setting.range",
            )

    def __repr__(self) -> str:
        parts = [", ".join(self.keys) + (f" -> {self.target}" if self.target else "")]
        parts += [f"{name} in {n} groups" for name, n in self.groups.items()]
        parts += [f"{name} ± {width:g}" for name, width in self.tolerance.items()]
        if self.target is not None and self.target in self.exclude_levels:
            parts.append(f"{len(self.exclude_levels[self.target])} target levels excluded")
        parts += [f"missing {name} excluded" for name in self.exclude_missing]
        if self.exclude_pairs:
            parts.append(f"{len(self.exclude_pairs)} pairs excluded")
        if self.limit is not None:
            parts.append(f"cells of more than {self.limit} excluded (by {self.denominator} count)")
        if self.unit:
            parts.append(f"per {self.unit}")
        return f"Scenario({'; '.join(parts)})"

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys and the target."""
        return self.keys if self.target is None else (*self.keys, self.target)

    def with_target(self, target: str | None) -> Scenario:
        """Return the same attacker after another target."""
        return replace(self, target=target)

    def key_subsets(self, k: int) -> tuple[Scenario, ...]:
        """Return the attackers who know only k of the keys, in every combination."""
        if not 1 <= k <= len(self.keys):
            raise CaveatError(
                f"there are no subsets of {k} among {len(self.keys)} keys",
                do=f"choose a number from 1 to {len(self.keys)}",
                code="attack.setting.range",
            )
        return tuple(
            replace(
                self,
                keys=keys,
                exclude_pairs=tuple(p for p in self.exclude_pairs if p[2] in keys),
            )
            for keys in combinations(self.keys, k)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the scenario ready for JSON; levels named by the user are in it."""
        return {
            "keys": list(self.keys),
            "target": self.target,
            "groups": dict(self.groups),
            "tolerance": dict(self.tolerance),
            "exclude_levels": {k: [str(v) for v in vs] for k, vs in self.exclude_levels.items()},
            "exclude_missing": list(self.exclude_missing),
            "exclude_pairs": [[str(part) for part in pair] for pair in self.exclude_pairs],
            "limit": self.limit,
            "denominator": self.denominator,
            "population": self.population,
            **({"unit": self.unit} if self.unit else {}),
        }


def _names(names: Sequence[str], what: str) -> tuple[str, ...]:
    if isinstance(names, str):
        raise CaveatError(
            f"{what} is one text", do=f"give a list: {what}=[{names!r}]", code="attack.setting.type"
        )
    return tuple(names)


# -------------------------------------------------------------------------------------------------
# Cells that do not count as disclosure: the order in which they go, and how many records went.
#
# Whether a cell is disclosive is decided before anything is excluded, and the number of records
# by which counts are divided never changes: an exclusion sets counts to zero and nothing else.


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


# -------------------------------------------------------------------------------------------------
# From tables to what the measures need: common levels, groups of numbers, exclusions as codes.


def select_common(tables: Sequence[Table], columns: Sequence[str]) -> list[Table]:
    """Return the named columns of all tables, the original first, or say which table lacks one."""
    original, *others = tables
    for name in columns:
        original[name]  # raises where it is missing, with the names to choose from
        for position, table in enumerate(others, 1):
            if name not in table:
                raise CaveatError(
                    f"table {position} of those compared with the original lacks a column",
                    column=name,
                    do=f"it has {', '.join(table.names)}",
                    code="data.column.absent",
                )
    return [table.select(columns) for table in tables]


def group(tables: Sequence[Table], groups: Mapping[str, int]) -> tuple[list[Table], list[str]]:
    """Cut numeric columns into groups with the same breaks in all tables.

    The breaks are quantiles of the ordinary values of all tables together. Missing cells and
    declared codes stay levels of their own.

    Returns
    -------
    The tables, and a remark for each column that could not be cut as asked.
    """
    tables, remarks = list(tables), []
    for name, n in groups.items():
        columns = [table[name] for table in tables]
        if not columns[0].kind.is_number:
            remarks.append(f"{name} is not numeric and was not cut into groups")
            continue
        counts = np.sum([column.counts for column in columns], axis=0)
        limits = breaks(columns[0].numbers, counts[: len(columns[0].levels)], n)
        if not len(limits):  # nothing but missing cells
            limits = np.zeros(1)
        if len(limits) - 1 < n:
            remarks.append(f"{name} has {len(limits) - 1} groups instead of {n}: values repeat")
        tables = [
            table.with_columns({name: _cut(column, limits)})
            for table, column in zip(tables, columns, strict=True)
        ]
    return tables, remarks


def _cut(column: Column, limits: NDArray[np.float64]) -> Column:
    """Replace numbers by intervals closed on the left, the last one on both sides."""
    n = max(len(limits) - 1, 1)
    lookup = np.concatenate([cut(column.numbers, limits), n + np.arange(len(column.missing))])
    edges = [f"{limit:.6g}" for limit in limits]
    if len(limits) == 1:
        labels = [f"[{edges[0]},{edges[0]}]"]
    else:
        labels = [f"[{low},{high})" for low, high in pairwise(edges)]
        labels[-1] = labels[-1][:-1] + "]"
    return Column(
        lookup[column.codes], np.array(labels, dtype=object), Kind.ORDERED, column.missing
    )


def resolve(
    scenario: Scenario, table: Table, key_codes: Mapping[str, NDArray[np.integer[Any]]]
) -> Rules:
    """Turn the exclusions of a scenario into flags on codes.

    Parameters
    ----------
    scenario
        The scenario; its columns are in ``table``.
    table
        Any of the tables on common levels.
    key_codes
        For each key, its code in each cell.
    """
    rules = Rules(limit=scenario.limit, denominator=scenario.denominator)
    missing_key = [
        key_codes[name] >= len(table[name].levels)
        for name in scenario.exclude_missing
        if name in scenario.keys
    ]
    if missing_key:
        rules = replace(rules, missing_key=np.any(missing_key, axis=0))
    if scenario.target is None:
        return rules
    target = table[scenario.target]
    levels = scenario.exclude_levels.get(scenario.target, ())
    if len(levels):
        rules = replace(rules, levels=_flags(target, levels, scenario.target))
    if scenario.target in scenario.exclude_missing:
        rules = replace(rules, missing_target=np.arange(target.n_levels) >= len(target.levels))
    return replace(rules, pairs=tuple(_pairs(scenario, table, key_codes)))


def _pairs(
    scenario: Scenario, table: Table, key_codes: Mapping[str, NDArray[np.integer[Any]]]
) -> Iterable[tuple[Flags, int]]:
    for target, target_level, key, key_level in scenario.exclude_pairs:
        if target != scenario.target:
            continue
        if key not in scenario.keys:
            raise CaveatError(
                "an excluded pair names a column that is no key",
                where=key,
                code="attack.key.unknown",
            )
        hit = _flags(table[key], [key_level], key)[key_codes[key]]
        code = np.flatnonzero(_flags(table[target], [target_level], target))
        yield hit, int(code[0])


def _flags(column: Column, levels: Sequence[Any], name: str) -> Flags:
    """Return which codes of a column are among the named levels; numbers may be given as text."""
    present = [*column.levels.tolist(), *(m.code for m in column.missing)]
    flags = np.zeros(len(present), dtype=bool)
    for level in levels:
        # What stands between two quotation marks is an empty cell here.
        hit = [
            value == level or str(value) == str(level) or (value is None and level == "")
            for value in present
        ]
        if not any(hit):
            raise CaveatError(
                "a level that is to be excluded does not occur",
                column=name,
                do="check its spelling; with groups=, levels are intervals",
                code="data.level.unknown",
            )
        flags |= hit
    return flags
