"""The manifest of a folder: which files a run has written, their checksums, and what may leave."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from caveat.documents import parse
from caveat.evidence.file import as_text
from caveat.table.atomic import write_text

__all__ = ["MANIFEST", "is_listed", "list_again", "listed"]

MANIFEST = "manifest.json"


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    """Return what a manifest says about the files of its folder; nothing if there is none."""
    try:
        content = parse((folder / MANIFEST).read_bytes())
        return {str(entry["name"]): dict(entry) for entry in content["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


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
        checksum = sha256(file.read_bytes()).hexdigest()
    except OSError:
        return False
    return known.get(file.name, {}).get("sha256") == checksum


def list_again(file: Path) -> None:
    """Enter a file that was written again into the manifest beside it; no other entry changes."""
    entries = listed(file.parent)
    if file.name not in entries:
        return
    content = file.read_bytes()
    entries[file.name] |= {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    document = {"format": 1, "files": list(entries.values())}
    write_text(file.parent / MANIFEST, as_text(document), confidential=False, force=True)
