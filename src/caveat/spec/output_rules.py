"""What ``caveat check`` takes from a file: the rules of an office, and what single outputs are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import RULES, Rules, Verdict, barn_of
from caveat.spec._kinds import (
    Choice,
    EntryKind,
    Group,
    Key,
    Many,
    Named,
    Number,
    Plain,
    Text,
    Whole,
)
from caveat.spec.document import Document

__all__ = ["OutputRules"]

FILLED = Text(filled=True)
VERDICT = Choice(tuple(Verdict), "verdict")
_KINDS: dict[str, EntryKind] = {
    "dominance_share": Number(share=True),
    "p": Number(share=True),
    "empty": VERDICT,
    "full": VERDICT,
}
SECTION = Group(
    {
        **{
            name: Key(_KINDS.get(name, Whole(1)), f"{rule.says}.".capitalize(), rule.default)
            for name, rule in RULES.items()
        },
        "totals": Key(
            Many(FILLED, "names"), "What totals are called.", ["total", "all", "sum"]
        ),
    }
)  # fmt: skip
OUTPUT = Group(
    {
        "file": Key(FILLED, "The name of the file, without its folder.", required=True),
        "form": Key(Choice(("long", "cross"), "form"), "A row a cell, or a cross table.", "long"),
        "count": Key(FILLED, "The column with the number of persons."),
        "statistics": Key(Named(FILLED, "columns with their statistics"), "What columns hold."),
        "largest": Key(Many(FILLED, "columns"), "The largest contributions, the largest first."),
        "keys": Key(Many(FILLED, "columns"), "Columns that say which cell a row is."),
        "across": Key(FILLED, "Of a cross table: what its header holds.", "columns"),
        "status": Key(FILLED, "The column that says which cells are hidden."),
        "nested": Key(
            Many(FILLED, "columns"), "Keys whose values have one value of another key by nature."
        ),
        "rounded": Key(
            Whole(1), "The base that counts are rounded to, 1 if they are not [a guess]."
        ),
        "decimal": Key(
            Choice((".", ","), "decimal sign"), "The decimal sign [seen from the file]."
        ),
    }
)
FILE = Group(
    {
        "rules": Key(SECTION, "The rules."),
        "structural": Key(
            Many(Named(Plain(), "columns with a value"), "cells"),
            "Cells that are empty because they must be.",
        ),
        "output": Key(Many(OUTPUT, "outputs"), "What single outputs are."),
    }
)


@dataclass(frozen=True)
class OutputRules:
    """The rules of an office, and what it says about single outputs.

    Parameters
    ----------
    rules
        The rules.
    described
        What is known about outputs, by the names of their files.
    """

    rules: Rules = field(default_factory=Rules)
    described: Mapping[str, Described] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str | Path) -> OutputRules:
        """Read a TOML file; what is wrong is named with its line."""
        document = Document.read(path)
        content = document.content
        document.refuse(FILE.problems(content, ()))
        given = dict(content.get("rules", {}))
        if "totals" in given:
            given["totals"] = frozenset(name.lower() for name in given["totals"])
        for name in ("empty", "full"):
            if name in given:
                given[name] = Verdict(given[name])
        structural = tuple(
            {name: str(value) for name, value in cell.items()}
            for cell in content.get("structural", ())
        )
        described = {}
        for i, output in enumerate(content.get("output", ())):
            rest = {name: value for name, value in output.items() if name != "file"}
            for column, statistic in rest.get("statistics", {}).items():
                with document.at("output", i, "statistics", column):
                    barn_of(statistic)
            rest |= {
                name: tuple(rest[name]) for name in ("largest", "keys", "nested") if name in rest
            }
            described[output["file"]] = Described(**rest)
        return cls(Rules(**given, structural=structural), described)
