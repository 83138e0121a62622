"""``caveat benchmark``: generators on one split, resumable; each trial is measured and metered."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from caveat import __version__, evidence
from caveat.attack.strong import JUDGED
from caveat.cluster import Workers, workers_of
from caveat.cluster.workers import Kept
from caveat.documents import Shape, path_below
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence.file import EVIDENCE, INSIDE
from caveat.generators import Copy, Generator, generator_of
from caveat.generators.contract import REFERENCES
from caveat.generators.ours import FittedSetting, idle_options
from caveat.generators.process import FittedProcess, Limits
from caveat.notes import Note
from caveat.release.collect import Steps, entries_of, refusal
from caveat.release.content import described_inputs, software
from caveat.release.folder import release_folder, sha256_of, write_manifest
from caveat.release.material import Material, hold_out
from caveat.release.run import Run, seconds_of
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.spec.data_entries import folder_to_write
from caveat.spec.draft_spec import (
    BenchmarkSpec,
    GeneratorSpec,
    commands_of,
    draft_files,
    refuse_commands,
    with_plan,
)
from caveat.stopping import Progress
from caveat.synthesis.methods import METHODS
from caveat.table import Table, drafts
from caveat.table.drafts import make_folder, write_text
from caveat.table.identifying import Judgement, Output, judge

T = TypeVar("T")
MEGABYTE = 1e6
PAUSE = 0.02  # seconds between two looks at the memory


@dataclass(frozen=True)
class Cost:
    """What it took to fit a generator and to draw its copies.

    Parameters
    ----------
    cpu, wall
        Seconds of processor time, all threads and child processes together; seconds that passed.
    megabytes
        The most memory beyond what was taken before; None where the system does not tell.
    """

    cpu: float
    wall: float
    megabytes: float | None


def measured(work: Callable[[], T]) -> tuple[T, Cost]:
    """Do some work and say what it took."""
    before, start, cpu = _resident(), time.perf_counter(), _cpu()
    highest, ended = before or 0, threading.Event()

    def watch() -> None:
        nonlocal highest
        while not ended.wait(PAUSE):
            highest = max(highest, _resident() or 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        result = work()
    finally:
        ended.set()
        watcher.join()
    more = None if before is None else (max(highest, _resident() or 0) - before) / MEGABYTE
    return result, Cost(_cpu() - cpu, time.perf_counter() - start, more)


def _cpu() -> float:
    return sum(os.times()[:4])  # user and system, of this process and of its children


def _resident() -> int | None:
    """Return the bytes of this process in memory, where the system tells."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


# -------------------------------------------------------------------------------------------------
# One generator and one seed: fitted, drawn, attacked, measured; or the reason why not.


TRIAL = f"{INSIDE}/trial.json"
OTHERS = "this is not Caveat's own generator: only its tables are known, so nothing is exact"
ONCE = Note("simulated-once", "its releases are simulated once, with the first fit", public=True)
MEASURED = "it describes a fit to the original records"
_AMOUNT = {"type": "number", "minimum": 0}
_COSTS = {"cpu": _AMOUNT, "wall": _AMOUNT, "megabytes": {"type": ["number", "null"]}}
_COST = {
    "type": ["object", "null"],
    "required": list(_COSTS),
    "properties": _COSTS,
    "additionalProperties": False,
}
EARLIER = Shape(
    {
        "type": "object",
        "required": ["key", "failed", "seeded", "cost"],
        "properties": {
            "key": {"type": "string"},
            "failed": {"type": ["string", "null"]},
            "seeded": {"type": ["boolean", "null"]},
            "cost": _COST,
        },
        "if": {"properties": {"failed": {"type": "null"}}},
        "then": {"properties": {"cost": {"type": "object"}}},
    },
    "this is no trial of a benchmark",
    "carry it out again",
)
"""The form of the file that a trial leaves."""
SHARED = ("release", "data", "columns", "synthesis", "scenario", "utility")


@dataclass(frozen=True)
class Split:
    """The data as all generators get them.

    Parameters
    ----------
    original
        The whole table.
    rows, fitted, control
        Positions of the records that are fitted, these records, and those held out.
    released
        The columns that a generator is to make.
    judged
        What was found about columns that name people.
    """

    original: Table
    rows: NDArray[np.int64]
    fitted: Table
    control: Table | None
    released: tuple[str, ...]
    judged: Mapping[str, Judgement]

    __repr__ = without_values


