"""Names of methods as users of synthpop know them, and methods that a column cannot have as named.

The models of both are the same in kind, not in every number: R's own functions fit some of theirs.
"""

from __future__ import annotations

import numpy as np

from caveat.table import Column, Kind

__all__ = ["SYNTHPOP", "our_method"]

SYNTHPOP = {
    "norm": "normal",
    "logreg": "logistic",
    "polyreg": "multinomial",
    "polr": "ordinal",
    "rf": "forest",
    "ranger": "forest",
    "ctree": "cart",
    "satcat": "saturated",
    "catall": "saturated",
    "parametric": "",
}
"""What the methods of synthpop are called here; parametric is another one for each kind."""


def our_method(method: str, column: Column, name: str, remarks: list[str]) -> str:
    """Return the method for a column by our name, and remark on a change.

    Examples
    --------
    >>> from caveat.table import Table
    >>> said = []
    >>> our_method("logreg", Table.from_frame({"x": ["no", "yes"]})["x"], "x", said), said
    ('logistic', ["synthpop's method logreg is logistic here"])
    """
    used = int(np.count_nonzero(column.counts[: len(column.levels)]))
    ours = SYNTHPOP.get(method, method)
    if method == "parametric":
        ours = _parametric(column, used)
    elif ours != method:
        told = f"synthpop's method {method} is {ours} here"
        remarks += [] if told in remarks else [told]
    if ours == "logistic" and not column.kind.is_number and used == 2 and column.is_missing.any():
        remarks.append(
            f"{name} is yes, no or missing: logistic is for two classes, so that it is drawn by "
            "multinomial"
        )
        return "multinomial"
    return ours


def _parametric(column: Column, used: int) -> str:
    if column.kind.is_number:
        return "normrank"
    if column.kind is Kind.ORDERED:
        return "ordinal"
    return "logistic" if used == 2 else "multinomial"
