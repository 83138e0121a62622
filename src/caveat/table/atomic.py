"""Output files that are either whole or not there, and never a file that was read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from caveat.errors import CaveatError
from caveat.stopping import WRITTEN, held, stop_if_told
from caveat.table.drafts import draft_of, make_private
from caveat.table.source import Source, file_of, shown, source_of

__all__ = [
    "atomic_output",
    "check_folder",
    "check_output",
    "check_outputs",
    "give_name",
    "make_folder",
    "same_file",
    "status",
    "unwritable",
    "write_text",
]

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
