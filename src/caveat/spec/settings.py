"""Settings of methods as a specification has them: for all columns, or for single ones."""

from __future__ import annotations

from dataclasses import fields

from caveat.spec._kinds import (
    Choice,
    Either,
    EntryKind,
    Flag,
    Group,
    Key,
    Many,
    Number,
    Plain,
    Text,
    Whole,
)
from caveat.synthesis.grid import SCALES
from caveat.synthesis.margins.promise import OPTIONS
from caveat.synthesis.method_names import SYNTHPOP
from caveat.synthesis.methods import METHODS, Settings
from caveat.synthesis.methods.guarded import GUARDS
from caveat.synthesis.plan import GIVEN, WITHOUT_MODEL
from caveat.synthesis.public import USUAL_BINS

__all__ = ["CLEARING", "FIXED", "PUBLIC", "SETTINGS"]

TEXT, FLAG = Text(), Flag()
NAMES = Many(TEXT, "column names")

_METHOD_NAMES = (*METHODS, *(name for name in WITHOUT_MODEL if name != GIVEN))
_SETTINGS: dict[str, tuple[EntryKind, str]] = {
    "method": (
        Choice(_METHOD_NAMES, "method", also=tuple(SYNTHPOP)),
        "How columns are made; cart is synthpop's way, and its names of methods are taken.",
    ),
    "minbucket": (Whole(1), "Records in the smallest leaf of a tree (cart)."),
    "minsplit": (
        Whole(2),
        "Records in the smallest node that is split (cart); three leaves if not said.",
    ),
    "cp": (Number(0), "Complexity: what a split must gain, relative to the root (cart)."),
    "prune": (
        FLAG,
        "Whether splits that gain less are cut away again (cart); cp plays no part if not.",
    ),
    "max_depth": (Whole(1), "Depth of a tree (cart)."),
    "smoothing": (
        Choice(("", "kernel", "density", "spline"), "smoothing"),
        "How drawn numbers are smoothed; not for guarded trees.",
    ),
    "proper": (FLAG, "Whether parameters are drawn too (proper synthesis); not for guarded trees."),
    "trees": (Whole(1), "Trees of a forest."),
    "within": (TEXT, "The column whose levels group this one (nested)."),
    "margins": (
        Many(NAMES, "lists of column names"),
        "Margins that a block keeps (ipf), or is made from (margins; a tree of pairs unless they "
        "are said).",
    ),
    "pseudo_count": (Number(0), "Records spread evenly over all cells of a block (saturated)."),
    "formula": (TEXT, "The formula of a derived column."),
    "guard": (
        Choice(tuple(GUARDS), "guard"),
        "How strongly guarded trees hide single records; the numbers below are those of the dial "
        "unless they are said.",
    ),
    "temperature": (
        Number(0, above=True),
        "How much chance there is in the choice of a split (guarded).",
    ),
    "smallest": (
        Number(0, above=True),
        "Records at which a node is split in half of the cases (guarded).",
    ),
    "backoff": (
        Number(0, above=True),
        "Records' worth that a node borrows from the node above (guarded).",
    ),
    "floor": (
        Number(0, above=True),
        "Records of the rarer half that a node borrows from the node above at least (guarded).",
    ),
    "depth": (Whole(0), "Most splits from the root to a leaf (guarded)."),
}
_DIAL = ("temperature", "smallest", "backoff", "floor", "depth")
_USUAL = {item.name: getattr(Settings(), item.name) for item in fields(Settings)}
SETTINGS = {
    name: Key(kind, says, _USUAL[name], otherwise="from the dial" if name in _DIAL else "")
    for name, (kind, says) in _SETTINGS.items()
}
"""Settings for all columns, or for single ones."""

FIXED = ("order", "drop", "keep", "replace", "rare_below", "rules", *OPTIONS)
"""Settings that a map or a search does not vary; each try of a guarantee would spend budget."""

PUBLIC = {
    "levels": Key(
        Many(Plain(), "values", least=1),
        "What a column can be, declared as public: rare or not, for a guarantee all of them; "
        "texts, or whole numbers, or true and false.",
        otherwise="read off the data, which no guarantee allows",
    ),
    "range": Key(
        Many(Number(), "numbers (lowest, highest, step)", exactly=3),
        "What is public about a number, for guarded trees and margins.",
        otherwise="read off the data, and listed as assumed public",
    ),
    "scale": Key(
        Choice(SCALES, "scale"),
        "Whether the cells of a number are equally wide or grow (guarded, margins).",
        otherwise="geometric if half of the records lie low in the range",
    ),
    "bins": Key(
        Either((Whole(2), Many(Number(), "numbers that rise", least=2))),
        "How many cells a number has in tables, or the values at which one begins (margins).",
        otherwise=f"{USUAL_BINS}",
    ),
}
"""What is declared as public of single columns."""

CLEARING = Group(
    {
        "threshold": Key(Whole(1), "Records in the smallest cell that is published.", 10),
        "dominance": Key(
            Many(Number(0, above=True), "numbers (how many weights, share)", exactly=2),
            "A cell is suppressed whose largest so many weights make up more than this share.",
            otherwise="no such rule",
        ),
        "multiple": Key(Whole(1), "What counts are rounded to, half up.", 1),
    },
)
"""What tables have to meet before anything is made from them."""
