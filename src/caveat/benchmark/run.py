"""``caveat benchmark``: generators on one split, resumable, with one page at the end."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from caveat import evidence
from caveat.attack.by_simulation import JUDGED
from caveat.benchmark.trial import Split, Trial, carry_out, key_of, read_trial
from caveat.cluster import Workers, workers_of
from caveat.cluster.sharing import Kept
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence.manifest import EVIDENCE
from caveat.progress import Progress
from caveat.release.collect import entries_of
from caveat.release.content import described_inputs, software
from caveat.release.material import hold_out
from caveat.spec.data_entries import folder_to_write
from caveat.spec.draft_spec import (
    BenchmarkSpec,
    GeneratorSpec,
    commands_of,
    refuse_commands,
)
from caveat.table import drafts
from caveat.table.drafts import make_folder, write_text
from caveat.table.identifying import judge

__all__ = ["Benchmark", "Comparison"]

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
