"""What is refused before a file is read, and how its errors name it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from caveat.errors import CaveatError
from caveat.memory import is_memory_short
from caveat.table.atomic import status
from caveat.table.source import file_of, shown, source_of

__all__ = [
    "check_input",
    "check_signs",
    "in_file",
    "positive_number",
    "unreadable",
]


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
