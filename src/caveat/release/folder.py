"""The folder of a release: whole or not there, what a run leaves in it, and two compared."""

from __future__ import annotations

import ctypes
import glob
import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from caveat import evidence
from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.evidence import DECISION
from caveat.evidence.file import EVIDENCE, INSIDE, MANIFEST, PUBLIC, SPEC, listed
from caveat.evidence.verdict import difference
from caveat.showing import Summary, frame_of, in_short, on_page
from caveat.spec.document import read_toml
from caveat.stopping import WRITTEN, held, stop_if_told
from caveat.table import drafts
from caveat.table.drafts import check_folder, same_file, status, unwritable
from caveat.table.frames import PART, parts_of
from caveat.table.identifying import Output, clear
from caveat.table.source import file_of

DECIDED = f"{INSIDE}/{DECISION}"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 checksum of a file; of a table in parts that of their checksums."""
    if path.is_dir():
        parts = [sha256_of(part) for part in parts_of(path)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def arrange(folder: Path, outputs: Iterable[Output], notice: str = "") -> list[Output]:
    """Move what may leave into ``public``, everything else into ``inside``; return it renamed.

    Parameters
    ----------
    folder
        The folder.
    outputs
        Its files, each with where its columns come from.
    notice
        Why none of them may leave; "" if there is no such reason.
    """
    moved = []
    for output in outputs:
        held = bool(notice) or clear(output).confidential
        new = f"{INSIDE if held else PUBLIC}/{output.name}"
        (folder / new).parent.mkdir(parents=True, exist_ok=True)
        (folder / output.name).rename(folder / new)
        moved.append(replace(output, name=new))
    for path in folder.iterdir():
        if path.name not in (PUBLIC, INSIDE):
            path.rmdir()  # a folder of tables, which are elsewhere now
    drafts.make_private(folder / INSIDE, folder / INSIDE, confidential=True)
    return moved


def write_manifest(folder: Path, outputs: Iterable[Output], notice: str = "") -> None:
    """Write the list of the files of a folder: checksum, size, whether it may leave, why not.

    What may not leave is from here on for this user alone, as is the folder that holds it.

    Parameters
    ----------
    folder
        The folder.
    outputs
        Its files, each with where its columns come from.
    notice
        Why none of them may leave, such as that they are a trial; "" if there is no such reason.
    """
    files = []
    for output in outputs:
        path = folder / output.name
        found = clear(replace(output, inside=notice) if notice else output)
        drafts.make_private(path, path, confidential=found.confidential)
        files.append(
            {
                "name": output.name,
                "sha256": sha256_of(path),
                "bytes": path.stat().st_size,
                "confidential": found.confidential,
                **({"reasons": list(found.reasons)} if found.reasons else {}),
            }
        )
    drafts.make_private(folder, folder, confidential=any(one["confidential"] for one in files))
    document = {"format": 1, **({"notice": notice} if notice else {}), "files": files}
    text = json.dumps(document, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")


@contextmanager
def release_folder(
    target: Path, *, force: bool = False, inputs: Iterable[str | Path] = ()
) -> Iterator[tuple[Path, list[str]]]:
    """Give a draft folder; rename it to the target when the block ends without an error.

    Parameters
    ----------
    target
        The folder of the release. One that exists is replaced if ``force`` says so and if it
        holds nothing but an earlier release.
    force
        Whether an earlier release may be replaced.
    inputs
        Files that the run reads: a folder that holds one of them is not replaced.

    Yields
    ------
    tuple
        The draft, and remarks about what a killed run had left. After an error or an interruption
        the draft is removed and the target is as it was.
    """
    target, read = _behind(Path(target)), list(inputs)
    with unwritable(target):
        check_folder(target.parent)
        remarks = _clear_up(target)
        check_target(target, force=force, inputs=read)
        with drafts.draft_of(target) as draft:
            draft.mkdir()
            yield draft, remarks
            with drafts.exclusive(target):
                check_target(target, force=force, inputs=read)
                _keep_decision(draft, target)
                _settle(draft, target)
                drafts.make_private(draft, target, confidential=False)
                with held():
                    stop_if_told()
                    _replace(draft, target)
                    WRITTEN[target] = None


def _keep_decision(draft: Path, target: Path) -> None:
    """Copy the decision of the board, which is no file of a run, from the target to its draft."""
    decided = path_below(target, DECIDED, plain=False)
    if decided.is_file():
        (draft / INSIDE).mkdir(mode=0o700, exist_ok=True)
        shutil.copy2(decided, draft / DECIDED)


def _behind(target: Path) -> Path:
    """Return the folder that a link leads to."""
    if status(target) is None and target.is_symlink():
        raise CaveatError(
            "the output is a link to nothing",
            where=str(target),
            do="remove it or name a folder",
            code="release.folder.absent",
        )
    return target.resolve()


def check_target(target: Path, *, force: bool, inputs: Iterable[str | Path] = ()) -> None:
    """Refuse a target that may not be written, before any work is done for it."""
    check_folder(target.parent)
    if not target.exists():
        return
    if not target.is_dir():
        raise CaveatError(
            "the output is a file, not a folder",
            where=str(target),
            do="choose another name",
            code="release.folder.type",
        )
    if not any(target.iterdir()):
        return
    _refuse_inputs(target, inputs)
    if not force:
        raise CaveatError(
            "the folder exists already",
            where=str(target),
            do="choose another or use --force",
            code="release.folder.exists",
        )
    foreign = sorted({*_held(target)} - _known(target) - {DECIDED})
    if foreign:
        raise CaveatError(
            f"the folder holds something that no run has written: {foreign[0]}",
            where=str(target),
            do="move it away or choose another folder",
            code="release.folder.refused",
        )


def _held(folder: Path) -> Iterator[str]:
    """Return the files in a folder as a manifest names them: with those in its own folders."""
    names = _known(folder)
    own = {str(above) for name in (*names, DECIDED) for above in PurePosixPath(name).parents}

    def search(within: Path, name: str) -> Iterator[str]:
        for path in within.iterdir():
            inner = f"{name}{path.name}"
            opened = inner in own and path.is_dir() and not path.is_symlink()
            found = list(search(path, f"{inner}/")) if opened else []
            yield from found or [inner]

    return search(folder, "")


def _refuse_inputs(target: Path, inputs: Iterable[str | Path]) -> None:
    """Refuse a folder with a file that the run reads, by whatever path it is named."""
    itself, here = status(target), [status(target / name) for name in _held(target)]
    for path in inputs:
        whole = file_of(path).resolve()  # a table in parts is a folder itself
        inside = any(same_file(itself, folder) for folder in (whole, *whole.parents))
        if inside or any(same_file(found, path) for found in here):
            raise CaveatError(
                f"the folder holds a file that this run reads: {file_of(path).name}",
                where=str(target),
                do="choose another folder; --force never replaces an input",
                code="release.folder.refused",
            )


def _known(folder: Path) -> set[str]:
    """Return the names of the files that a run has written into a folder."""
    parts = {path.name for path in folder.iterdir() if PART.fullmatch(path.name)}
    entries = listed(folder)
    return {MANIFEST, *parts, *entries} if entries else parts


def _clear_up(target: Path) -> list[str]:
    """Remove what killed runs have left beside a target; put a previous release back."""
    removed = drafts.clear_up(target.parent)
    remarks = ["what an interrupted run had left was removed"] if removed else []
    for _ in target.parent.glob(f"{drafts.PREFIX}*-{glob.escape(drafts.ending(target))}/"):
        raise CaveatError(
            "another run is about to write this folder",
            where=str(target),
            do="wait for it, or choose another folder",
            code="release.folder.conflict",
        )
    for aside in sorted(target.parent.glob(f"{glob.escape(_aside(target))}*")):
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(target)
            remarks.append("an interrupted run had moved the previous release aside; it is back")
    return remarks


def _aside(target: Path) -> str:
    return f".{drafts.ending(target)}.caveat-old-"


def _settle(draft: Path, target: Path) -> None:
    """Bring everything to the disk, with no wider permissions than what it replaces."""
    for path in draft.iterdir():
        drafts.make_private(path, target / path.name, confidential=False)
        if path.is_dir():
            _settle(path, target / path.name)
            continue
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    with suppress(OSError):  # not every system can open a folder
        descriptor = os.open(draft, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _exchange(one: Path, other: Path) -> bool:
    """Give two folders each other's name in one step; say whether the system could."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
    done: int = rename(here, os.fsencode(one), here, os.fsencode(other), exchange)
    return done == 0


