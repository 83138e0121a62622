"""Output files that are whole or not there, their drafts and locks; which inputs are refused."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from caveat.errors import CaveatError
from caveat.stopping import UNFINISHED, WRITTEN, held, is_memory_short, stop_if_told
from caveat.table.source import Source, file_of, shown, source_of

fcntl: Any = None
with suppress(ImportError):  # without such locks a draft is old after a day
    import fcntl

PREFIX = ".caveat-draft-confidential-"
"""Every draft is called so: also that of a synthetic table is not for release."""

LOCK = ".lock"  # the file in the folder of a draft that its writer locks
LONGEST = 100  # bytes of the target's name in that of a draft: file systems allow 255 in all
DAY = 24 * 60 * 60
PATIENCE = 600.0
"""Seconds that a writer waits for another one."""

STEP = 0.02


def ending(target: Path) -> str:
    """Return the end of a target's name that is part of its draft's."""
    name = target.name
    while len(os.fsencode(name)) > LONGEST:
        name = name[1:]
    return name


# -------------------------------------------------------------------------------------------------
# Drafts


@contextmanager
def draft_of(target: Path) -> Iterator[Path]:
    """Provide the path of a draft, and remove what is there afterwards.

    Parameters
    ----------
    target
        The file or folder that the draft becomes when it is renamed.

    Yields
    ------
    Path
        A path of the target's name in a new folder that only this user can enter. Nothing is there.
    """
    clear_up(target.parent)
    name = f"{PREFIX}{{}}-{ending(target)}"
    with locked_folder(target.parent, name) as folder:
        yield folder / target.name


@contextmanager
def locked_folder(place: Path, name: str) -> Iterator[Path]:
    """Provide a new private folder that is locked and, at the end, removed.

    Parameters
    ----------
    place
        The folder around it.
    name
        Its name, with ``{}`` for a random part.
    """
    folder, lock = _new_folder(place, name)
    try:
        yield folder
    finally:
        with held():
            shutil.rmtree(folder, ignore_errors=True)
            UNFINISHED.discard(folder)
            release(lock)


def _new_folder(place: Path, name: str) -> tuple[Path, int | None]:
    while True:
        with held():
            folder = place / name.replace("{}", secrets.token_hex(6), 1)
            folder.mkdir(mode=0o700)
            try:
                lock = make_locked(folder / LOCK)
            except FileNotFoundError:
                continue
            except OSError:
                folder.rmdir()
                raise
            # Somebody who clears up may have come before the lock.
            if (folder / LOCK).exists():
                UNFINISHED.add(folder)
                return folder, lock
            release(lock)


def make_private(draft: Path, target: Path, *, confidential: bool) -> None:
    """Set the permissions of a draft before it gets its name; this is where they are decided.

    What may leave has the permissions that the system gives to a new file. What is confidential is
    for this user alone. Neither is open to more people than what it replaces.
    """
    mode = stat.S_IMODE(draft.stat().st_mode)
    allowed = mode & 0o700 if confidential else mode
    with suppress(OSError):  # there is no earlier one
        allowed &= stat.S_IMODE(target.stat().st_mode)
    if allowed != mode:
        draft.chmod(allowed)


def open_private(path: Path) -> BinaryIO:
    """Open a file to be written from its beginning; a new one is for this user alone."""
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")


def clear_up(folder: Path, prefix: str = PREFIX) -> bool:
    """Remove the drafts in a folder whose writers have ended without doing so.

    Returns
    -------
    bool
        Whether there were any.
    """
    removed = False
    with suppress(OSError):
        for entry in list(os.scandir(folder)):
            if entry.name.startswith(prefix) and not entry.is_symlink():
                removed |= _remove_abandoned(Path(entry.path), entry.is_dir(follow_symlinks=False))
    return removed


def _remove_abandoned(draft: Path, is_folder: bool) -> bool:
    with suppress(OSError):
        found = draft.lstat()
        if hasattr(os, "getuid") and found.st_uid != os.getuid():
            return False
        if is_folder and LOCK not in (inside := [path.name for path in draft.iterdir()]):
            # Without content it may be about to be locked, with content it has lost its lock.
            if inside or time.time() - found.st_mtime > DAY:
                shutil.rmtree(draft)
                return True
            return False
        with is_abandoned(draft / LOCK if is_folder else draft) as abandoned:
            if abandoned:
                shutil.rmtree(draft) if is_folder else draft.unlink()
                return True
    return False


# -------------------------------------------------------------------------------------------------
# Locks


def make_locked(path: Path) -> int | None:
    """Make a file and lock it until it is released, or the process ends in any way.

    Returns
    -------
    int or None
        What is to be released; None where there are no locks.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
    except (AttributeError, OSError):  # not every system and network has them
        os.close(opened)
        return None
    return opened


