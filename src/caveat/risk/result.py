"""The result of an audit: as text, frame, dictionary and records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import SIGNS, printed
from caveat.risk.measure import MEASURES, Measurement
from caveat.risk.pair import OneWay, TwoWay
from caveat.risk.scenario import Scenario
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.table import Difference


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

        return plain(self)

    def _summary(self) -> Summary:

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


# -------------------------------------------------------------------------------------------------
# An audit as text: the same sections for the terminal and for ``print``.


# With more targets than this they are compared in one table instead of being shown one by one.
MANY_TARGETS = 3
# The measures whose blind spot is spelt out when several are 0.
HEADLINES = ("repU", "DiSCO")


class Section(NamedTuple):
    """A table with a title; below it what its measures cannot see, and remarks."""

    title: str
    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    remarks: list[str]
    blind: list[tuple[str, str]]


def sections(audit: Audit) -> list[Section]:
    """Return the tables of an audit."""
    out = []
    shared = _measures(audit, None)
    if shared:
        out.append(_section(audit, f"keys {', '.join(audit.keys)}", None, shared))
    if len(audit.targets) > MANY_TARGETS:
        out.append(_comparison(audit))
    else:
        for target in audit.targets:
            title = f"target {target}, from {', '.join(audit.keys)}"
            out.append(_section(audit, title, target, _measures(audit, target)))
    subsets = _subsets(audit)
    return [*out, subsets] if subsets else out


def plain(audit: Audit) -> str:
    """Return the sections as aligned text."""
    lines = [*warning_lines(audit), heading(audit)]
    for section in sections(audit):
        table = [section.header, *section.rows]
        widths = [max(len(row[i]) for row in table) for i in range(len(section.header))]
        lines += ["", section.title]
        for row in table:
            cells = [
                text.rjust(width) if i else text.ljust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  " + "  ".join(cells).rstrip())
        if section.blind:
            lines += ["  cannot see", *(f"    {names}: {text}" for names, text in section.blind)]
        lines += [f"  ! {remark}" for remark in section.remarks]
    return "\n".join(lines)


def warning_lines(audit: Audit) -> list[str]:
    """Return what must be read before any number."""
    return [f"WARNING: {warning}" for warning in audit.warnings]


def heading(audit: Audit) -> str:
    """Return one line about the tables."""
    copies = len(audit.n_synthetic)
    of = f"{copies} copies of" if copies > 1 else "one table of"
    sizes = sorted({f"{n:,}" for n in audit.n_synthetic})
    control = f", control of {audit.n_control:,} people not in the data" if audit.n_control else ""
    return (
        f"Disclosure audit: original of {audit.n_original:,} records, synthetic: {of} "
        f"{' and '.join(sizes)}{control}"
    )


def _measures(audit: Audit, target: str | None) -> list[str]:
    rows = (r for r in audit.rows if r.scenario.keys == audit.keys and r.scenario.target == target)
    return list(dict.fromkeys(row.measure for row in rows))


def _section(audit: Audit, title: str, target: str | None, names: list[str]) -> Section:
    header = ["measure", "value", "95 % interval", "baseline", "original"]
    if audit.n_control:
        header += ["control", "beyond control"]
    found = {name: audit.each(name, target) for name in names}
    rows = [_row(name, found[name], with_control=bool(audit.n_control)) for name in names]
    remarks = _warnings(found)
    if target is not None:
        remarks += _flags(audit, target)
    return Section(title, tuple(header), rows, remarks, _blind(names))


def _blind(names: list[str]) -> list[tuple[str, str]]:
    """Return what measures cannot see, those with the same blind spot together."""
    grouped: dict[str, list[str]] = {}
    for name in names:
        grouped.setdefault(MEASURES[name].blind, []).append(name)
    return [(", ".join(group), text) for text, group in grouped.items() if text]


def _row(name: str, results: list[Measurement], *, with_control: bool) -> tuple[str, ...]:
    unit, first = MEASURES[name].unit, results[0]
    cells = [
        f"{name} {SIGNS[unit]}".strip(),
        _value(results, unit),
        _interval(first, unit) if len(results) == 1 else "",
        _mean([r.baseline for r in results], unit),
        _mean([r.reference for r in results], unit),
    ]
    if with_control:
        beyond = [r.beyond_control if unit == "share" else None for r in results]
        cells += [_mean([r.control for r in results], unit), _mean(beyond, "share")]
    return tuple(cells)


def _value(results: list[Measurement], unit: str) -> str:
    values = [result.value for result in results]
    known = [value for value in values if value is not None]
    if not known:
        return "undefined"
    text = _number(sum(known) / len(known), unit)
    low, high = _number(min(known), unit), _number(max(known), unit)
    if low != high:
        text += f" ({low} to {high})"
    return text + (f", {len(values) - len(known)} undefined" if len(known) < len(values) else "")


def _interval(result: Measurement, unit: str) -> str:
    if result.interval is None:
        return ""
    return " to ".join(_number(end, unit) for end in result.interval)


def _mean(values: list[float | None], unit: str) -> str:
    known = [value for value in values if value is not None]
    return _number(sum(known) / len(known), unit) if known else ""


def _number(value: float, unit: str) -> str:
    return f"{printed(value, unit):.2f}"


def _percent(share: float) -> str:
    return f"{printed(share, 'share'):.0f} %"


def _warnings(found: dict[str, list[Measurement]]) -> list[str]:
    """Say what readings that look harmless do not mean."""
    noted: dict[str, list[str]] = {}
    quiet = []
    for name, results in found.items():
        if MEASURES[name].direction == "higher is riskier" and not any(
            result.value is None or result.value for result in results
        ):
            quiet.append(name)
        for note in dict.fromkeys(note for result in results for note in result.notes):
            noted.setdefault(note, []).append(name)
    out = [f"{', '.join(names)}: {note}" for note, names in noted.items()]
    if quiet:
        chief = next((name for name in HEADLINES if name in quiet), quiet[0])
        verb = "is" if len(quiet) == 1 else "are"
        spot = MEASURES[chief].blind_spot
        out.append(f"{', '.join(quiet)} {verb} 0, which is no all-clear. {chief}: {spot}")
    return out


def _flags(audit: Audit, target: str) -> list[str]:
    ones, twos = audit.flags(target)
    out = [
        f"one-way check: {_percent(one.share_of_disclosive)} of what DiSCO counts has level "
        f"{one.level}, which {_percent(one.share_of_original)} of the original have"
        for one in ones
    ]
    if twos:
        shown = ", ".join(f"{t.target_level} | {t.key} {t.key_level}" for t in twos[:5])
        more = f" and {len(twos) - 5} more" if len(twos) > 5 else ""
        out.append(f"two-way check: {len(twos)} pairs of levels imply each other: {shown}{more}")
    mine = [
        f for f in audit.checks if f.scenario.target == target and f.scenario.keys == audit.keys
    ]
    removed = mine[0].removed["original"]
    gone = [f"{n:,} {reason}" for reason, n in removed.items() if n and reason != "remaining"]
    return [*out, *([f"excluded from the original: {', '.join(gone)}"] if gone else [])]


def _comparison(audit: Audit) -> Section:
    """Return one row per target, the riskiest last, as in synthpop's summary."""
    measured = _measures(audit, audit.targets[0])
    names = [n for n in ("Dorig", "DiSCO", "CAPd", "DCAP") if n in measured] or measured[:4]
    main = "DiSCO" if "DiSCO" in names else names[0]
    rows = []
    for target in sorted(audit.targets, key=lambda t: audit.mean(main, t) or 0.0):
        ones, twos = audit.flags(target)
        checks = [f"1-way: {one.level}" for one in ones]
        checks += [f"2-way: {len(twos)}"] if twos else []
        values = [_value(audit.each(name, target), MEASURES[name].unit) for name in names]
        chance = _mean([r.baseline for r in audit.each(main, target)], MEASURES[main].unit)
        rows.append((target, *values, chance, "; ".join(checks)))
    header = ("target", *(f"{name} %" for name in names), f"baseline of {main}", "check")
    remarks = [
        f"{name} cannot see all: {MEASURES[name].blind_spot}"
        for name in names
        if MEASURES[name].direction != "reference"
    ]
    return Section(f"{len(rows)} targets, from {', '.join(audit.keys)}", header, rows, remarks, [])


