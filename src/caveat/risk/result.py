"""The result of an audit: what was measured for whom, as text, frame, dictionary and records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.risk.checks import OneWay, TwoWay
from caveat.risk.measure import MEASURES
from caveat.risk.measurement import Measurement
from caveat.risk.scenario import Scenario
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.table import Difference

__all__ = ["Audit", "Check", "Row"]


@dataclass(frozen=True)
class Row:
    """One measurement: for whom, on which copy, of what."""

    scenario: Scenario
    copy: int
    measure: str
    result: Measurement


@dataclass(frozen=True)
class Check:
    """What lies behind the measures of one target on one copy.

    Attributes
    ----------
    one_way, two_way
        Levels, and pairs of levels, whose disclosure anyone might have guessed.
    removed
        For each disclosure table, how many records each exclusion took and how many remain.
    """

    scenario: Scenario
    copy: int
    one_way: OneWay | None
    two_way: tuple[TwoWay, ...]
    removed: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, repr=False)
class Audit:
    """Everything that an audit measured.

    Attributes
    ----------
    rows
        The measurements, one per scenario, copy and measure.
    checks
        One-way and two-way checks and exclusions, one per scenario with a target and copy.
    n_original, n_synthetic, n_control
        Numbers of records.
    differences
        In what the synthetic tables differ from the original before anything is measured.
    remarks
        What could not be done as asked.
    """

    rows: tuple[Row, ...]
    checks: tuple[Check, ...]
    n_original: int
    n_synthetic: tuple[int, ...]
    n_control: int | None
    differences: tuple[Difference, ...]
    remarks: tuple[str, ...]

    @property
    def warnings(self) -> tuple[str, ...]:
        """What puts in doubt that the tables belong together."""
        return tuple(str(d) for d in self.differences if d.is_alarm)

    def __str__(self) -> str:
        from caveat.risk.render import plain

        return plain(self)

    def _summary(self) -> Summary:
        from caveat.risk.render import summary

        return summary(self)

    __repr__ = in_short
    _repr_html_ = on_page

    def plot(self) -> Any:
        """Draw what is a share of the first copy, with baseline and control, as Altair chart."""
        from caveat.risk.charts import audit_chart

        return audit_chart(self)

    def __getitem__(self, what: str | tuple[str, str]) -> Measurement:
        """Return the measurement of a measure, and a target where it has one, on the first copy."""
        measure, target = (what, None) if isinstance(what, str) else what
        return next(iter(self.each(measure, target)))

    def each(
        self, measure: str, target: str | None = None, keys: Sequence[str] | None = None
    ) -> list[Measurement]:
        """Return the measurements of all copies, for all keys or for a subset of them."""
        wanted = tuple(keys) if keys is not None else self.keys
        out = [
            row.result
            for row in self.rows
            if row.measure == measure
            and row.scenario.keys == wanted
            and row.scenario.target == target
        ]
        if not out:
            measured = sorted({(r.measure, r.scenario.target or "-") for r in self.rows})
            about = f" of target {target}" if target else ""
            raise CaveatError(
                f"{measure}{about} was not measured",
                do="choose among " + ", ".join(f"{name} ({t})" for name, t in measured),
                code="measure.result.absent",
            )
        return out

    def mean(
        self, measure: str, target: str | None = None, keys: Sequence[str] | None = None
    ) -> float | None:
        """Return the mean over the copies, or ``None`` if it is undefined on one of them."""
        values = [result.value for result in self.each(measure, target, keys)]
        known = [value for value in values if value is not None]
        return float(np.mean(known)) if len(known) == len(values) else None

    @property
    def keys(self) -> tuple[str, ...]:
        """All the keys."""
        return self.rows[0].scenario.keys

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets, in the order in which they were given."""
        named = (row.scenario.target for row in self.rows)
        return tuple(dict.fromkeys(target for target in named if target is not None))

    def flags(self, target: str) -> tuple[tuple[OneWay, ...], tuple[TwoWay, ...]]:
        """Return the one-way and two-way checks of a target that some copy raised, each once."""
        mine = [
            f for f in self.checks if f.scenario.target == target and f.scenario.keys == self.keys
        ]
        ones = {f.one_way.level: f.one_way for f in mine if f.one_way}
        twos = {(t.target_level, t.key, t.key_level): t for f in mine for t in f.two_way}
        return tuple(ones.values()), tuple(twos.values())

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per scenario, copy and measure as a pandas or polars frame."""
        records = list(self._records())
        return frame_of({name: [r[name] for r in records] for name in records[0]}, backend)

    def _records(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            low, high = row.result.interval or (None, None)
            yield {
                "keys": ", ".join(row.scenario.keys),
                "target": row.scenario.target,
                "measure": row.measure,
                "copy": row.copy,
                "value": row.result.value,
                "low": low,
                "high": high,
                "unit": MEASURES[row.measure].unit,
                "baseline": row.result.baseline,
                "reference": row.result.reference,
                "control": row.result.control,
                "beyond_control": row.result.beyond_control,
                "n": row.result.n,
                "excluded": row.result.excluded,
                "notes": "; ".join(row.result.notes),
            }

    def to_dict(self) -> dict[str, Any]:
        """Return everything but single records, ready for JSON."""
        return {
            "n_original": self.n_original,
            "n_synthetic": list(self.n_synthetic),
            "n_control": self.n_control,
            "differences": [str(d) for d in self.differences],
            "remarks": list(self.remarks),
            "measurements": [
                {
                    "scenario": row.scenario.to_dict(),
                    "copy": row.copy,
                    "measure": row.measure,
                    "unit": MEASURES[row.measure].unit,
                    **row.result.to_dict(),
                }
                for row in self.rows
            ],
            "checks": [
                {
                    "keys": list(f.scenario.keys),
                    "target": f.scenario.target,
                    "copy": f.copy,
                    "one_way": f.one_way._asdict() if f.one_way else None,
                    "two_way": [pair._asdict() for pair in f.two_way],
                    "exclusions": {name: dict(counts) for name, counts in f.removed.items()},
                }
                for f in self.checks
            ],
        }

    def to_json(self) -> str:
        """Return :meth:`to_dict` as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    def records(self) -> Any:
        """Return which original records carry each measure, as a pandas frame: for internal use.

        Returns
        -------
        pandas.DataFrame
            Column ``row`` counts the rows of the original from 1. Every other column is a measure
            (and its target): the mean over the copies of what the record contributes, 0 to 1.
        """
        import pandas as pd

        parts: dict[str, list[Any]] = {}
        for row in self.rows:
            if row.scenario.keys == self.keys and row.result.trace is not None:
                target = f" {row.scenario.target}" if row.scenario.target else ""
                parts.setdefault(row.measure + target, []).append(row.result.per_record)
        columns = {name: np.mean(copies, axis=0) for name, copies in parts.items()}
        return pd.DataFrame({"row": np.arange(1, self.n_original + 1), **columns})