def release(opened: int | None) -> None:
    """Give a lock up."""
    if opened is not None:
        os.close(opened)


@contextmanager
def is_abandoned(locked: Path) -> Iterator[bool]:
    """Say whether the writer that locks a file has ended; inside nobody else can lock it."""
    if fcntl is None:
        yield time.time() - locked.stat().st_mtime > DAY
        return
    opened = os.open(locked, os.O_RDWR)
    try:
        yield _take(opened, time.time() - os.fstat(opened).st_mtime > DAY) and _is(opened, locked)
    finally:
        os.close(opened)


def _take(opened: int, otherwise: bool) -> bool:
    """Lock an opened file unless somebody else does; where there are no locks, say otherwise."""
    if fcntl is None:
        return otherwise
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return otherwise
    return True


def _is(opened: int, path: Path) -> bool:
    """Whether an opened file still has its name: another one may have it meanwhile."""
    try:
        return os.path.samestat(os.fstat(opened), path.stat())
    except OSError:
        return False


@contextmanager
def exclusive(target: Path) -> Iterator[None]:
    """Let no other process that does the same write to a target meanwhile.

    Another writer is waited for, at most `PATIENCE` seconds. What is locked is a file beside the
    target, so that the target itself can change places with a draft.
    """
    lock = _lock_beside(target)
    until = time.monotonic() + PATIENCE
    while (opened := _opened_lock(lock)) is None:
        if time.monotonic() > until:
            raise _busy(target)
        time.sleep(STEP)
    try:
        yield
    finally:
        with held():
            lock.unlink(missing_ok=True)
            UNFINISHED.discard(lock)
            release(opened)


def wait_for_writer(target: Path) -> None:
    """Wait while another process holds the target in `exclusive`; nothing is made for it."""
    lock = _lock_beside(target)
    until = time.monotonic() + PATIENCE
    with suppress(OSError):
        while lock.exists():
            with is_abandoned(lock) as abandoned:
                if abandoned:
                    return
            if time.monotonic() > until:
                raise _busy(target)
            time.sleep(STEP)


def _lock_beside(target: Path) -> Path:
    return target.with_name(f"{PREFIX}lock-{ending(target)}")


def _opened_lock(lock: Path) -> int | None:
    """Return a lock file, made or found, if it is ours now."""
    with held():
        is_new = True
        try:
            opened = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            is_new = False
            try:
                opened = os.open(lock, os.O_RDWR)
            except (FileNotFoundError, PermissionError):  # gone, or another user's
                return None
        old = time.time() - os.fstat(opened).st_mtime > DAY
        if _take(opened, is_new or old) and _is(opened, lock):
            UNFINISHED.add(lock)
            return opened
        os.close(opened)
        return None


def _busy(target: Path) -> CaveatError:
    return CaveatError(
        f"another run has been writing to it for {PATIENCE:.0f} seconds",
        where=str(target),
        do="wait for it and try again, or choose another name",
        code="command.output.busy",
    )


# -------------------------------------------------------------------------------------------------
# Output files that are either whole or not there, and never a file that was read.


