"""Output files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from caveat.errors import CaveatError

__all__ = ["atomic_output", "check_output"]


def check_output(path: str | Path, *, force: bool = False) -> Path:
    """Refuse a target that cannot or may not be written, before any work is done for it."""
    path = Path(path)
    if path.is_dir():
        raise CaveatError("the output is a folder", where=str(path), do="name a file")
    if not path.parent.is_dir():
        raise CaveatError(
            "there is no such folder", where=str(path.parent), do="make it or choose another"
        )
    if path.exists() and not force:
        raise CaveatError(
            "the output exists already", where=str(path), do="choose another name or use --force"
        )
    return path


@contextmanager
def atomic_output(path: str | Path, *, force: bool = False) -> Iterator[Path]:
    """Give a temporary name beside the target; rename it when the block ends without an error.

    Parameters
    ----------
    path
        The target.
    force
        Whether a file that exists may be replaced.

    Yields
    ------
    Path
        The name to write to, with the extension of the target. After an error it is removed and the
        target is as it was.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "result.json"
    ...     with atomic_output(target) as draft:
    ...         _ = draft.write_text("{}")
    ...     target.read_text()
    '{}'
    """
    path = check_output(path, force=force)
    draft = path.with_name(f".{secrets.token_hex(6)}.{path.name}")
    try:
        yield draft
        with draft.open("rb+") as file:
            os.fsync(file.fileno())
        # Somebody may have made the target in the meantime.
        check_output(path, force=force)
        draft.replace(path)
    except OSError as error:
        raise CaveatError(
            f"cannot be written ({error.strerror or type(error).__name__})",
            where=str(path),
            do="check the folder's permissions and the free space",
        ) from error
    finally:
        draft.unlink(missing_ok=True)
