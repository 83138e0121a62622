"""The map of risk and utility, and the search for the setting that meets the limits."""

from __future__ import annotations

import hashlib
import json
import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from caveat import charts
from caveat.documents import parse, read_bytes
from caveat.errors import CaveatError, CaveatWarning
from caveat.generators import Setting
from caveat.generators.ours import OF_TREES
from caveat.notes import printed
from caveat.protect.record import Step
from caveat.risk import MEASURES as RISKS
from caveat.seeds import Stream, child_seed
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.spec.limits import STRONGEST, Question, unit_of
from caveat.spec.spec import TuneSpec
from caveat.stopping import Progress
from caveat.table import Table
from caveat.table.drafts import write_text
from caveat.tuning.bench import Point, Workbench, badness, measure_settings
from caveat.utility import MEASURES as UTILITIES


@dataclass(frozen=True)
class RiskUtilityMap:
    """Settings, each with its risks and utilities over several seeds.

    Parameters
    ----------
    points
        One point per setting.
    question
        What was measured.
    seconds
        How long it took.
    """

    points: tuple[Point, ...]
    question: Question
    seconds: float = 0.0

    def pareto(self, risk: str, utility: str) -> list[bool]:
        """Return which points no other point beats in the one without losing in the other.

        The worst seed decides the risk, the mean over the seeds the utility.
        """
        at = [
            (badness(risk, p.worst(risk)), badness(utility, p.mean(utility))) for p in self.points
        ]
        return [
            not any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in at)
            and math.inf not in own
            for own in at
        ]

    def curves(self) -> list[dict[str, Any]]:
        """Return of each point its ``method`` and the ``line`` it is on; nothing for one method.

        A line holds the settings of one method that differ in its dial alone: the first of the
        settings of trees that vary, ``guard`` or ``minbucket`` before the others.
        """
        methods = [point.setting.method for point in self.points]
        lines = [_line(point.setting) for point in self.points]
        numbers = {line: number for number, line in enumerate(dict.fromkeys(lines))}
        if len(set(methods)) < 2:
            return [{} for _ in methods]
        return [
            {"method": method, "line": numbers[line]}
            for method, line in zip(methods, lines, strict=True)
        ]

    def _summary(self) -> Summary:
        names = self.question.measures
        rows = [
            (str(p.setting), *(mean for name in names for mean in (p.mean(name), p.worst(name))))
            for p in self.points
        ]
        header = ("setting", *(text for name in names for text in (name, f"{name}, worst")))
        return Summary(f"RiskUtilityMap: {len(rows)} settings, {len(names)} measures", header, rows)

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row per setting: mean, worst and standard deviation of each measure."""
        columns: dict[str, list[Any]] = {"setting": [str(p.setting) for p in self.points]}
        for name in self.question.measures:
            columns[name] = [p.mean(name) for p in self.points]
            columns[f"{name}, worst seed"] = [p.worst(name) for p in self.points]
            columns[f"{name}, sd"] = [p.spread(name) for p in self.points]
        return frame_of(columns, backend)

    def plot(self, risk: str = "", utility: str = "", limit: float | None = None) -> Any:
        """Draw risk against utility; the mouse shows the setting.

        A line joins the best ones, or the settings of each method if there are several. The first
        measure of each kind is drawn unless others are named.
        """
        kinds = [self.question.of_kind("utility"), list(self.question.measures)]
        utility = utility or next(iter(kinds[0]), "")
        risk = risk or next((name for name in kinds[1] if name not in kinds[0]), "")
        if not risk or not utility:
            raise CaveatError(
                "a map needs a measure of risk and one of utility",
                do="measure both, or name them: plot(risk, utility)",
                code="tune.measure.absent",
            )
        return map_chart(self, risk, utility, limit)


def _line(setting: Setting) -> str:
    """Return what the settings on one line have in common."""
    shown = setting.options if setting.shown is None else setting.shown
    dial = next((n for n in OF_TREES if n in shown and n in setting.used), None)
    return replace(setting, options={n: v for n, v in setting.used.items() if n != dial}).key


def risk_utility_map(
    original: Any,
    settings: Sequence[Setting],
    question: Question,
    *,
    seeds: int = 3,
    seed: int = 0,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> RiskUtilityMap:
    """Measure every setting on the same seeds.

    Parameters
    ----------
    original
        The original table.
    settings
        The settings; :func:`settings_of` makes them from a grid.
    question
        What is measured.
    seeds
        Releases per setting.
    seed
        Root of all randomness.
    threads
        Settings at the same time; all cores by default. The result does not depend on it.
    done
        Called with the share of the settings that has become ready.
    """
    if not settings:
        raise CaveatError(
            "there is no setting to try",
            where="settings",
            do="give at least one",
            code="tune.setting.absent",
        )
    bench = Workbench(Table.from_frame(original), question)
    numbers = [child_seed(seed, Stream.SEARCH, k) for k in range(seeds)]
    start = time.perf_counter()
    points: dict[str, Point] = {}

    def keep(point: Point, _: Sequence[int]) -> None:
        points[point.setting.key] = point
        if done is not None:
            done(1 / len(settings))

    measure_settings(bench, [(setting, numbers) for setting in settings], threads, keep)
    ordered = tuple(points[setting.key] for setting in settings)
    return RiskUtilityMap(ordered, question, time.perf_counter() - start)


# -------------------------------------------------------------------------------------------------
# The picture of a risk-utility map.


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


# -------------------------------------------------------------------------------------------------
# The search for the setting that meets the limits and keeps most utility.
#
# Successive halving: all settings are measured on a few seeds, the better half on twice as many,
# and so on. The last few are measured on fresh seeds that took no part in the search.


FORMAT = 4
FINALISTS = 3


def excess(spec: TuneSpec, point: Point) -> dict[str, float]:
    """Return by how much the worst seed breaks each limit, relative to it.

    Simulated values count with two standard errors more.
    """
    return {str(limit): point.excess(limit) for limit in spec.limits}


def rank(spec: TuneSpec, point: Point) -> tuple[float, float]:
    """Return what points are sorted by: the limits first, then the objective."""
    broken = sum(excess(spec, point).values())
    return broken, badness(spec.objective, point.mean(spec.objective))


@dataclass(frozen=True)
class Tuning:
    """What the search found.

    Parameters
    ----------
    spec
        What was searched.
    points
        Every setting with all seeds it was measured on during the search.
    confirmed
        The settings that were measured on fresh seeds, in the order of trying.
    chosen
        The setting that meets the limits on fresh seeds; None if there is none.
    free
        The setting with the best objective whatever its risk, on fresh seeds: what the limits cost.
    """

    spec: TuneSpec
    points: tuple[Point, ...]
    confirmed: tuple[Point, ...]
    chosen: Point | None
    free: Point

    @property
    def map(self) -> RiskUtilityMap:
        """The settings as a map of risk and utility."""
        return RiskUtilityMap(self.points, self.spec.question)

    @property
    def closest(self) -> Point:
        """The point that breaks the limits least, on fresh seeds where there are any."""
        return self.chosen or min([*self.confirmed, *self.points], key=partial(rank, self.spec))

    def binding(self) -> list[str]:
        """Say which limits stand in the way; empty when a setting was chosen."""
        if self.chosen is not None:
            return []
        lines, points = [], self.points
        broken = {name for name, by in excess(self.spec, self.closest).items() if by > 0}
        for limit in self.spec.limits:
            alone = [p for p in points if excess(self.spec, p)[str(limit)] == 0]
            best = min(points, key=lambda p: p.excess(limit)).worst(limit.measure)
            if not alone:
                reason = "" if best is not None else f": {_reason(points, limit.measure)}"
                shown = "it has no value"
                if best is not None:
                    shown = f"the closest is {printed(best, unit_of(limit.measure)):.4g}"
                lines.append(f"{limit} binds: no setting meets it on all seeds; {shown}{reason}")
            elif str(limit) in broken:
                lines.append(
                    f"{limit} binds: {len(alone)} of {len(points)} settings meet it, but none of "
                    "them the other limits as well, or not on fresh seeds"
                )
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return everything, ready for JSON."""
        return {
            "format": FORMAT,
            "objective": self.spec.objective,
            "limits": [str(limit) for limit in self.spec.limits],
            "seed": self.spec.seed,
            "chosen": None if self.chosen is None else self._point(self.chosen),
            "closest": self._point(self.closest),
            "free": self._point(self.free),
            "binding": self.binding(),
            "confirmed": [self._point(point) for point in self.confirmed],
            "points": [self._point(point) for point in self.points],
        }

    def _point(self, point: Point) -> dict[str, Any]:
        broken = excess(self.spec, point)
        return {
            "setting": str(point.setting),
            "options": dict(point.setting.options),
            "protect": [dict(step) for step in point.setting.protect],
            "values": [dict(values) for values in point.values],
            "meets the limits": not any(broken.values()),
            "errors": [dict(errors) for errors in point.errors],
            "how": dict(point.how),
            "reasons": dict(point.reasons),
            "steps": [step.to_dict() for step in point.steps],
        }


