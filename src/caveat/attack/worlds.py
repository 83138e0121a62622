"""What the strong attacker knows: the generator, the data with one record changed or left out."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.generators.contract import Exact
from caveat.privacy import discrete_gaussian_log_pmf
from caveat.synthesis import Model, Plan, Synthesizer, make_plan
from caveat.synthesis.choosing import chosen_again, log_choice
from caveat.synthesis.coding import Coding
from caveat.synthesis.column_model import ColumnModel
from caveat.synthesis.fitting import fit_columns
from caveat.synthesis.margins.guaranteed import declared_codings
from caveat.synthesis.margins.promise import (
    NOT_COUNTED,
    Measured,
    Pair,
    cells_in,
    expected,
    is_private,
    open_pairs,
)
from caveat.synthesis.margins.tables import count_tables, places
from caveat.synthesis.model import written
from caveat.synthesis.pairs import Bins, with_sample
from caveat.synthesis.seen import has_guard
from caveat.table import Column, Table
from caveat.table.align import common_levels
from caveat.table.table import concat

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


# -------------------------------------------------------------------------------------------------
# The strong attacker on a private release: she is given the noisy tables and the chosen pairs.
#
# Rows drawn from the tables tell nothing that the tables do not. How probable these are in a
# world that differs in one record is known exactly: a record moves one cell of each table by one,
# and with it the distance of every pair from independence, by which pairs are chosen.


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

FAR = 12
"""Standard deviations that noise never moves a count by."""
BLOCK = 4_096
"""Worlds whose choices are compared at a time."""


class TableChanges:
    """How much more or less probable what was measured is when one record is another, or gone.

    Parameters
    ----------
    measured
        The noisy tables and the choices.
    cells
        The cell of each record, by column.
    codings
        How other records find their cells.
    """

    @classmethod
    def of(cls, plan: Plan, original: Table) -> TableChanges | None:
        """Return the changes to a table by whose noisy tables a plan was filled; None for others.

        A plan that promises something is attacked by what was measured, or not at all.
        """
        promise = None if plan.margins is None else plan.margins.promise
        if promise is None:
            return None
        if promise.measured is None:
            raise CaveatError(
                "the plan does not say what was measured, which the attacker is given",
                where="generator",
                do="give the fitted model (--model)",
                code="attack.model.absent",
            )
        codings = declared_codings(plan)
        changes = cls(promise.measured, cells_in(codings, original), codings)
        if changes.is_foreign:
            raise CaveatError(
                "the noisy tables are not of these data: no noise is so far from their counts",
                where="generator",
                do="give the table that the model was measured on",
                code="attack.model.mismatch",
            )
        return changes

    def __init__(
        self,
        measured: Measured,
        cells: Mapping[str, Ints],
        codings: Mapping[str, Coding] | None = None,
    ) -> None:
        self.codings = codings or {}
        self.measured = measured
        self.cells = cells
        pairs = expected(measured.singles, measured.sizes) if measured.choices else {}
        wanted = [*measured.tables, *(pair for pair in pairs if pair not in measured.tables)]
        counted = count_tables(cells, measured.sizes, wanted)
        self._counts = {n: np.rint(t).astype(np.int64).ravel() for n, t in counted.items()}
        self._expected = {pair: counts.ravel() for pair, counts in pairs.items()}

    @property
    def is_foreign(self) -> bool:
        """Whether a count is further from what was seen than noise ever is."""
        for names, seen in self.measured.tables.items():
            off = np.abs(seen.ravel() - self._counts[names] - self.measured.alpha)
            wide = self.measured.sigmas.get(names) or np.sqrt(self._counts[names] + 1.0)
            if np.any(off > FAR * wide + FAR * bool(self.measured.alpha)):
                return True
        return False

    def logs(
        self,
        records: Ints,
        come: Mapping[str, Ints] | None,
        done: Callable[[float], None] | None = None,
    ) -> Floats:
        """Return log p(measured | world) - log p(measured | data), one world per record.

        Parameters
        ----------
        records
            The record that leaves in each world.
        come
            The cells of the one that comes instead, by column; None if nobody does.
        done
            Called with the share of the work that has become ready.
        """
        parts = []
        for start in range(0, len(records), BLOCK):
            block = slice(start, start + BLOCK)
            gone = {name: codes[records[block]] for name, codes in self.cells.items()}
            new = None if come is None else {name: codes[block] for name, codes in come.items()}
            parts.append(self._of_tables(gone, new) + self._of_choices(gone, new))
            if done is not None:
                done(len(parts[-1]) / len(records))
        return np.concatenate(parts) if parts else np.zeros(0)

    def logs_of(
        self, records: Ints, come: Table | None, done: Callable[[float], None] | None = None
    ) -> Floats:
        """Return the same for rows of a table that come instead."""
        return self.logs(records, None if come is None else cells_in(self.codings, come), done)

    def _of_tables(self, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> Floats:
        """Return what the noise has to say."""
        total: Floats = np.zeros(len(next(iter(gone.values()))))
        touched = _touched(gone, come)
        for names, seen in self.measured.tables.items():
            if not touched & set(names):
                continue
            less, more = (self._moved(names, seen.ravel(), by) for by in (-1, 1))
            out, into = self._places(names, gone, come)
            total += np.where((out == into) | (out < 0), 0.0, less[out])
            if come is not None:
                total += np.where((out == into) | (into < 0), 0.0, more[into])
        return total

    def _moved(self, names: tuple[str, ...], seen: Ints, by: int) -> Floats:
        """Return for each cell how its probability changes when one is added to its count."""
        counts = self._counts[names]
        if self.measured.alpha:
            return _log_poisson(seen, counts + by, self.measured.alpha) - _log_poisson(
                seen, counts, self.measured.alpha
            )
        sigma = self.measured.sigmas[names]
        before, after = (discrete_gaussian_log_pmf(seen - c, sigma) for c in (counts, counts + by))
        return np.asarray(after - before)

    def _places(
        self, names: tuple[str, ...], gone: Mapping[str, Ints], come: Mapping[str, Ints] | None
    ) -> tuple[Ints, Ints]:
        """Return the cells that lose and win one; below 0 where none does.

        Nobody may come, and a record that is not counted moves no table.
        """
        out = np.maximum(places(gone, self.measured.sizes, names), NOT_COUNTED)
        if come is None:
            return out, np.full(len(out), NOT_COUNTED)
        return out, np.maximum(places(come, self.measured.sizes, names), NOT_COUNTED)

    def _of_choices(self, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> Floats:
        """Return what the choice of the pairs has to say."""
        total: Floats = np.zeros(len(next(iter(gone.values()))))
        if not self.measured.choices:
            return total
        touched = _touched(gone, come)
        scale = self.measured.choice_epsilon / 2
        base = {p: float(np.abs(self._counts[p] - e).sum()) for p, e in self._expected.items()}
        moved = {p: scale * self._further(p, gone, come) for p in base if touched & set(p)}
        more = {pair: np.expm1(further) for pair, further in moved.items()}
        chosen: list[Pair] = []
        for pair in self.measured.choices:
            still = {
                p: base[p] for p in open_pairs(self.measured.sizes, chosen, self.measured.last)
            }
            top = max(still.values())
            weights = {p: math.exp(scale * (score - top)) for p, score in still.items()}
            before = math.fsum(weights.values())
            after = before + sum((w * more[p] for p, w in weights.items() if p in more), 0.0)
            total += moved.get(pair, 0.0) - np.log(after / before)
            chosen.append(pair)
        return total

    def _further(
        self, pair: Pair, gone: Mapping[str, Ints], come: Mapping[str, Ints] | None
    ) -> Ints:
        """Return how much further the table of a pair is from independence in each world."""
        away = self._counts[pair] - self._expected[pair]
        out, into = self._places(pair, gone, come)
        less = np.abs(away[out] - 1) - np.abs(away[out])
        more = np.abs(away[into] + 1) - np.abs(away[into])
        moved = np.where(out < 0, 0, less) + np.where(into < 0, 0, more)
        return np.where(out == into, 0, moved)


def _touched(gone: Mapping[str, Ints], come: Mapping[str, Ints] | None) -> set[str]:
    """Return the columns in which a record that comes differs from the one that goes."""
    if come is None:
        return set(gone)
    return {name for name, cells in gone.items() if not np.array_equal(cells, come[name])}


def _log_poisson(seen: Ints, counts: Ints, alpha: float) -> Floats:
    """Return log P(seen) of Poisson(count + alpha); cells that nobody leaves do not matter."""
    mean = np.maximum(counts, 0) + alpha
    return np.asarray(seen * np.log(mean) - mean - scipy.special.gammaln(seen + 1))


# -------------------------------------------------------------------------------------------------
# Worlds: the original data with one record changed or left out, and how well each explains Z.
#
# A world is refitted by the same plan, and the probability of the release in it is the product of
# the probabilities of its cells. The dictionaries of the columns are the same in all worlds: the
# codebook is public, what is secret is who has which value.


Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Evidence:
    """The log probability of a release in one world.

    Parameters
    ----------
    finite
        Sum of the logarithms of the cells that have a probability above zero.
    impossible
        Number of cells with probability zero, by column; empty when there are none.
    """

    finite: float
    impossible: Mapping[str, int] = field(default_factory=dict)

    @property
    def log_likelihood(self) -> float:
        """The log probability: -inf when one cell is impossible."""
        return -math.inf if self.impossible else self.finite


def in_threads(
    work: Callable[[Item], Result],
    items: Sequence[Item],
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
    sizes: Sequence[float] | None = None,
) -> list[Result]:
    """Return ``work(item)`` in the order of the items.

    ``done`` is called with the share of the work that has become ready, by ``sizes``, the work of
    each item, or by their number.
    """
    results: list[Result] = []
    total = len(items) if sizes is None else sum(sizes)
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        for i, result in enumerate(pool.map(work, items)):
            results.append(result)
            if done is not None:
                done((1 if sizes is None else sizes[i]) / total)
    return results


def affected_columns(plan: Plan, changed: Iterable[str]) -> set[str]:
    """Return the columns whose model depends on the cells of the changed columns."""
    changed = set(changed)
    if changed & {plan.strata, plan.weights}:
        return set(plan.columns)
    hit = {n for n, e in plan.columns.items() if n in changed or changed & set(e.predictors)}
    for method in ("ipf", "margins"):  # tables of a whole block
        block = {n for n, e in plan.columns.items() if e.settings.method == method}
        hit |= block if changed & block else set()
    for rule in plan.rules:
        if changed & set(rule.sources):
            hit.add(rule.target)
    return hit


class Worlds:
    """The released copies seen from all data sets that differ from the original in one record.

    Parameters
    ----------
    original
        The original table.
    plan
        How the release was made.
    releases
        The released copies.
    seed
        Seed of the fits, if it is not the one that the plan knows; it matters only for methods that
        draw parameters or structures.
    bins
        How cells were coded when predictors were chosen; by the original unless told.
    """

    def __init__(
        self,
        original: Table,
        plan: Plan,
        releases: Sequence[Table],
        seed: int | None = None,
        bins: Bins | None = None,
    ) -> None:
        # Whoever comes and goes, the others in the sample of a choice stay the same.
        choice = plan.choice
        self.original = original if choice is None else with_sample(original, choice.rows)
        self.bins = bins or Bins(original.columns, plan.columns)
        self.plan = plan
        self.releases = tuple(releases)
        seed = plan.structure_seed if seed is None else seed
        if seed is None and has_guard(plan.columns):
            raise CaveatError(
                "guarded trees draw their structure, and the attacker is given it",
                where="generator",
                do="give the fitted model (--model), or the synthesiser with its seed",
                code="attack.model.absent",
            )
        self.seed = seed or 0

    def with_values(self, values: Mapping[str, Column]) -> tuple[Worlds, dict[str, Column]]:
        """Return the worlds and the given values on dictionaries that hold both."""
        columns, recoded = {}, {}
        for name, column in values.items():
            columns[name], recoded[name] = common_levels([self.original[name], column], name)
        same = all(columns[name].has_same_levels(self.original[name]) for name in columns)
        if same:
            return self, recoded
        return Worlds(
            self.original.with_columns(columns), self.plan, self.releases, self.seed, self.bins
        ), recoded

    def seeing(self, releases: Sequence[Table]) -> Worlds:
        """Return the same worlds with other releases; the original is fitted once for all."""
        other = Worlds(self.original, self.plan, releases, self.seed, self.bins)
        other.__dict__ |= {"original": self.original, "base": self.base}
        return other

    @cached_property
    def tables(self) -> TableChanges | None:
        """What the noisy tables of a private release say about these worlds; None for others."""
        return TableChanges.of(self.plan, self.original)

    @cached_property
    def base(self) -> Mapping[str, ColumnModel]:
        """The models of the original data themselves."""
        return self._fit(self.original, self.plan, {})

    @cached_property
    def log_choice(self) -> float:
        """Log probability that the original gives the predictors that were drawn."""
        return log_choice(self.plan, self.original, self.bins)

    def _fit(
        self, table: Table, plan: Plan, finished: Mapping[str, ColumnModel]
    ) -> Mapping[str, ColumnModel]:
        drawn = {} if table is self.original else self.base
        return fit_columns(table, plan, self.seed, 1, None, finished, structures=drawn)

    def changed(self, record: int, codes: Mapping[str, int]) -> Table:
        """Return the original with the given codes in one record."""
        columns = {}
        for name, code in codes.items():
            cells = self.original[name].codes.copy()
            cells[record] = code
            columns[name] = self.original[name].with_codes(cells)
        return self.original.with_columns(columns)

    def without(self, records: int | NDArray[np.int64]) -> Table:
        """Return the original without one record, or without several."""
        return self.original.take(np.delete(np.arange(self.original.n_rows), records))

    def instead(self, records: NDArray[np.int64], come: Table) -> Table:
        """Return the original with the rows of a table instead of some records."""
        return concat([self.without(records), come])

    def model(self, table: Table, changed: Iterable[str] | None = None) -> Model:
        """Return the generator fitted on a world; only what the changed columns touch is fitted."""
        same = table is self.original
        plan = self.plan if same else chosen_again(self.plan, table, self.bins)
        if changed is None:
            finished: Mapping[str, ColumnModel] = {}
        else:
            hit = affected_columns(plan, changed)
            hit |= {n for n, entry in plan.columns.items() if entry != self.plan.columns[n]}
            finished = {n: m for n, m in self.base.items() if n not in hit}
        models, names = self._fit(table, plan, finished), written(plan, table)
        log = self.log_choice if same else log_choice(plan, table, self.bins)
        return Model(plan, models, names, table.n_rows, self.seed, log_choice=log)

    def evidence(self, table: Table, changed: Iterable[str] | None = None) -> Evidence:
        """Return how probable the releases are in a world."""
        return evidence_of(self.model(table, changed), self.releases)


def evidence_of(model: Model, releases: Iterable[Table]) -> Evidence:
    """Return how probable releases are under a fitted generator."""
    terms: list[float] = []
    impossible: dict[str, int] = {}
    for release in releases:
        result = model.log_prob(release)
        for name, reason in result.unknown.items():
            raise CaveatError(
                f"there is no exact probability: {reason}",
                column=name,
                do="attack it by simulation (caveat.attack.simulated_posterior)",
                code="attack.probability.unsupported",
            )
        for name, logs in result.columns.items():
            possible = np.isfinite(logs)
            if not possible.all():
                impossible[name] = impossible.get(name, 0) + int((~possible).sum())
            terms += logs[possible].tolist()
    terms += [column.log_structure for column in model.columns.values()]
    terms.append(model.log_choice)
    # The exactly rounded sum does not depend on the order of the rows.
    return Evidence(math.fsum(terms), impossible)


def draw_release(model: Model, rows: int, *key: int) -> Table:
    """Draw one release; the same key gives the same release, whatever else is drawn."""
    seed = int(np.random.SeedSequence(key).generate_state(1, np.uint64)[0])
    return replace(model, seed=seed).tables(rows, threads=1)[0]


def refuse_impossible(evidence: Sequence[Evidence], when: str) -> None:
    """Say which column rules the release out when it is impossible in every world.

    ``when`` says in words which worlds these are.
    """
    if any(not item.impossible for item in evidence):
        return
    nearest = min(evidence, key=lambda item: sum(item.impossible.values()))
    name, n = max(nearest.impossible.items(), key=lambda entry: entry[1])
    raise CaveatError(
        f"the generator cannot have made this release: {n:,} "
        f"{'cell has' if n == 1 else 'cells have'} probability 0 {when}",
        column=name,
        do="check that original, release and generator belong together",
        code="attack.release.mismatch",
    )
