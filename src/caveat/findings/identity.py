"""An arithmetic identity: a column as a sum or a product of powers of others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from caveat.expressions.language import named
from caveat.findings.profile import shown

__all__ = ["Identity", "Values", "product_of"]

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Identity:
    """``target = constant + factor * product of inputs ** powers``, or the sum of signed inputs."""

    target: str
    inputs: tuple[str, ...]
    powers: tuple[int, ...]
    is_sum: bool
    factor: float = 1.0
    constant: float = 0.0

    @property
    def columns(self) -> frozenset[str]:
        """All columns concerned."""
        return frozenset((self.target, *self.inputs))

    def compute(self, values: Mapping[str, Values]) -> Values:
        """Compute the target from its inputs; NaN where one is missing or divides by zero."""
        parts = [values[name] for name in self.inputs]
        if self.is_sum:
            return np.asarray(np.array(self.powers, dtype=float) @ np.array(parts))
        return self.constant + self.factor * product_of(parts, self.powers)

    def formula(self, exact: bool = False) -> str:
        """Return the right-hand side, as in ``weight / (height / 100) ** 2``.

        An exact formula is one for machines: odd names in backticks, numbers with all digits.
        """
        names = [named(n) if exact else n for n in self.inputs]
        if self.is_sum:
            terms = [
                f"{'- ' if s < 0 else '+ '}{n}" for n, s in zip(names, self.powers, strict=True)
            ]
            return " ".join(terms).removeprefix("+ ")
        write = _all_digits if exact else shown
        return _product(names, self.powers, self.factor, self.constant, write)


def product_of(parts: Sequence[Values], powers: Sequence[int]) -> Values:
    """Multiply powers of the inputs; NaN where an input that divides is zero."""
    out = np.ones(len(parts[0]))
    for part, power in zip(parts, powers, strict=True):
        base = np.where(part == 0, np.nan, part) if power < 0 else part
        out = out * base ** float(power)
    return out


def _all_digits(number: float) -> str:
    text = shown(number)
    return text if float(text) == number else repr(float(number))


def _product(
    names: Sequence[str],
    powers: Sequence[int],
    factor: float,
    constant: float,
    write: Callable[[float], str],
) -> str:
    if powers[-1] == -2 and factor == 10_000:
        return f"{names[0]} / ({names[1]} / 100) ** 2"
    text = names[0]
    for name, power in zip(names[1:], powers[1:], strict=True):
        text += f" {'*' if power > 0 else '/'} {name}" + (" ** 2" if abs(power) == 2 else "")
    if factor not in (1.0, -1.0):
        inverse = 1 / factor
        divides = abs(factor) < 1 and abs(inverse - round(inverse)) < 1e-9 * inverse
        text = f"{text} / {round(inverse)}" if divides else f"{write(factor)} * {text}"
    elif factor == -1.0:
        return f"{write(constant)} - {text}" if constant else f"-{text}"
    return f"{text} {'+' if constant > 0 else '-'} {write(abs(constant))}" if constant else text
