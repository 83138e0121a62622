"""Neighbour search: who is nearest, how near, and how many are within reach. Arrays in, arrays out.

Every search gives what comparing all with all gives, without a matrix of all distances. How the
columns of a table become numbers, codes or vectors is decided by those who ask.
"""

from caveat.nearest.euclid import Vectors, euclid_nearest
from caveat.nearest.gower import Mixed, gower_nearest, gower_smallest
from caveat.nearest.hamming import cell_pools, nearest_pools
from caveat.nearest.smallest import jaccard_smallest, tree_smallest
from caveat.nearest.ties import TIE, Codes, Floats, Ints, Nearest, in_blocks
from caveat.nearest.within import Split, within

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
