"""The synthesiser as a user meets it."""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from caveat.errors import CaveatError, CaveatWarning
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.model import Model
from caveat.synthesis.plan import Plan, make_plan
from caveat.synthesis.public import has_guard
from caveat.table import Table

__all__ = ["Synthesizer"]

FEW_ROWS = 50  # below, a synthetic table hides hardly anybody


class Synthesizer:
    """Makes synthetic copies of a table, column by column.

    Parameters
    ----------
    seed
        Root of all randomness; drawn at random (and kept in the model) when None.
    threads
        Columns fitted at the same time; all cores by default. The result does not depend on it.
    anyway
        Whether a table is synthesised that is too small to hide anybody.
    **options
        The plan: ``order``, ``keep``, ``drop``, ``method`` (guarded trees by default; "cart" is
        synthpop's), ``guard`` and the numbers behind it, ``minbucket``, ``minsplit``, ``cp``,
        ``prune``, ``max_depth``, ``smoothing`` and ``proper`` of plain trees, ``special``,
        ``derived``, ``predictors``, ``rules``, ``strata``, ``weights``, and ``columns`` with
        settings of single columns. See :func:`caveat.synthesis.make_plan`.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> model = Synthesizer(seed=1).fit(buyer_beware())
    >>> model.sample(rows=5)["var1"].shape
    (5,)
    """

    def __init__(
        self,
        *,
        seed: int | None = None,
        threads: int | None = None,
        anyway: bool = False,
        **options: Any,
    ) -> None:
        self.seed = seed
        self.threads = threads
        self.anyway = anyway
        self.options = options

    def plan(self, data: Any) -> Plan:
        """Return the plan for a table without carrying it out."""
        return replace(make_plan(Table.from_frame(data), self.options), structure_seed=self.seed)

    def fit(
        self,
        data: Any,
        *,
        done: Callable[[str, ColumnModel], None] | None = None,
        finished: Mapping[str, ColumnModel] | None = None,
    ) -> Model:
        """Fit the models of all columns on the original data.

        Parameters
        ----------
        data
            A frame or a table.
        done
            Called with the name and the model of each column that is ready.
        finished
            Models of columns that were fitted before, by the same plan on the same data.
        """
        table = Table.from_frame(data)
        if table.n_rows == 0:
            raise CaveatError("the table has no rows", do="give a table with at least one record")
        plan = make_plan(table, self.options)
        for remark in (*_too_small(table, plan, self.anyway), *plan.remarks):
            warnings.warn(remark, CaveatWarning, stacklevel=2)
        # Long enough that nobody finds it by trying: who has the seed can draw the release again.
        seed = secrets.randbits(128) if self.seed is None else self.seed
        threads = self.threads or os.cpu_count() or 1
        plan = replace(plan, structure_seed=seed)
        models = fit_columns(table, plan, seed, threads, done, finished or {})
        proper = any(entry.settings.proper for entry in plan.columns.values())
        kept = {n for n, entry in plan.columns.items() if entry.settings.method != "drop"}
        names = tuple(name for name in table if name in kept)
        return Model(
            plan, models, names, table.n_rows, seed, table.backend, table if proper else None
        )


def _too_small(table: Table, plan: Plan, anyway: bool) -> Iterator[str]:
    """Refuse a table whose columns no tree can split; say so if it is hardly larger."""
    drawn = [e.settings for e in plan.columns.values() if e.settings.method != "drop"]
    least = 2 * min((settings.minbucket for settings in drawn), default=1)
    if table.n_rows < least and not anyway:
        what, do = f"fewer than two leaves of a tree ({least})", "lower minbucket, or "
        if has_guard(plan.columns):
            what, do = f"fewer than {least}: nothing hides so few people", "or "
        raise CaveatError(
            f"the table has {table.n_rows:,} rows, {what}",
            do=f"collect more, {do}use --anyway (anyway=True)",
        )
    if table.n_rows < FEW_ROWS:
        yield (
            f"the table has {table.n_rows:,} rows: in so small a table nearly every record can be "
            "recognised, synthetic or not"
        )
