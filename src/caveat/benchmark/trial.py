"""One generator and one seed: fitted, drawn, attacked, measured; or the reason why not."""

from __future__ import annotations

import hashlib
import json
import shutil
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat import __version__
from caveat.benchmark.meter import Cost, measured
from caveat.discreet import without_values
from caveat.documents import Shape, path_below
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence.manifest import EVIDENCE, INSIDE
from caveat.generators import Copy, Generator, generator_of
from caveat.generators.child import Limits
from caveat.generators.ours import FittedSetting, idle_options
from caveat.generators.process import FittedProcess
from caveat.generators.reference import REFERENCES
from caveat.notes import Note
from caveat.progress import Progress
from caveat.release.collect import refusal
from caveat.release.folder import release_folder, sha256_of, write_manifest
from caveat.release.material import Material
from caveat.release.run import Run, seconds_of
from caveat.release.steps import Steps
from caveat.seeds import Stream, child_seed
from caveat.spec.draft_spec import BenchmarkSpec, GeneratorSpec, draft_files, with_plan
from caveat.synthesis.methods import METHODS
from caveat.table import Table
from caveat.table.identifying import Judgement, Output

__all__ = ["TRIAL", "Split", "Trial", "carry_out", "generator_for", "key_of", "read_trial"]

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
