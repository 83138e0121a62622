"""Earlier releases of the same data: a ledger of them, and what all of them tell together.

A release is entered before its folder gets its name: who has the folder has its entry. Beside the
ledger lies a folder with what each exact release says about every record; it is as confidential as
the data, and closed to everybody else.
"""

from __future__ import annotations

import hashlib
import io
import os
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from caveat.attack.generator import is_promised
from caveat.attack.guarded import is_guarded
from caveat.attack.posterior import drawn_columns
from caveat.attack.priors import DEFAULT_PRIOR
from caveat.attack.summaries import SURE, disclosed
from caveat.attack.together import (
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
from caveat.attack.work import STANDARD, allot, work_of
from caveat.discreet import without_values
from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.evidence.manifest import EVIDENCE
from caveat.privacy import RELEASE, Budget, Ledger
from caveat.release.folder import sha256_of
from caveat.release.material import Material
from caveat.seeds import Stream, rng_of
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model, Plan
from caveat.table import Table
from caveat.table.drafts import check_folder, unwritable

if TYPE_CHECKING:
    from caveat.release.run import Run

__all__ = ["TOGETHER", "check_ledger", "entered", "private_folder"]

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
            targets = _targets(run, plan, earlier)
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


def _targets(run: Run, plan: Plan, earlier: Sequence[Entry]) -> list[str]:
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
