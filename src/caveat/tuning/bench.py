"""A workbench that makes releases of one original and measures them on all records."""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from caveat.attack import Attributes, attributes, membership, vulnerable
from caveat.attack.adjacent import is_guarded
from caveat.attack.figures import gain_of, share_of, worst_of
from caveat.attack.figures import members_of as number_of_members
from caveat.attack.posterior import drawn_columns
from caveat.attack.strong import BEFORE, StrongAttacker, attack_release
from caveat.cluster import Workers, workers_now
from caveat.cluster.workers import Kept, shared_folder
from caveat.errors import CaveatError, CaveatWarning
from caveat.generators import Copy, Setting
from caveat.generators.ours import pooled_by
from caveat.notes import Note
from caveat.protect.record import Step
from caveat.risk import MEASURES as RISKS
from caveat.risk import audit_pairs
from caveat.risk.measure import Measurement
from caveat.seeds import Stream, child_seed
from caveat.spec.limits import STRONGEST, Limit, Question, kind_of
from caveat.synthesis.linked.model import GroupPlan
from caveat.table import Pair, Table, align_copies
from caveat.table.cells import key_cells
from caveat.table.code_files import open_code_files, write_code_files
from caveat.table.identifying import judge
from caveat.table.linked import members_of
from caveat.utility import BEST, compare_pairs
from caveat.utility.pair import PairGroups, weights_apart

SUMMED = {"strongShare": share_of, "strongWorst": worst_of, "strongGain": gain_of}


class Everyone:
    """What the strong attacker learns about every record of one release.

    Parameters
    ----------
    original
        The original table.
    copy
        The release.
    question
        What she is after, and which records; a number of the most vulnerable ones stands for all.
    """

    def __init__(self, original: Table, copy: Copy, question: Question) -> None:
        self.original, self.copy, self.question = original, copy, question
        self.found: dict[str, Attributes] = {}
        self.results: dict[str, list[Measurement]] = {}

    @property
    def how(self) -> tuple[Note, ...]:
        """How the values are to be read, where the release was protected after it was drawn."""
        return (BEFORE,) if any(step.name != "label" for step in self.copy.steps) else ()

    def takes(self, name: str) -> bool:
        """Whether a measure is to be found here and not record by record."""
        if name not in STRONGEST:
            return True
        question = self.question
        cheap = is_guarded(self.copy.row_plan) or question.records == "all"
        alone = question.unknown is not None and len(question.unknown) == 1
        return cheap and alone and isinstance(question.prior, str) and self._obstacle() is None

    def values(self, names: Sequence[str]) -> Mapping[str, float | None]:
        """Return the values of measures; the worst over the targets counts."""
        obstacle = self._obstacle()
        if obstacle is not None:
            raise CaveatError(
                f"no exact likelihood: {obstacle}", code="attack.likelihood.unsupported"
            )
        return {name: self._value(name) for name in names}

    def _obstacle(self) -> str | None:
        """Say why the release has no known probability; None if it has one."""
        drawn = drawn_columns(self.copy.row_plan)
        if drawn:
            return f"the parameters of the models are drawn (column {drawn[0]})"
        reading = [step.name for step in self.copy.steps if step.reads_original]
        return f"{reading[0]} looks at the original" if reading else None

    def _value(self, name: str) -> float | None:
        question, plan = self.question, self.copy.row_plan
        if name == "membershipShare":
            records = self._records()
            found = membership(
                self.original, self.copy.drawn, generator=plan, records=records, threads=1
            )
            self.results[name] = [number_of_members(found)]
            return self.results[name][0].value
        if name in STRONGEST:
            (target,) = question.unknown or ()
            attacked = self._attributes(target)
            chosen = attacked.probability if name == "posterior" else attacked.gain
            return float(np.max(chosen))
        self.results[name] = [SUMMED[name](self._attributes(each)) for each in question.sought]
        values = [result.value for result in self.results[name]]
        return None if None in values else max(v for v in values if v is not None)

    def _attributes(self, target: str) -> Attributes:
        prior = self.question.prior
        if not isinstance(prior, str):
            raise CaveatError(
                "a prior in numbers is for one record",
                do="name a prior",
                code="attack.setting.type",
            )
        if target not in self.found:
            self.found[target] = attributes(
                self.original, self.copy.drawn, target, generator=self.copy.row_plan,
                records=self._records(), prior=prior, threads=1,
            )  # fmt: skip
        return self.found[target]

    def _records(self) -> Sequence[int] | None:
        records = self.question.records
        return records if isinstance(records, tuple) else None