def _replace(draft: Path, target: Path) -> None:
    """Rename the draft; a previous release is moved aside first and removed last.

    Where the system can exchange two names there is no moment without a release: the previous one
    is then what is left of the draft.
    """
    if _exchange(draft, target):
        return
    aside = None
    if target.exists():
        aside = target.with_name(f"{_aside(target)}{secrets.token_hex(6)}")
        target.rename(aside)
    try:
        draft.rename(target)
    except BaseException:
        if aside is not None:
            aside.rename(target)
        raise
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)


# -------------------------------------------------------------------------------------------------
# What a run leaves, as people ask for it afterwards.


@dataclass(frozen=True, repr=False)
class Outcome:
    """What a run leaves.

    Parameters
    ----------
    folder
        Where everything is.
    evidence
        The content of ``evidence.json``.
    """

    folder: Path
    evidence: Mapping[str, Any]

    @property
    def measurements(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every measurement with the scenario that it belongs to, "utility" for those of use."""
        every = [(s["name"], m) for s in self.evidence["scenarios"] for m in s["measurements"]]
        return every + [("utility", m) for m in self.evidence["utility"]["measurements"]]

    @property
    def broken(self) -> list[Mapping[str, Any]]:
        """The measurements that do not meet their limit, or that could not be made."""
        every = [m for _, m in self.measurements]
        return [m for m in every if m["limit"] is not None and m["excess"] != 0]

    def _summary(self) -> Summary:
        measures = self.evidence["measures"]
        limited = [(name, m) for name, m in self.measurements if m["limit"] is not None]
        rows = [
            (measures[m["measure"]]["says"], m["measure"], m["target"], name, m["value"],
             m.get("baseline"), m.get("control"), m["limit"]["most"], m["limit"]["least"],
             m["limit"].get("above"), "yes" if m["excess"] == 0 else "no")
            for name, m in limited
        ]  # fmt: skip
        header = ("what it says", "measure", "target", "scenario", "value", "baseline", "control",
                  "at most", "at least", "above control at most")  # fmt: skip
        kept = f"{len(limited) - len(self.broken)} of {len(limited)} limits are met"
        title = f"Release in {self.folder.name}: {kept if limited else 'no limit was set'}"
        return Summary(title, (*header, "met"), rows, tuple(self.evidence["remarks"]))

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each measurement as a pandas or polars frame."""
        names = ("measure", "label", "target", "copy", "value", "baseline", "control", "excess")
        found = self.measurements
        columns = {name: [m.get(name) for _, m in found] for name in names}
        return frame_of({"scenario": [name for name, _ in found], **columns}, backend)


# -------------------------------------------------------------------------------------------------
# Two releases side by side: their folders are read, evidence and specification, never data.


def files_of(release: Path) -> tuple[Path, Path]:
    """Return the evidence and the specification of a release: of its folder, or of its evidence."""
    if release.is_dir() or release.suffix != ".json":
        return path_below(release, EVIDENCE, plain=False), path_below(release, SPEC, plain=False)
    return release, path_below(release.parent, Path(SPEC).name)


def diff_releases(before: str | Path, after: str | Path) -> dict[str, Any]:
    """Return what differs between two releases.

    Parameters
    ----------
    before, after
        Their folders, or their ``evidence.json``. The specifications are compared where both are
        there.
    """
    files = [files_of(Path(path)) for path in (before, after)]
    contents = [evidence.read(path) for path, _ in files]
    specs = [_spec(path) for _, path in files]
    both = None if specs[0] is None or specs[1] is None else (specs[0], specs[1])
    return {"names": [str(before), str(after)], **difference(contents[0], contents[1], both)}


def _spec(path: Path) -> Mapping[str, Any] | None:
    return read_toml(path)[2] if path.is_file() else None
