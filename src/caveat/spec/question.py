"""What is measured of a release while settings are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from caveat.attack.priors import DEFAULT_PRIOR, Prior
from caveat.errors import CaveatError
from caveat.risk import MEASURES as RISKS
from caveat.spec.limits import STRONG_MEASURES, kind_of
from caveat.table import Table
from caveat.utility import MEASURES as UTILITIES
from caveat.utility.analyses import check_model

__all__ = ["Question"]


@dataclass(frozen=True)
class Question:
    """What is measured of a release.

    Parameters
    ----------
    measures
        Names of measures of risk and utility, "posterior" and "gain".
    keys, targets
        The scenario of the measures of risk; the value of a measure is the worst over the targets.
    circumstances
        Further arguments of the scenario.
    models
        Formulas, for utility measures that need a model; the worst counts.
    records
        The records that the strong attacker is after: positions, a number of the most vulnerable
        ones, or "all" (of equal records one). Where every column is a guarded tree, she is after
        all of them unless positions are named; measures of shares are of all in any case.
    unknown, prior
        What she does not know about each, and what she believes before; as for
        :func:`caveat.attack.posterior`.
    simulations
        Draws of the parameters, or releases in each world, where nothing is exact.
    """

    measures: tuple[str, ...]
    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    records: tuple[int, ...] | int | Literal["all"] = 5
    unknown: tuple[str, ...] | None = None
    prior: Prior = DEFAULT_PRIOR
    simulations: int = 50

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the measures of one kind."""
        return [name for name in self.measures if kind_of(name) == kind]

    @property
    def sought(self) -> tuple[str, ...]:
        """The columns that the measures of the strong attacker over all records are about."""
        return self.targets or self.unknown or ()

    def check(self, original: Table) -> None:
        """Refuse what cannot be measured, before any work is done."""
        if self.of_kind("risk") and not self.keys:
            raise CaveatError(
                "no key is named", where="tune", do="add keys = [...]", code="tune.key.absent"
            )
        for name in [*self.keys, *(self.targets or ()), *(self.unknown or ())]:
            original[name]
        about = [name for name in STRONG_MEASURES if name in self.measures and _has_target(name)]
        if about and not self.sought:
            raise CaveatError(
                f"{about[0]} needs a target",
                where="tune",
                do="add targets = [...]",
                code="tune.target.absent",
            )
        for name in self.of_kind("utility"):
            if "model" in UTILITIES[name].needs and not self.models:
                raise CaveatError(
                    f"{name} needs a model",
                    where="tune",
                    do="add models = [...]",
                    code="tune.model.absent",
                )
        for model in self.models:
            check_model(model, original.names)


def _has_target(name: str) -> bool:
    return "target" in RISKS[name].needs
