"""The 1000 records and four variables of the "Buyer Beware" papers.

Latner, Neunhoeffer and Drechsler (UNECE expert meeting on statistical data confidentiality,
Barcelona 2025), Table A.1: how often each of the 16 combinations of four binary variables occurs in
the original data and in ten synthetic releases of it. The last record, 1111, is unique.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from caveat.table import Table

__all__ = ["RELEASES", "buyer_beware"]

# Counts of 0000, 0001, …, 1111; first the original, then the ten releases.
RELEASES: tuple[tuple[int, ...], ...] = (
    (69, 60, 79, 62, 68, 64, 60, 75, 74, 63, 54, 69, 77, 59, 66, 1),
    (68, 60, 77, 70, 73, 60, 58, 72, 77, 69, 50, 61, 79, 65, 60, 1),
    (66, 53, 71, 51, 63, 77, 68, 91, 84, 66, 54, 59, 77, 52, 68, 0),
    (71, 57, 73, 56, 80, 49, 66, 86, 80, 57, 57, 77, 76, 54, 60, 1),
    (73, 56, 71, 68, 54, 66, 61, 81, 73, 68, 51, 71, 83, 57, 64, 3),
    (76, 58, 71, 63, 61, 52, 69, 80, 70, 73, 47, 66, 78, 66, 68, 2),
    (62, 60, 84, 55, 79, 90, 56, 77, 81, 56, 50, 69, 66, 67, 47, 1),
    (72, 67, 65, 74, 65, 52, 67, 82, 82, 68, 39, 75, 65, 59, 65, 3),
    (52, 67, 70, 57, 73, 53, 65, 77, 65, 75, 62, 69, 88, 65, 62, 0),
    (64, 57, 77, 68, 66, 65, 64, 75, 76, 78, 58, 68, 70, 49, 64, 1),
    (67, 67, 74, 52, 71, 71, 53, 72, 73, 55, 54, 81, 89, 60, 60, 1),
)


def buyer_beware(release: int = 0) -> Table:
    """Return the original records (0) or one of the ten published releases (1 to 10).

    The rows are in the order of the combinations, so the unique record 1111 is the last one.

    Examples
    --------
    >>> table = buyer_beware()
    >>> table.n_rows, [int(table[name].values[-1]) for name in table]
    (1000, [1, 1, 1, 1])
    """
    cells = np.array(list(product((0, 1), repeat=4)))
    rows = np.repeat(cells, RELEASES[release], axis=0)
    return Table.from_frame({f"var{j + 1}": rows[:, j] for j in range(4)})
