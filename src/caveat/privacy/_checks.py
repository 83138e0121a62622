"""What every promise needs: an ε above 0 and a δ between 0 and 1."""

from __future__ import annotations

import math

from caveat.errors import CaveatError

__all__ = ["check_delta", "check_epsilon", "check_positive"]


def check_epsilon(epsilon: float) -> float:
    """Return an ε that promises something, or say what is wrong with it."""
    return check_positive(epsilon, "epsilon", "give an epsilon above 0, such as 1")


def check_positive(value: float, name: str, do: str) -> float:
    """Return a finite number above 0, or say that it is none."""
    if not _is_number(value) or not 0 < value < math.inf:
        raise CaveatError(
            f"{name} is no finite number above 0", do=do, code="privacy.setting.range"
        )
    return float(value)


def check_delta(delta: float) -> float:
    """Return a δ that promises something, or say what is wrong with it."""
    if not _is_number(delta) or not 0 < delta < 1:
        raise CaveatError(
            "delta is no number between 0 and 1",
            do="give one far below 1 / number of records, such as 1e-9",
            code="privacy.setting.range",
        )
    return float(delta)


def _is_number(value: object) -> bool:
    return hasattr(value, "__float__") and not isinstance(value, bool)
