"""What one attacker contributes to the evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from caveat.release.at_risk import AtRisk

__all__ = ["Collected"]


@dataclass(frozen=True)
class Collected:
    """The results of one scenario.

    Parameters
    ----------
    circumstances
        How the attack was made.
    measurements
        As the evidence holds them.
    checks
        What lies behind them.
    remarks
        What should be known about them.
    at_risk
        The records that they point at, the worst first.
    """

    circumstances: dict[str, Any]
    measurements: list[dict[str, Any]]
    checks: list[dict[str, Any]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    at_risk: list[AtRisk] = field(default_factory=list)
