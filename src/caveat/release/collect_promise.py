"""What a release promises, and beside it what was measured: two entries, never one.

A promise holds for all data of the declared domain and may be told to anybody. What was measured
is computed from the original records, is about these data alone, and stays inside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from caveat.attack.membership import membership, promised_tests
from caveat.privacy import Budget, Ledger, Limit, poisson_delta
from caveat.release.collect import Done
from caveat.release.material import Material
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model
from caveat.synthesis.fitting import changes_cleared
from caveat.synthesis.margins.promise import Measured, Promise

__all__ = ["PROMISE", "collect_promise", "remarks_on"]

PROMISE = "promise and measurement"
"""The step of a run."""
TESTED = 3
"""Records whose membership is tested by simulation: those with the largest exact ratio."""
LEVEL = 0.05
MOST_SIMULATIONS, FEWEST_SIMULATIONS = 100, 20
MOST_CELLS = 1_000_000
"""Noisy cells that are drawn for the tests in all, about half a minute of one core."""
FASTER = 50
"""So many Poisson cells take as long as one of the discrete Gaussian."""

SAYS = "computed from the original records, on these data: no part of the promise, and confidential"


def _promise_of(material: Material) -> Promise | None:
    plan = material.plan
    return None if plan is None or plan.margins is None else plan.margins.promise


def collect_promise(
    spec: ReleaseSpec, material: Material, threads: int | None, step: Callable[[str], Done]
) -> dict[str, Any]:
    """Return the entries of a release that was made from noisy or cleared tables, if it was.

    Parameters
    ----------
    spec, material
        What was asked for, and what was made.
    threads
        Worlds computed at the same time.
    step
        Called with the name of the step, if there is one; returns what hears of its progress.
    """
    promise = _promise_of(material)
    if promise is None or promise.measured is None:
        return _cleared(material)
    return {
        "promise": _described(spec, material, promise, promise.measured),
        "measured": _measured(material, promise, promise.measured, threads, step(PROMISE)),
    }


def _described(
    spec: ReleaseSpec, material: Material, promise: Promise, measured: Measured
) -> dict[str, Any]:
    """Return what is promised, to whom and under which assumptions."""
    poisson = {
        "alpha": promise.alpha,
        "delta_equation_9": poisson_delta(promise.epsilon, promise.alpha),
        "delta_exact": promise.delta,
    } if promise.alpha else None  # fmt: skip
    return {
        "epsilon": promise.epsilon,
        "delta": promise.delta,
        "rho": None if promise.alpha else measured.rho,
        "mechanism": promise.mechanism,
        "unit": "one record",
        "neighbours": "one record more or less",
        "domain": "declared in the specification; that nothing of it was read off the data is the "
        "word of who signs the release",
        "records": _records(spec),
        "pairs": _pairs(measured),
        "tables": [
            {
                "columns": list(names),
                "cells": int(counts.size),
                "sigma": measured.sigmas.get(names),
            }
            for names, counts in measured.tables.items()
        ],
        "poisson": poisson,
        "held_out": material.control is not None,
        "ledger": _ledger(spec.options.get("budget"), promise),
    }


def _records(spec: ReleaseSpec) -> str:
    if spec.release.rows is not None:
        return "not assumed to be public; the number of released rows is said in the specification"
    return "not assumed to be public; the number of released rows comes from the noisy counts"


def _pairs(measured: Measured) -> str:
    if measured.alpha:
        return "none: one table of all columns"
    if measured.choices:
        return (
            "chosen from the data by the exponential mechanism, one after the other, with "
            f"ε = {measured.choice_epsilon:.4g} each, which ρ includes"
        )
    return "given in the specification"


def _ledger(budget: Budget | None, promise: Promise) -> dict[str, Any] | None:
    """Return what was spent on the data, this release included, and what may be."""
    if budget is None:
        return None
    limit = budget.limit or Limit(promise.epsilon, promise.delta)
    spent = Ledger(budget.ledger).spent(budget.dataset, limit.delta)
    return {
        "dataset": budget.dataset,
        "spent": spent if math.isfinite(spent) else None,
        "limit": {"epsilon": limit.epsilon, "delta": limit.delta},
    }


def _measured(
    material: Material, promise: Promise, measured: Measured, threads: int | None, done: Done
) -> dict[str, Any]:
    """Return what the strong attacker finds who is given the noisy tables."""
    plan = material.plan
    assert plan is not None
    found = membership(
        material.fitted, material.drawn, generator=plan, threads=threads,
        done=lambda share: done(0.1 * share),
    )  # fmt: skip
    losses = np.abs(found.log_ratio)
    worst = found.records[np.argsort(-losses, kind="stable")[:TESTED]].tolist()
    simulations = _simulations(measured, len(worst))
    bounds: list[dict[str, Any]] = []
    if simulations:
        tests = promised_tests(
            material.fitted, worst, plan, simulations, lambda share: done(0.9 * share)
        )
        bounds = [
            {
                "row": int(material.rows[test.record]) + 1,
                "log_ratio": float(losses[test.record]),
                "bound": test.epsilon_at(LEVEL / len(worst), promise.delta),
            }
            for test in tests
        ]
    return {
        "says": SAYS,
        "records": len(losses),
        "largest": float(losses.max()),
        "above": float(np.mean(losses > promise.epsilon)),
        "bound": max((one["bound"] for one in bounds), default=None),
        "bounds": bounds,
        "simulations": simulations,
        "confidence": 1 - LEVEL,
    }


def remarks_on(entries: Mapping[str, Any]) -> list[str]:
    """Return warnings that a loss, or even its lower bound, is above what is promised."""
    promise, measured = entries.get("promise"), entries.get("measured")
    if promise is None or measured is None:
        return []
    found, epsilon = [], promise["epsilon"]
    if measured["largest"] > epsilon:
        found.append(
            f"the largest exact log ratio of a record, {measured['largest']:.3g}, is above ε = "
            f"{epsilon:g}: for any one record the promise allows this with a probability of about "
            f"δ = {promise['delta']:.3g}"
        )
    if (measured["bound"] or 0.0) > epsilon:
        found.append(
            f"the lower bound of ε by simulation, {measured['bound']:.3g}, is above ε = {epsilon:g}"
            ": that is chance, once in twenty runs at most, or the promise is not kept"
        )
    return found


def _simulations(measured: Measured, n_tested: int) -> int:
    """Return how often to measure; 0 if the tables are too large to do it often enough.

    It is counted, not timed: the same run simulates as much on every machine.
    """
    cells = sum(counts.size for counts in measured.tables.values())
    cost = (n_tested + 1) * cells / (FASTER if measured.alpha else 1)
    most = int(MOST_CELLS / cost)
    return min(most, MOST_SIMULATIONS) if most >= FEWEST_SIMULATIONS else 0


def _cleared(material: Material) -> dict[str, Any]:
    """Return what cleared tables a release was made from; nothing if it was not."""
    model, plan = material.model, material.plan
    if not isinstance(model, Model) or not model.cleared:
        return {}
    assert plan is not None
    assert plan.margins is not None
    assert plan.margins.clearing is not None
    return {
        "cleared": {
            "rules": str(plan.margins.clearing),
            "records": material.fitted.n_rows,
            "changed_by": int(np.count_nonzero(changes_cleared(material.fitted, plan))),
            "tables": [
                {
                    "columns": list(table.columns),
                    "cells": len(table.cells),
                    "smallest": min(table.counts),
                    "multiple": table.multiple,
                    "suppressed": table.suppressed,
                    "changed_by": table.changed_by,
                }
                for table in model.cleared
            ],
        }
    }
