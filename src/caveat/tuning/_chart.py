"""The picture of a risk-utility map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caveat import charts
from caveat.risk import MEASURES as RISKS
from caveat.spec.limits import STRONGEST, unit_of
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
            **curve,
        }
        for point, best, curve in zip(
            found.points, found.pareto(risk, utility), found.curves(), strict=True
        )
    ]
    whole = [row for row in rows if None not in row.values()]
    several = any("method" in row for row in whole)
    joined = (
        "the settings of a method, in the order of its dial"
        if several
        else ("settings that are not beaten")
    )
    dashed = "; dashed: the limit" if limit is not None else ""
    return charts.titled(
        charts.risk_utility(whole, risk, utility, limit, (unit_of(risk), unit_of(utility))),
        "Risk and utility",
        [
            *(f"{name}: {_says(name)}" for name in (risk, utility)),
            "dots: mean over the releases of a setting; ticks: the worst of them; line: "
            f"{joined}{dashed}",
        ],
        charts.map_key(whole),
    )


def _says(name: str) -> str:
    if name in STRONGEST:
        return STRONGEST[name]
    return (UTILITIES if name in UTILITIES else RISKS)[name].says
