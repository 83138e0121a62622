"""What a comparison found: every measure of every copy, with values to judge it by."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy

from caveat.errors import CaveatError
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement
from caveat.showing import Summary, as_table, frame_of, in_short, on_page
from caveat.utility.analyses import ModelComparison
from caveat.utility.associations import Associations
from caveat.utility.entries.associations import associations_of
from caveat.utility.entries.tables import tables_of
from caveat.utility.entries.variables import variables_of
from caveat.utility.measures import BEST
from caveat.utility.pair import WeightedPair
from caveat.utility.tables import Tables
from caveat.utility.variables import Variable
from caveat.utility.weighting import effective_size

__all__ = ["References", "Result", "Utility"]

FORMAT = 1


@dataclass(frozen=True)
class References:
    """Values of the same measure to judge a release by; ``None`` where there is none.

    Attributes
    ----------
    resample
        A bootstrap resample of the original against the original, mean over resamples: what a
        release that is nothing but sampling error would give.
    second_copy
        The second synthetic copy against the first.
    control
        Records that were not used to make the release against as many of the original.
    """

    resample: float | None = None
    second_copy: float | None = None
    control: float | None = None


@dataclass(frozen=True, eq=False)
class Result:
    """One measure of one release.

    Attributes
    ----------
    measure
        Its entry in the table.
    label
        Its name, with the model or the target it was computed for.
    copies
        The measurement of each copy.
    references
        Values to judge it by.
    """

    measure: Measure
    label: str
    copies: tuple[Measurement, ...]
    references: References

    @property
    def value(self) -> float | None:
        """Mean over the copies; ``None`` if one of them has none."""
        values = [copy.value for copy in self.copies]
        if any(value is None for value in values):
            return None
        return float(np.mean([value for value in values if value is not None]))

    @property
    def measurement(self) -> Measurement:
        """The mean with its interval over copies, and the reference values as details."""
        first, value = self.copies[0], self.value
        details = dict(first.details)
        if len(self.copies) > 1:
            details = {f"copy {i}": copy.value for i, copy in enumerate(self.copies, 1)}
        details |= {
            "resample of the original": self.references.resample,
            "second copy": self.references.second_copy,
            "control": self.references.control,
        }
        notes = next((copy.notes for copy in self.copies if copy.value is None), first.notes)
        return replace(
            first,
            value=value,
            interval=self._interval(),
            reference=self.references.resample,
            details=details,
            notes=notes,
        )

    def _interval(self) -> tuple[float, float] | None:
        m = len(self.copies)
        if m < 2 or self.value is None:
            return None
        values = np.array([copy.value for copy in self.copies], dtype=np.float64)
        spread = values.std(ddof=1) / math.sqrt(m)
        half = float(scipy.stats.t.ppf(0.975, m - 1) * spread)
        return self.value - half, self.value + half


@dataclass(frozen=True, eq=False)
class Utility:
    """What an analyst can still do with a release.

    Attributes
    ----------
    pairs
        The original with each copy, on common levels.
    results
        Every measure that was computed.
    models
        The models that were fitted.
    control_rows
        Rows of the control, if there is one.
    """

    pairs: tuple[WeightedPair, ...]
    results: tuple[Result, ...]
    models: tuple[ModelComparison, ...]
    control_rows: int | None

    def _summary(self) -> Summary:
        rows = [
            (r.measure.says, r.label, r.value, r.references.resample, BEST[r.measure.name])
            for r in self.results
        ]
        copies = "one copy" if len(self.pairs) == 1 else f"{len(self.pairs)} copies"
        title = f"Utility: {len(rows)} measures of {copies} of {self.first.n_synthetic:,} rows"
        header = ("what it says", "measure", "value", "by sampling error alone", "best")
        return Summary(title, header, rows, (*self.warnings, *self.remarks))

    __repr__ = in_short
    _repr_html_ = on_page

    def __str__(self) -> str:
        """Return the measures as a table that fits a terminal: their names say what they are."""
        whole = self._summary()
        return as_table(
            whole._replace(header=whole.header[1:], rows=[row[1:] for row in whole.rows])
        )

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each measure as a pandas or polars frame."""
        found = [(r, r.measurement) for r in self.results]
        columns = {
            "measure": [r.label for r, _ in found],
            "family": [r.measure.family for r, _ in found],
            "says": [r.measure.says for r, _ in found],
            "value": [m.value for _, m in found],
            "low": [m.interval and m.interval[0] for _, m in found],
            "high": [m.interval and m.interval[1] for _, m in found],
            "resample": [r.references.resample for r, _ in found],
            "second_copy": [r.references.second_copy for r, _ in found],
            "control": [r.references.control for r, _ in found],
            "best": [BEST[r.measure.name] for r, _ in found],
            "unit": [r.measure.unit for r, _ in found],
        }
        return frame_of(columns, backend)

    def plot(self, what: str = "distributions") -> Any:
        """Draw the first copy beside the original as an Altair chart.

        Parameters
        ----------
        what
            "distributions" of all variables, "two-way" tables, or "correlations".
        """
        from caveat.utility.charts import correlation_difference, distributions, two_way

        if what == "distributions":
            return distributions(self.first)
        if what == "two-way":
            return two_way(self.tables(2), self.tables(1))
        if what == "correlations":
            return correlation_difference(self.associations)
        raise CaveatError(
            f"{what!r} is no chart of a comparison",
            do="choose distributions, two-way or correlations",
            code="chart.name.unknown",
        )

    def __getitem__(self, label: str) -> Result:
        for result in self.results:
            if result.label == label:
                return result
        raise CaveatError(
            f"{label!r} was not computed",
            do=f"choose among {', '.join(result.label for result in self.results)}",
            code="measure.result.absent",
        )

    @property
    def first(self) -> WeightedPair:
        """The pair with the first copy: the one that is shown in detail."""
        return self.pairs[0]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was found or decided on the way."""
        every = [remark for pair in self.pairs for remark in pair.remarks]
        n, rows, weights = self.first.n_original, self.control_rows, self.first.weights
        if weights is not None:
            every.append(
                "utility is measured against the weighted original: its "
                f"{n:,} records tell as much as {effective_size(weights):,.0f} of equal weight"
            )
        if rows is not None and min(rows, n) < 0.9 * n:
            every.append(
                f"the control has {rows:,} rows, the original {n:,}: its reference values carry "
                "the sampling error of the smaller number"
            )
        return tuple(dict.fromkeys(every))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What puts in doubt that the tables belong together."""
        return tuple(dict.fromkeys(doubt for c in self.pairs for doubt in c.doubts))

    @cached_property
    def variables(self) -> list[Variable]:
        """Every variable of the first copy."""
        return variables_of(self.first)

    @cached_property
    def associations(self) -> Associations:
        """The associations in the original and in the first copy."""
        return associations_of(self.first)

    def tables(self, ways: int = 2) -> Tables:
        """Return the tables of the first copy."""
        return tables_of(self.first, ways)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON: no value of any record is in it."""
        two_way = self.tables(2) if len(self.first.names) > 1 else None
        return {
            "format": FORMAT,
            "n_original": self.first.n_original,
            "n_synthetic": [c.n_synthetic for c in self.pairs],
            "n_control": self.control_rows,
            "measures": {
                result.label: {
                    "measure": result.measure.name,
                    "family": result.measure.family,
                    "says": result.measure.says,
                    "direction": result.measure.direction,
                    "unit": result.measure.unit,
                    "best": BEST[result.measure.name],
                    "blind_spot": result.measure.blind_spot,
                    **result.measurement.to_dict(),
                }
                for result in self.results
            },
            "variables": [variable.to_dict() for variable in self.variables],
            "tables": {
                "one-way": _table_rows(self.tables(1)),
                "two-way": _table_rows(two_way) if two_way else [],
            },
            "models": [model.to_dict() for model in self.models],
            "remarks": list(self.remarks),
        }


def _table_rows(tables: Tables) -> list[dict[str, Any]]:
    return [
        {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
        for row in tables.rows()
    ]
