# mypy: disable-error-code="no-untyped-def"
"""One candidate of an elimination, compiled: may it be published, and what follows if it is."""

from __future__ import annotations

import numpy as np

from caveat.compiling import kernel
from caveat.outputs.echelon import (
    EMPTY,
    OVERFLOW,
    ROOM,
    clear,
    is_set,
    load,
    next_row,
    reduce,
    store,
    subtract,
)

__all__ = ["DEPENDS", "FREE", "REVEALS", "WITHIN", "attempt", "commit"]

FREE, DEPENDS, REVEALS, ZEROS, WITHIN, COMBINATIONS = -10, 0, 1, 2, 3, 4
SUBSPACE, ANY_SUM = 1, 2


@kernel
def _as_pivot(work, mask, rules, owner, touched):
    """Return the rule by which the open column, all of it in special rows, may not eliminate."""
    special, zeros, _, combinations, alike = rules
    plus, minus, bad = False, False, False
    one, two, few = np.int64(-9), np.int64(-9), True
    row = next_row(mask, special)
    all_alike = row >= alike
    if all_alike and zeros == SUBSPACE:
        return ZEROS
    while row >= 0:
        if work[row] > 0:
            plus = True
        else:
            minus = True
        bad |= touched[row]
        who = owner[row]
        if who < 0:  # an empty cell is nobody's
            pass
        elif one == -9 or who == one:
            one = who
        elif two == -9 or who == two:
            two = who
        else:
            few = False
        row = next_row(mask, row + 1)
    if combinations and few and one != -9:
        return COMBINATIONS
    if all_alike and zeros == ANY_SUM and (bad or not (plus and minus)):
        return ZEROS
    return FREE


@kernel
def _is_one_contributors(mask, special, owner, mine):
    """Whether all rows of the open column belong to one contributor who does not own it."""
    row = next_row(mask, special)
    who = owner[row]
    while row >= 0:
        if owner[row] != who:
            return False
        row = next_row(mask, row + 1)
    return who >= 0 and who != mine


@kernel
def _change(p, pivot_column, eager, held, rules, owners, open_):
    """Take the new pivot away from a primary column, and store what is left.

    Returns DEPENDS if nothing changes, FREE if what is left may be so, or why it may not; where
    the store ends; and the topmost row.
    """
    rows, vals, start, length, pivot, _ = held
    special, _, within, _, _ = rules
    row_owner, column_owner, _ = owners
    work, mask = open_
    first, n, top, end = pivot_column
    load(rows, vals, start[p], length[p], work, mask)
    if not is_set(mask, top):
        clear(work, mask)
        return DEPENDS, end, top
    if not subtract(work, mask, top, rows, vals, first, n, vals[first]):
        return OVERFLOW, end, top
    begin = 0 if eager else top + 1
    new = reduce(work, mask, begin, special, pivot, start, length, rows, vals)
    if new < 0:
        return REVEALS if new == EMPTY else OVERFLOW, end, new
    alone = within and new >= special and column_owner[p] != -2
    if alone and _is_one_contributors(mask, special, row_owner, column_owner[p]):
        clear(work, mask)
        return WITHIN, end, new
    end = store(work, mask, rows, vals, end)
    clear(work, mask)
    return ROOM if end == ROOM else FREE, end, new


@kernel
def attempt(j, held, primaries, rules, owners, open_, staged, found):
    """Say whether a column may be published; what follows is written to `staged`, not yet done.

    `staged` has for the column and for each primary column that changes: which, where it is
    stored, its length, its topmost row; `found` how many, and the primary column of a refusal.
    """
    rows, vals, start, length, pivot, used = held
    head, following, _ = primaries
    special, within = rules[0], rules[2]
    row_owner, _, touched = owners
    work, mask = open_
    found[0], found[1] = 0, -1
    load(rows, vals, start[j], length[j], work, mask)
    top = reduce(work, mask, 0, special, pivot, start, length, rows, vals)
    if top < 0:
        return DEPENDS if top == EMPTY else OVERFLOW
    if top >= special:
        rule = _as_pivot(work, mask, rules, row_owner, touched)
        if rule != FREE:
            clear(work, mask)
            return rule
    end = store(work, mask, rows, vals, used)
    clear(work, mask)
    if end == ROOM:
        return ROOM
    staged[0, 0], staged[0, 1], staged[0, 2], staged[0, 3] = j, used, end - used, top
    n, at = end - used, 1
    eager = within and top >= special
    p = head[len(pivot)] if eager else head[top]
    while p >= 0:
        here = end
        status, end, new = _change(p, (used, n, top, end), eager, held, rules, owners, open_)
        if status == FREE:
            staged[at, 0], staged[at, 1], staged[at, 2], staged[at, 3] = p, here, end - here, new
            at += 1
        elif status != DEPENDS:
            found[1] = p
            return status
        p = following[p]
    found[0] = at
    return FREE


@kernel
def commit(held, primaries, rules, touched, staged, found):
    """Do what was staged, and return where the store ends."""
    rows, _, start, length, pivot, used = held
    head, following, in_special = primaries
    special, zeros, within, _, alike = rules
    n_rows = len(pivot)
    top = staged[0, 3]
    if not (within and top >= special):
        head[top] = -1  # all of them move
    for i in range(found[0]):
        j, first, n, row = staged[i, 0], staged[i, 1], staged[i, 2], staged[i, 3]
        start[j], length[j] = first, n
        used = first + n
        if i == 0:
            pivot[row] = j
            if zeros and row >= alike:
                for k in range(first, first + n):
                    touched[rows[k]] = True
        elif within and row >= special:
            if not in_special[j]:
                in_special[j] = True
                following[j], head[n_rows] = head[n_rows], j
        else:
            following[j], head[row] = head[row], j
    return used
