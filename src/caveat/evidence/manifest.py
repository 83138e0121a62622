"""The manifest of a folder: which files a run has written, their checksums, and what may leave."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from caveat.documents import Shape, path_below, read_bytes
from caveat.errors import CaveatError
from caveat.evidence.file import write_document

__all__ = ["MANIFEST", "is_listed", "list_again", "listed"]

MANIFEST = "manifest.json"
_NAME = {"type": "string", "minLength": 1, "maxLength": 1000}
_ENTRY = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": _NAME,
        "sha256": {"type": "string", "maxLength": 64},
        "bytes": {"type": "integer", "minimum": 0},
        "confidential": {"type": "boolean"},
    },
}
SHAPE = Shape(
    {
        "type": "object",
        "required": ["files"],
        "properties": {
            "notice": {"type": "string", "maxLength": 1000},
            "files": {"type": "array", "items": _ENTRY},
        },
    },
    "this is no manifest of a release",
    "use the folder as it was written by Caveat",
)
"""The form of the file."""


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what a manifest says about the files of its folder; nothing if there is none.

    One that is damaged, is a link, or names a file outside its folder lists nothing: no file of
    the folder is then taken for one that a run has written.
    """
    try:
        content = SHAPE.read(path_below(folder, MANIFEST))
        for entry in content["files"]:
            path_below(folder, entry["name"], plain=False)
    except CaveatError:
        return {}
    return {entry["name"]: dict(entry) for entry in content["files"]}


def _notice(folder: Path) -> dict[str, str]:
    """Return what a manifest says about all of its files, as an entry of it."""
    try:
        content = SHAPE.read(path_below(folder, MANIFEST))
    except CaveatError:
        return {}
    return {"notice": content["notice"]} if "notice" in content else {}


def is_listed(file: Path, entries: dict[str, dict[str, Any]] | None = None) -> bool:
    """Whether the manifest beside a file lists it as it is now.

    Parameters
    ----------
    file
        The file.
    entries
        What the manifest says, if it was read already.
    """
    known = listed(file.parent) if entries is None else entries
    try:
        checksum = sha256(read_bytes(file)).hexdigest()
    except CaveatError:
        return False
    return known.get(file.name, {}).get("sha256") == checksum


def list_again(file: Path) -> None:
    """Enter a file that was written again into the manifest beside it; no other entry changes."""
    entries, notice = listed(file.parent), _notice(file.parent)
    if file.name not in entries:
        return
    content = file.read_bytes()
    entries[file.name] |= {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    document = {"format": 1, **notice, "files": list(entries.values())}
    place = path_below(file.parent, MANIFEST)
    write_document(place, document, confidential=False, force=True)
