"""Documents that somebody else may have written: JSON with a schema, names below their folder.

A document grants nothing. What it holds is checked against a schema before it is used, and a name
in it is a name in the folder of the document: no way out of it, and no symbolic link.
"""

from __future__ import annotations

import json
import stat
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path, PureWindowsPath
from typing import Any

from caveat.errors import CaveatError, commands_in

__all__ = ["Shape", "parse", "path_below", "read_bytes"]

WHOLE = range(-(2**63), 2**64)
LARGEST = 2**30  # bytes of a document
LONGEST = 1000  # characters of a name


def parse(content: bytes) -> Any:
    """Return what a JSON text holds, or raise ValueError.

    Numbers are finite and whole ones fit into 64 bits, nesting is bounded, and all text can be
    written as UTF-8: what passes can be computed with and printed.

    Examples
    --------
    >>> parse(b'{"n": [1, 2.5]}')
    {'n': [1, 2.5]}
    >>> parse(b'[1e999]')
    Traceback (most recent call last):
    ValueError: Out of range float values are not JSON compliant
    """
    try:
        value = json.loads(content, parse_int=_whole)
        # Written again: NaN, infinities and halves of characters have no place in a document.
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value


def _whole(text: str) -> int:
    number = int(text) if len(text) <= 21 else WHOLE.stop
    if number not in WHOLE:
        raise ValueError("a whole number beyond 64 bits")
    return number


def read_bytes(path: Path) -> bytes:
    """Return the content of a document, or say why it cannot be read."""
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # a pipe may never end
            raise CaveatError(
                "this is no file", where=str(path), do="name a file", code="data.file.type"
            )
        if found.st_size > LARGEST:
            raise CaveatError(
                "the file is too large for a document", where=str(path), code="data.file.too-large"
            )
        return path.read_bytes()
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="data.file.absent"
        ) from None
    except OSError as error:
        says = f"the file cannot be read ({error.strerror})"
        raise CaveatError(says, where=str(path), code="data.file.unreadable") from None


class Shape:
    """The JSON schema of one sort of document.

    Parameters
    ----------
    schema
        The schema (draft 2020-12).
    what, do
        The two parts of the error where a document does not follow it.
    code
        The code of this error.

    Examples
    --------
    >>> shape = Shape({"type": "array"}, "this is no list", "write one")
    >>> shape.fits([1]), shape.fits({})
    (True, False)
    >>> shape.check({}, "x.json")
    Traceback (most recent call last):
    caveat.errors.CaveatError: x.json: this is no list; write one.
    """

    def __init__(
        self, schema: Mapping[str, Any], what: str, do: str, code: str = "release.file.damaged"
    ) -> None:
        self.schema, self.what, self.do, self.code = schema, what, do, code

    @cached_property
    def _validator(self) -> Any:
        # A large library, and most commands have no document to check.
        from jsonschema import Draft202012Validator

        return Draft202012Validator(self.schema)

    def fits(self, value: Any) -> bool:
        """Whether a value follows the schema."""
        return bool(self._validator.is_valid(value))

    def check(self, value: Any, where: str) -> None:
        """Refuse a value that does not follow the schema; the message names the place only."""
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(value))
        if error is None:
            return
        place = ", ".join(
            str(part + 1) if isinstance(part, int) else part for part in error.absolute_path
        )
        raise CaveatError(
            self.what, where=f"{where}, {place}" if place else where, do=self.do, code=self.code
        )

    def read(self, path: Path) -> Any:
        """Read a file that follows the schema."""
        raw = read_bytes(path)
        try:
            value = parse(raw)
        except ValueError:
            raise CaveatError(
                "this is no JSON file", where=str(path), do=self.do, code=self.code
            ) from None
        self.check(value, str(path))
        return value


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        raise CaveatError(
            "no file can have this name",
            where=str(path),
            do="rename it",
            code="release.name.malformed",
        ) from None


def path_below(folder: Path, name: object, *, plain: bool = True) -> Path:
    """Return the file that a document names, which lies in its folder.

    Parameters
    ----------
    folder
        The folder; who named it to us answers for it, and it may be a link itself.
    name
        What the document holds.
    plain
        Whether only the name of a file is accepted, or also a relative path below the folder.

    Raises
    ------
    CaveatError
        If it is no such name, leads out of the folder, or leads over a symbolic link.

    Examples
    --------
    >>> path_below(Path("release"), "evidence.json").name
    'evidence.json'
    >>> path_below(Path("release"), "../x.csv")
    Traceback (most recent call last):
    caveat.errors.CaveatError: release: '../x.csv' is no name of a file in this folder; \
use the folder as it was written by Caveat.
    """
    parts = name.split("/") if isinstance(name, str) else []
    odd = not isinstance(name, str) or len(name) > LONGEST or "\\" in name or commands_in(name)
    if (
        odd
        or (plain and len(parts) != 1)
        or any(part.strip(" .") == "" or PureWindowsPath(part).drive for part in parts)
    ):
        raise CaveatError(
            f"{name!r:.200} is no name of a file in this folder",
            where=str(folder),
            do="use the folder as it was written by Caveat",
            code="release.name.refused",
        )
    path = folder
    for part in parts:
        path = path / part
        if _is_link(path):
            raise CaveatError(
                "this is a symbolic link, which may lead out of its folder",
                where=str(path),
                do="replace it by the file itself",
                code="release.file.refused",
            )
    return path
