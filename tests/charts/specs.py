"""What a specification of a chart holds."""

from __future__ import annotations

from typing import Any


def spec_of(chart: Any) -> dict[str, Any]:
    """The specification, checked against the grammar's schema."""
    found: dict[str, Any] = chart.to_dict()
    return found


def values(spec: object, key: str) -> list[Any]:
    """All values of a key, wherever it stands."""
    if isinstance(spec, dict):
        here = [spec[key]] if key in spec else []
        return here + [v for part in spec.values() for v in values(part, key)]
    if isinstance(spec, list):
        return [v for part in spec for v in values(part, key)]
    return []


def rows_of(spec: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """All rows of data that are drawn and have a field."""
    return [row for data in spec["datasets"].values() for row in data if field in row]


def marks(spec: dict[str, Any]) -> list[str]:
    """The kinds of marks in the order in which they are drawn."""
    return [mark["type"] for mark in values(spec, "mark")]
