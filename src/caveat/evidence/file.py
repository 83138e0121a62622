"""The evidence file: everything that a run measured, in one versioned JSON document.

It holds no date, no duration and no path, so that the same specification, data and seed give the
same bytes. It is confidential: it names rows of the original and describes their distributions.
"""

from __future__ import annotations

import json
from collections import deque
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from caveat.documents import parse, read_bytes
from caveat.errors import CaveatError
from caveat.table.drafts import write_text

__all__ = [
    "FORMAT",
    "as_text",
    "check",
    "read",
    "read_document",
    "schema",
    "text_of",
    "write",
    "write_document",
]

FORMAT = 2
_RIGHT: deque[bytes] = deque(maxlen=64)  # checksums of what was checked


@cache
def schema() -> dict[str, Any]:
    """Return the JSON schema of the evidence (draft 2020-12)."""
    text = files("caveat.evidence").joinpath("schema.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def check(content: Any, where: str = "evidence") -> None:
    """Refuse what is no evidence of a version that is known.

    The message names the place and not the value, which may be confidential.
    """
    version = content.get("format") if isinstance(content, dict) else None
    if version is None:
        raise CaveatError(
            "this is no evidence of a release",
            where=where,
            do="give a file that a run has written",
            code="evidence.file.malformed",
        )
    if version != FORMAT:
        raise CaveatError(
            f"it has another format than version {FORMAT}, the only one that is known here",
            where=where,
            do="read it with the version of Caveat that wrote it, or run the release again",
            code="evidence.format.unsupported",
        )
    # A large library, and most commands have no evidence to check.
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema()).iter_errors(content))
    if error is not None:
        place = ", ".join(
            str(part + 1) if isinstance(part, int) else part for part in error.absolute_path
        )
        raise CaveatError(
            f"it does not follow the schema of version {FORMAT} ({error.validator})",
            where=f"{where}, {place}" if place else where,
            do="run the release again, or undo the change to the file",
            code="evidence.entry.malformed",
        )


def text_of(content: dict[str, Any]) -> str:
    """Return evidence as the text of its file, after a check."""
    check(content)
    return as_text(content)


def as_text(document: dict[str, Any]) -> str:
    """Return a document as the text of its file, without a check."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_document(
    path: str | Path, document: dict[str, Any], *, force: bool = False, confidential: bool = True
) -> None:
    """Write a document to a file, whole or not at all; for this user alone if confidential."""
    write_text(path, as_text(document), confidential=confidential, force=force)


def write(path: str | Path, content: dict[str, Any], *, force: bool = False) -> None:
    """Write evidence to a file, whole or not at all."""
    write_text(path, text_of(content), confidential=True, force=force)


def read(path: str | Path) -> dict[str, Any]:
    """Read and check an evidence file; one that was right is not checked again."""
    raw = read_bytes(Path(path))
    found: dict[str, Any] = _parsed(
        raw, path, "give the evidence.json of a release", "evidence.file.malformed"
    )
    mark = sha256(raw).digest()
    if mark not in _RIGHT:
        check(found, str(path))
        _RIGHT.append(mark)
    return found


def read_document(path: str | Path, do: str, code: str) -> Any:
    """Read a document; what to do if it is none, and its code, are said by who needs it."""
    return _parsed(read_bytes(Path(path)), path, do, code)


def _parsed(raw: bytes, path: str | Path, do: str, code: str) -> Any:
    try:
        return parse(raw)
    except ValueError:
        raise CaveatError("this is no JSON file", where=str(path), do=do, code=code) from None
