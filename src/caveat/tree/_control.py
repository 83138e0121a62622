"""When a tree stops growing and what is cut back."""

from __future__ import annotations

import math
from dataclasses import dataclass

__all__ = ["DEFAULT", "Control"]


@dataclass(frozen=True, slots=True)
class Control:
    """Stopping rules with the meaning they have in rpart.

    Parameters
    ----------
    minbucket
        Smallest number of rows in a leaf.
    minsplit
        Smallest number of rows in a node that may be split; 3 x `minbucket` unless given.
    cp
        Complexity parameter: a node is collapsed when its complexity, the risk removed per split
        (its own, and those below it where they raise the figure), is at most `cp` x the risk of
        the root. The risk is the sum of squares for numbers and the misclassified weight (not
        Gini) for classes. Below 0 nothing is collapsed.
    max_depth
        Depth of the deepest leaf; the root has depth 0.

    Examples
    --------
    >>> Control(minbucket=20).smallest_split
    60
    """

    minbucket: int = 5
    minsplit: int | None = None
    cp: float = 1e-8
    max_depth: int = 30

    def __post_init__(self) -> None:
        if self.minbucket < 1:
            raise ValueError("minbucket must be at least 1")
        if self.minsplit is not None and self.minsplit < 1:
            raise ValueError("minsplit must be at least 1")
        if not math.isfinite(self.cp):
            raise ValueError("cp must be a finite number")
        if not 0 <= self.max_depth <= 1_000:
            raise ValueError("max_depth must be between 0 and 1000")

    @property
    def smallest_split(self) -> int:
        """Smallest number of rows in a node that may be split."""
        return 3 * self.minbucket if self.minsplit is None else self.minsplit


DEFAULT = Control()
"""The rules when none are given: those of synthpop."""
