"""The budget of a guarantee, as a specification has it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat.privacy import Limit
from caveat.spec.document import Document
from caveat.synthesis.margins.guaranteed import Budget
from caveat.synthesis.margins.promise import is_private
from caveat.table.schema import Schema

__all__ = ["with_budget"]


def with_budget(
    document: Document, synthesis: Mapping[str, Any], schema: Schema
) -> Mapping[str, Any]:
    """Return the options of the synthesiser; of a guarantee with what it needs besides.

    These are the declared codes that mean missing, and the ledger.
    """
    given = document.content.get("privacy")
    if not is_private(synthesis):
        if given is not None:
            document.fail(
                ("privacy",), "a budget is for a guarantee, and none is asked for",
                "add epsilon to [synthesis], or leave [privacy] out",
            )  # fmt: skip
        return synthesis
    columns = {name: dict(entry) for name, entry in synthesis.get("columns", {}).items()}
    for name, column in schema.columns.items():
        if name in columns and column.missing:
            columns[name]["missing"] = list(column.missing)
    given = given or {}
    name = document.content.get("data", {}).get("path", document.path.name)
    limit = given.get("limit")
    with document.at("privacy"):
        budget = Budget(
            document.path.parent / given.get("ledger", "ledger.jsonl"),
            given.get("dataset", name),
            None if limit is None else Limit(limit["epsilon"], limit["delta"]),
        )
    return {**synthesis, "columns": columns, "budget": budget}