# -------------------------------------------------------------------------------------------------
# A workbench that makes releases of one original and measures them.


Values = dict[str, float | None]


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
    rises
        For each seed by how much values exceed their baselines, the largest over the targets.
    """

    setting: Setting
    values: tuple[Values, ...]
    steps: tuple[Step, ...] = ()
    reasons: Mapping[str, str] = field(default_factory=dict)
    errors: tuple[Mapping[str, float], ...] = ()
    how: Mapping[str, str] = field(default_factory=dict)
    rises: tuple[Mapping[str, float], ...] = ()

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

    def excess(self, limit: Limit) -> float:
        """Return by how much the worst seed breaks a limit, relative to it; 0 if none does."""
        rises = self.rises or ({},) * len(self.values)
        return max(
            limit.excess(value, rise.get(limit.measure))
            for value, rise in zip(self.cautious(limit.measure), rises, strict=True)
        )

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
    rises: dict[str, float] = field(default_factory=dict)

    def add_rises(self, measure: str, results: Iterable[Measurement]) -> None:
        """Keep the largest rise of a measure that is shown."""
        rises = [result.rise.shown for result in results if result.rise is not None]
        if rises:
            self.rises[measure] = max(rises)

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
        judged = self._judged(setting)
        first = judged.fit(self.original, seeds[0])
        found: list[_Found] = []
        records: tuple[Step, ...] = ()
        for number, seed in enumerate(seeds):
            again = first.is_drawn and number > 0
            fitted = judged.fit(self.original, seed) if again else first.with_seed(seed)
            if self.stopped.is_set():
                raise CaveatError(
                    "it was stopped", where=str(setting), code="tune.search.interrupted"
                )
            try:
                copy = fitted.protect(fitted.draw()[0])
            except CaveatError as error:  # a filter that leaves nothing, say: others may do
                found.append(_Found.nothing(self.question.measures, str(error)))
                continue
            records = records or tuple(copy.steps)
            found.append(self._values(copy, setting, seed))
        return Point(
            setting,
            tuple(each.values for each in found),
            records,
            {k: v for each in found for k, v in each.reasons.items()},
            tuple(each.errors for each in found),
            {k: v for each in found for k, v in each.how.items()},
            tuple(each.rises for each in found),
        )

    def measure_copy(self, setting: Setting, copy: Copy, seed: int) -> Point:
        """Measure one release that was made with a setting."""
        found = self._values(copy, setting, seed)
        return Point(
            setting, (found.values,), tuple(copy.steps), found.reasons, (found.errors,), found.how,
            (found.rises,),
        )  # fmt: skip

    def _judged(self, setting: Setting) -> Setting:
        """Return a setting with the judgement of the whole table, for all worlds."""
        return replace(setting, options={"judged": self.judged, **setting.options})

    def _values(self, copy: Copy, setting: Setting, seed: int) -> _Found:
        question, found = self.question, _Found()
        values = found.values
        risks, utilities = question.of_kind("risk"), question.of_kind("utility")
        pairs, groups = self._aligned(copy) if risks or utilities else ((), None)
        if risks:
            self._risks(pairs, risks, found)
        if utilities:
            weights = weights_apart(self.original, setting.options.get("weights") or None)[1]
            compared = compare_pairs(
                pairs, measures=utilities, models=question.models, resamples=0, weights=weights,
                groups=groups,
            )  # fmt: skip
            for name in utilities:
                numbers = [r.value for r in compared.results if r.measure.name == name]
                values[name] = max(numbers, key=lambda v: badness(name, v), default=None)
        if attacks := question.of_kind("attack"):
            self._attack(copy, setting, attacks, seed, found)
        for name in question.measures:
            if values[name] is None:
                found.reasons.setdefault(name, "it has no value for this release")
        return found

    def _aligned(self, copy: Copy) -> tuple[tuple[Pair, ...], list[PairGroups] | None]:
        """Return the original with a release, and who belongs together; a key is no data."""
        ours, theirs = pooled_by(copy.plan, self.original), copy.release
        if not isinstance(copy.plan, GroupPlan):
            return align_copies(ours, [theirs]), None
        said = copy.plan.groups
        members = PairGroups(said, *(members_of(table, said.key) for table in (ours, theirs)))
        return align_copies(ours.drop([said.key]), [theirs.drop([said.key])]), [members]

    def _risks(self, pairs: Sequence[Pair], names: Sequence[str], into: _Found) -> None:
        question = self.question
        found = audit_pairs(
            pairs,
            keys=question.keys,
            targets=question.targets,
            measures=names,
            **question.circumstances,
        )
        for name in names:
            results = [row.result for row in found.rows if row.measure == name]
            numbers = [result.value for result in results]
            into.values[name] = max(numbers, key=lambda v: badness(name, v))
            into.add_rises(name, results)

    def _attack(
        self, copy: Copy, setting: Setting, names: Sequence[str], seed: int, found: _Found
    ) -> None:
        """Run the strong attacker on all records at once, or on each; the worst counts."""
        if isinstance(copy.plan, GroupPlan):
            with _reasons(found, names):
                _ = copy.row_plan  # says why there is none
            return
        everyone = Everyone(self.original, copy, self.question)
        at_once = [name for name in names if everyone.takes(name)]
        each = [name for name in names if name not in at_once]
        if at_once:
            with _reasons(found, at_once):
                found.values.update(everyone.values(at_once))
                for name, results in everyone.results.items():
                    found.add_rises(name, results)
                _say_how(found, at_once, everyone.how)
        if each:
            with _reasons(found, each):
                self._attack_each(copy, setting, each, seed, found)

    def _attack_each(
        self, copy: Copy, setting: Setting, names: Sequence[str], seed: int, found: _Found
    ) -> None:
        question = self.question
        attacker = StrongAttacker(
            question.unknown,
            question.prior,
            question.simulations,
            child_seed(seed, Stream.SIMULATED_POSTERIOR),
        )
        result = attack_release(
            self.original, copy, self._records(setting), self._judged(setting).again, attacker
        )
        found.values.update({name: result.values[name] for name in names})
        found.errors.update({n: e for n, e in result.errors.items() if n in names})
        _say_how(found, names, result.how)

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
                    generator=dict(self._judged(setting).options),
                ).first(records)
                self.vulnerable[setting.key] = [int(i) for i in first]
            return self.vulnerable[setting.key]
        return records


@contextmanager
def _reasons(found: _Found, names: Sequence[str]) -> Iterator[None]:
    """Let measures have no value, with the reason, when they cannot be found."""
    try:
        yield
    except CaveatError as error:
        found.values.update(dict.fromkeys(names))
        found.reasons.update(dict.fromkeys(names, str(error)))


def _say_how(found: _Found, names: Sequence[str], how: Sequence[Note]) -> None:
    if how:
        found.how.update(dict.fromkeys(names, "; ".join(how)))


def measure_settings(
    bench: Workbench,
    work: Sequence[tuple[Setting, Sequence[int]]],
    threads: int | None = None,
    done: Callable[[Point, Sequence[int]], None] | None = None,
) -> None:
    """Measure settings at the same time and hand each point over as soon as it is ready."""
    workers = workers_now()
    if workers is not None:
        _measure_on(workers, bench, [(setting, tuple(seeds)) for setting, seeds in work], done)
        return
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


def _measure_on(
    workers: Workers,
    bench: Workbench,
    work: Sequence[tuple[Setting, tuple[int, ...]]],
    done: Callable[[Point, Sequence[int]], None] | None,
) -> None:
    todo = [(setting, seeds) for setting, seeds in work if seeds]
    with shared_folder(workers, forget_bench) as folder:
        write_code_files(bench.original, folder)
        items = [(str(folder), bench.question, *item) for item in todo]
        for (_, seeds), point in zip(todo, workers.map(one_setting, items), strict=True):
            if done is not None:
                done(point, seeds)


_BENCH = Kept(lambda folder: {"table": open_code_files(Path(folder))})


def one_setting(item: tuple[str, Question, Setting, tuple[int, ...]]) -> Point:
    """Measure one setting: the task of a worker."""
    folder, question, setting, seeds = item
    kept = _BENCH.of(folder)
    with _BENCH.lock:
        if "bench" not in kept:  # the question is the same for all settings
            kept["bench"] = Workbench(kept["table"], question)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        point: Point = kept["bench"].measure(setting, seeds)
    return point


def forget_bench(folder: str) -> None:
    """Let a worker forget the table of a folder."""
    _BENCH.forget(folder)
