"""The budget of a guarantee, as a specification has it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from caveat.generators.ours import refuse_second_source
from caveat.privacy import Budget, Limit
from caveat.spec.document import Document
from caveat.spec.lines import Entry
from caveat.synthesis.margins.promise import OPTIONS, is_private
from caveat.table.schema import Schema

__all__ = ["budget_of", "check_promise", "refuse_fits", "with_budget"]

EVERY_FIT = "every release that is made from the data spends budget of the guarantee"


def budget_of(document: Document) -> Budget:
    """Return the budget of ``[privacy]``, or that of one release in a ledger beside the file."""
    given = document.content.get("privacy", {})
    path = document.content.get("data", {}).get("path")
    if path is None and "dataset" not in given:
        document.fail(
            ("privacy",),
            "privacy.dataset is missing: releases of the same data share a budget by its name",
            'add [privacy] with dataset = "…"',
            code="spec.entry.absent",
        )
    limit = given.get("limit")
    with document.at("privacy"):
        return Budget(
            document.path.parent / given.get("ledger", "ledger.jsonl"),
            given.get("dataset") or Path(path).name,
            None if limit is None else Limit(limit["epsilon"], limit["delta"]),
        )


def check_promise(document: Document) -> None:
    """Refuse what would break a guarantee or spend it again, and a budget that nothing spends."""
    content = document.content
    synthesis = content.get("synthesis", {})
    with document.at("protect"):
        refuse_second_source(synthesis, content.get("protect", ()))
    if not is_private(synthesis):
        if "limit" in content.get("privacy", {}):
            document.fail(
                ("privacy", "limit"),
                "privacy.limit: a budget is for a guarantee, and none is asked for",
                "add epsilon to [synthesis], or leave the limit out",
                code="spec.entry.unused",
            )
        return
    for section in ("groups", "tables"):
        if section in content:
            document.fail(
                (section,),
                f"{section}: a guarantee is about single records, and these belong together",
                f"leave {section} out, or epsilon and poisson",
                code="spec.entry.conflict",
            )
    if type(content.get("release", {}).get("control")) is int:
        document.fail(
            ("release", "control"),
            "release.control: with a guarantee a control is a share, drawn record by record",
            "write control = 0.2",
            code="spec.entry.conflict",
        )
    if "map" in content:
        refuse_fits(document, "map")
    for i, scenario in enumerate(content.get("scenario", ())):
        if scenario.get("attacker") == "simulated":
            document.fail(
                ("scenario", i, "attacker"),
                f"scenario: {EVERY_FIT}, and this attacker makes many",
                'use attacker = "strong", who is exact here',
                code="spec.entry.conflict",
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


def refuse_fits(document: Document, what: str, *entries: Entry) -> None:
    """Refuse to make many releases where each spends budget, before any does.

    Parameters
    ----------
    document
        The specification.
    what
        What makes them, in one word.
    entries
        Where options of ours may stand, besides ``[synthesis]``.
    """
    for entry in (("synthesis",), *entries):
        found: Any = document.content
        for part in entry:
            found = found.get(part, {}) if isinstance(found, Mapping) else found[part]
        if is_private(found):
            name = next(name for name in OPTIONS if name in found)
            document.fail(
                (*entry, name),
                f"{what}: {EVERY_FIT}, and this makes many",
                "leave epsilon, delta and poisson out, and choose them before the data are looked "
                "at",
                code="spec.entry.conflict",
            )
