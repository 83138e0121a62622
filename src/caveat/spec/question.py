"""What is measured of a release while settings are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from caveat.attack.priors import DEFAULT_PRIOR, Prior
from caveat.errors import CaveatError
from caveat.spec.limits import kind_of
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
        ones, or "all" (of equal records one).
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

    def check(self, original: Table) -> None:
        """Refuse what cannot be measured, before any work is done."""
        if self.of_kind("risk") and not self.keys:
            raise CaveatError("no key is named", where="tune", do="add keys = [...]")
        for name in [*self.keys, *(self.targets or ()), *(self.unknown or ())]:
            original[name]
        for name in self.of_kind("utility"):
            if "model" in UTILITIES[name].needs and not self.models:
                raise CaveatError(f"{name} needs a model", where="tune", do="add models = [...]")
        for model in self.models:
            check_model(model, original.names)
