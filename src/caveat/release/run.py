"""A release from end to end: one specification in, one folder of tables and evidence out."""

from __future__ import annotations

import datetime as dt
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from caveat import evidence
from caveat.attack.paired import fits_needed
from caveat.attack.targets import PER_SECOND, QUICK, STANDARD
from caveat.cluster import Workers, running_on, workers_of
from caveat.cluster.scheduler import work_folder
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence import with_verdict
from caveat.release.again import TOGETHER, check_ledger, entered
from caveat.release.collect import Collected, Signs, Steps, worst_records
from caveat.release.collect_audit import (
    PROMISE,
    collect_audit,
    collect_ordinary,
    collect_promise,
    remarks_on,
)
from caveat.release.collect_strong import ELSEWHERE as NOT_OURS
from caveat.release.collect_strong import collect_simulated, collect_strong
from caveat.release.collect_utility import (
    SETTINGS,
    collect_map,
    collect_settings,
    collect_utility,
    left_out,
    seconds_of_settings,
)
from caveat.release.content import (
    described_inputs,
    described_protection,
    described_release,
    described_scenario,
    described_synthesis,
    measures_used,
    software,
)
from caveat.release.data_dictionary import described_columns, write_dictionaries
from caveat.release.folder import Outcome, arrange, release_folder, sha256_of, write_manifest
from caveat.release.material import (
    Material,
    planned_whole,
    read_original,
    synthesise,
    within_levels,
)
from caveat.seeds import TRIAL, ReleaseKey, is_guessable, key_of, random_root
from caveat.spec.data_entries import folder_to_write
from caveat.spec.scenarios import ScenarioSpec
from caveat.spec.spec import ReleaseSpec
from caveat.stopping import Progress
from caveat.synthesis.margins.guaranteed import write_source
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.seen import release_output
from caveat.table import Table, write
from caveat.table.frames import workplace
from caveat.table.grouping import Groups, found_groups
from caveat.table.identifying import (
    Judgement,
    Output,
    copied_records,
    has_open_vocabulary,
    judge,
    level_texts,
    rare_levels,
)
from caveat.table.source import file_of

__all__ = ["Release", "Run", "seconds_of", "title_of"]

OF_COLUMN = 1_800  # operations of the strong attacker for a record and a column
COLUMNS = 20  # of a file whose first line does not show them
RECORDS = 200  # that a quick run attacks where all are named
SLOW = ("S_pMSE logit", "detection AUC")
"""Measures of utility that a quick run leaves out."""

ELSEWHERE = (
    "the tables were synthesised elsewhere: how is not known, so there is no strong attacker, no "
    "account of the synthesis and no map",
    "whom the synthesis left out is not known: no measure has a control, and control in [release] "
    "is not used",
)

DESCRIBES = "it describes the original records"
SPEC = "it may name levels of the original"
PUBLISHED = "it holds what may be published of the evidence"


