"""An audit as text: the same sections for the terminal and for ``print``."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from caveat.notes import SIGNS, printed
from caveat.risk.measure import MEASURES
from caveat.risk.measurement import Measurement
from caveat.showing import Summary

if TYPE_CHECKING:
    from caveat.risk.result import Audit

__all__ = ["Section", "heading", "plain", "sections", "summary", "warning_lines"]

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
