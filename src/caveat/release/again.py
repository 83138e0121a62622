"""Releases looked at again: made again, one row explained, and all earlier ones together."""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from caveat import evidence
from caveat.attack.adjacent import is_guarded
from caveat.attack.attributes import (
    Floats,
    Said,
    Told,
    arrays_of,
    levels_of,
    said_by,
    said_of,
    told_of,
    told_of_members,
)
from caveat.attack.explain import explain, other_ways, what_if
from caveat.attack.posterior import SURE, disclosed, drawn_columns
from caveat.attack.strong import BEFORE
from caveat.attack.targets import STANDARD, allot, work_of
from caveat.attack.worlds import is_promised
from caveat.documents import path_below
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence.file import EVIDENCE
from caveat.privacy import RELEASE, Budget, Ledger
from caveat.release.collect import not_exact
from caveat.release.content import described_file
from caveat.release.folder import sha256_of
from caveat.release.material import Material, planned_whole, synthesise
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.seeds import ReleaseKey, Stream, child_seed, rng_of
from caveat.showing import without_values
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model, Plan
from caveat.synthesis.margins.promise import is_private
from caveat.table import Table, write
from caveat.table.drafts import check_folder, unwritable
from caveat.table.identifying import judge
from caveat.table.source import source_of

if TYPE_CHECKING:
    from caveat.release.run import Run


def made_again(
    spec: ReleaseSpec, folder: Path | None = None, threads: int | None = None
) -> Material:
    """Return the tables of a release with the model that made them.

    Fitted models are not kept in the folder of a release; the same specification, data, key and
    seed give the same ones.

    Parameters
    ----------
    spec
        The specification.
    folder
        Where the release is; ``[output]`` says it otherwise. Its evidence has key and seed. If
        there is none yet, the specification must have a seed.
    threads
        Threads; all cores by default.
    """
    _refuse_whole(spec)
    place = spec.output.folder if folder is None else folder
    found = None
    written = path_below(place, EVIDENCE, plain=False)
    if folder is not None or written.exists():
        found = evidence.read(written)
        _check_same(found, spec, place)
    table = spec.read_data()
    if found is not None:
        _check_data(found, spec, table)
    spec = replace(spec, synthesis={**spec.synthesis, "judged": judge(table)})
    spec = planned_whole(spec, spec.check(table))
    seed = _seed(found, spec)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)  # the run has told of it
        material = synthesise(spec, table, seed, threads, lambda _: lambda _: None, anyway=True)
    if found is not None:
        _check_tables(found, material, spec, place)
    return material


def _refuse_whole(spec: ReleaseSpec) -> None:
    """Refuse releases whose rows do not stand by themselves, or that cannot be made again."""
    where = str(spec.path)
    if spec.tables or spec.groups is not None:
        raise CaveatError(
            "rows belong together here, and one of them cannot be looked at alone",
            where=where,
            do="use caveat attack strong, which asks about whole groups",
            code="spec.entry.unsupported",
        )
    if is_private(spec.synthesis):
        raise CaveatError(
            "the noise of a guarantee cannot be drawn again, so that the release cannot be either",
            where=where,
            do="use caveat attack strong with --model",
            code="spec.entry.unsupported",
        )


def _check_same(found: dict[str, Any], spec: ReleaseSpec, place: Path) -> None:
    if found["release"]["synthesised_by"] != "caveat":
        raise CaveatError(
            "the tables were synthesised elsewhere: how is not known, and this attacker knows it",
            where=str(place),
            do="use caveat audit",
            code="release.origin.unsupported",
        )
    if found["inputs"]["spec"]["sha256"] != hashlib.sha256(spec.text).hexdigest():
        raise CaveatError(
            "the release was made by another specification",
            where=str(spec.path),
            do=f"use the one in {place}, beside the data, or run the release again",
            code="release.spec.mismatch",
        )


def _check_data(found: dict[str, Any], spec: ReleaseSpec, table: Table) -> None:
    """Refuse other data; of a workbook or a database the same place is asked as in the run."""
    own = described_file(spec.data.path, table)
    if found["inputs"]["data"]["sha256"] != own["sha256"]:
        raise CaveatError(
            "the release was made from other data",
            where=own["name"],
            do="run it again",
            code="release.data.mismatch",
        )


def _seed(found: dict[str, Any] | None, spec: ReleaseSpec) -> int:
    seed = spec.release.seed if found is None else int(found["seed"])
    if found is not None and found.get("key") is not None:
        return ReleaseKey(found["key"]).root(int(found["seed"]))
    if seed is None:
        raise CaveatError(
            "there is no release yet, and no seed in the specification",
            where=str(spec.output.folder),
            do="run the release first (caveat run), or name its folder (--release)",
            code="release.seed.absent",
        )
    return seed