@dataclass(frozen=True)
class Trial:
    """How one fit ended.

    Parameters
    ----------
    folder
        Name of its folder.
    failed
        Why there is no table; None if there is.
    seeded
        Whether the same seed gives the same tables.
    cost
        What it took.
    evidence
        What was measured; None if it failed.
    advice
        What to do about a failure; it may name files of this machine.
    """

    folder: str
    failed: str | None
    seeded: bool | None
    cost: Cost | None
    evidence: Mapping[str, Any] | None = None
    advice: str | None = None


def key_of(spec: BenchmarkSpec, entry: GeneratorSpec, number: int) -> str:
    """Return what tells whether a trial that is there is the one that is asked for."""
    content = spec.release.document.content
    files = draft_files(entry.name, spec.release.document.path.parent)
    asked = {
        "caveat": __version__,
        "data": sha256_of(spec.release.data.path),
        "shared": {name: content.get(name) for name in SHARED},
        "limits": [spec.minutes, spec.gigabytes],
        "generator": [entry.name, entry.settings, *map(sha256_of, files)],
        "number": number,
    }
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()


def read_trial(folder: Path, key: str) -> Trial | None:
    """Return a trial that ended well earlier; None if it has to be carried out."""
    from caveat import evidence

    try:
        found = EARLIER.read(path_below(folder, TRIAL, plain=False))
        if found["key"] != key or found["failed"] is not None:
            return None
        content = evidence.read(path_below(folder, EVIDENCE, plain=False))
        return Trial(folder.name, None, found["seeded"], Cost(**found["cost"]), content)
    except (OSError, CaveatError):
        return None


def _is_ours(entry: GeneratorSpec) -> bool:
    named = entry.name in METHODS and entry.name not in REFERENCES
    return named and "command" not in entry.settings


def generator_for(
    entry: GeneratorSpec, spec: BenchmarkSpec, split: Split, commands: Sequence[str] = ()
) -> Generator:
    """Return a generator; ours take over what the specification says about the synthesis.

    Only a command line that is among ``commands`` may be started.
    """
    settings = dict(entry.settings)
    if _is_ours(entry):
        given = {**spec.release.synthesis, "method": entry.name}
        # What is said about one method is nothing to another.
        idle = {"method", *idle_options(given)}
        shared = {name: value for name, value in given.items() if name not in idle}
        settings = {**shared, "judged": split.judged, **settings}
    limits = Limits(60 * spec.minutes, 1000 * spec.gigabytes)
    folder = spec.release.document.path.parent
    named = with_plan(entry.name, settings, folder)
    return generator_of(*named, limits, allow_command=entry.command in commands)


def carry_out(
    spec: BenchmarkSpec,
    entry: GeneratorSpec,
    number: int,
    split: Split,
    seed: int,
    folder: Path,
    *,
    commands: Sequence[str],
    threads: int | None,
    progress: Progress | None,
) -> Trial:
    """Fit, draw and measure; the folder holds the tables and the evidence, or the reason."""
    with release_folder(folder, force=True) as (draft, _):
        own = child_seed(seed, Stream.FITS, number)
        trial = _Trial(spec, entry, number, split, own, draft, commands, threads, progress)
        found = trial.run()
        content = {
            "key": key_of(spec, entry, number),
            "failed": found.failed,
            "advice": found.advice,
            "seeded": found.seeded,
            "cost": None if found.cost is None else asdict(found.cost),
        }
        if found.failed is not None:  # nothing half written stays
            shutil.rmtree(draft)
            (draft / INSIDE).mkdir(mode=0o700, parents=True)
        (draft / TRIAL).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        outputs = trial.outputs if found.failed is None else ()
        write_manifest(draft, [*outputs, Output(TRIAL, inside=MEASURED)], trial.notice)
    return replace(found, folder=folder.name)


