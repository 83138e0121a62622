"""What a run leaves, as people ask for it afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caveat.showing import Summary, frame_of, in_short, on_page

__all__ = ["Outcome"]


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run leaves.

    Parameters
    ----------
    folder
        Where everything is.
    evidence
        The content of ``evidence.json``.
    """

    folder: Path
    evidence: Mapping[str, Any]

    @property
    def measurements(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every measurement with the scenario that it belongs to, "utility" for those of use."""
        every = [(s["name"], m) for s in self.evidence["scenarios"] for m in s["measurements"]]
        return every + [("utility", m) for m in self.evidence["utility"]["measurements"]]

    @property
    def broken(self) -> list[Mapping[str, Any]]:
        """The measurements that do not meet their limit, or that could not be made."""
        every = [m for _, m in self.measurements]
        return [m for m in every if m["limit"] is not None and m["excess"] != 0]

    def _summary(self) -> Summary:
        measures = self.evidence["measures"]
        limited = [(name, m) for name, m in self.measurements if m["limit"] is not None]
        rows = [
            (measures[m["measure"]]["says"], m["measure"], m["target"], name, m["value"],
             m.get("baseline"), m.get("control"), m["limit"]["most"], m["limit"]["least"],
             m["limit"].get("above"), "yes" if m["excess"] == 0 else "no")
            for name, m in limited
        ]  # fmt: skip
        header = ("what it says", "measure", "target", "scenario", "value", "baseline", "control",
                  "at most", "at least", "above control at most")  # fmt: skip
        kept = f"{len(limited) - len(self.broken)} of {len(limited)} limits are met"
        title = f"Release in {self.folder.name}: {kept if limited else 'no limit was set'}"
        return Summary(title, (*header, "met"), rows, tuple(self.evidence["remarks"]))

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each measurement as a pandas or polars frame."""
        names = ("measure", "label", "target", "copy", "value", "baseline", "control", "excess")
        found = self.measurements
        columns = {name: [m.get(name) for _, m in found] for name in names}
        return frame_of({"scenario": [name for name, _ in found], **columns}, backend)
