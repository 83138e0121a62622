"""The evidence file, the manifest of the folder it lies in, and the decision beside it."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

from caveat.documents import Shape, parse, path_below, read_bytes
from caveat.errors import CaveatError
from caveat.table.drafts import write_text

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


# -------------------------------------------------------------------------------------------------
# The manifest of a folder: which files a run has written, their checksums, and what may leave.


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


# -------------------------------------------------------------------------------------------------
# What a board decided about a release: a small file beside the evidence that it was made on.
#
# The report prints it, and says so if it was made on other evidence. Names and conditions stay
# inside.


DECISION = "decision.json"
"""How the file is called, in the folder of the evidence."""

DECISIONS = {
    "release": "Release",
    "change": "Change, and put before the board again",
    "refuse": "Refuse",
}
"""What can be decided, and in words."""

DECISION_FORMAT = 1
LONGEST = 2000
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": LONGEST}}
_DAY = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "format": (f"the number {DECISION_FORMAT}", {"const": DECISION_FORMAT}),
    "evidence_sha256": (
        "the SHA-256 checksum of the evidence file it was made on, 64 digits from 0 to f",
        {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    ),
    "decision": ("release, change or refuse", {"enum": list(DECISIONS)}),
    "names": ("a list of at least one name", {**_TEXTS, "minItems": 1}),
    "date": ("a day as 2026-11-17", _DAY),
    "conditions": ("a list of sentences, which may be empty", _TEXTS),
    "next_review": ("a day as 2027-11-17, or null", {"anyOf": [_DAY, {"type": "null"}]}),
}


@dataclass(frozen=True)
class Decision:
    """A decision about a release.

    Parameters
    ----------
    evidence_sha256
        The checksum of the evidence file that it was made on: see :func:`evidence_sha256`.
    decision
        "release", "change" or "refuse".
    names
        Who decided.
    date
        When, as 2026-11-17.
    conditions
        Under which conditions.
    next_review
        When it is to be looked at again, if ever.
    """

    evidence_sha256: str
    decision: str
    names: Sequence[str]
    date: str
    conditions: Sequence[str] = ()
    next_review: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "conditions", tuple(self.conditions))
        _check(self.to_dict(), "decision")
        if self.next_review is not None and self.next_review <= self.date:
            do = "name a later day, or none"
            raise CaveatError(
                "the next review is before the decision",
                where="decision",
                do=do,
                code="decision.entry.conflict",
            )

    def to_dict(self) -> dict[str, Any]:
        """Return what its file holds."""
        lists = {"names": list(self.names), "conditions": list(self.conditions)}
        return {"format": DECISION_FORMAT, **asdict(self), **lists}


def decision_schema() -> dict[str, Any]:
    """Return the JSON schema of the file (draft 2020-12)."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What was decided about a release",
        "type": "object",
        "required": list(_FIELDS),
        "properties": {
            name: {"description": f"{words[0].upper()}{words[1:]}.", **kind}
            for name, (words, kind) in _FIELDS.items()
        },
        "additionalProperties": False,
    }


def evidence_sha256(content: dict[str, Any]) -> str:
    """Return the checksum of the file that a run has written for this evidence.

    It is what ``sha256sum evidence.json`` prints.
    """
    return hashlib.sha256(as_text(content).encode()).hexdigest()


def read_decision(path: str | Path) -> Decision:
    """Read and check the file of a decision."""
    content = read_document(
        path, "write it as the page on the report says", "decision.file.malformed"
    )
    _check(content, str(path))
    return Decision(**{name: value for name, value in content.items() if name != "format"})


def decision_beside(evidence: str | Path) -> Decision | None:
    """Return the decision that lies beside an evidence file; None if there is none."""
    path = path_below(Path(evidence).parent, DECISION)
    return read_decision(path) if path.exists() else None


def write_decision(path: str | Path, decision: Decision, *, force: bool = False) -> None:
    """Write a decision to its file, whole or not at all; never to where a link leads."""
    path = Path(path)
    write_document(path_below(path.parent, path.name), decision.to_dict(), force=force)


def _check(content: Any, where: str) -> None:
    """Refuse what is no decision, with the first field that is not as it should be."""
    if not isinstance(content, dict):
        raise CaveatError(
            "this is no decision about a release",
            where=where,
            do=_do("decision"),
            code="decision.file.malformed",
        )
    unknown = sorted(str(name) for name in set(content) - set(_FIELDS))
    if unknown:
        raise CaveatError(
            f"a decision has no field {unknown[0]!r}",
            where=where,
            do=f"its fields are {', '.join(_FIELDS)}",
            code="decision.entry.unknown",
        )
    from jsonschema import Draft202012Validator  # a large library, and most have no decision yet

    for name, (_, kind) in _FIELDS.items():
        if name not in content:
            raise CaveatError(
                f"{name} is missing", where=where, do=_do(name), code="decision.entry.absent"
            )
        wrong = not Draft202012Validator(kind).is_valid(content[name])
        is_day = name in ("date", "next_review")
        if wrong or (is_day and not _is_day(content[name])):
            raise CaveatError(
                f"{name} is not as it should be",
                where=where,
                do=_do(name),
                code="decision.entry.malformed",
            )


def _do(name: str) -> str:
    return f"give {_FIELDS[name][0]}"


def _is_day(value: str | None) -> bool:
    try:
        return value is None or bool(date.fromisoformat(value))
    except ValueError:
        return False