@dataclass(frozen=True)
class Release:
    """A release that can be run.

    Parameters
    ----------
    spec
        The specification.
    """

    spec: ReleaseSpec

    @classmethod
    def from_toml(cls, path: str | Path) -> Release:
        """Read the specification; the data are read by the run."""
        return cls(ReleaseSpec.from_toml(path))

    def run(
        self,
        folder: str | Path | None = None,
        *,
        force: bool = False,
        threads: int | None = None,
        cluster: Any = None,
        work: str | Path | None = None,
        only: Literal["audit"] | None = None,
        synthetic: Sequence[str | Path] | None = None,
        date: str | None = None,
        progress: Progress | None = None,
        anyway: bool = False,
        quick: bool = False,
        announce: Callable[[str], None] | None = None,
        key: str | Path | None = None,
    ) -> Outcome:
        """Make the release, attack it, measure it and write the folder, whole or not at all.

        Parameters
        ----------
        folder, force
            Where the release goes, else as ``[output]`` says; whether an earlier one is replaced.
        threads, cluster
            As for :meth:`caveat.Synthesizer.fit`; no result depends on them.
        work
            The folder for working files, and for the original instead of memory.
        only, synthetic, date
            "audit": these tables, or those that ``[data]`` names, are measured. The date on the
            reports, today by default.
        progress, announce
            Receives the steps; receives the plan of the work and its times, when the data are read.
        anyway
            Whether a table is synthesised that is too small to hide anybody.
        quick
            Whether less is measured, within a minute of one core; the tables are the same.
        key
            The file of the secret key, created if there is none; the specification's name with
            the ending .key by default, where a run with a seed and no such file is a trial.
        """
        _check_part(only, synthetic)
        check_ledger(self.spec)
        target = folder_to_write(self.spec.document, self.spec.output, folder)
        read = [*self.spec.inputs, *(synthetic or ())]
        with (
            workers_of(cluster, work_folder(cluster, work, target)) as workers,
            nullcontext() if work is None else workplace(Path(work)) as kept,
            release_folder(target, force=force, inputs=read) as (draft, left),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("always", CaveatWarning)
            run = _run_of(self.spec, draft, threads, progress, key, only, quick)
            run.workers, run.kept = workers, kept
            with run.steps.announced(announce):
                content = run.measured(anyway, synthetic, only)
                with entered(run, content, target):
                    run.write(content, caught, date or dt.date.today().isoformat())
        for remark in left:
            warnings.warn(remark, CaveatWarning, stacklevel=2)
        return Outcome(target, content)


def _check_part(only: str | None, synthetic: Sequence[str | Path] | None) -> None:
    """Refuse a part that no run has, and tables made elsewhere in a run that makes its own."""
    if only not in (None, "audit"):
        raise CaveatError(
            f"there is no part {only!r} of a run",
            where="only",
            do="use 'audit'",
            code="release.setting.unknown",
        )
    if synthetic is not None and only != "audit":
        raise CaveatError(
            "tables that were made elsewhere are audited, not made again",
            where="synthetic",
            do="add --only audit",
            code="release.setting.conflict",
        )


def _run_of(
    spec: ReleaseSpec,
    draft: Path,
    threads: int | None,
    progress: Progress | None,
    key: str | Path | None,
    only: str | None,
    quick: bool,
) -> Run:
    """Return what carries a specification out."""
    made = Run
    if spec.tables:
        from caveat.release.run_tables import TablesRun  # it is a run itself

        made = TablesRun
    spec, left_out = _quick(spec) if quick else (spec, [])
    secret = None if only else key_of(spec.path, spec.release.seed, key)
    steps = Steps(seconds_of(spec, only, quick=quick), progress)
    run = made(spec, draft, threads, steps, secret)
    run.left_out, run.bound = left_out, QUICK if quick else STANDARD
    return run


def _quick(spec: ReleaseSpec) -> tuple[ReleaseSpec, list[str]]:
    """Return a specification that is measured quickly, and what was left out."""
    slow = [s.name for s in spec.scenarios if s.attacker in ("simulated", "ordinary")]
    limited = {limit.measure for limit in spec.utility.limits}
    dropped = [n for n in spec.utility.measures if n in SLOW and n not in limited]
    measures = tuple(n for n in spec.utility.measures if n not in dropped)
    some = [s if s.records != "all" else replace(s, records=RECORDS) for s in spec.scenarios]
    left_out = [f"the scenario {name}" for name in slow]
    left_out += ["the map"] if spec.map is not None else []
    left_out += [f"the measure {name}" for name in dropped]
    also = f"; left out: {', '.join(left_out)}" if left_out else ""
    quick = replace(
        spec,
        scenarios=tuple(s for s in some if s.name not in slow),
        map=None,
        utility=replace(spec.utility, measures=measures),
    )
    return quick, [f"a quick run: fewer records are attacked and compared{also}; run without "
                   "--quick before a decision"]  # fmt: skip


def seconds_of(
    spec: ReleaseSpec,
    only: str | None,
    *,
    quick: bool = False,
    shape: tuple[int, int] | None = None,
) -> dict[str, float]:
    """Return the steps of a run with about the seconds that each takes on a small machine.

    Parameters
    ----------
    spec, only
        The specification, and the part of it.
    quick
        Whether less is measured.
    shape
        Rows and columns of the table, if it has been read; else the size of the file tells.
    """
    rows, columns = shape or _shape(spec)
    cells = rows * columns / 1e6
    wide = rows * columns**2 / 1e6  # millions of cells times columns that each is drawn from
    stages = 7.0 if spec.groups is not None or spec.tables else 1.0  # groups are drawn in several
    bound = QUICK if quick else STANDARD
    seconds = {"read": 0.3 + 0.2 * cells}
    if not only:
        seconds |= {"hold out": 0.1, "fit": 0.1 + 0.5 * cells + 0.003 * stages * wide}
        seconds |= {"draw": 0.1 + 0.3 * cells + 0.002 * stages * wide}
        seconds |= {"protect": 0.1 + len(spec.protect) * (1.0 + cells)}
        seconds |= {PROMISE: 30.0} if is_private(spec.synthesis) else {}
    for scenario in spec.scenarios:
        runs = fits_needed(scenario.simulations, scenario.most)
        targets = len(scenario.targets or ())
        prepared = 3 * (0.1 + 0.003 * stages * wide) * (1 + targets)
        of_members = min(bound.members, OF_COLUMN * cells * 1e6) / PER_SECOND
        of_targets = 0.6 * min(bound.targets, 32 * OF_COLUMN * cells * 1e6) / PER_SECOND
        worlds = of_members + (of_targets if targets else 0.0)
        of_strong = 1.0 + prepared + (worlds if stages == 1 else worlds / 2)
        of_each = {"release": 0.4 + 2.0 * cells, "strong": of_strong, "simulated": 0.2 * runs,
                   "ordinary": 4.0 * len(scenario.attacks)}  # fmt: skip
        seconds[title_of(scenario)] = of_each[scenario.attacker]
    seconds["utility"] = (0.15 if quick else 1.0) * (2.0 + 25.0 * cells + 0.045 * wide)
    seconds |= {} if spec.ledger is None else {TOGETHER: 30.0}
    if spec.map is not None and not only:
        attacks = [seconds[title_of(s)] for s in spec.scenarios if s.name == spec.map.scenario]
        one = 1.0 + 2.0 * cells + sum(attacks)
        seconds["map"] = one * len(spec.map.all_settings(spec.synthesis)) * spec.map.seeds
    if not (only or spec.tables):
        grouped = spec.groups is not None  # they are left out there
        seconds[SETTINGS] = 0.0 if grouped else seconds_of_settings(rows, columns, bound)
    return seconds | {"write": 2.0 + 0.005 * columns}


def _shape(spec: ReleaseSpec) -> tuple[int, int]:
    """Return about how many rows and columns the inputs have: cells hold a few letters each."""
    cells = sum(map(_bytes, spec.inputs)) / 5
    columns = max((_columns(path) for path in spec.inputs), default=1)
    return int(cells / columns), columns


def _columns(path: Path) -> int:
    """Return about how many columns a text file has, by its first line."""
    try:
        with file_of(path).open("rb") as file:
            head = file.readline(1_000_000)
    except OSError:
        return COLUMNS
    found = 1 + max(head.count(sign) for sign in b",;\t|")
    return COLUMNS if b"\0" in head or found < 2 else found


def _bytes(path: Path) -> int:
    """Return the size of a file; a database on a server has none that is seen here."""
    try:
        return file_of(path).stat().st_size
    except OSError:
        return 0


def title_of(scenario: ScenarioSpec) -> str:
    """Return what the step of a scenario is called."""
    return f"scenario: {scenario.name}"


class Run:
    """One run; the folder it writes to is a draft."""

    def __init__(
        self,
        spec: ReleaseSpec,
        draft: Path,
        threads: int | None,
        steps: Steps,
        key: ReleaseKey | None = None,
    ) -> None:
        self.spec = spec
        self.draft = draft
        self.threads = threads
        self.steps = steps
        self.key = key
        self.seed = _root(key, spec.release.seed)
        self.files: list[dict[str, Any]] = []
        self.judged: dict[str, Judgement] = {}
        self.workers: Workers | None = None
        self.kept: Path | None = None  # a folder for the table; in memory without one
        self.outputs: list[Output] = []  # the files that were written
        self.notice = ""  # why none of them may leave
        self.bound = STANDARD
        self.left_out: list[str] = []

    @property
    def quick(self) -> bool:
        """Whether less is measured."""
        return self.bound is QUICK

    def measured(
        self, anyway: bool, synthetic: Sequence[str | Path] | None, only: str | None
    ) -> dict[str, Any]:
        """Return the evidence of the whole run, or of tables that were made elsewhere."""
        content = self.audit(synthetic) if only else self.whole(anyway)
        content["remarks"] = [*self.left_out, *content["remarks"]]
        return content

    def whole(self, anyway: bool) -> dict[str, Any]:
        """Synthesise and measure."""
        self.steps.step("read")
        table = read_original(self.spec, self.kept)
        self.expect(table.n_rows, len(table.names))
        # Of the whole table, before records are held out: a part of a numbering has gaps.
        self.judged = judge(table)
        self.spec = replace(self.spec, synthesis={**self.spec.synthesis, "judged": self.judged})
        self.spec = planned_whole(self.spec, self.spec.check(table))
        with running_on(self.workers):
            material = synthesise(
                self.spec, table, self.seed, self.threads, self.steps.step, anyway
            )
        remarks = [str(note) for note in table.notes]
        if material.control is not None:
            whole = ", whole groups," if material.groups is not None else ""
            remarks.append(
                f"{material.control.n_rows:,} of {table.n_rows:,} records{whole} were drawn at "
                "random and held out before anything was fitted: they are the control"
            )
        return self._content(material, remarks, lambda: self._other_settings(material))

    def expect(self, rows: int, columns: int, only: str | None = None) -> None:
        """Say how long a run takes that has read so many rows and columns."""
        shape = rows, columns
        self.steps.expect(seconds_of(self.spec, only, quick=self.quick, shape=shape))

    def audit(self, synthetic: Sequence[str | Path] | None) -> dict[str, Any]:
        """Measure tables that were made elsewhere."""
        self.steps.step("read")
        table = read_original(self.spec, self.kept)
        self.expect(table.n_rows, len(table.names), "audit")
        releases = tuple(self.spec.read_synthetic(synthetic))
        common = [name for name in table if all(name in other for other in releases)]
        if not common:
            raise CaveatError(
                "the original and the synthetic tables have no column in common",
                where=self.spec.document.where("data"),
                do="check the files",
                code="data.column.mismatch",
            )
        self.judged = judge(table)
        self.spec.check(table, released=common)
        paths = self.spec.data.synthetic if synthetic is None else [Path(p) for p in synthetic]
        for copy, (path, release) in enumerate(zip(paths, releases, strict=True), 1):
            self.list_file(path, path.name, copy, release)
        material = Material(
            table, np.arange(table.n_rows), table, None, releases, self.seed,
            groups=self._groups(table) if self.spec.groups is not None else None,
        )  # fmt: skip
        remarks = [*map(str, table.notes), *ELSEWHERE]
        others = {"map": None, "other_settings": left_out(NOT_OURS)}
        return self._content(material, remarks, lambda: others)

    def _groups(self, table: Table) -> Groups:
        """Return which rows belong together by the specification, checked."""
        assert self.spec.groups is not None
        with self.spec.document.at("groups"):
            return found_groups(table, self.spec.groups)

    @property
    def is_trial(self) -> bool:
        """Whether the tables were drawn here with a seed that has no key."""
        return not self.files and is_guessable(self.seed)

    @property
    def randomness(self) -> dict[str, Any]:
        """What repeats the draws, for the evidence; only the mark of a trial may leave."""
        seed = self.seed if self.key is None else self.spec.release.seed or 0
        key = None if self.key is None else self.key.text
        return {"seed": str(seed), "key": key, "trial": self.is_trial}

    def measure(
        self, material: Material, judged: Mapping[str, Judgement], remarks: list[str]
    ) -> dict[str, Any]:
        """Measure tables that a generator made from the fitted records."""
        self.judged = dict(judged)
        return self._content(material, remarks, lambda: {"map": None})

    def _other_settings(self, material: Material) -> dict[str, Any]:
        """Return the map, if one was asked for, and the settings that every run tries."""
        wanted, found_map = self.spec.map, None
        if wanted is not None:
            ready = self.steps.step("map")
            found_map = collect_map(material, self.spec, wanted, self.threads, ready)
        ready = self.steps.step(SETTINGS)
        others = collect_settings(material, self.spec, self.threads, ready, self.bound)
        return {"map": found_map, "other_settings": others}

    def _content(
        self,
        material: Material,
        remarks: list[str],
        try_others: Callable[[], dict[str, Any]],
    ) -> dict[str, Any]:
        self.material = material
        within = tuple(within_levels(one, material) for one in self.spec.scenarios)
        self.spec = replace(self.spec, scenarios=within)
        promise = collect_promise(self.spec, material, self.threads, self.steps.step)
        scenarios, risky = [], []
        for number, scenario in enumerate(self.spec.scenarios):
            signs = Signs(material, scenario.keys)
            shared = scenario.attacker in ("release", "strong")
            with running_on(self.workers if shared else None):
                found = self._attack(material, scenario, number, signs)
            scenarios.append(described_scenario(scenario, material, found))
            risky.append((found.at_risk, signs))
        utility = collect_utility(material, self.spec, self.steps.step("utility"), quick=self.quick)
        with running_on(self.workers):
            others = try_others()
        return with_verdict({
            "format": evidence.FORMAT,
            "release": described_release(self.spec, material, self.files, self.judged),
            "software": software(),
            "inputs": described_inputs(self.spec, material.original),
            **self.randomness,
            "synthesis": described_synthesis(self.spec, material),
            "protection": described_protection(material),
            **promise,
            "measures": measures_used(scenarios, utility, others),
            "scenarios": scenarios,
            "records_at_risk": worst_records(risky),
            "utility": utility,
            **others,
            "remarks": [*remarks, *remarks_on(promise)],
        })  # fmt: skip

    def _attack(
        self, material: Material, scenario: ScenarioSpec, number: int, signs: Signs
    ) -> Collected:
        done = self.steps.step(title_of(scenario))
        if scenario.attacker == "strong":
            return collect_strong(
                material, self.spec, scenario, number, signs, self.threads, done, self.bound
            )
        if scenario.attacker == "simulated":
            return collect_simulated(material, scenario, number, self.threads, done)
        if scenario.attacker == "ordinary":
            return collect_ordinary(material, scenario, number, done)
        return collect_audit(material, scenario, signs, done)

    def list_file(self, path: Path, name: str, copy: int, table: Table) -> None:
        """Enter a synthetic table in the list of files."""
        self.files.append(
            {
                "name": name,
                "copy": copy,
                "format": path.suffix.lstrip("."),
                "rows": table.n_rows,
                "sha256": sha256_of(path),
            }
        )

    def write(
        self, content: dict[str, Any], caught: Sequence[warnings.WarningMessage], date: str
    ) -> None:
        """Fill the draft folder."""
        self.steps.step("write")
        outputs = [] if self.files else self.write_tables()
        warned = {str(w.message) for w in caught if issubclass(w.category, CaveatWarning)}
        known = content["synthesis"]["remarks"] if content["synthesis"] else []
        content["remarks"] += sorted(warned - set(known))  # threads may warn in any order
        self._text("evidence.json", evidence.text_of(content))
        (self.draft / "release.toml").write_bytes(self.spec.text)
        outputs += [Output("evidence.json", inside=DESCRIBES), Output("release.toml", inside=SPEC)]
        for name, text, secret in reports(content, self.spec.output.reports, date):
            self._text(name, text)
            inside, outside = (DESCRIBES, "") if secret else ("", PUBLISHED)
            outputs.append(Output(name, inside=inside, outside=outside))
        self.notice = TRIAL if content["trial"] else ""
        self.outputs = arrange(self.draft, outputs, self.notice)
        write_manifest(self.draft, self.outputs, self.notice)

    def write_tables(self) -> list[Output]:
        """Write the tables that were made here; return where their columns come from."""
        escape, kept = self.spec.output.escape_formulas, self.spec.text_form
        outputs, title = [], self.spec.release.title
        whole = self._output()
        for copy, table in enumerate(self.material.complete, 1):
            for form in self.spec.output.formats:
                name = f"synthetic-{copy}.{form}"
                # A level that only the dictionary knows would tell that somebody has it.
                write(table.compact(), self.draft / name, escape_formulas=escape, form=kept)
                self.list_file(self.draft / name, name, copy, table)
                outputs.append(replace(whole, name=name))
        model = self.material.model
        tables = write_source(model, self.draft, whole, escape_formulas=escape)
        described = described_columns(self.material)
        # A dictionary lists the levels that were released, of every column.
        names = write_dictionaries(described, self.draft, title, self.files)
        outputs += [replace(whole, name=name) for name in names]
        return [*outputs, *tables]

    def _output(self) -> Output:
        """Return where the columns of the released tables come from."""
        material, public = self.material, self.spec.schema.public
        names = material.releases[0].names
        if material.model is None:
            assert material.generator is not None  # tables of others are not written
            made_by = {name: material.generator.origin for name in names if name not in self.judged}
            origins = copied_records(names, self.judged, made_by)
            rare = rare_released(material.original, material.releases)
            return Output("release", origins, public, self.judged, rare)
        # What a guarantee is for has declared levels, and keys of groups are fresh.
        judged = {n: one for n, one in self.judged.items() if n != material.key}
        judged = {} if is_private(self.spec.synthesis) else judged
        replaced = material.model.replaced.columns
        return release_output(material.model.plan.columns, names, judged, public, replaced)

    def _text(self, name: str, text: str) -> None:
        (self.draft / name).write_text(text, encoding="utf-8", newline="\n")


def rare_released(original: Table, releases: Sequence[Table]) -> dict[str, int]:
    """Return for columns how many rare levels of the original were released.

    Our own synthesis pools them before; of what others have drawn nothing is certain.
    """
    found = {}
    for name in (name for name in original if has_open_vocabulary(original[name])):
        rare = level_texts(original[name])[rare_levels(original[name])]
        shown = {
            str(level)
            for table in releases
            if name in table
            for level in level_texts(table[name].compact())
        }
        found[name] = sum(text in shown for text in rare)
    return {name: n for name, n in found.items() if n}


def _root(key: ReleaseKey | None, seed: int | None) -> int:
    """Return the root of all draws."""
    if key is not None:
        return key.root(seed or 0)
    return random_root() if seed is None else seed


def reports(
    content: dict[str, Any],
    wanted: Sequence[str],
    date: str,
    decision: evidence.Decision | None = None,
) -> Iterator[tuple[str, str, bool]]:
    """Return the reports: name, text, and whether it is confidential."""
    from caveat.report import markdown, render  # the charts' library takes long to load

    for version in wanted:
        public = version == "external"
        stem = "report-external" if public else "report"
        told: dict[str, Any] = {"version": version, "date": date, "decision": decision}
        for write_report, ending in ((render, "html"), (markdown, "md")):
            text = write_report(content, **told)
            yield f"{stem}.{ending}", text, not public
