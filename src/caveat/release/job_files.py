"""The files that jobs of ``caveat app`` leave in a project: their form, and how they are read.

A project may come from somebody else, with such files in it. One that does not follow its schema is
as good as none, and a link in their folder is removed before anything is written there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caveat.documents import Shape, path_below
from caveat.errors import CaveatError

__all__ = ["FORMAT", "STATES", "read_job", "read_result", "remove_links", "result_text"]

FORMAT = 2  # of the files; others are as good as none
STATES = ("starting", "working", "done", "failed", "cancelled")
FILES = ("{}.json", "{}.new", "{}.lock", "{}.log", "{}-result.json")

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_SHARE = {"type": "number", "minimum": 0, "maximum": 1}
_MOMENT = {"type": "number", "minimum": 0, "maximum": 1e12}  # seconds since 1970
_CELL = {"type": ["string", "number", "boolean", "null"]}
_CELLS = {"type": "array", "items": _CELL}


def _object(required: Mapping[str, Any], **optional: Any) -> dict[str, Any]:
    """Return the schema of an object; what is not named may be anything."""
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **optional},
    }


def _map_of(items: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": items}


# A file of the project, or one beside it: in the folder that the app was started for.
_FILE = {"type": "string", "pattern": r"^(\.\./)?[^./\\][^/\\]*$"}
_FORM = {
    "type": "object",
    "properties": {"encoding": _TEXT, "delimiter": _TEXT, "decimal": _TEXT},
    "additionalProperties": False,
}
_ASKED = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": _FILE}, "form": _FORM, "example": _TEXT},
    "additionalProperties": _CELL,
}
_JOB = _object(
    {"format": {"const": FORMAT}, "state": {"enum": list(STATES)}},
    since=_MOMENT,
    ended=_MOMENT,
    at=_MOMENT,
    step=_TEXT,
    share={"anyOf": [{"const": 0}, {"type": "number", "minimum": 1e-4, "maximum": 1}]},
    said=_TEXTS,
    mistakes=_TEXTS,
    pid={"type": "integer", "minimum": 2, "maximum": 2**31},
    asked=_ASKED,
    **{"from": _MOMENT},
)
_SUGGESTION = {
    "type": "object",
    "properties": {
        "rules": _TEXTS,
        "formula": _TEXT,
        "from": _TEXT,
        "missing": _CELLS,
        "kind": _TEXT,
        "format": _TEXT,
        "formats": _TEXTS,
        "recode": _map_of(_CELL),
    },
}
_GROUPS = _object({"groups": _map_of({"anyOf": [_TEXT, _TEXTS]})})
_FINDING = _object(
    {
        "code": _TEXT,
        "topic": _TEXT,
        "columns": _TEXTS,
        "message": _TEXT,
        "action": _TEXT,
        "strength": _TEXT,
        "suggestion": _SUGGESTION,
    },
    table=_TEXT,
) | {
    "if": {"properties": {"code": {"const": "groups"}}},
    "then": {"properties": {"suggestion": _GROUPS}},
}
_COLUMN = _object(
    {"name": _TEXT, "called": _TEXT, "kind": _TEXT, "label": _TEXT, "distinct": _COUNT,
     "missing": _SHARE}
)  # fmt: skip
_TABLE = _object(
    {
        "rows": _COUNT,
        "columns": {"type": "array", "items": _COLUMN},
        "findings": {"type": "array", "items": _FINDING},
        "keys": _TEXTS,
    }
)
_LOOK = _object(
    {"tables": _map_of(_TABLE), "links": _TEXTS, "limits": _map_of(_map_of(_TEXT)), "known": _TEXTS}
)
_CHECK = _object(
    {
        "plan": {"type": "array", "items": {**_TEXTS, "minItems": 1}},
        "remarks": _TEXTS,
        "steps": _TEXTS,
    }
)
# What a map varies is the synthesis and the protections after it: a result writes nothing else.
_ENTRY = {
    "type": "array",
    "prefixItems": [{"enum": ["synthesis", "protect"]}],
    "items": {"anyOf": [_TEXT, {"type": "integer", "minimum": 0, "maximum": 1000}]},
    "minItems": 1,
    "maxItems": 3,
}
_CHANGE = {"type": "array", "prefixItems": [_ENTRY], "minItems": 2, "maxItems": 2}
_TRIED = {"type": "array", "items": {"type": "array", "items": _CHANGE}}
_RUN = _object(
    {},
    folder=_TEXT,
    verdict=_TEXT,
    trial=_TEXT,
    remarks=_TEXTS,
    made_from=_TEXT,
    tried=_TRIED,
)

_WORDS = ("this is no file of a job", "start the job again")
JOB = Shape(_JOB, *_WORDS)
RESULTS = {
    kind: Shape(_object({"format": {"const": FORMAT}, "left": left}), *_WORDS)
    for kind, left in {"look": _LOOK, "check": _CHECK, "run": _RUN}.items()
}


def read_job(folder: Path, kind: str) -> dict[str, Any]:
    """Return what a job has written about itself; nothing if there is no file that can be used."""
    try:
        found: dict[str, Any] = JOB.read(path_below(folder, f"{kind}.json"))
    except CaveatError:
        return {}
    return found


def read_result(folder: Path, kind: str) -> Any:
    """Return what a job has left for the pages; None if there is no file that can be used."""
    try:
        return RESULTS[kind].read(path_below(folder, f"{kind}-result.json"))["left"]
    except CaveatError:
        return None


def result_text(left: Any) -> str:
    """Return the text of a result; a number that is not finite is none."""
    text = json.dumps({"format": FORMAT, "left": left}, ensure_ascii=False, default=str)
    finite = json.loads(text, parse_constant=lambda _: None)
    return json.dumps(finite, ensure_ascii=False, allow_nan=False)


def remove_links(folder: Path, kind: str) -> None:
    """Remove links among the files of a job, so that nothing is written to where they lead."""
    for name in FILES:
        path = folder / name.format(kind)
        if path.is_symlink():
            path.unlink()
