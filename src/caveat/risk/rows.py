"""Whole rows: how many synthetic records are copies, or nearly copies, of original ones."""

from __future__ import annotations

from functools import partial

import numpy as np

from caveat.nearest import within
from caveat.notes import Note
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.near import split
from caveat.risk.pair import ScenarioPair
from caveat.table.cells import Ints, key_cells

__all__ = ["ENTRIES", "exact_match", "full_match", "new_rows"]

# The relative tolerance of SDMetrics' NewRowSynthesis.
TOLERANCE = 0.01


def exact_match(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic rows that equal an original row in all common columns."""
    d, s, cells = _whole_rows(pair)
    return rate(
        int(s[d > 0].sum()),
        int(s.sum()),
        baseline=int(d[d > 1].sum()) / max(int(d.sum()), 1),
        reference=1.0,
        details={"columns": len(pair.rows.original.names)},
        trace=lambda: (s > 0)[cells].astype(np.float64),
    )


def full_match(pair: ScenarioPair) -> Measurement:
    """Return the share of original rows, unique in all common columns, that the release has."""
    d, s, cells = _whole_rows(pair)
    here = (d == 1) & (s > 0)
    return rate(
        int(here.sum()),
        int(d.sum()),
        baseline=int(d[d == 2].sum()) / max(int(d.sum()), 1),
        reference=int((d == 1).sum()) / max(int(d.sum()), 1),
        details={"columns": len(pair.rows.original.names)},
        trace=lambda: here[cells].astype(np.float64),
    )


def new_rows(pair: ScenarioPair, tolerance: float = TOLERANCE) -> Measurement:
    """Return the share of synthetic rows that no original row is near.

    Categories and missing cells must agree; numbers may differ by ``tolerance`` times the absolute
    synthetic value.
    """
    original, synthetic = pair.rows.original, pair.rows.synthetic
    if not len(synthetic) or not len(original):
        return undefined(Note("empty-table", "one of the tables has no row"))
    names = sorted(original.names, key=lambda name: -original[name].n_levels)
    numeric = dict.fromkeys((n for n in names if original[n].kind.is_number), 0.0)
    query, data = split(synthetic, names, numeric), split(original, names, numeric)
    found, _ = within(query, data, tolerance * np.abs(query.numbers))
    return rate(
        int((found == 0).sum()),
        len(synthetic),
        reference=0.0,
        details={"columns": len(names), "tolerance": tolerance},
    )


def _whole_rows(pair: ScenarioPair) -> tuple[Ints, Ints, Ints]:
    """Return how often each distinct row occurs in both tables, and that of each original row."""
    original, synthetic = pair.rows.original, pair.rows.synthetic
    tables = [[table[name].codes for name in original] for table in (original, synthetic)]
    (ours, theirs), n = key_cells(tables, [original[name].n_levels for name in original])
    return np.bincount(ours, minlength=n), np.bincount(theirs, minlength=n), ours


_COPIES = "compares the release with people whom she knows completely"
_NO_CELL = frozenset({"columns"})

ENTRIES = (
    Measure(
        name="exactMatch",
        function=exact_match,
        family="rows",
        says="synthetic rows that equal an original row in every common column",
        attacker=_COPIES,
        formula="100/N_s · #(synthetic rows that occur in the original)",
        source="general; peers call it identical match share",
        blind_spot="With few columns most rows repeat by chance: it is near 100 for any release; "
        "with one continuous column a tiny change hides every copy. Compare with a control.",
        blind="few columns: high by chance; one noisy number: 0",
        baseline="the share of original rows that equal another original row",
        needs=_NO_CELL,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        by_size=True,
    ),
    Measure(
        name="fullMatch",
        function=full_match,
        family="rows",
        says="original rows, unique in every common column, that the release contains",
        attacker=_COPIES,
        formula="100/N_d · #(rows unique in the original that occur in the release)",
        source="Francis (2024), A Comparison of SynDiffix Multi-table Versus Single-table, Table 2",
        blind_spot="One continuous column with a tiny change hides every copy.",
        blind="one noisy number hides every copy; 0 is no all-clear",
        baseline="the share of original rows that exactly one other original row equals",
        needs=_NO_CELL,
        fails=frozenset({Property.GAIN}),
        by_size=True,
    ),
    Measure(
        name="NewRow",
        function=partial(new_rows, tolerance=TOLERANCE),
        family="rows",
        says="synthetic rows that no original row is near (numbers within 1 %)",
        attacker=_COPIES,
        formula="100/N_s · #(synthetic rows i without a row j: categories equal, "
        "|x_jk − x_ik| ≤ 0.01 · |x_ik| for numbers)",
        source="SDMetrics NewRowSynthesis, as used in Aghaddar et al. (2024)",
        blind_spot="With few columns near 0 for any release. The tolerance is relative to the "
        "synthetic value: a 0 must be met exactly. High is no all-clear: one changed cell makes a "
        "copy new.",
        blind="one changed cell makes a copy new; high is no all-clear",
        needs=_NO_CELL,
        direction="lower is riskier",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
)
