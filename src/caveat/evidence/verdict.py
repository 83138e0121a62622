"""What the evidence comes to, as codes, and what differs between two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

FORMAT = 1
"""The version of the entry."""
CODES = (
    "promise", "not-ready", "too-small", "not-measured", "unattainable", "uncovered", "no-limit",
    "met",
)  # fmt: skip
"""What the verdict can be.

promise: measurements are withheld, a promise stands for them. not-ready: a limit is not met, or
values of people leave. too-small: too few people to conclude from numbers. not-measured: a limit
could not be measured. unattainable: all limits are met but for those that no setting can meet.
uncovered: the limits are met, and a measure without limit lies far above its control or baseline.
no-limit: none was set. met: all limits are met.
"""
NOTABLE = 0.05
"""From this rise on, which chance does not explain, a measure without a limit is named."""
COPIED = 0.5
"""From this rise on released rows are copies of original ones."""
FEW = 50
"""Of fewer people no number is certain enough to conclude from."""
CHEAPER = 0.9
"""A setting is proposed for its utility if it has at most this part of the distance to 1."""

State = Literal["met", "not met", "cannot be met", "not measured", "not shown", ""]
STATES: tuple[State, ...] = ("not met", "cannot be met", "not measured", "not shown", "met")
"""From the worst: the state of a limit is that of its worst result."""
# The probability of one person is no share that everybody has in common.
OF_ONE = ("posterior", "strongWorst")
# A mean over all people says little of single ones.
MEANS = ("strongGain",)
# Whose baseline is what anybody knew before; that of others is what unrelated columns would give.
OF_BASELINE = ("strong attacker", "rows")
COPIES = ("exactMatch", "fullMatch")
# What is about people who are found, or whose values are; other measures lead up to these.
WATCHED = (*COPIES, "repU", "DiSCO", "nearDiSCO", "strongShare", "membershipShare")

Content = Mapping[str, Any]
Finding = dict[str, Any]


@dataclass(frozen=True)
class Limited:
    """A limit with the measurement that comes out worst against it.

    Parameters
    ----------
    where
        The scenario, or "utility".
    worst
        The measurement.
    state
        How it stands to the limit.
    results
        How many measurements the limit is about.
    """

    where: str
    worst: Content
    state: State
    results: int


def with_verdict(content: dict[str, Any]) -> dict[str, Any]:
    """Return evidence with its verdict."""
    return {**content, "verdict": verdict_of(content)}


def verdict_of(content: Content) -> dict[str, Any]:
    """Return the verdict of evidence, whether it holds one or not.

    Parameters
    ----------
    content
        Evidence, or what of it may be published.
    """
    if "promise" in content and "measured" not in content:
        return _verdict("promise", [], [], [], None)
    limits = list(limited_in(content))
    against = [*_real_values(content), *_of_limits(limits), *_rises(content), *_doubts(content)]
    found = {finding["code"] for finding in against}
    code = _code(found, limits)
    return _verdict(code, limits, list(_relied_on(content, limits)), against,
                    _next(content, found, limits))  # fmt: skip


def _verdict(
    code: str,
    limits: Sequence[Limited],
    reliable: list[Finding],
    unreliable: list[Finding],
    step: dict[str, Any] | None,
) -> dict[str, Any]:
    states = [limit.state for limit in limits]
    return {
        "format": FORMAT,
        "code": code,
        "limits": {state.replace(" ", "_"): states.count(state) for state in STATES},
        "reliable": reliable,
        "unreliable": unreliable,
        "next": step,
    }


def _code(found: set[str], limits: Sequence[Limited]) -> str:
    if found & {"real-values", "copied-columns", "copied-rows", "limit-not-met"}:
        return "not-ready"
    if "few-people" in found:
        return "too-small"
    if "limit-not-measured" in found:
        return "not-measured"
    if "limit-unattainable" in found:
        return "unattainable"
    if found & {"rises", "single-values"}:
        return "uncovered"
    return "met" if limits else "no-limit"


# Limits.


def state_of(measurement: Content) -> State:
    """Return how a measurement stands to its limit; "" if it has none."""
    if measurement.get("limit") is None:
        return ""
    if measurement.get("value") is None or measurement.get("excess") is None:
        few = any(note["code"] == "below-threshold" for note in measurement.get("notes", ()))
        return "not shown" if few else "not measured"
    if measurement["excess"] == 0:
        return "met"
    return "cannot be met" if is_unattainable(measurement) else "not met"


def reference_of(measurement: Content) -> float | None:
    """Return what a measurement is compared with: the control, or else the baseline."""
    for name in ("control", "baseline"):
        if measurement.get(name) is not None:
            return float(measurement[name])
    return None


def is_unattainable(measurement: Content) -> bool:
    """Whether people who are not in the data, or no release at all, already exceed a limit."""
    limit, reference = measurement.get("limit") or {}, reference_of(measurement)
    most = limit.get("most")
    if most is None or reference is None or "rise" not in measurement:
        return False
    return measurement["measure"] not in OF_ONE and reference > most


def limited_in(content: Content) -> Iterator[Limited]:
    """Return the limits that were set, each with its worst result over targets and copies."""
    sources = [(s["name"], s["measurements"]) for s in content.get("scenarios", ())]
    sources.append(("utility", content["utility"].get("measurements", ())))
    found: dict[tuple[str, ...], list[Content]] = {}
    for where, measurements in sources:
        for m in measurements:
            if m.get("limit") is not None:
                key = (where, m["measure"], m.get("label") or "", str(m["limit"]),
                       m.get("per") or "")  # fmt: skip
                found.setdefault(key, []).append(m)
    for (where, *_), results in found.items():
        states = {state_of(m) for m in results}
        worst = next(state for state in STATES if state in states)
        of_these = [m for m in results if state_of(m) == worst]
        yield Limited(where, max(of_these, key=lambda m: _badness(content, m)), worst,
                      len(results))  # fmt: skip


def _badness(content: Content, m: Content) -> tuple[float, float]:
    value = m.get("value")
    if value is None:
        return (-1.0, 0.0)
    direction = _entry(content, m).get("direction", "")
    down = direction in ("lower is riskier", "higher is better")
    return (float(m.get("excess") or 0.0), -float(value) if down else float(value))


# What speaks for the release, and what against it.


def _finding(code: str, where: str = "", m: Content | None = None, **more: Any) -> Finding:
    of_measure: Finding = {}
    if m is not None:
        of_measure = {
            "scenario": where, "measure": m["measure"], "label": m.get("label") or "",
            "target": m.get("target"), "model": m.get("model"), "per": m.get("per") or "",
            "value": m.get("value"), "baseline": m.get("baseline", m.get("resample")),
            "control": m.get("control"),
        }  # fmt: skip
    return {"code": code, **of_measure, **more}


def _entry(content: Content, m: Content) -> Content:
    found: Content = content["measures"].get(m["measure"], {})
    return found


def _real_values(content: Content) -> Iterator[Finding]:
    """Return the columns whose values leave as they are."""
    named = [found["column"] for found in content["release"].get("identifying", ())]
    if named:
        yield _finding("real-values", columns=named)
    columns = (content["synthesis"] or {"columns": ()})["columns"]
    copied = [column["name"] for column in columns if column["method"] == "copy"]
    if copied:
        yield _finding("copied-columns", columns=copied)


def _of_limits(limits: Sequence[Limited]) -> Iterator[Finding]:
    codes = {
        "not met": "limit-not-met",
        "cannot be met": "limit-unattainable",
        "not measured": "limit-not-measured",
    }
    for limit in limits:
        if limit.state in codes:
            yield _finding(codes[limit.state], limit.where, limit.worst)
        elif limit.state == "met" and is_by_chance(limit.worst):
            yield _finding("within-chance", limit.where, limit.worst)


def is_by_chance(m: Content) -> bool:
    """Whether a value lies further above its control than allowed, and chance may explain it."""
    above, rise = (m.get("limit") or {}).get("above"), m.get("rise")
    return above is not None and rise is not None and float(rise["value"] or 0.0) > above


def _rises(content: Content) -> Iterator[Finding]:
    """Return measures that lie far above their control or baseline, and that no limit covers."""
    worst: dict[tuple[str, str], tuple[float, str, Content]] = {}
    for scenario in content.get("scenarios", ()):
        for m in scenario["measurements"]:
            watched = m["measure"] in WATCHED or scenario["attacker"] in ("ordinary", "simulated")
            rise = _notable(content, m) if watched else 0.0
            key = (scenario["name"], m["measure"])
            if rise and not _is_covered(m) and rise > worst.get(key, (0.0,))[0]:
                worst[key] = (rise, scenario["name"], m)
    for rise, where, m in sorted(worst.values(), key=lambda one: -one[0]):
        copies = m["measure"] in COPIES and rise >= COPIED
        yield _finding("copied-rows" if copies else "rises", where, m)
    found = content["release"].get("private_numbers", ())
    shown = [one["column"] for one in found if beyond_chance(one) >= NOTABLE]
    if shown:
        yield _finding("single-values", columns=shown)


def _is_covered(m: Content) -> bool:
    """Whether a limit is about the rise of a measurement; a level of a control is no rise."""
    state, limit = state_of(m), m.get("limit") or {}
    about_rise = limit.get("above") is not None or m["rise"]["over"] == "baseline"
    return state == "not met" or (state == "met" and about_rise)


def _notable(content: Content, m: Content) -> float:
    """Return by how much a share lies above what it is compared with; 0 if it is not notable."""
    rise, entry = m.get("rise"), _entry(content, m)
    if m.get("value") is None or rise is None or rise["value"] is None:
        return 0.0
    if m["measure"] in (*OF_ONE, *MEANS) or entry.get("unit") != "share":
        return 0.0
    known = rise["over"] == "control" or entry.get("family") in OF_BASELINE
    by_chance = rise["interval"] is not None and rise["interval"][0] <= 0
    risky = entry.get("direction") == "higher is riskier" and known and not by_chance
    return float(rise["value"]) if risky and rise["value"] >= NOTABLE else 0.0


def beyond_chance(found: Content) -> float:
    """Return by how much more often than by chance values of single people leave in a column.

    Parameters
    ----------
    found
        An entry of ``private_numbers``.
    """
    return float(found["released"]) - (reference_of(found) or 0.0)


def _doubts(content: Content) -> Iterator[Finding]:
    """Return why numbers may not mean what they seem to."""
    release = content["release"]
    people = (release.get("groups") or {}).get("fitted", release.get("fitted_rows"))
    if people is None:
        people = release.get("original_rows")
    if people is not None and people < FEW:
        yield _finding("few-people", n=people)
    if "undeclared_groups" in release:
        yield _finding("undeclared-groups", columns=release["undeclared_groups"]["columns"])
    if not release.get("control_rows") and _can_have_control(content):
        yield _finding("no-control")
    strong = [
        m for s in content.get("scenarios", ()) if s["attacker"] == "strong"
        for m in s["measurements"]
    ]  # fmt: skip
    if not any(m["value"] is not None for m in strong):
        yield _finding("no-strong-attacker")


def _can_have_control(content: Content) -> bool:
    """Whether a measure is there that only a control says the meaning of."""
    return any(s["attacker"] in ("release", "ordinary") for s in content.get("scenarios", ()))


def _relied_on(content: Content, limits: Sequence[Limited]) -> Iterator[Finding]:
    """Return what was measured and found in order."""
    for limit in limits:
        m = limit.worst
        rises = bool(_notable(content, m)) and not _is_covered(m)
        if limit.state == "met" and not is_by_chance(m) and not rises:
            yield _finding("limit-met", limit.where, m)
    seen = set()
    for scenario in content.get("scenarios", ()):
        for m in scenario["measurements"]:
            share = m["measure"] in ("membershipShare", "strongShare")
            key = (scenario["name"], m["measure"])
            every = [o for o in scenario["measurements"] if o["measure"] == m["measure"]]
            fine = all(o["value"] is not None and not _notable(content, o) for o in every)
            if share and not state_of(m) and fine and key not in seen:
                seen.add(key)
                worst = max(every, key=lambda o: float(o["value"]))
                yield _finding("no-rise", scenario["name"], worst)


# The next step.


def _next(content: Content, found: set[str], limits: Sequence[Limited]) -> dict[str, Any] | None:
    """Return what to do first, with its price if other settings were tried."""
    for code, todo in (("real-values", "leave-out"), ("copied-columns", "synthesise")):
        if code in found:
            return {"code": todo, "columns": next(_real_values(content))["columns"]}
    if "copied-rows" in found:
        return {"code": "synthesise", "columns": []}
    if "undeclared-groups" in found:
        columns = content["release"]["undeclared_groups"]["columns"]
        return {"code": "declare-groups", "columns": columns}
    at_risk = bool(found & {"rises", "limit-not-met", "single-values", "limit-not-measured"})
    step = _setting(content, limits, at_risk=at_risk)
    if step is not None:
        return step
    unattainable = next((one for one in limits if one.state == "cannot be met"), None)
    if unattainable is not None:
        m = unattainable.worst
        return {"code": "limit-above", "scenario": unattainable.where, "measure": m["measure"]}
    broken = next((limit for limit in limits if limit.state == "not met"), None)
    if broken is not None and broken.where != "utility":
        return {"code": "coarsen", "scenario": broken.where, "measure": broken.worst["measure"]}
    if "within-chance" in found or "no-control" in found:
        return {"code": "hold-out"}
    return None


def _setting(content: Content, limits: Sequence[Limited], *, at_risk: bool) -> Finding | None:
    """Return the setting to try next: safer where something is wrong, else more useful."""
    tried = content.get("other_settings") or {"points": ()}
    points = [p for p in tried["points"] if None not in (p["risk_mean"], p["utility_mean"])]
    own = next((p for p in points if p["chosen"]), None)
    if own is None:
        return None
    most = _most(tried["risk"], limits)
    risk, utility = own["risk_mean"], abs(own["utility_mean"] - 1.0)
    if at_risk:
        safer = [p for p in points if p["risk_mean"] < risk and not p["chosen"]]
        meets = [p for p in safer if most is not None and p["risk_mean"] <= most]
        chosen = min(meets, key=lambda p: abs(p["utility_mean"] - 1.0), default=None)
        chosen = chosen or min(safer, key=lambda p: p["risk_mean"], default=None)
    else:
        room = [p for p in points if most is not None and p["risk_mean"] <= most]
        better = [p for p in room if abs(p["utility_mean"] - 1.0) < CHEAPER * utility]
        chosen = min(better, key=lambda p: abs(p["utility_mean"] - 1.0), default=None)
    if chosen is None:
        return None
    public = {"setting_is_public": True} if chosen.get("setting_is_public") else {}
    return {
        "code": "safer-setting" if at_risk else "more-useful-setting",
        "setting": chosen["setting"],
        **public,
        "risk": {"measure": tried["risk"], "now": risk, "then": chosen["risk_mean"]},
        "utility": {
            "measure": tried["utility"],
            "now": own["utility_mean"],
            "then": chosen["utility_mean"],
        },
    }


def _most(risk: str, limits: Sequence[Limited]) -> float | None:
    """Return the most that a limit allows of the risk whose baseline is 0."""
    for limit in limits:
        if limit.worst["measure"] == risk:
            held = limit.worst["limit"]
            ends = [held[name] for name in ("most", "above") if held.get(name) is not None]
            return min(ends, default=None)
    return None


# -------------------------------------------------------------------------------------------------
# What differs between the evidence of two releases, and between their specifications.

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
        "verdicts": [_verdicts(content) for content in (before, after)],
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


def _verdicts(content: Content) -> str:
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