@dataclass
class _Trial:
    """A trial while it goes on."""

    spec: BenchmarkSpec
    entry: GeneratorSpec
    number: int
    split: Split
    seed: int
    draft: Path
    commands: Sequence[str]
    threads: int | None
    progress: Progress | None
    outputs: Sequence[Output] = ()  # what the run has written
    notice: str = ""

    def run(self) -> Trial:
        generator = None
        try:
            generator = generator_for(self.entry, self.spec, self.split, self.commands)
            (material, theirs), cost = measured(lambda: self._made(generator))
            if theirs is not None:
                cost = replace(cost, megabytes=theirs)
            material = replace(material, not_simulated=self._not_simulated(cost))
            return Trial("", None, generator.is_seeded, cost, self._measured(material))
        except CaveatError as error:
            # A generator that fails is a row of the table, not the end of the benchmark.
            seeded = None if generator is None else generator.is_seeded
            return Trial("", refusal(error), seeded, None, advice=error.do)

    def _made(self, generator: Generator) -> tuple[Material, float | None]:
        """Return the tables, and the megabytes of the process that made them, if another did."""
        split = self.split
        rows, number = self.spec.release.rows_of(split.fitted), self.spec.release.release.copies
        assert rows != "population"  # a benchmark has no groups
        # Ours may need columns that are not released: weights, or what others are derived from.
        table = split.fitted if _is_ours(self.entry) else split.fitted.select(split.released)
        fitted = generator.fit(table, self.seed)
        copies: tuple[Copy, ...] = ()
        if isinstance(fitted, FittedSetting):
            drawn = fitted.draw(rows, number)
            copies = tuple(fitted.protect(each, i) for i, each in enumerate(drawn))
            releases = [copy.release for copy in copies]
        else:
            releases = fitted.sample(rows, number)
        model = fitted.model if isinstance(fitted, FittedSetting) else None
        theirs = fitted.usage[-1].peak_megabytes if isinstance(fitted, FittedProcess) else None
        material = Material(
            split.original, split.rows, split.fitted, split.control, tuple(releases), self.seed,
            model, copies, generator,
        )  # fmt: skip
        return material, theirs

    def _not_simulated(self, cost: Cost) -> Note | None:
        """Say why the attacker who runs the generator again and again is left out, if she is."""
        if self.number > 1:
            return ONCE
        asked = [s for s in self.spec.release.scenarios if s.attacker == "simulated"]
        runs = sum(s.simulations * (s.most + 1) for s in asked)
        if runs * cost.wall <= 60 * self.spec.minutes:
            return None
        says = "{runs} runs of about {seconds:.0f} seconds are more than the {minutes:g} minutes"
        return Note(
            "too-many-runs", f"{says} allowed", runs=runs, seconds=cost.wall,
            minutes=self.spec.minutes,
        )  # fmt: skip

    def _measured(self, material: Material) -> dict[str, Any]:
        steps = Steps(seconds_of(self.spec.release, "audit"), self.progress)
        run = Run(self.spec.release, self.draft, self.threads, steps)
        remarks = [f"made by {self.entry.label} in a benchmark"]
        if material.model is None:
            remarks.append(OTHERS)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CaveatWarning)
            content = run.measure(material, self.split.judged, remarks)
            run.write(content, caught, "")
        self.outputs, self.notice = run.outputs, run.notice
        return content


# -------------------------------------------------------------------------------------------------
# ``caveat benchmark``: generators on one split, resumable, with one page at the end.


FORMAT = 1
# Of a measurement of risk, as the evidence has it.
TAKEN = ("measure", "label", "target", "copy", "value", "interval", "baseline", "control")
RESULT, PAGE = "benchmark.json", "benchmark.html"


