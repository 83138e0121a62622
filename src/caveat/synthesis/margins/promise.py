"""What a private release promises, to whom, and what it was made from."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from caveat.errors import CaveatError
from caveat.privacy import poisson_delta, poisson_hockey_stick
from caveat.synthesis.margins.private import Measured

__all__ = ["OPTIONS", "Promise", "is_private"]

OPTIONS = ("epsilon", "delta", "poisson")
"""The settings that ask for a guarantee."""

USUAL_DELTA = 1e-9
USUAL_EPSILON = 1.0
LARGEST_ALPHA = 1e6  # beyond, nothing of a table is left


def is_private(options: Mapping[str, Any]) -> bool:
    """Whether a guarantee is asked for."""
    return any(name in options for name in OPTIONS)


@dataclass(frozen=True)
class Promise:
    """A guarantee of differential privacy.

    Parameters
    ----------
    epsilon, delta
        For tables of which one has a record more, no event is more than exp(ε) times as probable
        under one as under the other, but for a probability of δ.
    alpha
        What the Poisson mechanism adds to every cell; 0 for tables with Gaussian noise.
    declared
        What is declared of the columns.
    measured
        What was let out; None before it was.

    Examples
    --------
    >>> promise = Promise.of({"poisson": 1.0, "epsilon": 2.0}, {})
    >>> round(promise.delta, 4)
    0.0256
    """

    epsilon: float
    delta: float
    alpha: float = 0.0
    declared: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    measured: Measured | None = field(default=None, compare=False, repr=False)

    @classmethod
    def of(cls, options: Mapping[str, Any], declared: Mapping[str, Mapping[str, Any]]) -> Promise:
        """Return the guarantee that is asked for, or say what is wrong with it."""
        alpha = _number(options, "poisson", 0.0)
        epsilon = _number(options, "epsilon", USUAL_EPSILON)
        if "poisson" not in options:
            delta = _number(options, "delta", USUAL_DELTA)
            if "epsilon" not in options:
                raise _wrong(
                    "delta",
                    "delta goes with epsilon",
                    "write epsilon = 1.0 too",
                    "synthesis.setting.absent",
                )
            if delta >= 1:
                raise _wrong(
                    "delta",
                    "delta must lie between 0 and 1",
                    "write delta = 1e-9",
                    "synthesis.setting.range",
                )
            return cls(epsilon, delta, 0.0, declared)
        if alpha > LARGEST_ALPHA:
            raise _wrong(
                "poisson",
                f"poisson is at most {LARGEST_ALPHA:,.0f}",
                "write poisson = 1.0",
                "synthesis.setting.range",
            )
        if "delta" in options:
            raise _wrong("delta", "the delta of the Poisson mechanism follows from epsilon and "
                         "poisson", "leave delta out", "synthesis.setting.conflict")  # fmt: skip
        # What underflows is not nothing.
        delta = max(poisson_hockey_stick(epsilon, alpha), sys.float_info.min)
        return cls(epsilon, delta, alpha, declared)

    @property
    def mechanism(self) -> str:
        """How noise comes in, in words."""
        if self.alpha:
            return f"every cell of the whole table is drawn from Poisson(count + {self.alpha:g})"
        return "counts of columns and pairs with discrete Gaussian noise"

    def __str__(self) -> str:
        words = f"guarantee: ε = {self.epsilon:g}, δ = {self.delta:.3g} (one record more or less)"
        return f"{words}; {self.mechanism}"

    @property
    def terms(self) -> tuple[str, str]:
        """What every promise covers, and what happens to values that are not declared."""
        return (
            "the guarantee is about single records of the declared domain: two tables that differ "
            "in one record; what a group of k people have in common is protected k times less",
            "a number beyond its declared range counts as the end of the range; any other value "
            'that is not declared counts as an empty cell where one is declared (missing = [""]), '
            "and where none is, the record is not counted",
        )

    @property
    def remarks(self) -> list[str]:
        """What has to be said about it."""
        found = [*self.terms]
        if self.alpha:
            bound = poisson_delta(self.epsilon, self.alpha)
            found.append(
                f"the Poisson mechanism has a large δ: at ε = {self.epsilon:g} the loss is above ε "
                f"with a probability of up to {bound:.3g} (equation 9), and δ is {self.delta:.3g} "
                "exactly; δ should be far below one in the number of records"
            )
        return found

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "alpha": self.alpha,
            "declared": {name: dict(given) for name, given in self.declared.items()},
            "measured": None if self.measured is None else self.measured.state(),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Promise:
        """Return the promise from a file, or raise an error if it is none."""
        given = {"epsilon": state["epsilon"], "delta": state["delta"]}
        if state["alpha"]:
            given = {"epsilon": state["epsilon"], "poisson": state["alpha"]}
        found = cls.of(given, state["declared"])
        held = state["measured"]
        measured = None if held is None else Measured.from_state(held)
        return cls(found.epsilon, found.delta, found.alpha, found.declared, measured)


def _number(options: Mapping[str, Any], name: str, usual: float) -> float:
    value = options.get(name, usual)
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or (name in options and not 0 < value < float("inf")):
        usual_one = 1e-9 if name == "delta" else 1.0
        raise _wrong(
            name,
            f"{name} must be a number above 0",
            f"write {name} = {usual_one:g}",
            "synthesis.setting.range",
        )
    return float(value)


def _wrong(name: str, what: str, do: str, code: str) -> CaveatError:
    return CaveatError(what, where="synthesis", do=do, entry=(name,), code=code)