def _check_tables(
    found: dict[str, Any], material: Material, spec: ReleaseSpec, place: Path
) -> None:
    """Refuse to go on with tables that are not those of the release."""
    listed = found["release"]["files"]
    tables = dict(enumerate(material.complete, 1))
    with tempfile.TemporaryDirectory() as folder:
        for file in listed[:1]:
            # The evidence may be somebody else's: a name in it is only that of a file.
            path = Path(folder) / path_below(place, file["name"]).name
            table = tables.get(file["copy"])
            source = source_of(path)
            if table is None or (source is not None and source.part):
                raise CaveatError(
                    "the evidence lists a file that no release of this specification has",
                    where=str(place),
                    do="run the release again",
                    code="evidence.file.mismatch",
                )
            escape = spec.output.escape_formulas
            write(table.compact(), path, escape_formulas=escape, form=spec.text_form)
            if sha256_of(path) != file["sha256"]:
                raise CaveatError(
                    "the tables come out otherwise than they did: versions are others",
                    where=str(place),
                    do=f"use Caveat {found['software']['caveat']} and the packages in its evidence",
                    code="release.table.mismatch",
                )


# -------------------------------------------------------------------------------------------------
# One row of a release explained: the attack made again, and a few other ways tried.


def explain_row(
    spec: ReleaseSpec,
    row: int,
    *,
    folder: Path | None = None,
    targets: Sequence[str] | None = None,
    draws: int = 3,
    values: bool = False,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Return what a release gives away about one row of the original, ready for a page.

    Parameters
    ----------
    spec
        The specification of the release.
    row
        The row of the data file, counted from 1.
    folder
        Where the release is; ``[output]`` says it otherwise.
    targets
        Columns that the attacker wants to learn; by default the targets of all scenarios.
    draws
        Fresh releases in each other way that is tried; 0 tries none.
    values
        Whether values of the row are shown.
    threads
        Threads; all cores by default.
    done
        Called with the share of the work that has become ready.
    """
    material = made_again(spec, folder, threads)
    record = _position(material, row)
    plan, notes = material.plan, _notes(material)
    assert plan is not None
    asked = _targets(spec, material) if targets is None else tuple(targets)
    prior = next((s.prior for s in spec.scenarios if s.attacker == "strong"), DEFAULT_PRIOR)
    ready = done or (lambda _: None)
    found = explain(
        material.fitted, material.drawn, record, generator=plan, targets=asked, prior=prior,
        threads=threads, done=lambda share: ready(0.2 * share),
    )  # fmt: skip
    options = material.copies[0].setting.options
    ways = other_ways(plan, options, found) if draws else []
    tried = what_if(
        material.fitted, record, ways, targets=[b.target for b in found.beliefs], draws=draws,
        rows=material.drawn[0].n_rows, copies=len(material.drawn),
        seed=child_seed(material.seed, Stream.TRIES), prior=prior, threads=threads,
        done=lambda share: ready(0.8 * share),
    )  # fmt: skip
    return {
        **found.to_dict(values),
        "title": spec.release.title,
        "row": row,
        "prior": prior,
        "notes": notes,
        "tried": [one.to_dict() for one in tried],
    }


def _position(material: Material, row: int) -> int:
    """Return where a row of the file is among the fitted records."""
    if not 1 <= row <= material.original.n_rows:
        raise CaveatError(
            f"there is no row {row:,}",
            where="record",
            do=f"choose from 1 to {material.original.n_rows:,}",
            code="attack.record.unknown",
        )
    place = np.flatnonzero(material.rows == row - 1)
    if not len(place):
        raise CaveatError(
            f"row {row:,} was held out as a control: nothing was fitted on it, and the release "
            "depends on it in nothing",
            where="record",
            do="choose a row that the release was made from",
            code="release.row.unused",
        )
    return int(place[0])


def _notes(material: Material) -> list[str]:
    """Return what has to be said about the attack; refuse where it would not be exact."""
    steps = [step for step in material.copies[0].steps if step.name != "label"]
    plan = material.plan
    assert plan is not None
    reason = not_exact(drawn_columns(plan), steps)
    if reason is not None:
        raise CaveatError(
            f"{reason}",
            where="explain",
            do="explain a release without it",
            code="attack.probability.unsupported",
        )
    notes = [f"{BEFORE}"[0].upper() + f"{BEFORE}"[1:] + "."] if steps else []
    if len(material.drawn) > 1:
        notes.append(f"The {len(material.drawn)} tables of the release are taken together.")
    return notes


def _targets(spec: ReleaseSpec, material: Material) -> tuple[str, ...]:
    named = [name for scenario in spec.scenarios for name in scenario.targets or ()]
    released = material.columns()
    return tuple(name for name in dict.fromkeys(named) if name in released)


# -------------------------------------------------------------------------------------------------
# Earlier releases of the same data: a ledger of them, and what all of them tell together.
#
# A release is entered before its folder gets its name: who has the folder has its entry. Beside
# the ledger lies a folder with what each exact release says about every record; it is as
# confidential as the data, and closed to everybody else.


TOGETHER = "earlier releases"
"""The step of a run."""
RECORDS = 500
"""Records whose targets are attacked, where not all are; the same in every release of the data."""
MOST_LOGS = 5_000_000
"""Numbers that are kept of one target."""
PRIVATE = ".private"
LONGEST = 200
NOTICE = "CONFIDENTIAL: what a release says about single records. Handle it as the data themselves."

GROUPS = "rows belong together there, and what whole groups give away is not added up"
CHOSEN = "where not all records are tried, the same ones in every release, not a scenario's"
ELSEWHERE = "how it was made is not known, and so no likelihood"
PROTECTED = "it was protected afterwards, and after that likelihoods do not add up"
PARAMETERS = "the parameters of its models were drawn, and so it has no exact likelihood"
LOST = "what it says about single records is not there, or damaged, beside the ledger"
SEED = "it was drawn with the same seed as another one, and so not independently of it"
AGAIN = "it has the same tables as another one and tells no more"

Entry = Mapping[str, Any]
# What a damaged file of arrays raises.
DAMAGED = (
    OSError,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    BadZipFile,
    zlib.error,
)


@contextmanager
def entered(run: Run, content: dict[str, Any], target: Path) -> Iterator[None]:
    """Attack all releases of the data together, and enter this one when the block has ended well.

    The block writes the evidence, which holds what was found.

    Parameters
    ----------
    run
        The run, with the tables it has made.
    content
        Its evidence; without a ledger in the specification it stays as it is.
    target
        Where the release will lie.
    """
    budget = run.spec.ledger
    if budget is None:
        yield
        return
    book, data = Ledger(budget.ledger), _checksum(content)
    known = [e for e in book.entries(budget.dataset) if e["kind"] == RELEASE]
    own = _Own.of(run, data, [e for e in known if e.get("data") == data])
    with book.releasing(budget.dataset) as (earlier, new):
        content["earlier_releases"] = found = _together(own, earlier, data, budget)
        content["remarks"] += _remarks(found, _rows(content))
        yield
        evidence = sha256_of(run.draft / EVIDENCE)
        kept = own.keep(private_folder(budget), evidence[:16])
        new.append(
            {
                "what": content["release"]["title"][:LONGEST],
                "data": data,
                "evidence": evidence,
                "method": _method(content),
                "folder": str(target.absolute()),
                "files": [file["name"] for file in content["release"]["files"]],
                "exact": own.said is not None,
                "reason": own.reason,
                "targets": [] if own.said is None else list(own.said.targets),
                "private": kept,
            }
        )


def private_folder(budget: Budget) -> Path:
    """Return where it lies beside a ledger what releases say about single records."""
    path = Path(budget.ledger).resolve()
    taken = path.suffix.lower() == PRIVATE  # the ledger itself lies there
    return path.with_name(f"{path.name}{PRIVATE}") if taken else path.with_suffix(PRIVATE)


def check_ledger(spec: ReleaseSpec) -> None:
    """Refuse a ledger that is damaged or cannot be written, before any work is done for it."""
    if spec.ledger is not None:
        check_folder(Path(spec.ledger.ledger).resolve().parent)
        Ledger(spec.ledger.ledger).entries()


def _checksum(content: Entry) -> str:
    """Return one checksum of all data files."""
    inputs = content["inputs"]
    several = [file["sha256"] for file in inputs.get("tables", ())]
    if not several:
        return str(inputs["data"]["sha256"])
    return hashlib.sha256("".join(several).encode()).hexdigest()


def _method(content: Entry) -> str:
    synthesis = content["synthesis"]
    if synthesis is None:
        return "elsewhere"
    return ", ".join(sorted({column["method"] for column in synthesis["columns"]} - {"drop"}))


def _fingerprint(releases: Sequence[Table]) -> str:
    """Return a checksum of what tables hold, whatever the format they are written in."""
    found = hashlib.sha256()
    for table in releases:
        for name, column in table.compact().columns.items():
            found.update(f"{name}\0{levels_of(column)}".encode())
            found.update(column.codes.astype("<i8").tobytes())
    return found.hexdigest()


@dataclass(frozen=True, eq=False)
class _Own:
    """What this release says about the records; why nothing, if it does not."""

    said: Said | None
    reason: str
    original: Table | None
    prior: str
    seed: str
    tables: str

    __repr__ = without_values

    @classmethod
    def of(cls, run: Run, data: str, earlier: Sequence[Entry]) -> _Own:
        done = run.steps.step(TOGETHER)
        material = getattr(run, "material", None)
        prior = next((s.prior for s in run.spec.scenarios if s.attacker == "strong"), DEFAULT_PRIOR)
        reason, said, original, seed, tables = _why_not(material), None, None, "", ""
        if not reason:
            assert isinstance(material, Material)
            plan = material.plan
            assert plan is not None
            original = material.original
            # The noise of a guarantee has no seed.
            text = "" if is_promised(plan) else f"caveat seed {material.seed}"
            seed = hashlib.sha256(text.encode()).hexdigest() if text else ""
            tables = _fingerprint(material.releases)
            targets = _targets_earlier(run, plan, earlier)
            try:
                said = _said(material, plan, data, targets, run.threads, done)
            except CaveatError as error:
                reason = error.what
        return cls(said, reason, original, prior, seed, tables)

    def keep(self, folder: Path, name: str) -> str | None:
        """Write what the release says into the closed folder; return the name of the file."""
        if self.said is None:
            return None
        buffer = io.BytesIO()
        told: dict[str, Any] = {"notice": NOTICE, "seed": self.seed, "tables": self.tables}
        np.savez_compressed(buffer, **(told | arrays_of(self.said)))
        path = folder / f"{name}.npz"
        with unwritable(path):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
            draft = folder / f".{name}-{secrets.token_hex(4)}"
            opened = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with os.fdopen(opened, "wb") as file:
                    file.write(buffer.getvalue())
                    os.fsync(file.fileno())
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
        return path.name


def _why_not(material: object) -> str:
    """Return why a release has no exact likelihood that could be added; nothing if it has one."""
    if not isinstance(material, Material) or material.groups is not None:
        return GROUPS
    if material.plan is None:
        return ELSEWHERE
    if any(step.name != "label" for copy in material.copies for step in copy.steps):
        return PROTECTED
    return PARAMETERS if drawn_columns(material.plan) else ""


def _targets_earlier(run: Run, plan: Plan, earlier: Sequence[Entry]) -> list[str]:
    """Return the columns to ask about: those of this release, and those of earlier ones."""
    names = [name for s in run.spec.scenarios if s.attacker == "strong" for name in s.targets or ()]
    names += [name for entry in earlier for name in entry.get("targets", ())]
    apart = ("copy", "derived", "drop", "constant")
    return [
        name
        for name in dict.fromkeys(names)
        if name in plan.columns and plan.columns[name].settings.method not in apart
    ]


def _said(
    material: Material, plan: Plan, data: str, targets: Sequence[str], threads: int | None,
    done: Any,
) -> Said:  # fmt: skip
    """Attack as many records as there is time for, the same ones in every release of the data."""
    original = material.original
    order = rng_of(int(data[:16], 16), Stream.ORDER).permutation(original.n_rows)
    assert isinstance(material.model, Model)
    model, fitted = material.model, material.fitted
    every = is_guarded(plan) or is_promised(plan)
    (members,) = allot([work_of(model, fitted)], original.n_rows, STANDARD.members)
    wanted = original.n_rows if every else min(RECORDS, original.n_rows)
    levels = [original[name].n_levels for name in targets]
    works = [work_of(model, fitted, name) for name in targets]
    numbers = allot(works, wanted, STANDARD.targets)
    chosen = {
        name: np.sort(order[: max(1, min(number, MOST_LOGS // n))])
        for name, number, n in zip(targets, numbers, levels, strict=True)
    }
    return said_by(
        original, material.rows, material.fitted, material.drawn, plan,
        members=np.sort(order[: max(1, members)]), targets=chosen, threads=threads, done=done,
    )  # fmt: skip


def _together(own: _Own, earlier: Sequence[Entry], data: str, budget: Budget) -> dict[str, Any]:
    """Return what this release and the earlier ones tell together, as the evidence holds it."""
    same = [entry for entry in earlier if entry.get("data") == data]
    others: list[Said] = []
    left_out = []
    seeds, tables = {own.seed} - {""}, {own.tables}
    for entry in reversed(same):  # the newest first: of two with one seed it is the one that counts
        said, reason = _kept(entry, own, budget, seeds, tables)
        if said is None:
            left_out.append({"title": str(entry.get("what", "")), "reason": reason})
        else:
            others.append(said)
    found: dict[str, Any] = {
        "dataset": budget.dataset,
        "releases": len(same),
        "together": 0 if own.said is None else len(others),
        "exact": own.said is not None,
        "reason": own.reason or None,
        "other_data": len(earlier) - len(same),
        "left_out": left_out,
        "membership": None,
        "targets": [],
    }
    if own.said is None or own.original is None or not others:
        return found
    every = [own.said, *others]
    found["membership"] = _compared(told_of_members(every), told_of_members([own.said]))
    for target in own.said.targets:
        told = told_of(own.original, target, every, own.prior)
        alone = told_of(own.original, target, [own.said], own.prior)
        if told.releases > 1 and len(told.rows):
            found["targets"].append({"target": target, **_compared(told, alone)})
    return found


def _kept(
    entry: Entry, own: _Own, budget: Budget, seeds: set[str], tables: set[str]
) -> tuple[Said | None, str]:
    """Return what an earlier release says, or why it is left out."""
    if not entry.get("exact"):
        return None, str(entry.get("reason") or ELSEWHERE)
    try:
        path = path_below(private_folder(budget), entry.get("private"))
        with np.load(path, allow_pickle=False) as arrays:
            seed, made = str(arrays["seed"]), str(arrays["tables"])
            rows = own.original.n_rows if own.original is not None else len(arrays["fitted"])
            said = said_of(arrays, rows)
    except (CaveatError, *DAMAGED):
        return None, LOST
    if made in tables:
        return None, AGAIN
    if seed and seed in seeds:
        return None, SEED
    seeds.add(seed)
    tables.add(made)
    return said, ""


def _compared(together: Told, alone: Told) -> dict[str, Any]:
    # Of whom this release was not made it says nothing: what was believed before is left.
    own = together.prior.copy()
    inside = np.isin(alone.rows, together.rows)
    own[np.searchsorted(together.rows, alone.rows[inside])] = alone.probability[inside]
    return {
        "records": len(together.rows),
        "releases": together.releases,
        "before": float((together.prior >= SURE).mean()) if len(together.rows) else 0.0,
        "alone": _summary(together.prior, own),
        "together": _summary(together.prior, together.probability),
    }


def _summary(before: Floats, chances: Floats) -> dict[str, float]:
    if not len(chances):
        return {"share": 0.0, "mean": 0.0, "largest": 0.0}
    return {
        "share": float(disclosed(before, chances).mean()),
        "mean": float(chances.mean()),
        "largest": float(chances.max()),
    }


def _rows(content: Entry) -> int:
    """Return how many records a release was made from; a control is held out of it."""
    return int(content["release"]["fitted_rows"] or 0)


def _remarks(found: Entry, rows: int) -> list[str]:
    """Return the warning that these data were released before, with what that comes to."""
    n, other = found["releases"], found["other_data"]
    if not n and not other:
        return []
    texts = []
    if n:
        times = "once" if n == 1 else f"{n:,} times"
        texts.append(f"these data were released {times} before (ledger, “{found['dataset']}”)")
    if found["membership"] is not None:
        texts.append(
            f"taken together, {found['together'] + 1:,} releases make the strong attacker at least "
            f"{_percent(SURE)} sure that {_shares(found['membership'])} records were in the data"
        )
        texts += [
            f"as sure of {one['target']} of {_shares(one)} records" for one in found["targets"]
        ]
        if any(one["records"] < rows for one in (found["membership"], *found["targets"])):
            texts.append(CHOSEN)
    elif n and not found["exact"]:
        texts.append(f"nothing is added up, since of this one {found['reason']}")
    reasons: dict[str, int] = {}
    for one in found["left_out"]:
        reasons[one["reason"]] = reasons.get(one["reason"], 0) + 1
    texts += [f"{count:,} left out: {reason}" for reason, count in reasons.items()]
    if other:
        texts.append(
            f"{other:,} under the same name {'is' if other == 1 else 'are'} of other data (another "
            "checksum) and not added: who is in both is exposed by both"
        )
    return ["; ".join(texts)]


def _shares(one: Entry) -> str:
    together, alone = (_percent(one[side]["share"]) for side in ("together", "alone"))
    return f"{together} (by this release alone {alone}) of {one['records']:,}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
