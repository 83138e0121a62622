"""What a board decided about a release: a small file beside the evidence that it was made on.

The report prints it, and says so if it was made on other evidence. Names and conditions stay
inside.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from caveat.documents import path_below
from caveat.errors import CaveatError
from caveat.evidence.file import as_text, read_document, write_document

__all__ = [
    "DECISION",
    "DECISIONS",
    "Decision",
    "decision_beside",
    "decision_schema",
    "evidence_sha256",
    "read_decision",
    "write_decision",
]

DECISION = "decision.json"
"""How the file is called, in the folder of the evidence."""

DECISIONS = {
    "release": "Release",
    "change": "Change, and put before the board again",
    "refuse": "Refuse",
}
"""What can be decided, and in words."""

FORMAT = 1
LONGEST = 2000
_TEXTS = {"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": LONGEST}}
_DAY = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_FIELDS: dict[str, tuple[str, dict[str, Any]]] = {
    "format": (f"the number {FORMAT}", {"const": FORMAT}),
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
        return {"format": FORMAT, **asdict(self), **lists}


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
