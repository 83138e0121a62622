"""Settings of a release, and a bench on which releases are made and measured."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np

from caveat.attack import vulnerable
from caveat.attack.priors import DEFAULT_PRIOR, Prior
from caveat.errors import CaveatError
from caveat.protect.pipeline import Surroundings, check_steps, protect
from caveat.protect.record import Step
from caveat.release.limits import kind_of
from caveat.release.strong import Attack, Made, attack_release
from caveat.risk import MEASURES as RISKS
from caveat.risk import audit
from caveat.risk.cells import key_cells
from caveat.synthesis import Model, Synthesizer
from caveat.synthesis.smoothing import SMOOTHINGS
from caveat.table import Table
from caveat.table.identifying import judge
from caveat.utility import BEST, compare
from caveat.utility import MEASURES as UTILITIES
from caveat.utility.analyses import check_model

__all__ = [
    "Point",
    "Question",
    "Setting",
    "Workbench",
    "badness",
    "child_seed",
    "measure_settings",
    "protected",
    "settings_of",
]

REFILL = 1_000_003  # first words of the seeds for refilling
ATTACK = 1_000_004  # and for simulated attacks
Values = dict[str, float | None]


@dataclass(frozen=True)
class Setting:
    """How a release is made: options of the synthesiser, and protections after it.

    Parameters
    ----------
    options
        Options of :class:`caveat.synthesis.Synthesizer`.
    protect
        Steps for :func:`caveat.protect.pipeline.protect`.
    shown
        The options that differ between the settings of a map, for its name.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    protect: tuple[Mapping[str, Any], ...] = ()
    shown: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """A text that is the same for the same setting."""
        return json.dumps([self.options, self.protect], sort_keys=True, default=str)

    def __str__(self) -> str:
        names = self.options if self.shown is None else self.shown
        parts = [f"{name} {_short(self.options[name])}" for name in names if name in self.options]
        parts += [step["name"].replace("_", " ") for step in self.protect]
        return ", ".join(parts) or "as it is"


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def settings_of(base: Mapping[str, Any], grid: Mapping[str, Any]) -> list[Setting]:
    """Return all combinations of a grid; ``protect`` holds alternative lists of steps.

    Examples
    --------
    >>> [str(s) for s in settings_of({}, {"minbucket": [5, 50], "cp": [1e-8]})]
    ['minbucket 5', 'minbucket 50']
    """
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise CaveatError(
                "a setting needs a list of values to try",
                where=f"tune, settings, {name}",
                do=f"write {name} = [5, 20, 50]",
            )
    protections = grid.get("protect", [[]])
    for steps in protections:
        check_steps(steps)
    options = {name: values for name, values in grid.items() if name != "protect"}
    shown = tuple(name for name, values in options.items() if len(values) > 1)
    return [
        Setting({**base, **dict(zip(options, values, strict=True))}, tuple(steps), shown)
        for *values, steps in product(*options.values(), protections)
    ]


@dataclass(frozen=True)
class Question:
    """What is measured of a release.

    Parameters
    ----------
    measures
        Names of measures of risk and utility, "posterior" and "gain".
    keys, targets
        The scenario of the measures of risk; the value of a measure is the worst over the targets.
    circumstances
        Further arguments of the scenario.
    models
        Formulas, for utility measures that need a model; the worst counts.
    records
        The records that the strong attacker is after: positions, a number of the most vulnerable
        ones, or "all" (of equal records one).
    unknown, prior
        What she does not know about each, and what she believes before; as for
        :func:`caveat.attack.posterior`.
    simulations
        Draws of the parameters, or releases in each world, where nothing is exact.
    """

    measures: tuple[str, ...]
    keys: tuple[str, ...] = ()
    targets: tuple[str, ...] | None = None
    circumstances: Mapping[str, Any] = field(default_factory=dict)
    models: tuple[str, ...] = ()
    records: tuple[int, ...] | int | Literal["all"] = 5
    unknown: tuple[str, ...] | None = None
    prior: Prior = DEFAULT_PRIOR
    simulations: int = 50

    def of_kind(self, kind: str) -> list[str]:
        """Return the names of the measures of one kind."""
        return [name for name in self.measures if kind_of(name) == kind]

    def check(self, original: Table) -> None:
        """Refuse what cannot be measured, before any work is done."""
        if self.of_kind("risk") and not self.keys:
            raise CaveatError("no key is named", where="tune", do="add keys = [...]")
        for name in [*self.keys, *(self.targets or ()), *(self.unknown or ())]:
            original[name]
        for name in self.of_kind("utility"):
            if "model" in UTILITIES[name].needs and not self.models:
                raise CaveatError(f"{name} needs a model", where="tune", do="add models = [...]")
        for model in self.models:
            check_model(model, original.names)