def _subsets(audit: Audit) -> Section | None:
    """Return what attackers learn who know only some of the keys."""
    sets = list(dict.fromkeys(r.scenario.keys for r in audit.rows if r.scenario.keys != audit.keys))
    if not sets:
        return None
    names: list[tuple[str, str | None]] = []
    if "repU" in _measures(audit, None):
        names.append(("repU", None))
    names += [("DiSCO", t) for t in audit.targets if "DiSCO" in _measures(audit, t)]
    rows = []
    for keys in sets:
        values = [_value(audit.each(name, target, keys), "share") for name, target in names]
        rows.append((", ".join(keys), *values))
    header = ("keys", *(f"{name} {target or ''}".strip() for name, target in names))
    return Section(f"{len(sets)} sets of {len(sets[0])} keys", header, rows, [], [])


def summary(audit: Audit) -> Summary:
    """Return what a notebook shows of an audit: the first copy, what the numbers say in front."""
    rows = []
    for row in audit.rows:
        entry, found = MEASURES[row.measure], row.result
        if row.copy != audit.rows[0].copy:
            continue
        numbers = (found.value, found.baseline, found.control)
        shown = [None if v is None else printed(v, entry.unit) for v in numbers]
        name = f"{entry.name} {SIGNS[entry.unit]}".rstrip()
        about = row.scenario.target or ""
        if row.scenario.keys != audit.keys:
            about += f" from {', '.join(row.scenario.keys)}"
        rows.append((entry.says, name, about.strip(), *shown))
    header = ("what it says", "measure", "target", "value", "baseline", "control")
    title = f"Audit: {len(rows)} measurements of one copy, {audit.n_original:,} original records"
    keys = f"The attacker knows {', '.join(audit.keys)}, unless a line says otherwise."
    return Summary(title, header, rows, (keys, *audit.warnings, *audit.remarks))
