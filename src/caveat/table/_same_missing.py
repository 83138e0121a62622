"""Ways to be missing that two files write differently and mean alike.

A cell without an answer is written as nothing, as two quotation marks, as spaces, as NaN or as NA:
the program that wrote the file decides. The original's way is the one that counts: cells of the
other table are moved to it, so that the result does not depend on what else is compared with the
original. Ways that somebody labelled, and all other codes, keep their meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from caveat.table.column import NA_TOKENS, Column, Kind, Missing
from caveat.table.written import means_missing

__all__ = ["same_missing"]


def same_missing(ours: Column, theirs: Column) -> tuple[Column, Column]:
    """Return both columns with one way for a cell to be empty, the original's.

    Where each table has one way to say nothing, empty cells or a word such as NA, both mean the
    same. A table that has several tells them apart, and they stay apart.

    Examples
    --------
    >>> codes, levels = np.array([0, 1]), np.array(["a"], dtype=object)
    >>> bare = Column(codes, levels, Kind.CATEGORY, (Missing(),))
    >>> quoted = Column(codes, levels, Kind.CATEGORY, (Missing(""),))
    >>> same_missing(bare, quoted)[1].missing
    (Missing(code=None, label=''),)
    """
    way = min(filter(_is_empty, ours.missing), key=lambda m: m.key, default=Missing())
    ours, theirs = _move(ours, _is_empty, way), _move(theirs, _is_empty, way)
    mine, other = _nothing(ours, way), _nothing(theirs, way)
    if len(mine) != 1 or len(other) != 1:
        return ours, theirs
    if mine == other and (mine[0] in ours.missing) == (other[0] in theirs.missing):
        return ours, theirs
    if other != [way]:
        theirs = theirs.declare_missing(other)
    if mine[0] not in ours.missing and theirs.levels.dtype != object:
        ours = ours.declare_missing(mine)  # words between numbers or dates are no values
    if mine[0] in ours.missing:
        return ours, _move(theirs, other.__contains__, mine[0])
    return ours, _to_level(theirs, other[0], mine[0].code)


def _is_empty(m: Missing) -> bool:
    return not m.label and (m.code is None or m.code == "" or m.code != m.code)


def _move(column: Column, alike: Callable[[Missing], bool], way: Missing) -> Column:
    """Return the column with one way in the place of all that are like it."""
    if [m for m in column.missing if alike(m) or m == way] in ([], [way]):
        return column
    ways = [m for m in column.missing if not alike(m) and m != way]
    place = {m.key: j for j, m in enumerate([way, *ways], len(column.levels))}
    moved = [place[(way if alike(m) else m).key] for m in column.missing]
    lookup = np.array([*range(len(column.levels)), *moved])
    return replace(column, codes=lookup[column.codes], missing=(way, *ways))


def _nothing(column: Column, way: Missing) -> list[Missing]:
    """Return what cells hold in place of an answer: nothing, or words that stand for it."""
    counts = column.counts
    held = [
        m for m, count in zip(column.missing, counts[len(column.levels) :], strict=True) if count
    ]
    found = [m for m in held if m == way or (not m.label and _is_word(m.code))]
    if column.kind is Kind.CATEGORY and column.levels.dtype == object:
        values = set(column.levels[counts[: len(column.levels)] > 0].tolist())
        found += [Missing(word) for word in sorted(values) if word in NA_TOKENS or word.isspace()]
    return found


def _is_word(code: Any) -> bool:
    return isinstance(code, str) and means_missing(code)


def _to_level(column: Column, way: Missing, word: str) -> Column:
    """Return the column with a word as the value of its empty cells."""
    n, empty = len(column.levels), column.missing.index(way)
    left = [m for m in column.missing if m != way]
    lookup = np.arange(column.n_levels)
    lookup[n : n + empty] += 1
    lookup[n + empty] = n
    levels = np.array([*column.levels.tolist(), word], dtype=object)
    return replace(column, codes=lookup[column.codes], levels=levels, missing=tuple(left))