@dataclass(frozen=True)
class Comparison:
    """What a benchmark leaves.

    Parameters
    ----------
    folder
        Where everything is.
    content
        What ``benchmark.json`` holds.
    """

    folder: Path
    content: Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """Generators that can be compared.

    Parameters
    ----------
    spec
        The specification.
    """

    spec: BenchmarkSpec

    @classmethod
    def from_toml(cls, path: str | Path) -> Benchmark:
        """Read the specification; the data are read by the run."""
        return cls(BenchmarkSpec.from_toml(path))

    def run(
        self,
        folder: str | Path | None = None,
        *,
        force: bool = False,
        allow_command: bool = False,
        threads: int | None = None,
        cluster: Any = None,
        date: str | None = None,
        progress: Progress | None = None,
    ) -> Comparison:
        """Carry out the trials that are not there yet, and write the comparison of all.

        Parameters
        ----------
        folder
            Where it goes; ``[output]`` says it otherwise. Each trial has a folder in it, and what
            an earlier run has left there is taken as it is if nothing that matters has changed.
        force
            Whether everything is carried out again.
        allow_command
            Whether commands that the specification names (``settings.command``) may be started.
            They get the confidential data: read them first.
        threads
            Threads; all cores by default. The result does not depend on it.
        cluster
            Who carries the trials out: as for :meth:`caveat.Synthesizer.fit`. All workers must see
            the specification, the data and the folder. The tables do not depend on it.
        date
            The date on the page; none otherwise.
        progress
            Hears of the trials.
        """
        spec, release = self.spec, self.spec.release
        target = folder_to_write(release.document, release.output, folder)
        if not allow_command:
            refuse_commands(release.document)
        commands = commands_of(spec.generators) if allow_command else ()
        _check_folder(target)
        split, seed = self._split()
        make_folder(target, confidential=True)
        work = [(n, i) for n in range(len(spec.generators)) for i in range(1, spec.seeds + 1)]
        found = {item: None if force else self._earlier(target, *item) for item in work}
        todo = [item for item in work if found[item] is None]
        told = _Told(progress, [spec.generators[n].label for n, _ in todo], len(work))
        with workers_of(cluster) as workers:
            carried = self._here(todo, split, seed, target, commands, threads, told)
            if workers is not None:
                carried = self._on(workers, todo, target, commands, told)
            found |= dict(zip(todo, carried, strict=True))
        trials: dict[str, list[Trial]] = {}
        for (n, _), trial in found.items():
            assert trial is not None
            trials.setdefault(spec.generators[n].label, []).append(trial)
        content = self._content(split, trials)
        _write(target, content, date)
        return Comparison(target, content)

    def _at(self, target: Path, n: int, i: int) -> Path:
        return target / f"{self.spec.generators[n].slug}-{i}"

    def _earlier(self, target: Path, n: int, i: int) -> Trial | None:
        return read_trial(self._at(target, n, i), key_of(self.spec, self.spec.generators[n], i))

    def _here(
        self,
        todo: Sequence[tuple[int, int]],
        split: Split,
        seed: int,
        target: Path,
        commands: Sequence[str],
        threads: int | None,
        told: _Told,
    ) -> Iterator[Trial]:
        for n, i in todo:
            yield carry_out(
                self.spec, self.spec.generators[n], i, split, seed, self._at(target, n, i),
                commands=commands, threads=threads, progress=told.next(),
            )  # fmt: skip

    def _on(
        self,
        workers: Workers,
        todo: Sequence[tuple[int, int]],
        target: Path,
        commands: Sequence[str],
        told: _Told,
    ) -> Iterator[Trial]:
        """Let workers carry trials out: each reads the specification and the data itself."""
        workers.check(target)
        path = str(self.spec.release.document.path.absolute())
        # A worker reads the specification again, and starts no other command than was allowed.
        items = [(path, str(target.absolute()), *item, tuple(commands)) for item in todo]
        try:
            for trial in workers.map(one_trial, items):
                told.next()
                at = target / trial.folder / EVIDENCE
                yield trial if trial.failed else replace(trial, evidence=evidence.read(at))
        finally:
            with suppress(CaveatError):  # whoever is lost has forgotten it too
                workers.everywhere(forget_split, path)

    def _split(self) -> tuple[Split, int]:
        release = self.spec.release
        table = release.read_data()
        judged = judge(table)
        plan = release.check(table)
        assert plan is not None  # it is made for tables that are synthesised here
        out = {n for n, e in plan.columns.items() if e.settings.method == "drop"}
        released = tuple(n for n in table if n in plan.columns and n not in {*out, plan.weights})
        # One seed for all, so that every generator sees the same records; it has to be said to be
        # known when the benchmark goes on later.
        seed = release.release.seed
        if seed is None:
            release.document.fail(
                ("release",), "a benchmark needs a seed, or it could not be resumed",
                "add seed = 1 to [release]; the tables of a benchmark are trials, not releases",
                code="spec.entry.absent",
            )  # fmt: skip
        held = hold_out(table, release.release.held_out(table.n_rows), seed)
        return Split(table, *held, released, judged), seed

    def _content(self, split: Split, trials: Mapping[str, Sequence[Trial]]) -> dict[str, Any]:
        spec, release = self.spec, self.spec.release
        generators = [_generator(entry, trials[entry.label]) for entry in spec.generators]
        names = [v["measure"] for g in generators for t in g["trials"] for v in t["values"]]
        return {
            "format": FORMAT,
            "title": release.release.title,
            "software": software(),
            "inputs": described_inputs(release, split.original),
            "fitted_rows": split.fitted.n_rows,
            "control_rows": 0 if split.control is None else split.control.n_rows,
            "columns": list(split.released),
            "copies": release.release.copies,
            "seeds": spec.seeds,
            "measures": entries_of(names),
            "scenarios": [
                {"name": s.name, "attacker": s.attacker, "keys": list(s.keys)}
                for s in release.scenarios
            ],
            "risk": spec.risk,
            "utility": spec.utility,
            "generators": generators,
        }


