"""What differs between the evidence of two releases, and between their specifications."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["difference"]

Content = Mapping[str, Any]
Key = tuple[Any, ...]

TOLD = ("value", "interval", "limit", "excess")
"""What of a measurement is set side by side."""
ALIKE = ("value", "limit", "excess")
"""What makes two of them differ: an interval alone says only how many records were behind it."""
SEED = "release.seed"
APART = ("measure", "target", "model", "label", "copy", "table")
"""What tells measurements of one scenario apart."""


def difference(
    before: Content, after: Content, specs: tuple[Content, Content] | None = None
) -> dict[str, Any]:
    """Return what differs: entries, inputs, limits, measurements, files.

    Nothing but the two documents is looked at, never any data. What is the same is counted and not
    listed.

    Parameters
    ----------
    before, after
        The evidence of two releases.
    specs
        Their specifications as TOML has them; None if one of them is not there.

    Examples
    --------
    >>> difference({}, {})["same"]
    True
    """
    entries = None if specs is None else _entries(*specs)
    parts: dict[str, Any] = {
        "spec": entries,
        "inputs": _inputs(before, after),
        "risk": _measured(before, after, _risks(before), _risks(after)),
        "utility": _measured(before, after, _utilities(before), _utilities(after)),
        "files": _files(before, after),
    }
    same = not entries and not parts["inputs"] and not parts["files"]["changed"]
    same = same and not any(parts[name]["changed"] for name in ("risk", "utility"))
    return {
        "same": same,
        "titles": [_release(content).get("title", "") for content in (before, after)],
        "verdicts": [_verdict(content) for content in (before, after)],
        "limits": [_limits(content) for content in (before, after)],
        "records": [len(content.get("records_at_risk", ())) for content in (before, after)],
        **parts,
    }


def _release(content: Content) -> Content:
    found: Content = content.get("release") or {}
    return found


def _entries(before: Content, after: Content) -> list[dict[str, Any]]:
    """Return the entries that differ, by their full names; what is not there is None.

    A seed is as confidential as the data: whether it is there is told, and no more.
    """
    ours, theirs = dict(_flat(before)), dict(_flat(after))
    found = []
    for name in dict.fromkeys([*ours, *theirs]):
        pair = [ours.get(name), theirs.get(name)]
        if pair[0] == pair[1]:
            continue
        if name == SEED:
            pair = [None if value is None else "withheld" for value in pair]
        found.append({"entry": name, "before": pair[0], "after": pair[1]})
    return found


def _flat(content: Content, above: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in content.items():
        place = f"{above}.{name}" if above else str(name)
        if isinstance(value, Mapping):
            yield from _flat(value, place)
        elif isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
            for called, item in zip(_called(value), value, strict=True):
                if isinstance(item, Mapping):
                    yield from _flat(item, f"{place} {called}")
                else:
                    yield f"{place} {called}", item
        else:
            yield place, value


def _called(items: Sequence[Any]) -> list[str]:
    """Return the names of parts that stand in a list, or their places where names do not do."""
    names = [item.get("name") if isinstance(item, Mapping) else None for item in items]
    if None in names or len(set(names)) < len(names):
        return [f"{place}" for place in range(1, len(items) + 1)]
    return [f"“{name}”" for name in names]


def _inputs(before: Content, after: Content) -> list[dict[str, Any]]:
    """Return what went into the two releases and differs; of a seed only that it does."""
    pairs: dict[str, tuple[Any, Any]] = {
        "data": (_data(before), _data(after)),
        "original_rows": _both("release", "original_rows", before, after),
        "columns": _both("release", "columns", before, after),
        "caveat": _both("software", "caveat", before, after),
    }
    found = [
        {"what": what, "before": ours, "after": theirs}
        for what, (ours, theirs) in pairs.items()
        if ours != theirs
    ]
    if before.get("seed") != after.get("seed"):
        found.append({"what": "seed", "before": None, "after": None})
    return found


def _both(part: str, name: str, before: Content, after: Content) -> tuple[Any, Any]:
    first, second = ((content.get(part) or {}).get(name) for content in (before, after))
    return first, second


def _data(content: Content) -> Any:
    """Return the checksums of the data files."""
    inputs = content.get("inputs") or {}
    files = [*([inputs["data"]] if "data" in inputs else []), *inputs.get("tables", ())]
    return [file["sha256"] for file in files]


def _risks(content: Content) -> Iterator[tuple[Key, Content]]:
    for scenario in content.get("scenarios", ()):
        for one in scenario["measurements"]:
            yield (scenario["name"], *(one.get(name) for name in APART)), one


def _utilities(content: Content) -> Iterator[tuple[Key, Content]]:
    for one in (content.get("utility") or {}).get("measurements", ()):
        yield ("", *(one.get(name) for name in APART)), one


def _measured(
    before: Content,
    after: Content,
    ours: Iterator[tuple[Key, Content]],
    theirs: Iterator[tuple[Key, Content]],
) -> dict[str, Any]:
    """Return the measurements that differ, side by side, and how many are the same."""
    first, second = dict(ours), dict(theirs)
    changed, same = [], 0
    same_data = _data(before) == _data(after)

    def comparable(scenario: str) -> bool:
        return bool(same_data and _keys(before, scenario) == _keys(after, scenario))

    for key in dict.fromkeys([*first, *second]):
        pair = [_told(found.get(key)) for found in (first, second)]
        if _alike(*pair):
            same += 1
            continue
        name = key[1]
        says = {**before.get("measures", {}), **after.get("measures", {})}.get(name, {})
        changed.append(
            {
                "scenario": key[0],
                **dict(zip(APART, key[1:], strict=True)),
                "unit": says.get("unit", "score"),
                "says": says.get("says", ""),
                "before": pair[0],
                "after": pair[1],
                "turn": _turn(pair, str(says.get("direction", "")), comparable(key[0])),
            }
        )
    return {"changed": changed, "same": same}


def _told(measurement: Content | None) -> dict[str, Any] | None:
    if measurement is None:
        return None
    return {name: measurement.get(name) for name in TOLD}


def _alike(ours: Content | None, theirs: Content | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return all(ours[name] == theirs[name] for name in ALIKE)


def _keys(content: Content, scenario: str) -> Any:
    """Return what the attacker of a scenario knows."""
    found = (s.get("keys") for s in content.get("scenarios", ()) if s["name"] == scenario)
    return next(found, None)


def _turn(pair: Sequence[Content | None], direction: str, comparable: bool) -> str:
    """Return whether a value became better or worse; nothing where that cannot be said.

    Of other data, or with other keys, another value is neither: it is higher or lower.
    """
    first, second = (None if one is None else one["value"] for one in pair)
    if first is None or second is None or first == second:
        return ""
    rose = second > first
    if not comparable:
        return "higher" if rose else "lower"
    if direction in ("higher is riskier", "lower is better"):
        return "worse" if rose else "better"
    if direction in ("lower is riskier", "higher is better"):
        return "better" if rose else "worse"
    return ""


def _verdict(content: Content) -> str:
    """Return the code of a verdict; "" of evidence from before there was one."""
    return str((content.get("verdict") or {"code": ""})["code"])


def _limits(content: Content) -> dict[str, Any]:
    """Return how many limits there are, and which are not met."""
    limited = [
        (key, one)
        for key, one in (*_risks(content), *_utilities(content))
        if one.get("limit") is not None
    ]
    broken = [list(key) for key, one in limited if one.get("excess") != 0]
    return {"all": len(limited), "broken": broken}


def _files(before: Content, after: Content) -> dict[str, Any]:
    def listed(content: Content) -> dict[str, Content]:
        # Of several tables each copy has a folder of its own.
        return {f"{file['name']}": file for file in _release(content).get("files", ())}

    ours, theirs = listed(before), listed(after)
    changed, same = [], 0
    for name in dict.fromkeys([*ours, *theirs]):
        one, other = ours.get(name), theirs.get(name)
        if one is not None and other is not None and one["sha256"] == other["sha256"]:
            same += 1
            continue
        rows = [None if file is None else file["rows"] for file in (one, other)]
        changed.append({"name": name, "before": rows[0], "after": rows[1]})
    return {"changed": changed, "same": same}
