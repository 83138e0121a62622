"""What ``caveat safepub`` takes from a specification: the promise, and the levels of columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from caveat.protect.lattice import Levels
from caveat.protect.safepub import Promise, promise_for
from caveat.spec._kinds import Group, Key, Many, Named, Number, Plain, Text
from caveat.spec.data_entries import COLUMN, DATA
from caveat.spec.document import Document
from caveat.spec.toml import toml_key

__all__ = ["BudgetSpec", "SafepubSpec"]

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
BUDGET = Group(
    {
        "ledger": Key(FILLED, "The ledger, seen from the specification's folder.", required=True),
        "dataset": Key(FILLED, "The name of the data in the ledger.", required=True),
        "limit": Key(
            Group(
                {
                    "epsilon": Key(ABOVE, "What all releases may spend.", required=True),
                    "delta": Key(Number(share=True), "And with which delta.", required=True),
                }
            ),
            "What all releases of these data may spend.",
            required=True,
        ),
    }
)
FILE = Group(
    {
        "data": Key(DATA.optional(), "Delimiter, decimal sign and encoding of the file."),
        "columns": Key(Named(COLUMN, "columns with what is known about them"), "As elsewhere."),
        "safepub": Key(SAFEPUB, "The release.", required=True),
        "privacy": Key(BUDGET, "The ledger of what is spent."),
    }
)


@dataclass(frozen=True)
class BudgetSpec:
    """The ``[privacy]`` part: where spending is entered.

    Parameters
    ----------
    ledger
        The file, seen from where the program runs.
    dataset
        The name of the data.
    epsilon, delta
        The limit of all releases together.
    """

    ledger: Path
    dataset: str
    epsilon: float
    delta: float


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
    budget: BudgetSpec | None
    document: Document

    @classmethod
    def from_document(cls, document: Document) -> SafepubSpec:
        """Read a specification; what is wrong is named with its line."""
        document.refuse(FILE.problem(document.content, ()))
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
            )
        _check_kinds(document, (*levels, response))
        with document.at("safepub"):
            promise = promise_for((*levels, response), **options)
        return cls(promise, response, levels, options, _budget(document), document)


def _check_kinds(document: Document, names: tuple[str, ...]) -> None:
    """Refuse a column whose kind would be found from the data: it shows in all its values."""
    for name in names:
        if "kind" not in document.content.get("columns", {}).get(name, {}):
            document.fail(
                ("columns", name),
                f"columns.{name}.kind is missing, and a kind found from the data is not private",
                f'add kind = "category", "integer" or another to [columns.{toml_key(name)}]',
            )


def _budget(document: Document) -> BudgetSpec | None:
    part = document.content.get("privacy")
    if part is None:
        return None
    ledger = document.path.parent / part["ledger"]
    return BudgetSpec(ledger, part["dataset"], part["limit"]["epsilon"], part["limit"]["delta"])