def _generator(entry: GeneratorSpec, trials: Sequence[Trial]) -> dict[str, Any]:
    return {
        "label": entry.label,
        "name": entry.name,
        "settings": dict(entry.settings),
        "seeded": next((t.seeded for t in trials if t.seeded is not None), None),
        "trials": [
            {
                "folder": trial.folder,
                "failed": trial.failed,
                "advice": trial.advice,
                "cost": None if trial.cost is None else asdict(trial.cost),
                "values": [] if trial.evidence is None else _values(trial.evidence),
                "rules": [] if trial.evidence is None else trial.evidence["utility"]["rules"],
            }
            for trial in trials
        ],
    }


def _values(content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what was measured, one entry a number; the evidence itself stays in its folder."""
    found = [
        {
            "scenario": scenario["name"],
            **{name: m.get(name) for name in TAKEN},
            "why": [note["text"] for note in m["notes"]] if m["value"] is None else [],
        }
        for scenario in content["scenarios"]
        for m in scenario["measurements"]
        if scenario["attacker"] != "simulated" or m["label"] in ("", *JUDGED)
    ]
    for m in content["utility"]["measurements"]:
        values = m["copies"] or [m["value"]]
        found += [
            {"scenario": None, "measure": m["measure"], "label": m["label"], "target": m["model"],
             "copy": i, "value": value, "interval": None, "baseline": m["resample"],
             "control": m["control"], "why": []}
            for i, value in enumerate(values, 1)
        ]  # fmt: skip
    return found


def _check_folder(target: Path) -> None:
    """Refuse a folder of something else before any work is done."""
    there = target.iterdir() if target.is_dir() else ()
    # What a killed run has left is cleared up by the next one.
    held = [path for path in there if not path.name.startswith(drafts.PREFIX)]
    if held and not _is_benchmark(target):
        raise CaveatError(
            "the folder holds something that no benchmark has written",
            where=str(target),
            do="choose another folder",
            code="benchmark.folder.exists",
        )
    if target.exists() and not target.is_dir():
        raise CaveatError(
            "the output is a file, not a folder", where=str(target), code="benchmark.folder.type"
        )


def _is_benchmark(target: Path) -> bool:
    return (target / RESULT).exists() or any(target.glob("*/trial.json"))


class _Told:
    """Says which trial is carried out, and how far all are."""

    def __init__(self, tell: Progress | None, labels: Sequence[str], n: int) -> None:
        self.tell = tell
        self.left = iter(labels)
        self.place, self.n = n - len(labels), n

    def next(self) -> Progress | None:
        """Go on to the next trial; return what hears of its steps."""
        label, place, tell, n = next(self.left), self.place, self.tell, self.n
        self.place += 1
        if tell is None:
            return None
        tell(label, place / n)
        return lambda step, share: tell(f"{label}: {step}", (place + share) / n)


def _opened(path: str) -> tuple[Benchmark, Split, int]:
    benchmark = Benchmark.from_toml(path)
    return benchmark, *benchmark._split()


_SPLIT = Kept(_opened)


def one_trial(item: tuple[str, str, int, int, tuple[str, ...]]) -> Trial:
    """Carry one trial out: the task of a worker. What it has measured is in the trial's folder."""
    path, target, n, i, commands = item
    benchmark, split, seed = _SPLIT.of(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        trial = carry_out(
            benchmark.spec, benchmark.spec.generators[n], i, split, seed,
            benchmark._at(Path(target), n, i), commands=commands, threads=1, progress=None,
        )  # fmt: skip
    return replace(trial, evidence=None)


def forget_split(path: str) -> None:
    """Let a worker forget the data of a benchmark."""
    _SPLIT.forget(path)


def _write(target: Path, content: dict[str, Any], date: str | None) -> None:
    from caveat.report.benchmark import benchmark_page  # the charts' library takes long to load

    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False, default=str) + "\n"
    write_text(target / RESULT, text, confidential=True, force=True)
    write_text(target / PAGE, benchmark_page(content, date=date), confidential=True, force=True)