Name = str | Path


def status(path: Name) -> os.stat_result | None:
    """Return what there is under a name, links followed; None if there is nothing.

    A name that no file can have here is refused: too long, with a NUL, or not UTF-8, which neither
    the libraries that write files nor a specification can spell.
    """
    where = str(path)
    try:
        os.fspath(path).encode()
        return Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except UnicodeEncodeError:
        raise CaveatError(
            "the name is not UTF-8", where=where, do="rename it", code="command.name.malformed"
        ) from None
    except ValueError:
        shown = where.replace("\0", "\\0")
        raise CaveatError(
            "the name holds a NUL",
            where=shown,
            do="use another name",
            code="command.name.malformed",
        ) from None
    except OSError as error:
        raise CaveatError(
            f"the name cannot be used ({_reason(error)})",
            where=where,
            do="use another name",
            code="command.name.unsupported",
        ) from None


def same_file(one: os.stat_result | None, other: Name) -> bool:
    """Say whether a name, by whatever path, leads to a file that is there."""
    if one is None:
        return False
    with suppress(OSError, ValueError):  # who reads it will say that it is not there
        return os.path.samestat(one, file_of(other).stat())
    return False


def check_output(path: Name, *, force: bool = False, inputs: Iterable[Name | None] = ()) -> Path:
    """Refuse a target that cannot or may not be written, before any work is done for it.

    Parameters
    ----------
    path
        The target.
    force
        Whether a file that exists may be replaced.
    inputs
        Files that are never replaced, whatever `force` says: those that were or will be read.

    Returns
    -------
    Path
        The target itself where a link leads to it.
    """
    inputs = list(inputs)
    source = source_of(path)
    if source is not None and source.is_database and (source.part or not source.is_file):
        return _check_table(source, path, inputs)
    path = file_of(path)
    where = str(path)
    found = status(path)
    target = _behind(path, found)
    _check_sort(found, where)
    if any(same_file(found, other) for other in inputs if other is not None):
        raise CaveatError(
            "the output exists already, and this command reads it",
            where=where,
            do="choose another name; --force never replaces an input",
            code="command.output.conflict",
        )
    check_folder(target.parent, path.parent)
    around = status(target.parent) if target.suffix.lower() == ".parquet" else None
    if any(same_file(around, other) for other in inputs if other is not None):
        raise CaveatError(
            "the output would lie among the parts of a table that this command reads",
            where=where,
            do="choose another folder",
            code="command.output.conflict",
        )
    if found is not None and not force:
        raise CaveatError(
            "the output exists already",
            where=where,
            do="choose another name or use --force",
            code="command.output.exists",
        )
    return target


def _check_table(source: Source, path: Name, inputs: Iterable[Name | None]) -> Path:
    """Refuse a table of a database that is read, or whose file cannot be written."""
    found = status(source.place) if source.is_file else None
    for other in inputs:
        read = None if other is None else source_of(other)
        if read is None or read.sort != source.sort or not source.part or source.is_query:
            continue
        if not source.is_file or same_file(found, read.place):
            from caveat.table.database import check_not_read

            check_not_read(source, read)
    if source.is_file:
        file = Path(source.place)
        _check_sort(status(file), source.place)
        check_folder(file.parent)
    return Path(path)


def check_outputs(
    outputs: Iterable[Name | None], *, force: bool = False, inputs: Iterable[Name | None] = ()
) -> None:
    """Refuse the targets of a command, as `check_output` does, and one that is named twice."""
    read = list(inputs)
    seen: list[Path] = []
    for path in outputs:
        if path is None:
            continue
        target = check_output(path, force=force, inputs=read)
        if any(target == other or same_file(status(target), other) for other in seen):
            raise CaveatError(
                "two outputs have the same name",
                where=shown(path),
                do="choose another for one",
                code="command.output.duplicate",
            )
        seen.append(target)


