"""How rows belong together, in the original and in the release, as evidence."""

from __future__ import annotations

from typing import Any

from caveat.utility import WeightedPair
from caveat.utility.structure import (
    compositions,
    group_counts,
    groups_in,
    one_value,
    size_agreement,
    size_column,
    size_shares,
    within_groups,
)

__all__ = ["collect_structure"]

MOST_MEMBERS = 12  # groups with more are counted together


def collect_structure(pair: WeightedPair) -> dict[str, Any]:
    """Return what is behind the measures of structure, column by column.

    It has shares of the original's groups, large ones among them: it is internal.
    """
    counts, size = group_counts(pair), size_column(pair)
    return {
        "key": groups_in(pair).said.key,
        "original": counts.original,
        "synthetic": counts.synthetic,
        "sizes": [
            {"members": members, "original": ours, "synthetic": theirs}
            for members, ours, theirs in size_shares(pair, MOST_MEMBERS)
        ],
        "largest": MOST_MEMBERS,
        "size_column": None
        if size is None
        else {"name": size, "right": size_agreement(pair, size)[1]},
        "one_value": [{"name": name, "share": share} for name, share in one_value(pair).items()],
        "compositions": [
            {"name": name, "distance": distance}
            for name, distance in pair.once("compositions", lambda: compositions(pair)).items()
        ],
        "within": [
            {"name": name, "original": ours, "synthetic": theirs}
            for name, (ours, theirs) in pair.once("within", lambda: within_groups(pair)).items()
        ],
    }
