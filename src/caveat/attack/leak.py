"""What a distance filter gives away: the strong attacker on a filtered release, exactly.

A release that is filtered and refilled is a draw from the generator, given that every record passes
the filter. In a world D a record z has the probability p_D(z) / P_D(pass) if it passes there, and 0
if it does not. Both the generator and the filter depend on the world, and so both give something
away.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from caveat.attack import Posterior
from caveat.attack.candidates import candidates_of
from caveat.attack.generator import UNKNOWN, releases_of
from caveat.attack.posterior import known_part
from caveat.attack.priors import DEFAULT_PRIOR, Prior, prior_of
from caveat.attack.worlds import Worlds
from caveat.errors import CaveatError
from caveat.protect import too_close
from caveat.synthesis import make_plan
from caveat.table import Table

__all__ = ["can_list", "filtered_posterior"]

MOST_CELLS = 20_000


def filtered_posterior(
    original: Any,
    release: Any,
    record: int,
    *,
    unknown: Sequence[str] | None = None,
    prior: Prior = DEFAULT_PRIOR,
    options: Mapping[str, Any] | None = None,
    **filter_options: Any,
) -> Posterior:
    """Return what the strong attacker believes after a release that was filtered and refilled.

    Parameters
    ----------
    original
        The original table; few columns with few levels, so that all records can be listed.
    release
        The filtered release.
    record
        Position of the record, from 0.
    unknown
        The columns that she does not know about it; all by default.
    prior
        What she believes before; as for :func:`caveat.attack.posterior`.
    options
        Options of the synthesiser; plain CART if there are none.
    **filter_options
        Metric and columns of :func:`caveat.protect.too_close`.
    """
    table = Table.from_frame(original)
    plan = make_plan(table, UNKNOWN if options is None else options)
    table = plan.pooled(table)
    names = tuple(unknown) if unknown is not None else table.names
    worlds = Worlds(table, plan, releases_of(release, plan, table))
    worlds, rows, truth, notes = candidates_of(worlds, record, names)
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, names), rows)
    grid = _every_record(worlds.original)
    logs = np.empty(rows.n_rows)
    for i in range(rows.n_rows):
        world = worlds.changed(record, {name: int(rows[name].codes[i]) for name in names})
        model = worlds.model(world, names)
        chances = model.log_prob(grid).rows
        if chances is None:
            what = "the generator has no exact probabilities"
            raise CaveatError(what, do="use another method", code="attack.probability.unsupported")
        passes = ~too_close(world, grid, threads=1, **filter_options)
        pass_rate = float(np.exp(chances[passes]).sum())
        if not pass_rate:  # this world's generator makes nothing that passes
            logs[i] = -np.inf
            continue
        log_pass = math.log(pass_rate)
        logs[i] = 0.0
        for copy in worlds.releases:
            each = model.log_prob(copy).rows
            kept = ~too_close(world, copy, threads=1, **filter_options)
            if each is not None:
                logs[i] += float(np.where(kept, each, -np.inf).sum()) - copy.n_rows * log_pass
    return Posterior(record, rows, beliefs, logs, truth, notes)


def can_list(table: Table) -> bool:
    """Whether the possible records of a table are few enough to be listed."""
    return math.prod(column.n_levels for column in table.columns.values()) <= MOST_CELLS


def _every_record(table: Table) -> Table:
    """Return all combinations of levels."""
    sizes = [column.n_levels for column in table.columns.values()]
    if not can_list(table):
        raise CaveatError(
            f"there are {math.prod(sizes):,} possible records, too many to list",
            do="take fewer columns or coarser levels",
            code="attack.record.too-many",
        )
    codes = np.indices(sizes).reshape(len(sizes), -1)
    pairs = zip(table.columns.items(), codes, strict=True)
    return Table({name: column.with_codes(cells) for (name, column), cells in pairs})
