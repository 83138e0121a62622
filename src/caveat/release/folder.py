"""The folder of a release: whole or not there, with a manifest of what it holds.

Everything is written into a draft folder beside the target, which is renamed when it is complete.
A draft is locked while its run lives. What a killed run has left is therefore recognised: its draft
is removed, and a previous release that it had moved aside is put back.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from caveat.documents import parse
from caveat.errors import CaveatError

fcntl: Any = None
with suppress(ImportError):  # without such locks what a killed run leaves is not removed
    import fcntl

__all__ = ["MANIFEST", "release_folder", "sha256_of", "write_manifest"]

MANIFEST = "manifest.json"
LOCK = ".lock"


def sha256_of(path: Path) -> str:
    """Return the SHA-256 checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, confidential: Mapping[str, bool]) -> None:
    """Write the list of the files of a folder: checksum, size, and whether it may leave."""
    listed = [
        {
            "name": name,
            "sha256": sha256_of(folder / name),
            "bytes": (folder / name).stat().st_size,
            "confidential": secret,
        }
        for name, secret in confidential.items()
    ]
    text = json.dumps({"format": 1, "files": listed}, indent=1, ensure_ascii=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8", newline="\n")


@contextmanager
def release_folder(target: Path, *, force: bool = False) -> Iterator[tuple[Path, list[str]]]:
    """Give a draft folder; rename it to the target when the block ends without an error.

    Parameters
    ----------
    target
        The folder of the release. One that exists is replaced if ``force`` says so and if it
        holds nothing but an earlier release.
    force
        Whether an earlier release may be replaced.

    Yields
    ------
    tuple
        The draft, and remarks about what a killed run had left. After an error or an interruption
        the draft is removed and the target is as it was.
    """
    target = Path(target).resolve()
    remarks = _clear_up(target)
    check_target(target, force=force)
    draft = _beside(target, "draft")
    try:
        draft.mkdir()
    except OSError as error:
        raise _cannot(target, error) from error
    lock = _locked(draft)
    try:
        yield draft, remarks
        _settle(draft)
        check_target(target, force=force)
        _replace(draft, target)
    except OSError as error:
        raise _cannot(target, error) from error
    finally:
        if lock is not None:
            lock.close()
        shutil.rmtree(draft, ignore_errors=True)


def check_target(target: Path, *, force: bool) -> None:
    """Refuse a target that may not be written, before any work is done for it."""
    if not target.parent.is_dir():
        raise CaveatError(
            "there is no such folder", where=str(target.parent), do="make it or choose another"
        )
    if not target.exists():
        return
    if not target.is_dir():
        raise CaveatError(
            "the output is a file, not a folder", where=str(target), do="choose another name"
        )
    if not any(target.iterdir()):
        return
    if not force:
        raise CaveatError(
            "the folder exists already", where=str(target), do="choose another or use --force"
        )
    foreign = sorted({entry.name for entry in target.iterdir()} - _known(target))
    if foreign:
        raise CaveatError(
            f"the folder holds something that no run has written: {foreign[0]}",
            where=str(target),
            do="move it away or choose another folder",
        )


def _known(folder: Path) -> set[str]:
    """Return the names of the files that a run has written into a folder."""
    try:
        content = parse((folder / MANIFEST).read_bytes())
        return {MANIFEST, *(str(entry["name"]) for entry in content["files"])}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def _beside(target: Path, sort: str) -> Path:
    return target.with_name(f"{_prefix(target, sort)}{secrets.token_hex(6)}")


def _prefix(target: Path, sort: str) -> str:
    return f".{target.name}.caveat-{sort}-"


def _cannot(target: Path, error: OSError) -> CaveatError:
    return CaveatError(
        f"it cannot be written ({error.strerror or type(error).__name__})",
        where=str(target),
        do="check the permissions of the folder around it and the free space",
    )


def _locked(draft: Path) -> Any:
    """Lock a draft until its run ends, however it ends; None where there are no locks."""
    if fcntl is None:
        return None
    lock = (draft / LOCK).open("wb")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return lock


def _is_alive(draft: Path) -> bool:
    """Whether the run that made a draft goes on."""
    if fcntl is None:
        return True
    try:
        with (draft / LOCK).open("rb+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _clear_up(target: Path) -> list[str]:
    """Remove what killed runs have left beside a target; put a previous release back."""
    remarks = []
    if not target.parent.is_dir():
        return []
    names = sorted(entry.name for entry in target.parent.iterdir())
    drafts = [target.with_name(n) for n in names if n.startswith(_prefix(target, "draft"))]
    if any(_is_alive(draft) for draft in drafts):
        raise CaveatError(
            "another run is about to write this folder",
            where=str(target),
            do="wait for it, or choose another folder",
        )
    for draft in drafts:
        shutil.rmtree(draft, ignore_errors=True)
        remarks.append("what an interrupted run had left was removed")
    for name in (n for n in names if n.startswith(_prefix(target, "old"))):
        aside = target.with_name(name)
        if target.exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            aside.rename(target)
            remarks.append("an interrupted run had moved the previous release aside; it is back")
    return list(dict.fromkeys(remarks))


def _settle(draft: Path) -> None:
    """Make sure that everything is on the disk before the name is given."""
    (draft / LOCK).unlink(missing_ok=True)
    for path in draft.iterdir():
        with path.open("rb+") as file:
            os.fsync(file.fileno())
    with suppress(OSError):  # not every system can open a folder
        descriptor = os.open(draft, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _replace(draft: Path, target: Path) -> None:
    """Rename the draft; a previous release is moved aside first and removed last."""
    aside = None
    if target.exists():
        aside = _beside(target, "old")
        target.rename(aside)
    try:
        draft.rename(target)
    except BaseException:
        if aside is not None:
            aside.rename(target)
        raise
    if aside is not None:
        shutil.rmtree(aside, ignore_errors=True)
