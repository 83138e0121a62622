"""The picture of a risk-utility map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caveat import charts
from caveat.risk import MEASURES as RISKS
from caveat.spec.limits import ATTACKS, unit_of
from caveat.utility import MEASURES as UTILITIES

if TYPE_CHECKING:
    from caveat.tuning.map import RiskUtilityMap

__all__ = ["map_chart"]


def map_chart(found: RiskUtilityMap, risk: str, utility: str, limit: float | None = None) -> Any:
    """Draw every setting that has both numbers: the dot is the mean, the tick the worst seed."""
    rows = [
        {
            "setting": str(point.setting),
            "risk_mean": point.mean(risk),
            "risk_worst": point.worst(risk),
            "utility_mean": point.mean(utility),
            "pareto": best,
            "chosen": False,
        }
        for point, best in zip(found.points, found.pareto(risk, utility), strict=True)
    ]
    dashed = "; dashed: the limit" if limit is not None else ""
    return charts.titled(
        charts.risk_utility(
            [row for row in rows if None not in row.values()],
            risk,
            utility,
            limit,
            (unit_of(risk), unit_of(utility)),
        ),
        "Risk and utility",
        [
            *(f"{name}: {_says(name)}" for name in (risk, utility)),
            "dots: mean over the releases of a setting; ticks: the worst of them; line: settings "
            f"that are not beaten{dashed}",
        ],
        charts.MAP_KEY[1:],
    )


def _says(name: str) -> str:
    if name in ATTACKS:
        return ATTACKS[name]
    return (UTILITIES if name in UTILITIES else RISKS)[name].says
