"""One model for each level of a column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.synthesis.methods._checks import need
from caveat.synthesis.methods.base import (
    Fitted,
    Inputs,
    LeafModel,
    Method,
    NumberModel,
    Settings,
    State,
    Target,
)
from caveat.synthesis.methods.guarded import Guarded

__all__ = ["Stratified"]


def _inside(inputs: Inputs, target: Target, stratum: int) -> Target:
    """Return the target with the rows of one stratum."""
    rows = np.arange(inputs.n_rows) if target.rows is None else target.rows
    return replace(target, rows=rows[inputs.parts[inputs.last].codes[rows] == stratum])


@dataclass(frozen=True)
class Stratified:
    """Models by stratum; the last of the named columns says which stratum a row is in.

    A stratum without a training row of its own uses the model of all rows (stratum -1). Guarded
    trees have one for every level.
    """

    models: dict[int, Fitted]

    __repr__ = without_values

    @property
    def makes_numbers(self) -> bool:
        """Whether the models of the strata make numbers."""
        return next(iter(self.models.values())).makes_numbers

    @classmethod
    def fit(
        cls,
        method: type[Method],
        inputs: Inputs,
        target: Target,
        settings: Settings,
        rng: np.random.Generator,
    ) -> Self:
        """Fit one model of the given method in each stratum, and one for all rows."""
        if settings.method == "guarded":
            # Who is in the data must not decide which models there are.
            levels = range(inputs.parts[inputs.last].n_levels)
            parts = [_inside(inputs, target, stratum) for stratum in levels]
            fits = [method.fit(inputs, part, settings, rng) for part in parts]
            return cls(dict(enumerate(fits)))
        strata = inputs.parts[inputs.last].codes
        models: dict[int, Fitted] = {-1: method.fit(inputs, target, settings, rng)}
        for stratum in np.unique(strata if target.rows is None else strata[target.rows]).tolist():
            part = _inside(inputs, target, stratum)
            models[stratum] = method.fit(inputs, part, settings, rng)
        return cls(models)

    def counted_on(self, inputs: Inputs, target: Target) -> Self:
        """Return the same structures with the counts, and the probability, of other records."""
        return replace(
            self,
            models={
                stratum: cast(Guarded, model).counted_on(inputs, _inside(inputs, target, stratum))
                for stratum, model in self.models.items()
            },
        )

    @property
    def log_structure(self) -> float:
        """The log probability that the data give these structures."""
        return sum(getattr(model, "log_structure", 0.0) for model in self.models.values())

    def _by_stratum(self, inputs: Inputs) -> list[tuple[Fitted, NDArray[np.int64]]]:
        strata = inputs.parts[inputs.last].codes
        return [
            (
                self.models[stratum if stratum in self.models else -1],
                np.flatnonzero(strata == stratum),
            )
            for stratum in np.unique(strata).tolist()
        ]

    def draw(self, inputs: Inputs, rng: np.random.Generator) -> NDArray[Any]:
        """Draw each row from the model of its stratum."""
        drawn = np.zeros(inputs.n_rows, dtype=np.float64 if self.makes_numbers else np.int64)
        for model, rows in self._by_stratum(inputs):
            drawn[rows] = model.draw(inputs.take(rows), rng)
        return drawn

    def bandwidths(self, inputs: Inputs) -> NDArray[np.float64]:
        """Return for each row the bandwidth in its leaf of the model of its stratum."""
        widths = np.zeros(inputs.n_rows)
        for model, rows in self._by_stratum(inputs):
            widths[rows] = cast(LeafModel, model).bandwidths(inputs.take(rows))
        return widths

    def check(self, inputs: Inputs, target: Target) -> None:
        """Need a model for all rows, and others for strata that there are."""
        need(inputs.parts, "no strata")
        levels = inputs.parts[inputs.last].n_levels
        need(max(self.models) < levels and min(self.models) >= -1, "a stratum that there is not")
        need(-1 in self.models or len(self.models) == levels, "no model of all rows")
        for model in self.models.values():
            model.check(inputs, target)

    def log_prob(self, inputs: Inputs, codes: NDArray[Any]) -> NDArray[np.float64] | None:
        """Return the log probability of each code in its stratum."""
        return self._each(inputs, lambda model, part, rows: model.log_prob(part, codes[rows]))

    def log_prob_of_numbers(
        self, inputs: Inputs, values: NDArray[np.float64]
    ) -> NDArray[np.float64] | None:
        """Return the log probability of each number in its stratum."""
        return self._each(
            inputs,
            lambda model, part, rows: cast(NumberModel, model).log_prob_of_numbers(
                part, values[rows]
            ),
        )

    def _each(
        self,
        inputs: Inputs,
        log_prob: Callable[[Fitted, Inputs, NDArray[np.int64]], NDArray[np.float64] | None],
    ) -> NDArray[np.float64] | None:
        result = np.zeros(inputs.n_rows)
        for model, rows in self._by_stratum(inputs):
            part = log_prob(model, inputs.take(rows), rows)
            if part is None:
                return None
            result[rows] = part
        return result

    def state(self) -> State:
        """Return the states of all models."""
        return {str(stratum): model.state() for stratum, model in self.models.items()}

    @classmethod
    def from_state(cls, method: type[Method], state: State) -> Self:
        """Return the models of the given method from their states."""
        return cls({int(stratum): method.from_state(part) for stratum, part in state.items()})
