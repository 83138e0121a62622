"""What the strong attacker knows about the generator: the plan, and nothing drawn from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.generators.contract import Exact
from caveat.synthesis import Model, Plan, Synthesizer, make_plan
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.model import written
from caveat.table import Table

__all__ = ["UNKNOWN", "Generator", "is_promised", "known_to", "plan_of", "releases_of"]

Generator = Synthesizer | Plan | Model | Exact | Mapping[str, Any]
"""How the release was made: a synthesiser, a plan, a fitted model or generator, or the options of a
plan."""


UNKNOWN: Mapping[str, Any] = {"method": "cart", "rare_below": 1}
"""What is assumed of a release of which nothing is known."""


def plan_of(generator: Generator | None, original: Table) -> Plan:
    """Return the plan by which the release was made from a table.

    Of a release of which nothing is known plain CART is assumed, as synthpop makes it, which pools
    no rare level: guarded trees need a seed. Options without a method mean what they mean to a
    synthesiser.
    A fitted model is checked: fitted again by its plan, the table must give the same model.
    """
    if generator is None:
        return make_plan(original, UNKNOWN)
    if isinstance(generator, Synthesizer):
        plan: Plan = generator.plan(original)
        return plan
    if isinstance(generator, Exact):
        return plan_of(_known(generator), original)
    if isinstance(generator, Model):
        if is_promised(generator.plan):  # it cannot be fitted again, and need not be
            _check_columns(generator.plan, original)
        else:
            _check_fitted_on(generator, original)
        return generator.plan
    if isinstance(generator, Plan):
        _check_columns(generator, original)
        return generator
    if isinstance(generator, Mapping):
        if is_private(generator):
            raise CaveatError(
                "noise cannot be drawn again, and the attacker is given what was measured",
                where="generator",
                do="give the fitted model (--model)",
                code="attack.model.absent",
            )
        return make_plan(original, generator)
    raise CaveatError(
        f"a {type(generator).__name__} does not say how the release was made",
        where="generator",
        do="give a Synthesizer, a plan, its options or a fitted model",
        code="attack.generator.type",
    )


def known_to(generator: Generator | None, original: Table) -> tuple[Plan, Table]:
    """Return the plan of a release, and the table as the generator saw it: rare levels pooled."""
    plan = plan_of(generator, original)
    return plan, plan.pooled(original)


def is_promised(plan: Plan) -> bool:
    """Whether a plan promises something: a release of it is judged by what was measured."""
    return plan.margins is not None and plan.margins.promise is not None


def _known(generator: Exact) -> Model:
    if generator.exact is None:
        raise CaveatError(
            "the generator does not know the probability of its releases",
            where="generator",
            do="attack it by simulation",
            code="attack.probability.unsupported",
        )
    return generator.exact


def _check_columns(plan: Plan, original: Table) -> None:
    absent = [name for name in plan.columns if name not in original]
    if absent:
        raise CaveatError(
            "the plan has a column that the original has not",
            column=absent[0],
            do="give the table that the plan was made for",
            code="data.column.absent",
        )


def _check_fitted_on(model: Model, original: Table) -> None:
    _check_columns(model.plan, original)
    original, where = model.plan.pooled(original), None
    cleared = model.plan.margins is not None and model.plan.margins.clearing is not None
    if model.n_rows != original.n_rows:
        where = f"{model.n_rows:,} records in the model, {original.n_rows:,} in the table"
    elif not cleared:  # such a model knows only the levels that were published
        for name, fitted in model.columns.items():
            if not original[name].has_same_levels(fitted.coding.column):
                where = f"column {name}"
                break
    if where is None and not cleared:
        where = _differing_column(model, original)
    if where is not None:
        raise CaveatError(
            "the model was fitted on other data",
            where=where,
            do="give the table that the model was fitted on, or the plan alone",
            code="attack.model.mismatch",
        )


def _differing_column(model: Model, original: Table) -> str | None:
    """Return the first column whose fit on the table gives its cells other probabilities."""
    seed = model.plan.structure_seed
    again = fit_columns(original, model.plan, model.seed if seed is None else seed, 1, None, {})
    ours = model.log_prob(original).columns
    theirs = replace(model, columns=again).log_prob(original).columns
    for name, logs in ours.items():
        if not np.allclose(logs, theirs[name], rtol=1e-9, atol=1e-9):
            return f"column {name}"
    return None


def releases_of(synthetic: Any, plan: Plan, original: Table) -> list[Table]:
    """Return the released copies as tables with the columns that the plan writes."""
    several = isinstance(synthetic, Sequence) and not isinstance(synthetic, str | bytes)
    tables = [Table.from_frame(item) for item in (synthetic if several else [synthetic])]
    if not tables:
        raise CaveatError(
            "there is no release to attack",
            do="give at least one synthetic copy",
            code="data.release.absent",
        )
    names = written(plan, original)
    for number, table in enumerate(tables, 1):
        absent = [name for name in names if name not in table]
        if absent:
            raise CaveatError(
                "the release lacks a column that the generator makes",
                where=f"copy {number}",
                column=absent[0],
                do="give the release as it came out of the generator",
                code="data.column.absent",
            )
        if not table.n_rows:
            raise CaveatError(
                "the release has no rows", where=f"copy {number}", code="data.table.empty"
            )
    return [table.select(names) for table in tables]