def _refuse_nothing(points: Sequence[Point]) -> None:
    """Say why, when not one setting gives a release."""
    if all(value is None for p in points for values in p.values for value in values.values()):
        reason = next(iter(points[0].reasons.values()))
        raise CaveatError(
            f"no setting gives a release; {points[0].setting}: {reason}", code="tune.setting.failed"
        )


def _reason(points: Sequence[Point], measure: str) -> str:
    return next((p.reasons[measure] for p in points if measure in p.reasons), "")


def tune(
    original: Any,
    spec: TuneSpec | Mapping[str, Any],
    *,
    state: str | Path | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Tuning:
    """Find the setting that meets the limits with the best objective.

    Parameters
    ----------
    original
        The original table.
    spec
        What is searched; a mapping is read as the content of a specification file.
    state
        A file to keep what has been measured, so that an interrupted search can go on.
    threads
        Settings at the same time; all cores by default. The result does not depend on it.
    progress
        Called with the name of the round and the share of its settings that are ready.
    """
    table = Table.from_frame(original)
    if not isinstance(spec, TuneSpec):
        spec = TuneSpec.from_mapping(spec)
    search = _Search(table, spec, None if state is None else Path(state), threads, progress)
    with warnings.catch_warnings():
        # Remarks about a plan would be repeated for every setting.
        warnings.simplefilter("ignore", CaveatWarning)
        return search.run()


class _Search:
    """The rounds of a search and its memory."""

    def __init__(
        self,
        table: Table,
        spec: TuneSpec,
        path: Path | None,
        threads: int | None,
        progress: Progress | None,
    ) -> None:
        self.spec = spec
        self.bench = Workbench(table, spec.question)
        self.path = path
        self.threads = threads
        self.progress = progress
        self.key = _fingerprint(table, spec)
        self.known = _load(path, self.key)

    def run(self) -> Tuning:
        """Halve until few are left, then confirm these on fresh seeds."""
        spec, n = self.spec, self.spec.seeds
        left = list(spec.settings)
        points = {
            point.setting.key: point for point in self.measure(left, Stream.SEARCH, n, "round 1")
        }
        _refuse_nothing(list(points.values()))
        number = 1
        while len(left) > FINALISTS:
            left.sort(key=lambda setting: rank(spec, points[setting.key]))
            left = left[: max(FINALISTS, math.ceil(len(left) / 2))]
            number, n = number + 1, 2 * n
            for point in self.measure(left, Stream.SEARCH, n, f"round {number}"):
                points[point.setting.key] = point
        left.sort(key=lambda setting: rank(spec, points[setting.key]))
        every = [points[setting.key] for setting in spec.settings]
        confirmed: list[Point] = []
        chosen = None
        for setting in left:
            if sum(excess(spec, points[setting.key]).values()) > 0 and confirmed:
                break
            confirmed += self.measure([setting], Stream.FRESH, spec.fresh, "fresh seeds")
            if not any(excess(spec, confirmed[-1]).values()):
                chosen = confirmed[-1]
                break
        best = min(every, key=lambda p: badness(spec.objective, p.mean(spec.objective)))
        free = self.measure([best.setting], Stream.FRESH, spec.fresh, "without limits")[0]
        return Tuning(spec, tuple(every), tuple(confirmed), chosen, free)

    def measure(
        self, settings: Sequence[Setting], phase: Stream, seeds: int, what: str
    ) -> list[Point]:
        """Return points with the first so many seeds of a phase; only new ones are computed."""
        numbers = [child_seed(self.spec.seed, phase, k) for k in range(seeds)]
        work = []
        for setting in settings:
            have = self.known.get(setting.key, {})
            work.append((setting, [seed for seed in numbers if str(seed) not in have]))
        todo = [item for item in work if item[1]]
        ready = len(work) - len(todo)

        def keep(point: Point, measured: Sequence[int]) -> None:
            nonlocal ready
            entry = self.known.setdefault(point.setting.key, {})
            each = point.rises or ({},) * len(measured)
            found = zip(measured, point.values, point.errors, each, strict=True)
            for seed, values, errors, rises in found:
                entry[str(seed)] = {
                    "values": values,
                    "reasons": dict(point.reasons),
                    "errors": dict(errors),
                    "how": dict(point.how),
                    "rises": dict(rises),
                }
            entry.setdefault("steps", [step.to_dict() for step in point.steps])
            self.save()
            ready += 1
            if self.progress is not None:
                self.progress(what, ready / len(work))

        measure_settings(self.bench, todo, self.threads, keep)
        return [self.point(setting, numbers) for setting in settings]

    def point(self, setting: Setting, numbers: Sequence[int]) -> Point:
        """Return what is known about a setting on some seeds."""
        entries = [self.known[setting.key][str(seed)] for seed in numbers]
        reasons, how = (
            {k: v for entry in entries for k, v in entry[part].items()}
            for part in ("reasons", "how")
        )
        steps = tuple(Step(**step) for step in self.known[setting.key]["steps"])
        values, errors, rises = (
            tuple(entry[part] for entry in entries) for part in ("values", "errors", "rises")
        )
        return Point(setting, values, steps, reasons, errors, how, rises)

    def save(self) -> None:
        """Write what is known; the file is whole at any moment."""
        if self.path is not None:
            text = json.dumps({"format": FORMAT, "key": self.key, "known": self.known})
            write_text(self.path, text, confidential=True, force=True)


def _fingerprint(table: Table, spec: TuneSpec) -> str:
    """Return a text that changes with the data, the scenario and the root seed.

    Settings and limits are not part of it: a search can go on with more settings or other limits.
    """
    digest = hashlib.sha256(repr((spec.question, spec.seed)).encode())
    for name, column in table.columns.items():
        digest.update(f"{name} {column.kind} {column.missing}".encode())
        digest.update(str(column.levels.tolist()).encode())
        digest.update(np.ascontiguousarray(column.codes).tobytes())
    return digest.hexdigest()


def _load(path: Path | None, key: str) -> dict[str, dict[str, Any]]:
    if path is None or not path.exists():
        return {}
    try:
        content = parse(read_bytes(path))
        known, theirs, written = content["known"], content["key"], content["format"]
        _check_known(known)
    except (ValueError, KeyError, TypeError, AttributeError, CaveatError):
        raise CaveatError(
            "this is no state of a search",
            where=str(path),
            do="choose another file",
            code="tune.file.malformed",
        ) from None
    if written != FORMAT:
        raise CaveatError(
            "the state was written by another version",
            where=str(path),
            do="remove it",
            code="tune.version.mismatch",
        )
    if theirs != key:
        raise CaveatError(
            "the state belongs to other data, another scenario or another seed",
            where=str(path),
            do="remove it, or name another file with --state",
            code="tune.file.mismatch",
        )
    found: dict[str, dict[str, Any]] = known
    return found


def _check_known(known: Any) -> None:
    """Raise an error unless a state has the parts that a search asks it for."""
    number = int | float
    types = {"values": number | None, "errors": number, "reasons": str, "how": str, "rises": number}
    for entry in known.values():
        for step in entry["steps"]:
            Step(**step)
        for seed in set(entry) - {"steps"}:
            for part, kind in types.items():
                if not all(isinstance(value, kind) for value in entry[seed][part].values()):
                    raise TypeError(part)
