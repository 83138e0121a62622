"""TOML files as they are given: there, readable and in order, before anything else is loaded."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.table.atomic import status
from caveat.table.toml import loads

__all__ = ["read_toml"]


def read_toml(path: Path) -> tuple[bytes, str, dict[str, Any]]:
    """Return the bytes, the text and the content of a file; what is no TOML is an error."""
    status(path)  # refuses what cannot be a name
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="spec.file.absent"
        ) from None
    except OSError as error:
        raise CaveatError(
            f"it cannot be read ({error.strerror})",
            where=str(path),
            do="check the name",
            code="spec.file.unreadable",
        ) from None
    try:
        text = raw.decode("utf-8-sig")
        content = loads(text)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise CaveatError(
            "this is not UTF-8",
            where=f"{path.name}, line {line}",
            do="save it as UTF-8",
            code="spec.encoding.malformed",
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise _syntax(error, path.name, text) from None
    return raw, text, content


def _syntax(error: tomllib.TOMLDecodeError, name: str, text: str) -> CaveatError:
    message = str(error)
    found = re.search(r"\s*\(at (?:line (\d+), column \d+|end of document)\)$", message)
    line = int(found[1]) if found and found[1] else text.count("\n") + (not text.endswith("\n"))
    what = re.sub(r"\('(.*)',?\)", r"\1", message[: found.start()] if found else message)
    twice = what.startswith(("Cannot overwrite", "Cannot declare"))
    return CaveatError(
        f"this is not valid TOML ({what[:1].lower()}{what[1:]})",
        where=f"{name}, line {max(line, 1)}",
        do="it stands there twice: remove one"
        if twice
        else "text stands in quotation marks, lists stand in [ ]",
        code="spec.entry.duplicate" if twice else "spec.file.malformed",
    )