def badness(measure: str, value: float | None) -> float:
    """Return a number that grows the riskier or the less useful a release is."""
    if value is None:
        return math.inf
    if kind_of(measure) == "utility":
        return abs(value - BEST[measure])
    down = kind_of(measure) == "risk" and RISKS[measure].direction == "lower is riskier"
    return -value if down else value


@dataclass(frozen=True)
class Point:
    """One setting with what was measured on each seed.

    Parameters
    ----------
    setting
        The setting.
    values
        For each seed the measured values by name; None where one cannot be computed.
    steps
        What the protections did, on the first seed.
    reasons
        Why values are None.
    errors
        For each seed the standard errors of the values that were simulated.
    how
        How values were found that are not what their name says at first sight: simulated, a bound.
    """

    setting: Setting
    values: tuple[Values, ...]
    steps: tuple[Step, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[Mapping[str, float], ...] = ()
    how: Mapping[str, str] = field(default_factory=dict)

    def each(self, measure: str) -> list[float | None]:
        """Return the values over the seeds."""
        return [values[measure] for values in self.values]

    def cautious(self, measure: str) -> list[float | None]:
        """Return the values over the seeds, simulated ones raised by two standard errors."""
        errors = self.errors or ({},) * len(self.values)
        return [
            None if value is None else value + 2 * error.get(measure, 0.0)
            for value, error in zip(self.each(measure), errors, strict=True)
        ]

    def mean(self, measure: str) -> float | None:
        """Return the mean over the seeds, None if one of them has none."""
        values = [v for v in self.each(measure) if v is not None]
        return float(np.mean(values)) if values and len(values) == len(self.values) else None

    def worst(self, measure: str) -> float | None:
        """Return the value of the worst seed, None if one has none."""
        return max(self.each(measure), key=lambda value: badness(measure, value))

    def spread(self, measure: str) -> float | None:
        """Return the standard deviation over the seeds: how much one release differs by chance."""
        values = [v for v in self.each(measure) if v is not None]
        return float(np.std(values, ddof=1)) if len(values) > 1 else None


@dataclass
class _Found:
    """What was measured on one release; the parts are those of a point."""

    values: Values = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    errors: dict[str, float] = field(default_factory=dict)
    how: dict[str, str] = field(default_factory=dict)

    @classmethod
    def nothing(cls, measures: Sequence[str], reason: str) -> _Found:
        """Return what is known when there is no release."""
        return cls(dict.fromkeys(measures), dict.fromkeys(measures, reason))


class Workbench:
    """Makes and measures releases of one original.

    Parameters
    ----------
    original
        The original table.
    question
        What is measured.
    """

    def __init__(self, original: Table, question: Question) -> None:
        question.check(original)
        self.original = original
        self.question = question
        self.judged = judge(original)
        self.vulnerable: dict[str, list[int]] = {}
        self.stopped = threading.Event()

    def measure(self, setting: Setting, seeds: Sequence[int]) -> Point:
        """Make one release per seed and measure it."""
        proper = bool(setting.options.get("proper"))
        model = self._fit(self.original, setting, seeds[0])
        found: list[_Found] = []
        records: tuple[Step, ...] = ()
        for number, seed in enumerate(seeds):
            again = proper and number > 0
            drawn = self._fit(self.original, setting, seed) if again else replace(model, seed=seed)
            if self.stopped.is_set():
                raise CaveatError("it was stopped", where=str(setting))
            try:
                made = self._release(self.original, drawn, setting)
            except CaveatError as error:  # a filter that leaves nothing, say: others may do
                found.append(_Found.nothing(self.question.measures, str(error)))
                continue
            records = records or tuple(made.steps)
            found.append(self._values(made, setting, seed))
        return Point(
            setting,
            tuple(each.values for each in found),
            records,
            {k: v for each in found for k, v in each.reasons.items()},
            tuple(each.errors for each in found),
            {k: v for each in found for k, v in each.how.items()},
        )

    def _fit(self, original: Table, setting: Setting, seed: int) -> Model:
        # Worlds are as large as the original: whether that is enough was asked before.
        options = self._options(setting)
        return Synthesizer(seed=seed, threads=1, anyway=True, **options).fit(original)

    def _options(self, setting: Setting) -> dict[str, Any]:
        """Return the options of a setting, with the judgement of the whole table for all worlds."""
        return {"judged": self.judged, **setting.options}

    def _release(self, original: Table, model: Model, setting: Setting) -> Made:
        drawn = model.tables(threads=1)[0]
        release, steps = protected(drawn, model, setting.protect, original, model.seed)
        return Made(drawn, release, self._options(setting), setting.protect, steps)

    def again(self, setting: Setting, world: Table) -> Callable[[int], Table]:
        """Return what makes releases of a setting in another world."""
        refit = bool(setting.options.get("proper")) or setting.options.get("method") == "forest"
        model = self._fit(world, setting, 0)

        def release(seed: int) -> Table:
            own = self._fit(world, setting, seed) if refit else replace(model, seed=seed)
            return self._release(world, own, setting).release

        return release

    def _values(self, made: Made, setting: Setting, seed: int) -> _Found:
        question, found = self.question, _Found()
        values, release = found.values, made.release
        if risks := question.of_kind("risk"):
            values |= self._risks(release, risks)
        if utilities := question.of_kind("utility"):
            weights = setting.options.get("weights") or None
            compared = compare(
                self.original,
                release,
                measures=utilities,
                models=question.models,
                resamples=0,
                weights=weights,
            )
            for name in utilities:
                numbers = [r.value for r in compared.results if r.measure.name == name]
                values[name] = max(numbers, key=lambda v: badness(name, v), default=None)
        if attacks := question.of_kind("attack"):
            self._attack(made, setting, attacks, seed, found)
        for name in question.measures:
            if values[name] is None:
                found.reasons.setdefault(name, "it has no value for this release")
        return found

    def _risks(self, release: Table, names: Sequence[str]) -> Values:
        question = self.question
        found = audit(
            self.original,
            release,
            keys=question.keys,
            targets=question.targets,
            measures=names,
            **question.circumstances,
        )
        values: Values = {}
        for name in names:
            numbers = [row.result.value for row in found.rows if row.measure == name]
            values[name] = max(numbers, key=lambda v: badness(name, v))
        return values

    def _attack(
        self, made: Made, setting: Setting, names: Sequence[str], seed: int, found: _Found
    ) -> None:
        """Run the strong attacker on each record; the worst counts."""
        question = self.question
        attack = Attack(
            question.unknown, question.prior, question.simulations, child_seed(seed, ATTACK)
        )
        try:
            result = attack_release(
                self.original, made, self._records(setting), partial(self.again, setting), attack
            )
        except CaveatError as error:
            found.values.update(dict.fromkeys(names))
            found.reasons.update(dict.fromkeys(names, str(error)))
            return
        found.values.update({name: result.values[name] for name in names})
        found.errors.update({n: e for n, e in result.errors.items() if n in names})
        if result.how:
            found.how.update(dict.fromkeys(names, result.how))

    def _records(self, setting: Setting) -> Sequence[int]:
        records = self.question.records
        if records == "all":
            columns = list(self.original.columns.values())
            (cells,), _ = key_cells([[c.codes for c in columns]], [c.n_levels for c in columns])
            return [int(i) for i in np.unique(cells, return_index=True)[1]]
        if isinstance(records, int):
            if setting.key not in self.vulnerable:  # the same for all seeds
                first = vulnerable(
                    self.original,
                    keys=self.question.keys or None,
                    generator=self._options(setting),
                ).first(records)
                self.vulnerable[setting.key] = [int(i) for i in first]
            return self.vulnerable[setting.key]
        return records


def protected(
    drawn: Table, model: Model, steps: Sequence[Mapping[str, Any]], original: Table, seed: int
) -> tuple[Table, tuple[Step, ...]]:
    """Apply protections to what a model has drawn; fresh records for a filter come from it too."""

    def refill(n: int, number: int) -> Table:
        fresh = replace(model, seed=child_seed(seed, REFILL, number))
        return fresh.tables(n, threads=1)[0]

    # What is not released cannot be compared with what is.
    shared = original.select([name for name in original if name in drawn])
    return protect(drawn, steps, Surroundings(shared, seed, refill, SMOOTHINGS))


def child_seed(seed: int, *key: int) -> int:
    """Return the seed of one part of the work."""
    return int(np.random.SeedSequence(seed, spawn_key=key).generate_state(1, np.uint64)[0] >> 1)


def measure_settings(
    bench: Workbench,
    work: Sequence[tuple[Setting, Sequence[int]]],
    threads: int | None = None,
    done: Callable[[Point, Sequence[int]], None] | None = None,
) -> None:
    """Measure settings at the same time and hand each point over as soon as it is ready."""
    pool = ThreadPoolExecutor(threads or os.cpu_count() or 1)
    try:
        futures = {pool.submit(bench.measure, s, seeds): seeds for s, seeds in work if seeds}
        for future in as_completed(futures):
            if done is not None:
                done(future.result(), futures[future])
    except BaseException:
        bench.stopped.set()  # settings under way end with the release that they are at
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
