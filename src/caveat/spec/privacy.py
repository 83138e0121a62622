"""The budget of a guarantee, as a specification has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat.privacy import Budget, Limit
from caveat.spec.document import Document
from caveat.synthesis.margins.promise import is_private
from caveat.table.schema import Schema

__all__ = ["budget_of", "check_budget", "with_budget"]


def budget_of(document: Document) -> Budget:
    """Return the budget of ``[privacy]``, or that of one release in a ledger beside the file."""
    given = document.content.get("privacy", {})
    name = document.content.get("data", {}).get("path", document.path.name)
    limit = given.get("limit")
    with document.at("privacy"):
        return Budget(
            document.path.parent / given.get("ledger", "ledger.jsonl"),
            given.get("dataset", name),
            None if limit is None else Limit(limit["epsilon"], limit["delta"]),
        )


def check_budget(document: Document) -> None:
    """Refuse a budget that nothing spends."""
    if "privacy" in document.content and not is_private(document.content.get("synthesis", {})):
        document.fail(
            ("privacy",),
            "a budget is for a guarantee, and none is asked for",
            "add epsilon to [synthesis], or leave [privacy] out",
        )


def with_budget(
    document: Document, synthesis: Mapping[str, Any], schema: Schema
) -> Mapping[str, Any]:
    """Return the options of the synthesiser; of a guarantee with what it needs besides.

    These are the declared codes that mean missing, and the ledger.
    """
    if not is_private(synthesis):
        return synthesis
    columns = {name: dict(entry) for name, entry in synthesis.get("columns", {}).items()}
    for name, column in schema.columns.items():
        if name in columns and column.missing:
            columns[name]["missing"] = list(column.missing)
    return {**synthesis, "columns": columns, "budget": budget_of(document)}
