"""The CART engine: arrays in, arrays out.

Trees split codes and their leaves hold codes. The rules are those of rpart, the search is compiled.
"""

from caveat.tree._grow import Forest, Job, grow, grow_forest, grow_many
from caveat.tree._growing import Control
from caveat.tree._predictors import Predictors
from caveat.tree._rehearsals import share_kernels
from caveat.tree._tree import LeafShares, Tree

__all__ = [
    "Control",
    "Forest",
    "Job",
    "LeafShares",
    "Predictors",
    "Tree",
    "grow",
    "grow_forest",
    "grow_many",
]

share_kernels()
