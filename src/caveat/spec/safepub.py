"""What ``caveat safepub`` takes from a specification: the promise, and the levels of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caveat.discreet import without_values
from caveat.privacy import Budget
from caveat.protect.lattice import Levels
from caveat.protect.safepub import Promise, promise_for
from caveat.spec._kinds import Group, Key, Many, Named, Number, Plain, Text
from caveat.spec.data_entries import COLUMN, DATA, PRIVACY
from caveat.spec.document import Document
from caveat.spec.privacy import budget_of
from caveat.spec.toml import toml_key

__all__ = ["SafepubSpec"]

FILLED, ABOVE = Text(filled=True), Number(0, above=True)

LEVELS = Group(
    {
        "widths": Key(
            Many(ABOVE, "numbers above 0", least=1),
            "Of numbers: the widths of the intervals, each a multiple of the one before.",
        ),
        "origin": Key(Number(), "Where an interval begins.", 0),
        "groups": Key(
            Many(Named(Many(Plain(), "values", least=1), "groups with their values"), "groupings"),
            "Of classes: groups with their values, then groups of these groups.",
        ),
    }
)
SAFEPUB = Group(
    {
        "epsilon": Key(ABOVE, "The epsilon of the whole release.", required=True),
        "delta": Key(Number(share=True), "The delta of the whole release.", required=True),
        "beta": Key(
            Number(share=True), "The sampling rate.", otherwise="the largest that is allowed"
        ),
        "search": Key(
            Number(share=True), "The share of epsilon for the choice of levels.", default=0.1
        ),
        "response": Key(FILLED, "The column that is released as it is.", required=True),
        "levels": Key(
            Named(LEVELS, "columns with their levels"), "The columns to release.", required=True
        ),
    }
)
FILE = Group(
    {
        "data": Key(DATA.optional(), "Delimiter, decimal sign and encoding of the file."),
        "columns": Key(Named(COLUMN, "columns with what is known about them"), "As elsewhere."),
        "safepub": Key(SAFEPUB, "The release.", required=True),
        "privacy": Key(PRIVACY, "The ledger of what is spent."),
    }
)


@dataclass(frozen=True)
class SafepubSpec:
    """A release of real records under a promise.

    Parameters
    ----------
    promise
        What is promised; it needs no data.
    response
        The column that is released as it is.
    levels
        The other columns with their declared levels.
    options
        epsilon, delta, beta and search, as :func:`caveat.protect.safepub.safepub` takes them.
    budget
        The ledger, if there is one.
    document
        The file itself.
    """

    promise: Promise
    response: str
    levels: Mapping[str, Levels]
    options: Mapping[str, Any]
    budget: Budget | None
    document: Document

    __repr__ = without_values

    @classmethod
    def from_document(cls, document: Document) -> SafepubSpec:
        """Read a specification; what is wrong is named with its line."""
        document.refuse(FILE.problems(document.content, ()))
        part = document.content["safepub"]
        levels = {}
        for name, declared in part["levels"].items():
            with document.at("safepub", "levels", name):
                levels[name] = Levels(**declared)
        options = {key: part[key] for key in ("epsilon", "delta", "beta", "search") if key in part}
        response = part["response"]
        if response in levels:
            document.fail(
                ("safepub", "levels", response),
                f"safepub.levels.{response}: the response is released as it is",
                "declare no levels of it",
                code="outputs.column.conflict",
            )
        _check_kinds(document, (*levels, response))
        with document.at("safepub"):
            promise = promise_for((*levels, response), **options)
        budget = budget_of(document) if "privacy" in document.content else None
        return cls(promise, response, levels, options, budget, document)


def _check_kinds(document: Document, names: tuple[str, ...]) -> None:
    """Refuse a column whose kind would be found from the data: it shows in all its values."""
    for name in names:
        if "kind" not in document.content.get("columns", {}).get(name, {}):
            document.fail(
                ("columns", name),
                f"columns.{name}.kind is missing, and a kind found from the data is not private",
                f'add kind = "category", "integer" or another to [columns.{toml_key(name)}]',
                code="privacy.column.undeclared",
            )
