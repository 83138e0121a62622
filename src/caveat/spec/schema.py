"""The specification as JSON schema, for editors that check TOML files while they are written."""

from __future__ import annotations

from typing import Any

from caveat.protect.pipeline import PROTECTIONS, arguments_of
from caveat.spec.entries import SPECIFICATION

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """Return the JSON schema (draft 2020-12) of a release specification.

    It says of a file what can be said without the data: names, types, ranges and choices.
    """
    schema = SPECIFICATION.schema()
    schema["properties"]["protect"]["items"]["allOf"] = [
        {
            "if": {"properties": {"name": {"const": name}}},
            "then": {"propertyNames": {"enum": ["name", *known]}},
        }
        for name, (known, anything) in ((n, arguments_of(n)) for n in PROTECTIONS)
        if not anything
    ]
    # One file in [data], or several in [tables].
    schema["required"].remove("data")
    path = schema["properties"]["data"].pop("required")
    schema["anyOf"] = [
        {"required": ["data"], "properties": {"data": {"required": path}}},
        {"required": ["tables"]},
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Release specification of Caveat",
        **schema,
    }
