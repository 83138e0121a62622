"""The toy tables of Langsrud (2024), and an independent rank in fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

COUNTRIES = ("I", "P", "S")


def two_way(inner, labels):
    """Return the matrix, the values and the names of a two-way table with its totals."""
    across, down = labels
    n_down, n_across = len(down), len(across)
    names, columns = [], []
    grid = np.arange(n_down * n_across).reshape(n_down, n_across)
    for i in [*range(n_down), None]:
        for j in [*range(n_across), None]:
            column = np.zeros(grid.size, int)
            column[
                grid[i if i is not None else slice(None), j if j is not None else slice(None)]
            ] = 1
            columns.append(column)
            names.append(
                f"{'Total' if i is None else down[i]}-{'Total' if j is None else across[j]}"
            )
    matrix = np.stack(columns, axis=1)
    return matrix, np.asarray(inner).ravel() @ matrix, names


def table1():
    return two_way([[0, 0, 5], [6, 3, 4]], (COUNTRIES, ("Young", "Old")))


def table3():
    """Return matrix without the structural zeros' rows, values, names, primary and owners."""
    inner = [[0, 3.9, 122.3], [2.7, 12.2, 109.1], [0, 64.8, 15.5], [45.6, 83.9, 2.3]]
    matrix, values, names = two_way(inner, (COUNTRIES, ("Agr", "Ent", "Gov", "Ind")))
    owners = {"Ent-I": 0, "Ent-P": 0, "Gov-S": 0, "Ind-P": 1, "Ind-S": 1}
    cells = [name for name in names if "Total" not in name]
    order = [
        "Ind-I",
        "Agr-P",
        "Gov-P",
        "Agr-S",
        "Ent-S",
        "Ind-P",
        "Ind-S",
        "Ent-I",
        "Ent-P",
        "Gov-S",
    ]
    matrix = matrix[[cells.index(name) for name in order]]
    column_owner = np.array([owners.get(name, -1) for name in names])
    row_owner = np.array([owners.get(name, -1) for name in order])
    return sp.csc_array(matrix), values, names, column_owner, row_owner


def rank(columns) -> int:
    """Return the rank of some columns, by fractions and nothing else."""
    rows = [[Fraction(int(x)) for x in column] for column in columns]
    found = 0
    for at in range(len(rows[0]) if rows else 0):
        pick = next((i for i in range(found, len(rows)) if rows[i][at]), None)
        if pick is None:
            continue
        rows[found], rows[pick] = rows[pick], rows[found]
        lead = rows[found]
        for i in range(found + 1, len(rows)):
            if rows[i][at]:
                share = rows[i][at] / lead[at]
                rows[i] = [a - share * b for a, b in zip(rows[i], lead, strict=True)]
        found += 1
    return found


def is_spanned(column, columns) -> bool:
    columns = [c for c in columns if np.any(c)]
    return rank([*columns, column]) == rank(columns)
