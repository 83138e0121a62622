"""The (n, k) and the p % rule: whether few contributors make up so much of a cell that it tells."""

from __future__ import annotations

from typing import Any

__all__ = ["few_have_most", "largest_can_be_told"]


def few_have_most(total: Any, top: Any, share: float, slack: float = 0) -> Any:
    """Say whether the n largest contributors have more than the share k of a total.

    Parameters
    ----------
    total, top
        The sum of all contributions and that of the n largest: of one cell, or arrays of many.
    share
        The share k.
    slack
        By so much, of the total, it may be less. With any slack a share of exactly k is too much.

    Examples
    --------
    >>> few_have_most(100, 90, 0.9), few_have_most(100, 90, 0.9, 1e-9)
    (False, True)
    """
    return top > (share - slack) * total


def largest_can_be_told(
    total: Any, largest: Any, two_largest: Any, p: float, slack: float = 0
) -> Any:
    """Say whether the rest is less than the share p of the largest.

    The second largest contributor, who knows her own part, can then estimate the largest that well.

    Parameters
    ----------
    total, largest, two_largest
        The sums of all contributions, of the largest and of the two largest: of one cell, or arrays
        of many.
    p
        The share p.
    slack
        By so much, of the total, the rest must be less.

    Examples
    --------
    >>> largest_can_be_told(100, 60, 95, 0.1), largest_can_be_told(100, 60, 94, 0.1)
    (True, False)
    """
    return total - two_largest < p * largest - slack * total
