"""The picture of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from caveat.charts import ATTACKERS_KEY, Rows, attackers, titled
from caveat.errors import CaveatError
from caveat.notes import printed
from caveat.risk.measure import MEASURES

if TYPE_CHECKING:
    from caveat.risk.result import Audit

__all__ = ["audit_chart"]


def audit_chart(audit: Audit) -> Any:
    """Draw every measure of the first copy that is a share, beside what it is to be judged by."""
    rows: Rows = []
    for row in audit.rows:
        entry, found = MEASURES[row.measure], row.result
        if row.copy != audit.rows[0].copy or row.scenario.keys != audit.keys:
            continue
        if entry.unit != "share" or found.value is None or entry.direction == "reference":
            continue
        low, high = found.interval or (None, None)
        shares = {"value": found.value, "baseline": found.baseline, "control": found.control}
        shares |= {"low": low, "high": high, "limit": None}
        per_cent = {n: None if v is None else printed(v, "share") for n, v in shares.items()}
        texts = {f"{n}_text": "" if v is None else f"{v:.2f} %" for n, v in per_cent.items()}
        between = f"{per_cent['low']:.2f} to {per_cent['high']:.2f} %" if low is not None else ""
        about = f"{row.scenario.target}: " if row.scenario.target else ""
        label = {"label": f"{about}{entry.says} ({entry.name})", "interval_text": between}
        rows.append({**per_cent, **texts, **label})
    if not rows:
        raise CaveatError(
            "no measure of this audit is a share of the records",
            do="use to_frame()",
            code="chart.measure.absent",
        )
    title = f"keys: {', '.join(audit.keys)}"
    return titled(attackers(rows), "Disclosure audit", title, ATTACKERS_KEY[:3])
