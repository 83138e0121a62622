"""The manifest of a folder: which files a run has written, their checksums, and what may leave."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import Any

from caveat.documents import Shape, path_below, read_bytes
from caveat.errors import CaveatError
from caveat.evidence.file import write_document

__all__ = ["EVIDENCE", "INSIDE", "MANIFEST", "PUBLIC", "SPEC", "is_listed", "list_again", "listed",
           "name_in", "place_in", "release_of"]  # fmt: skip

MANIFEST = "manifest.json"
PUBLIC, INSIDE = "public", "inside"
"""The folders of a release: what may leave lies in the first, everything else in the second."""
EVIDENCE, SPEC = f"{INSIDE}/evidence.json", f"{INSIDE}/release.toml"
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


def release_of(file: Path) -> Path:
    """Return the absolute path of the folder whose manifest lists a file.

    It is the file's own folder, or the one around ``public`` and ``inside``, in which linked
    tables and margins have a folder of their own. Without a manifest it is the file's own.
    """
    around = list(file.absolute().parents)[:3]
    return next((folder for folder in around if (folder / MANIFEST).is_file()), around[0])


def name_in(release: Path, file: Path) -> str:
    """Return what the manifest of a release calls a file; ``release`` is an absolute path."""
    return file.absolute().relative_to(release).as_posix()


def place_in(release: Path, name: str) -> Path:
    """Return where a file of a release lies: among what may leave, or inside."""
    public = path_below(release, f"{PUBLIC}/{name}", plain=False)
    return public if public.is_file() else path_below(release, f"{INSIDE}/{name}", plain=False)


def is_listed(file: Path, entries: dict[str, dict[str, Any]] | None = None) -> bool:
    """Whether the manifest of its release lists a file as it is now.

    Parameters
    ----------
    file
        The file.
    entries
        What the manifest says, if it was read already.
    """
    release = release_of(file)
    known = listed(release) if entries is None else entries
    try:
        checksum = sha256(read_bytes(file)).hexdigest()
    except CaveatError:
        return False
    return known.get(name_in(release, file), {}).get("sha256") == checksum


def list_again(file: Path) -> None:
    """Enter a file that was written again into its manifest; no other entry changes."""
    release = release_of(file)
    entries, notice, name = listed(release), _notice(release), name_in(release, file)
    if name not in entries:
        return
    content = file.read_bytes()
    entries[name] |= {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    document = {"format": 1, **notice, "files": list(entries.values())}
    place = path_below(release, MANIFEST)
    write_document(place, document, confidential=False, force=True)
