"""How often an attack succeeds: on people in the data, on others, and without the release."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.nearest import Floats
from caveat.notes import Z95, Note
from caveat.risk.measurement import Measurement, rate

__all__ = ["attack_rate", "chosen", "cut_note", "residual_risk"]


def attack_rate(
    success: Floats | NDArray[np.bool_],
    control: Floats | NDArray[np.bool_] | None = None,
    *,
    baseline: float,
    **more: Any,
) -> Measurement:
    """Return a success rate with what it is to be compared with.

    Parameters
    ----------
    success
        For each attack on people in the data whether it succeeds, or the chance of it.
    control
        The same for people who were not in the data.
    baseline
        The chance of success without the release, 0 to 1.
    **more
        Further fields of the measurement.
    """
    details = dict(more.pop("details", {}))
    if control is not None and len(control) and len(success):
        value, low, high = residual_risk(
            float(np.sum(success)), len(success), float(np.sum(control)), len(control)
        )
        details |= {"residual": value, "residual low": low, "residual high": high}
        more |= {"control": float(np.mean(control)), "control_n": len(control)}
    return rate(float(np.sum(success)), len(success), baseline=baseline, details=details, **more)


def residual_risk(
    successes: float, n: int, control: float, n_control: int
) -> tuple[float, float, float]:
    """Return (attack − control)/(1 − control) with limits, 0 to 1, as Giomi et al. (2023) do.

    The two rates are the centres of their Wilson intervals, their errors are propagated to first
    order, and all three numbers are cut to 0 … 1.

    Examples
    --------
    >>> [round(x, 4) for x in residual_risk(80, 100, 50, 100)]
    [0.5778, 0.4024, 0.7532]
    """
    a, a_error = _wilson_centre(successes, n)
    c, c_error = _wilson_centre(control, n_control)
    value = (a - c) / (1 - c)
    error = math.hypot(a_error / (1 - c), c_error * (a - 1) / (1 - c) ** 2)
    low, middle, high = (min(max(x, 0.0), 1.0) for x in (value - error, value, value + error))
    return middle, low, high


def _wilson_centre(count: float, n: int) -> tuple[float, float]:
    weight = n + Z95**2
    spread = count * (n - count) / n + Z95**2 / 4
    return (count + Z95**2 / 2) / weight, Z95 / weight * math.sqrt(spread)


def chosen(n: int, attacks: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return the records that are attacked: all, or a sample without replacement, in order."""
    if attacks >= n:
        return np.arange(n)
    return np.sort(rng.choice(n, attacks, replace=False))


def cut_note(size: int, whole: str) -> Note:
    """Say that the value is that of a part of the original, and what it is for the whole."""
    return Note(
        "cut-to-size",
        "original and control were cut to {size:,} records each, to be compared; "
        "on the whole original the value is {whole}",
        size=size,
        whole=whole,
    )
