"""Who attacks, what she knows, what she wants, and what would not count as disclosure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import MappingProxyType
from typing import Any, Literal, get_args

from caveat.errors import CaveatError

__all__ = ["DEFAULT_PRIOR", "PRIORS", "Denominator", "NamedPrior", "Scenario"]

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
