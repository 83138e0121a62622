"""The same questions by simulation, where no likelihood can be computed.

Two cases. Generators whose parameters are drawn (proper synthesis, forests) have a likelihood that
is an average over the draws; it is estimated with the same draws in every world. Generators of
which nothing is known but how to run them are run in every world, and the likelihood of a summary
of the release is estimated from the runs. Both results carry their Monte Carlo error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.posterior import (
    Posterior,
    Prior,
    bayes,
    candidates_of,
    check_record,
    known_part,
    prior_of,
    remarks_on,
    unknown_columns,
)
from caveat.attack.scores import (
    OwnStructure,
    around_candidates,
    candidate_likelihood,
    count_likelihood,
    need_structure,
    structure_likelihood,
)
from caveat.attack.worlds import Generator, Worlds, in_threads, known_to, releases_of
from caveat.errors import CaveatError
from caveat.generators import Generator as AnyGenerator
from caveat.generators.registry import seed_by_seed
from caveat.risk import key_cells
from caveat.risk.scenario import DEFAULT_PRIOR
from caveat.synthesis import make_plan
from caveat.table import Table
from caveat.table.align import recode_to

__all__ = ["Maker", "Summary", "posterior_by_runs", "proper_posterior", "simulated_posterior"]

Floats = NDArray[np.float64]
Done = Callable[[float], None]

GROUPS = 20
"""Groups of draws that are left out in turn to find the Monte Carlo error."""


Maker = Callable[[Table], Callable[[int], Table]]
"""Called with the original of a world; returns a function that makes a release from a seed."""


Summary = Literal["around", "cells", "structure"] | Callable[[Table], Sequence[float]]
"""What the attacker looks at."""


def _jackknife(full: Floats, without: Sequence[Floats]) -> Floats:
    """Return standard errors from estimates that leave out one group of draws each."""
    parts = np.stack(without)
    n = len(parts)
    return np.asarray(np.sqrt((n - 1) / n * ((parts - full) ** 2).sum(axis=0)))


def proper_posterior(
    original: Any,
    synthetic: Any,
    record: int,
    *,
    draws: int = 100,
    unknown: Sequence[str] | None = None,
    generator: Generator | None = None,
    candidates: Any = None,
    prior: Prior = DEFAULT_PRIOR,
    seed: int = 0,
    threads: int | None = None,
    done: Done | None = None,
) -> Posterior:
    """Return the posterior of one record when the parameters of the models are drawn.

    The columns of a copy have parameters of their own, drawn independently, so the likelihood is a
    product over columns and copies of averages over draws. Each draw is used in every world (the
    same rows are resampled), which keeps the error of the comparison small.

    Parameters
    ----------
    draws, seed
        Number and seed of draws of the parameters.
    original, synthetic, record, unknown, generator, candidates, prior, threads, done
        As for :func:`caveat.attack.posterior`.
    """
    if draws < 2:
        raise CaveatError("the number of draws must be 2 or more", code="attack.setting.range")
    table = Table.from_frame(original)
    check_record(record, table)
    plan, table = known_to(generator, table)
    names = unknown_columns(unknown, table, plan)
    worlds = Worlds(table, plan, releases_of(synthetic, plan, table))
    worlds, rows, truth, notes = candidates_of(worlds, record, names, candidates)
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, names), rows)
    tables = _world_tables(worlds, record, rows)
    items = [(world, draw) for world in range(len(tables)) for draw in range(draws)]

    def terms(item: tuple[int, int]) -> Floats:
        world, draw = item
        key = int(np.random.SeedSequence((seed, draw)).generate_state(1, np.uint64)[0])
        model = Worlds(table, plan, worlds.releases, key).model(tables[world])
        return _by_column(model, worlds.releases)

    found = np.stack(in_threads(terms, items, threads, done))
    logs = found.reshape(len(tables), draws, -1)  # world, draw, column of a copy
    if np.isneginf(_average(logs)).all():
        raise CaveatError(
            "the release has probability 0 in every world and draw",
            do="check that original, release and generator belong together, or use more draws",
            code="attack.release.mismatch",
        )
    estimate = bayes(beliefs, _average(logs))
    groups = np.array_split(np.arange(draws), min(GROUPS, draws))
    left = [bayes(beliefs, _average(np.delete(logs, group, axis=1))) for group in groups]
    notes = (*notes, f"averaged over {draws} draws of the parameters", *remarks_on(names, plan))
    return Posterior(
        record, rows, beliefs, _average(logs), truth, notes, _jackknife(estimate, left)
    )


def _by_column(model: Any, releases: Sequence[Table]) -> Floats:
    """Return the log-likelihood of every column of every copy."""
    out = []
    for release in releases:
        result = model.log_prob(release)
        for name, reason in result.unknown.items():
            raise CaveatError(
                f"there is no probability: {reason}",
                column=name,
                do="use caveat.attack.simulated_posterior",
                code="attack.probability.unsupported",
            )
        out += [float(logs.sum()) for logs in result.columns.values()]
    return np.array(out)


def _average(logs: Floats) -> Floats:
    """Return the sum over columns of the log of the mean over draws."""
    with np.errstate(divide="ignore"):
        means = scipy.special.logsumexp(logs, axis=1) - np.log(logs.shape[1])
    return np.asarray(means.sum(axis=-1))


def _world_tables(worlds: Worlds, record: int, rows: Table) -> list[Table]:
    return [
        worlds.changed(record, {name: int(rows[name].codes[i]) for name in rows})
        for i in range(rows.n_rows)
    ]


def simulated_posterior(
    original: Any,
    synthetic: Any,
    record: int,
    generator: AnyGenerator,
    *,
    simulations: int = 100,
    summary: Summary = "around",
    unknown: Sequence[str] | None = None,
    candidates: Any = None,
    prior: Prior = DEFAULT_PRIOR,
    seed: int = 0,
    threads: int | None = 1,
    done: Done | None = None,
) -> Posterior:
    """Return the posterior of one record for a generator that can only be run.

    Parameters
    ----------
    original, synthetic, record, unknown, candidates, prior, done
        As for :func:`caveat.attack.posterior`; one release.
    generator
        Anything with ``fit(table, seed)`` and ``sample(rows, copies)``, as
        :func:`caveat.generators.generator_of` returns it.
    simulations
        Number of releases made in each world.
    summary
        What the attacker looks at. "around": counts, distances and the density around each
        candidate. "cells": how often each candidate's whole record occurs in the release, each
        count taken as binomial. "structure": how probable the release is with each candidate under
        one structure of guarded trees that the attacker draws from the other records. All of them
        learn from half of the runs and fit the odds on the other half. Or a function of a release
        that returns numbers; their likelihood is estimated with a Gaussian kernel.
    seed
        Seed of the runs.

    Returns
    -------
    Posterior
        With ``error``; a summary loses information, so a stronger attack may exist.
    """
    n_rows = Table.from_frame(synthetic).n_rows

    def maker(world: Table) -> Callable[[int], Table]:
        fitted = seed_by_seed(generator, world)
        return lambda key: fitted(key).sample(n_rows)[0]

    def draw(table: Table) -> OwnStructure:
        return need_structure(generator, table, seed, without=record)

    return posterior_by_runs(
        original, synthetic, record, maker, simulations=simulations, summary=summary,
        unknown=unknown, candidates=candidates, prior=prior, seed=seed, threads=threads, done=done,
        structure=draw,
    )  # fmt: skip


def posterior_by_runs(
    original: Any,
    synthetic: Any,
    record: int,
    maker: Maker,
    *,
    simulations: int = 100,
    summary: Summary = "cells",
    unknown: Sequence[str] | None = None,
    candidates: Any = None,
    prior: Prior = DEFAULT_PRIOR,
    seed: int = 0,
    threads: int | None = 1,
    done: Done | None = None,
    structure: Callable[[Table], OwnStructure] | None = None,
) -> Posterior:
    """Return the posterior of one record from releases that are made again in every world.

    Parameters
    ----------
    maker
        Makes releases from the original of a world: the whole way, with protections if there are.
    original, synthetic, record, simulations, summary, unknown, candidates, prior, seed, done
        As for :func:`simulated_posterior`.
    threads
        Worlds at the same time.
    structure
        A function that draws the attacker's structure, for the summary of this name.
    """
    table = Table.from_frame(original)
    check_record(record, table)
    if simulations < (least := 2 if callable(summary) else 8):
        what = f"the number of simulations must be {least} or more"
        raise CaveatError(what, code="attack.setting.range")
    plan = make_plan(table, {"method": "cart", "rare_below": 1})  # for its columns alone
    names = unknown_columns(unknown or table.names, table, plan)
    release = Table.from_frame(synthetic)
    worlds = Worlds(table, plan, [release])
    worlds, rows, truth, notes = candidates_of(worlds, record, names, candidates)
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, names), rows)
    tables = _world_tables(worlds, record, rows)
    measure = _measure(summary, worlds, record, rows, structure)

    def runs(world: int) -> Floats:
        again = maker(tables[world])
        keys = (np.random.SeedSequence((seed, world, run)) for run in range(simulations))
        releases = (again(int(key.generate_state(1)[0])) for key in keys)
        return np.asarray([measure(one) for one in releases], dtype=np.float64)

    simulated = np.stack(in_threads(runs, list(range(len(tables))), threads, done))
    observed = np.asarray(measure(release), dtype=np.float64)
    if summary == "cells":
        _refuse_nothing(observed, simulated)
    likelihood = _likelihood(summary, release.n_rows, simulated)
    logs = likelihood(observed, simulated)
    groups = np.array_split(np.arange(simulations), min(GROUPS, simulations))
    others = [likelihood(observed, np.delete(simulated, group, axis=1)) for group in groups]
    error = _jackknife(bayes(beliefs, logs), [bayes(beliefs, other) for other in others])
    notes = (*notes, f"simulated: {simulations} releases in each world, a summary of the release")
    return Posterior(record, rows, beliefs, logs, truth, notes, error)


def _measure(
    summary: Summary,
    worlds: Worlds,
    record: int,
    rows: Table,
    draw: Callable[[Table], OwnStructure] | None,
) -> Callable[[Table], Any]:
    """Return a function that reduces a release to what the attacker looks at."""
    if callable(summary):
        return summary
    if summary == "structure":
        return _by_structure(worlds, record, rows, draw)
    if summary == "cells":
        return _cell_counts(worlds, record, rows)
    (release,) = worlds.releases
    return around_candidates(_world_tables(worlds, record, rows), record, release)


def _by_structure(
    worlds: Worlds, record: int, rows: Table, draw: Callable[[Table], OwnStructure] | None
) -> Callable[[Table], Floats]:
    """Return a function that computes the log-likelihood of a release with each candidate."""
    if draw is None:
        raise CaveatError(
            "nothing draws a structure for the attacker",
            where="summary",
            do="use caveat.attack.simulated_posterior, or another summary",
            code="attack.summary.unsupported",
        )
    own = draw(worlds.original)
    come = worlds.original.take(np.full(rows.n_rows, record)).with_columns(rows.columns)
    return lambda seen: own.log_likelihoods([seen], come)


def _refuse_nothing(observed: Floats, simulated: Floats) -> None:
    if not observed.any() and not simulated.any():
        raise CaveatError(
            "no candidate's record occurs in any of the releases, and there is nothing to see",
            do="let fewer columns be released, or give a summary of your own",
            code="attack.summary.empty",
        )


def _likelihood(
    summary: Summary, n_rows: int, simulated: Floats
) -> Callable[[Floats, Floats], Floats]:
    """Return what makes log-likelihoods of the worlds from observed and simulated summaries."""
    if callable(summary):
        return _kernel(simulated)
    if summary == "structure":
        return structure_likelihood
    return candidate_likelihood if summary == "around" else partial(count_likelihood, n_rows=n_rows)


def _cell_counts(worlds: Worlds, record: int, rows: Table) -> Callable[[Table], Sequence[float]]:
    """Return a function that counts the record with each candidate's values in a release."""
    table = worlds.original
    names = [*rows.names, *(name for name in table if name not in rows)]
    wanted = [
        rows[name].codes if name in rows else np.repeat(table[name].codes[record], rows.n_rows)
        for name in names
    ]

    def count(release: Table) -> Sequence[float]:
        present = [name for name in names if name in release]
        theirs = [recode_to(release[name], table[name]) for name in present]
        ours = [codes for name, codes in zip(names, wanted, strict=True) if name in release]
        sizes = [table[name].n_levels + 1 for name in present]
        (mine, cells), n = key_cells([ours, theirs], sizes)
        counts: list[float] = np.bincount(cells, minlength=n)[mine].astype(float).tolist()
        return counts

    return count


def _kernel(simulated: Floats) -> Callable[[Floats, Floats], Floats]:
    """Return a Gaussian kernel estimate; the width is Scott's for all runs together."""
    spread = simulated.reshape(-1, simulated.shape[2]).std(axis=0)
    width = spread * simulated.shape[1] ** (-1 / (4 + simulated.shape[2]))
    width = np.where(width > 0, width, 1.0)

    def likelihood(observed: Floats, runs: Floats) -> Floats:
        apart = ((runs - observed) / width) ** 2
        return np.asarray(
            scipy.special.logsumexp(-apart.sum(axis=-1) / 2, axis=1) - np.log(runs.shape[1])
        )

    return likelihood