def _behind(path: Path, found: os.stat_result | None) -> Path:
    """Return where a link leads, so that not the link is replaced but the file."""
    if found is None and path.is_symlink():
        raise CaveatError(
            "the output is a link to nothing",
            where=str(path),
            do="remove it or name a file",
            code="command.output.type",
        )
    target = Path(os.path.realpath(path))
    status(target)  # a folder around it may have a name that is not UTF-8
    return target


def _check_sort(found: os.stat_result | None, where: str) -> None:
    if found is None or stat.S_ISREG(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        raise CaveatError(
            "the output is a folder", where=where, do="name a file", code="command.output.type"
        )
    raise CaveatError(
        "the output is a device or a pipe",
        where=where,
        do="name a file",
        code="command.output.type",
    )


def check_folder(folder: Path, shown: Path | None = None) -> None:
    """Refuse a folder in which nothing can be written."""
    where = str(folder if shown is None else shown)
    found = status(folder)
    if found is None or not stat.S_ISDIR(found.st_mode):
        raise CaveatError(
            "there is no such folder",
            where=where,
            do="make it or choose another",
            code="command.folder.absent",
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CaveatError(
            "the folder may not be written to",
            where=where,
            do="choose another folder",
            code="command.folder.not-writable",
        )


def make_folder(folder: Path, *, confidential: bool) -> None:
    """Make a folder and those around it, unless it is there.

    Parameters
    ----------
    folder
        The folder.
    confidential
        Whether a new one is for this user alone.
    """
    found = status(folder)
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise CaveatError(
            "this is no folder", where=str(folder), do="name a folder", code="command.folder.type"
        )
    try:
        folder.mkdir(mode=0o700 if confidential else 0o777, parents=True, exist_ok=True)
    except OSError as error:
        raise CaveatError(
            f"the folder cannot be made ({_reason(error)})",
            where=str(folder),
            do="choose another",
            code="command.folder.not-writable",
        ) from None


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


@contextmanager
def unwritable(path: Path) -> Iterator[None]:
    """Turn what the system says about writing into one sentence."""
    try:
        yield
    except OSError as error:
        raise CaveatError(
            f"cannot be written ({_reason(error)})",
            where=str(path),
            do="check the folder's permissions and the free space",
            code="command.output.not-writable",
        ) from error
    except UnicodeEncodeError as error:
        raise CaveatError(
            "the text to be written holds a name that is not UTF-8",
            where=str(path),
            do="rename the file it comes from",
            code="command.name.malformed",
        ) from error


@contextmanager
def atomic_output(path: Name, *, confidential: bool, force: bool = False) -> Iterator[Path]:
    """Give a temporary name beside the target; rename it when the block ends without an error.

    A link is followed: what it leads to is replaced, and the link stays.

    Parameters
    ----------
    path
        The target.
    confidential
        Whether it is for this user alone; what may leave has the permissions of any new file. What
        is replaced never gets wider ones than it had.
    force
        Whether a file that exists may be replaced.

    Yields
    ------
    Path
        The name to write to, with the extension of the target, in a folder that only this user can
        enter. After an error it is removed and the target is as it was. What a killed process has
        left beside the target is removed as well.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "result.json"
    ...     with atomic_output(target, confidential=False) as draft:
    ...         _ = draft.write_text("{}")
    ...     target.read_text()
    '{}'
    """
    target = check_output(path, force=force)
    # The extension is that of the name that was given, which a link need not share.
    beside = target.with_name(Path(path).name)
    with unwritable(Path(path)), draft_of(beside) as draft:
        yield draft
        # Somebody may have made the target in the meantime.
        check_output(path, force=force)
        give_name(draft, target, confidential=confidential, force=force, shown=Path(path))


def give_name(
    draft: Path, target: Path, *, confidential: bool, force: bool, shown: Path | None = None
) -> None:
    """Give a whole draft the name of its target in one step.

    Parameters
    ----------
    draft, target
        The file, and the name that it gets.
    confidential
        As in :func:`atomic_output`.
    force
        Whether a file that exists is replaced.
    shown
        How the target was named by the user.
    """
    with draft.open("rb+") as file:
        os.fsync(file.fileno())
    make_private(draft, target, confidential=confidential)
    with held():
        stop_if_told()
        if force:
            draft.replace(target)
        else:
            _rename_new(draft, target)
        WRITTEN[shown or target] = None


def _rename_new(draft: Path, target: Path) -> None:
    """Rename a draft unless there is a file of this name, however late it was made."""
    try:
        os.link(draft, target)
    except FileExistsError:
        raise CaveatError(
            "the output exists already: another program has made it meanwhile",
            where=str(target),
            do="choose another name or use --force",
            code="command.output.exists",
        ) from None
    except OSError:  # not every file system has links
        draft.replace(target)


def write_text(path: Name, text: str, *, confidential: bool, force: bool = False) -> None:
    """Write a text to a file, whole or not at all; see :func:`atomic_output`."""
    with atomic_output(path, confidential=confidential, force=force) as draft:
        draft.write_text(text, encoding="utf-8", newline="\n")


# -------------------------------------------------------------------------------------------------
# What is refused before a file is read, and how its errors name it.


def check_input(path: Path) -> None:
    """Refuse what holds no table, before it is opened: to open a pipe is to wait for its writer."""
    where = str(path)
    status(path)  # refuses what cannot be a name
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return  # it may hold a table in parts
        if not stat.S_ISREG(mode):
            raise CaveatError(
                "this is a pipe, a socket or a device",
                where=where,
                do="save it as a file first",
                code="data.file.type",
            )
        with path.open("rb") as file:
            empty = not file.read(1)
    except (FileNotFoundError, NotADirectoryError):
        raise CaveatError(
            "there is no such file", where=where, do="check the name", code="data.file.absent"
        ) from None
    except OSError as error:
        raise unreadable(error, path) from None
    if empty:
        raise CaveatError(
            "the file is empty", where=where, do="check how it was made", code="data.file.empty"
        )


def check_signs(delimiter: str | None, decimal: str) -> None:
    """Refuse signs that text cannot be read by."""
    if decimal not in (".", ","):
        raise CaveatError(
            "the decimal sign is neither point nor comma",
            do="use '.' or ','",
            code="data.setting.range",
        )
    if delimiter is None:
        return
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\n\r':
        raise CaveatError(
            "the delimiter is not one plain character",
            do="use ',', ';', '|' or tab",
            code="data.setting.range",
        )
    if delimiter == decimal:
        raise CaveatError(
            "delimiter and decimal sign are the same",
            do="name the delimiter",
            code="data.setting.conflict",
        )


def positive_number(variable: str, usual: float) -> float:
    """Return the number in a variable of the environment, or the usual one if it is not set."""
    text = os.environ.get(variable, "")
    try:
        number = float(text or usual)
    except ValueError:
        number = 0.0
    if not number > 0:
        raise CaveatError(
            f"{variable} is not a positive number",
            do="set it to one such as 1000",
            code="data.setting.range",
        )
    return number


def in_file(error: CaveatError, path: Path) -> CaveatError:
    """Return the error with the file it is about."""
    where, place = error.where or "", shown(path)
    if not where or place.startswith(where):
        where = place
    elif not where.startswith((place, str(file_of(path)))):
        where = f"{place}, {where}"
    return error.replaced(where=where)


def unreadable(error: OSError, path: Path) -> Exception:
    """Return what to say of a file that the system does not give."""
    if is_memory_short(error):
        return MemoryError()
    source = source_of(path)
    remote = source is not None and not source.is_file
    what = "the server stopped while it was read" if remote else "the file cannot be read"
    return CaveatError(
        f"{what} ({error.strerror or type(error).__name__})",
        where=shown(path),
        do="look into its log" if remote else "check its name and its permissions",
        code="database.server.interrupted" if remote else "data.file.unreadable",
    )
