"""Neighbour search: who is nearest, how near, and how many are within reach. Arrays in, arrays out.

Every search gives what comparing all with all gives, without a matrix of all distances. How the
columns of a table become numbers, codes or vectors is decided by those who ask.
"""

from caveat.nearest.cells import (
    Mixed,
    Split,
    cell_pools,
    gower_nearest,
    gower_smallest,
    nearest_pools,
    within,
)
from caveat.nearest.vectors import (
    TIE,
    Codes,
    Floats,
    Ints,
    Nearest,
    Vectors,
    euclid_nearest,
    in_blocks,
    jaccard_smallest,
    tree_smallest,
)

__all__ = [
    "TIE",
    "Codes",
    "Floats",
    "Ints",
    "Mixed",
    "Nearest",
    "Split",
    "Vectors",
    "cell_pools",
    "euclid_nearest",
    "gower_nearest",
    "gower_smallest",
    "in_blocks",
    "jaccard_smallest",
    "nearest_pools",
    "tree_smallest",
    "within",
]
