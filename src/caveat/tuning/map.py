"""The map of risk and utility: settings measured over seeds, and which of them are not beaten."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from caveat.errors import CaveatError
from caveat.generators import Setting
from caveat.generators.ours import OF_TREES
from caveat.seeds import Stream, child_seed
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.spec.limits import Question
from caveat.table import Table
from caveat.tuning.bench import Point, Workbench, badness, measure_settings

__all__ = ["RiskUtilityMap", "risk_utility_map"]


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
        from caveat.tuning._chart import map_chart

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
