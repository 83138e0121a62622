"""Weights of a sample of groups, calibrated to what is known of the population."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table.align import common_levels
from caveat.table.column import Column, Kind
from caveat.table.grouping import constant_columns
from caveat.table.raking import TargetMargin, rake
from caveat.table.table import Table
from caveat.table.weights import survey_weights

__all__ = ["OF_GROUPS", "OF_MEMBERS", "calibrated"]

OF_MEMBERS, OF_GROUPS = "count", "groups"
"""The column of a margin that holds its numbers: of members, or of groups."""


def calibrated(table: Table, key: str, weights: str, margins: Sequence[Table]) -> Table:
    """Return the table with weights of groups that sum to given margins.

    Parameters
    ----------
    table
        The sample; rows with the same key are one group and have one weight.
    key, weights
        The columns of the key and of the weights.
    margins
        Tables with columns of the sample and one more, ``count`` for numbers of members or
        ``groups`` for numbers of groups.

    Examples
    --------
    >>> sample = Table.from_frame({"hh": [1, 2, 2], "sex": ["f", "f", "m"], "w": [10.0, 10, 10]})
    >>> known = Table.from_frame({"sex": ["f", "m"], "count": [50, 20]})
    >>> calibrated(sample, "hh", "w", [known])["w"].cell_numbers.round(3).tolist()
    [30.0, 20.0, 20.0]
    """
    first, owner = np.unique(table[key].codes, return_index=True, return_inverse=True)[1:]
    start = survey_weights(table[weights], weights)[first]
    targets = {}
    for number, margin in enumerate(margins, 1):
        where = f"margin {number}"
        name = next((n for n in (OF_MEMBERS, OF_GROUPS) if n in margin), "")
        if not name or len(margin.names) < 2:
            raise CaveatError(
                "it has no column with numbers, or no other column",
                where=where,
                do=f"call the numbers of members {OF_MEMBERS!r}, those of groups {OF_GROUPS!r}",
                code="synthesis.margin.malformed",
            )
        names = [n for n in margin if n != name]
        cells = _cells(table, margin, names, where)
        numbers = _numbers(margin[name], where, name)
        of_groups = name == OF_GROUPS
        if of_groups:
            _check_shared(table, key, names, where)
        targets[str(number)] = TargetMargin(
            cells[first] if of_groups else cells, numbers, None if of_groups else owner
        )
    raked = rake(start, targets)[owner]
    levels, codes = np.unique(raked, return_inverse=True)
    return table.with_columns({weights: Column(codes, levels, Kind.NUMERIC)})


def _numbers(column: Column, where: str, name: str) -> NDArray[np.float64]:
    if not column.kind.is_number or column.is_missing.any():
        raise CaveatError(
            "it has cells that are no numbers", where=where, column=name, code="data.value.type"
        )
    return column.cell_numbers


def _check_shared(table: Table, key: str, names: Sequence[str], where: str) -> None:
    """Refuse numbers of groups in cells that members do not share."""
    shared = constant_columns(table.select([key, *names]), key)
    for name in names:
        if name not in shared:
            raise CaveatError(
                "members of a group differ in it, and numbers of groups are asked for",
                where=where,
                column=name,
                do=f"call the numbers {OF_MEMBERS!r} if they count members",
                code="data.group.mismatch",
            )


def _cells(table: Table, margin: Table, names: Sequence[str], where: str) -> NDArray[np.int64]:
    """Return for each row of the table the row of the margin that it counts in."""
    ours, theirs = np.zeros(table.n_rows, np.int64), np.zeros(margin.n_rows, np.int64)
    for name in names:
        if name not in table:
            raise CaveatError(
                f"there is no column {name!r}",
                where=where,
                do="check its name",
                code="data.column.unknown",
            )
        mine, other = common_levels([table[name], margin[name]], name)
        ours = ours * mine.n_levels + mine.codes
        theirs = theirs * mine.n_levels + other.codes
    order = np.argsort(theirs)
    if (np.diff(theirs[order]) == 0).any():
        raise CaveatError(
            "a cell stands in two rows",
            where=where,
            do="give each cell one row",
            code="synthesis.cell.duplicate",
        )
    place = np.minimum(np.searchsorted(theirs[order], ours), margin.n_rows - 1)
    lost = int((theirs[order][place] != ours).sum())
    if lost:
        raise CaveatError(
            f"{lost:,} rows of the sample are in no cell of it",
            where=where,
            do="add the cells that are missing",
            code="synthesis.cell.absent",
        )
    return order[place]
