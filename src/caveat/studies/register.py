"""Relational or Single (Slokom, Agrawal, Krol and de Wolf, 2024): a register and its benefits.

Two tables, one to one: persons, and the benefits of some of them. Developers test software with
them, so that six rules about flags and dates must hold, and rare codes must be there. The tables of
the office are not public; the built-in register has the shares that the paper prints.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np

from caveat.datasets.register import BENEFITS, COUNTRIES, register
from caveat.errors import CaveatWarning
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.table.linked import Link, Linked
from caveat.utility.edits import EditRule, check_rules
from caveat.utility.pair import WeightedPair

__all__ = ["RULES", "STUDY", "linked_register", "run"]

ROWS = 20_000
RULES = {
    f"{name} {flag}: date {'missing' if flag == 0 else 'there'}": EditRule(
        f"missing({name}_since)" if flag == 0 else f"not missing({name}_since)",
        f"{name} == {flag}",
    )
    for flag in (0, 1)
    for name in BENEFITS
}
PRINTED = {
    "CART": (100.0, 100.0, 100.0, 100.0, 100.0, 100.0),
    "TVAE": (4.0, 96.1, 99.5, 96.1, 3.3, 0.0),
    "HMA": (4.0, 96.2, 99.5, 95.7, 4.1, 0.8),
    "prior": (4.1, 96.1, 99.5, 95.9, 3.8, 0.4),
}
"""Table 2 of the paper: rows under each condition that keep its rule, in per cent."""
COVERED = {"codes of countries": (218, 205), "bijstand 0": (4.1, 4.0), "ioaw 1": (3.8, 3.8),
           "ioaz 1": (0.4, 0.4)}  # fmt: skip
"""Table 6: the original's and CART's."""


def linked_register(tables: dict[str, Table]) -> Linked:
    """Return the register with its link: a person has benefits once, or not at all."""
    return Linked(tables, {"population": "person"}, (Link("benefits", "person", "population"),))


def _shares(tables: dict[str, Table]) -> list[float]:
    benefits = tables["benefits"]
    seen = len(set(tables["population"]["country"].values))
    shares = [
        100 * float(np.mean(benefits[name].cell_numbers == flag))
        for name, flag in (("bijstand", 0), ("ioaw", 1), ("ioaz", 1))
    ]
    return [seen, *shares]


def run(output: Output, data: Path | None = None, rows: int = ROWS) -> StudyResult:
    """Rerun the comparison on the built-in register; neither output nor data are used."""
    del output, data
    tables = register(rows=rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        # Dates that nearly everybody has alone look like identifiers; the rules are about them.
        keep = [f"{name}_since" for name in BENEFITS]
        maker = Synthesizer(seed=1, method="cart", keep=keep)
        made = maker.fit(linked_register(tables)).tables()[0]
    pair = WeightedPair.of(
        tables["benefits"].drop(["person"]), made.tables["benefits"].drop(["person"])
    )
    found = check_rules(pair, RULES)
    kept = []
    for i, (name, result) in enumerate(found.items()):
        shares = [
            "" if share is None else f"{100 * (1 - share):.1f}"
            for share in (result.original, result.synthetic, result.chance)
        ]
        kept.append((name, *shares, *(f"{PRINTED[tool][i]:.1f}" for tool in PRINTED)))
    ours, theirs = _shares(tables), _shares(dict(made.tables))
    covered = [
        (name, f"{one:,.4g}", f"{other:,.4g}", *map(str, COVERED[name]))
        for name, one, other in zip(COVERED, ours, theirs, strict=True)
    ]
    return StudyResult(
        (
            Grid(
                "Rows that keep a rule, per cent (Table 2)",
                ("rule", "original", "ours", "prior", *(f"{t}, printed" for t in PRINTED)),
                tuple(kept),
                f"linked tables of {rows:,} persons, plain trees; prior: what a tool reaches that "
                "draws the columns independently",
            ),
            Grid(
                "What is there (Table 6), shares in per cent",
                ("what", "original", "ours", "original, printed", "CART, printed"),
                tuple(covered),
                f"{COUNTRIES} codes in the original; the paper joins both tables first",
            ),
        )
    )


STUDY = Study(
    "register",
    "A register and its benefits as linked tables (Slokom, Agrawal, Krol and de Wolf, 2024)",
    run,
)
