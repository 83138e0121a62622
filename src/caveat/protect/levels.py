"""Protections of categories: rare levels put together, and a column that says "synthetic"."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from caveat.errors import CaveatError
from caveat.protect.record import Protected, Step
from caveat.table import Column, Kind, Table

__all__ = ["group_rare_levels", "label"]


def group_rare_levels(
    synthetic: Table, columns: Sequence[str], *, fewest: int = 5, into: str = "other"
) -> Protected:
    """Put the levels that fewer than so many synthetic records have into one.

    A single rare level is left as it is unless the group exists already or takes another with it:
    a new name alone hides nothing. Then the next rarest level joins it.

    Parameters
    ----------
    synthetic
        The release; rarity is judged from it, not from the original.
    columns
        The categories.
    fewest
        A level with at least so many records stays.
    into
        The name of the group.

    Examples
    --------
    >>> release = Table.from_frame({"job": ["clerk"] * 6 + ["baker", "smith"]})
    >>> group_rare_levels(release, ["job"]).table["job"].counts.tolist()
    [6, 2]
    """
    if fewest < 2:
        raise CaveatError(
            "a level with one record cannot be rarer",
            do="fewest must be 2 or more",
            code="protection.setting.range",
        )
    out, counts = {}, {}
    for name in columns:
        column = synthetic[name]
        if column.kind is not Kind.CATEGORY or column.levels.dtype != object:
            raise CaveatError(
                "only categories without an order can be grouped",
                column=name,
                do="use top and bottom coding or rounding for numbers and ordered levels",
                code="data.column.type",
            )
        out[name], counts[f"{name}: levels grouped"], counts[f"{name}: records"] = _grouped(
            column, fewest, into
        )
    parameters = {"columns": list(columns), "fewest": fewest, "into": into}
    return Protected(synthetic.with_columns(out), Step("group_rare_levels", parameters, counts))


def _grouped(column: Column, fewest: int, into: str) -> tuple[Column, int, int]:
    column = column.compact()
    n = len(column.levels)
    counts = column.counts[:n]
    rare = counts < fewest
    names = column.levels.tolist()
    exists = into in names
    if rare.sum() == 1 and not exists and n > 1:
        # The rarest of the others joins it: one level under another name would still be that level.
        rare[np.argsort(np.where(rare, np.iinfo(np.int64).max, counts), kind="stable")[0]] = True
    if not rare.any() or (n == 1 and not exists):
        return column, 0, 0
    kept = [name for name, gone in zip(names, rare, strict=True) if not gone and name != into]
    place = {name: i for i, name in enumerate([*kept, into])}
    lookup = [place[into] if gone else place[name] for name, gone in zip(names, rare, strict=True)]
    lookup += [len(place) + j for j in range(len(column.missing))]
    labels = {k: v for k, v in column.value_labels.items() if k in place}
    grouped = replace(
        column,
        codes=np.array(lookup)[column.codes],
        levels=np.array(list(place), dtype=object),
        value_labels=labels,
    )
    return grouped, int(rare.sum()), int(counts[rare].sum())


def label(synthetic: Table, *, column: str = "synthetic", text: str = "synthetic") -> Protected:
    """Add a column that says of every record that it is not a real one.

    Examples
    --------
    >>> label(Table.from_frame({"age": [31, 47]})).table["synthetic"].values.tolist()
    ['synthetic', 'synthetic']
    """
    if column in synthetic:
        raise CaveatError(
            "there is such a column already",
            column=column,
            do="name another one",
            code="data.column.exists",
        )
    codes = np.zeros(synthetic.n_rows, np.uint8)
    added = Column(codes, np.array([text], dtype=object), Kind.CATEGORY)
    step = Step("label", {"column": column, "text": text}, {"rows": synthetic.n_rows})
    return Protected(synthetic.with_columns({column: added}), step)
