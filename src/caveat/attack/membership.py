"""Membership and privacy loss: what the release says about who was in the data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.adjacent import Done, each_without
from caveat.attack.posterior import (
    candidates_of,
    check_exact,
    check_record,
    membership_summary,
    unknown_columns,
)
from caveat.attack.worlds import (
    Evidence,
    Generator,
    TableChanges,
    Worlds,
    draw_release,
    evidence_of,
    in_threads,
    is_promised,
    known_to,
    releases_of,
)
from caveat.errors import CaveatError
from caveat.seeds import child_seed
from caveat.showing import Summary, frame_of, in_short, on_page, without_values
from caveat.synthesis import Model, Plan
from caveat.synthesis.choosing import drawn_again
from caveat.synthesis.margins.guaranteed import declared_codings, measured_by
from caveat.synthesis.margins.promise import Measured, cells_in
from caveat.synthesis.seen import has_guard
from caveat.table import Table

Floats = NDArray[np.float64]


def bound_at(inside: Floats, outside: Floats, cut: float, level: float, delta: float) -> float:
    """Return the lower bound of ε that follows from the errors at a threshold."""
    hits, alarms = int((inside >= cut).sum()), int((outside >= cut).sum())
    return epsilon_bound(hits, len(inside), alarms, len(outside), level, delta)


def estimate_at(inside: Floats, outside: Floats, cut: float, delta: float = 0.0) -> float:
    """Return the ε that the error rates at a threshold suggest, with half a count added."""
    hit = ((inside >= cut).sum() + 0.5) / (len(inside) + 1)
    alarm = ((outside >= cut).sum() + 0.5) / (len(outside) + 1)
    least = np.finfo(float).tiny
    shown, hidden = max(hit - delta, least), max(1 - alarm - delta, least)
    return float(max(math.log(shown / alarm), math.log(hidden / (1 - hit))))


def epsilon_bound(
    hits: int,
    n_inside: int,
    alarms: int,
    n_outside: int,
    level: float = 0.05,
    delta: float = 0.0,
) -> float:
    """Return a lower bound of ε, of 95 % unless told, from the hits and false alarms of one test.

    A mechanism that is (ε, δ)-differentially private has hit rate <= exp(ε) x false alarm rate + δ,
    and the same for the complements. Both rates are at the unfavourable end of their one-sided
    Clopper-Pearson limits, each of which is wrong with a probability of half the level.

    Examples
    --------
    >>> round(epsilon_bound(500, 1000, 0, 1000), 3)
    4.846
    >>> round(epsilon_bound(500, 1000, 0, 1000, delta=0.3), 3)
    3.824
    """

    def ratio(upper: int, n_upper: int, lower: int, n_lower: int) -> float:
        least = scipy.stats.beta.ppf(level / 2, upper, n_upper - upper + 1) if upper else 0.0
        most = (
            scipy.stats.beta.ppf(1 - level / 2, lower + 1, n_lower - lower)
            if lower < n_lower
            else 1.0
        )
        return math.log((least - delta) / most) if least > delta else -math.inf

    return max(
        0.0,
        ratio(hits, n_inside, alarms, n_outside),
        ratio(n_outside - alarms, n_outside, n_inside - hits, n_inside),
    )


# -------------------------------------------------------------------------------------------------
# Membership: whether the release looks as if a record had been in the data.
#
# The most powerful test compares the probability of the release with and without the record. For
# a sequential tree synthesiser both are known exactly.


@dataclass(frozen=True, eq=False)
class Membership:
    """The likelihood ratio of membership for some records.

    Parameters
    ----------
    records
        Positions of the records, from 0.
    log_ratio
        log p(Z | D) - log p(Z | D without the record); inf where the release is impossible
        without it, -inf where it is impossible with it, NaN where it is impossible either way.
    unit
        Who is a member: a record, a group of them, or a person in it.
    """

    records: NDArray[np.int64]
    log_ratio: Floats
    unit: str = "record"

    def _summary(self) -> Summary:
        return membership_summary(self.posterior(), self.unit)

    __repr__ = in_short
    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each record as a pandas or polars frame; the prior is 0.5."""
        columns = {"log_ratio": self.log_ratio, "posterior": self.posterior()}
        return frame_of({self.unit: self.records, **columns}, backend)

    @property
    def worst(self) -> int:
        """Position of the record whose membership the release shows most."""
        known = np.flatnonzero(~np.isnan(self.log_ratio))
        return int(self.records[known[np.argmax(self.log_ratio[known])]])

    def posterior(self, prior: float = 0.5) -> Floats:
        """Return the probability of membership for an attacker who gives it ``prior`` before."""
        if not 0 < prior < 1:
            raise CaveatError(
                "the prior of membership must lie between 0 and 1", code="attack.prior.range"
            )
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + (1 - prior) / prior * np.exp(-self.log_ratio)))


def membership(
    original: Any,
    synthetic: Any,
    *,
    generator: Generator | None = None,
    records: Sequence[int] | None = None,
    threads: int | None = None,
    done: Done | None = None,
) -> Membership:
    """Return for each record how much more probable the release is with it than without it.

    Parameters
    ----------
    original, synthetic, generator
        As for :func:`caveat.attack.posterior`. Without the record the generator is fitted on one
        record less and makes the same number of synthetic rows.
    records
        Positions of the records, from 0; all by default.
    threads
        Worlds computed at the same time; all cores by default.
    done
        Called with the share of the work that has become ready.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> result = membership(buyer_beware(), buyer_beware(1), records=[0, 999])
    >>> result.log_ratio.round(4).tolist()
    [-0.0078, inf]
    """
    table = Table.from_frame(original)
    plan, table = known_to(generator, table)
    check_exact(plan)
    refuse_copies(plan)
    chosen = chosen_records(records, table)
    worlds = Worlds(table, plan, releases_of(synthetic, plan, table))
    base, without = each_without(worlds, chosen, threads, done)
    with np.errstate(invalid="ignore"):
        return Membership(chosen, base - without)


def chosen_records(records: Sequence[int] | None, table: Table) -> NDArray[np.int64]:
    """Return the records to attack, or say which one the table has not."""
    if records is None:
        return np.arange(table.n_rows)
    for record in records:
        check_record(record, table)
    if not len(records):
        raise CaveatError(
            "no record is named",
            do="name one, or leave the records out",
            code="attack.record.absent",
        )
    return np.asarray(records, dtype=np.int64)


def refuse_copies(plan: Plan) -> None:
    """Refuse plans with copied columns: every record is in the release as it is."""
    copied = [n for n, entry in plan.columns.items() if entry.settings.method == "copy"]
    if copied:
        raise CaveatError(
            "a copied column shows every member by construction",
            column=copied[0],
            do="synthesise it; there is nothing to test",
            code="attack.column.unsupported",
        )


@dataclass(frozen=True, eq=False)
class MembershipTest:
    """How well the likelihood ratio tells releases with a record from releases without it.

    Parameters
    ----------
    record
        Position of the record, from 0.
    inside, outside
        Log-likelihood ratios of releases simulated with and without the record.
    observed
        The log-likelihood ratio of the actual release; None when there is none.
    """

    record: int
    inside: Floats
    outside: Floats
    observed: float | None = None

    __repr__ = without_values

    @property
    def auc(self) -> float:
        """The chance that a release with the record has a higher ratio than one without it."""
        ranks = np.searchsorted(np.sort(self.outside), self.inside, "left")
        ties = np.searchsorted(np.sort(self.outside), self.inside, "right") - ranks
        return float((ranks + ties / 2).mean() / len(self.outside))

    def power(self, level: float = 0.01) -> float:
        """Return the share of releases with the record that the test of this level finds."""
        return float((self.inside > self._threshold(level)).mean())

    def _threshold(self, level: float) -> float:
        """Return the smallest observed ratio above which at most ``level`` of `outside` lie."""
        ordered = np.sort(self.outside)[::-1]
        return float(ordered[min(math.floor(level * len(ordered)), len(ordered) - 1)])

    @property
    def p_value(self) -> float | None:
        """How often a release without the record looks at least as much like one with it."""
        if self.observed is None:
            return None
        return float((1 + (self.outside >= self.observed).sum()) / (1 + len(self.outside)))

    @property
    def epsilon(self) -> float:
        """A lower bound (95 %) of the ε of the generator for this record."""
        return self.epsilon_at()

    def epsilon_at(self, level: float = 0.05, delta: float = 0.0) -> float:
        """Return a lower bound of the ε of the generator for this record.

        The threshold is chosen on the first half of the simulated releases, the error rates of the
        test are bounded on the second half.

        Parameters
        ----------
        level
            How often the bound may be wrong; divide it by the number of records to take the largest
            of several.
        delta
            The δ that goes with ε.
        """
        halves = [(x[: len(x) // 2], x[len(x) // 2 :]) for x in (self.inside, self.outside)]
        (choose_in, judge_in), (choose_out, judge_out) = halves

        def promise(cut: float) -> tuple[float, float]:
            # What could be shown there, and where nothing can what seems to be there.
            bound = bound_at(choose_in, choose_out, cut, level, delta)
            return bound, estimate_at(choose_in, choose_out, cut, delta)

        cut = max(np.unique(np.concatenate([choose_in, choose_out])).tolist(), key=promise)
        return bound_at(judge_in, judge_out, cut, level, delta)


def membership_test(
    original: Any,
    record: int,
    *,
    synthetic: Any = None,
    generator: Generator | None = None,
    simulations: int = 200,
    rows: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    done: Done | None = None,
) -> MembershipTest:
    """Calibrate the likelihood ratio test for one record with simulated releases.

    Parameters
    ----------
    original, generator
        As for :func:`membership`.
    record
        Position of the record, from 0.
    synthetic
        The actual release, to be placed among the simulated ones.
    simulations
        Number of releases simulated with the record, and as many without it.
    rows
        Rows of each simulated release; as many as the original has by default.
    seed
        Seed of the simulated releases.
    """
    table = Table.from_frame(original)
    check_record(record, table)
    plan, table = known_to(generator, table)
    check_exact(plan)
    refuse_copies(plan)
    drawn = has_guard(plan.columns)
    if simulations < 2:
        raise CaveatError(
            "the number of simulations must be 2 or more", code="attack.setting.range"
        )
    if is_promised(plan):
        return promised_tests(table, [record], plan, simulations, done)[0]
    worlds = Worlds(table, plan, [], plan.structure_seed or 0)
    tables = table, worlds.without(record)
    models = worlds.model(table, ()), worlds.model(tables[1])

    def ratio(item: tuple[int, int]) -> float:
        side, copy = item
        key = child_seed(seed, *item)
        pair = _models_drawn(worlds, tables, side, key) if drawn else models
        release = draw_release(pair[side], rows or table.n_rows, seed, side, copy)
        return _log_ratio(pair, [release])

    items = [(side, copy) for side in (0, 1) for copy in range(simulations)]
    ratios = np.array(in_threads(ratio, items, threads, done))
    observed = None
    if synthetic is not None:
        observed = _log_ratio(models, releases_of(synthetic, plan, table))
    return MembershipTest(record, ratios[:simulations], ratios[simulations:], observed)


def _models_drawn(
    worlds: Worlds, tables: tuple[Table, Table], side: int, key: int
) -> tuple[Model, Model]:
    """Return the models with and without a record, of structures that one side has drawn.

    Who has the record, or has not, draws structures too: the release is both.
    """
    own = tables[side]
    ours = Worlds(own, drawn_again(worlds.plan, own, key, worlds.bins), [], key)
    base, theirs = ours.model(ours.original, ()), ours.model(tables[1 - side])
    return (base, theirs) if side == 0 else (theirs, base)


def promised_tests(
    table: Table, records: Sequence[int], plan: Plan, simulations: int, done: Done | None = None
) -> list[MembershipTest]:
    """Measure with some records and without each, again and again, with noise that has no seed.

    Parameters
    ----------
    table
        The original.
    records
        Positions of the records, from 0. What is measured with all of them serves each of them.
    plan
        A plan that promises something.
    simulations
        Number of measurements with the records, and as many without each.
    done
        Called with the share of the work that has become ready.
    """
    inside = cells_in(declared_codings(plan), table)

    def ratios(measured: Measured, which: Sequence[int]) -> Floats:
        return -TableChanges(measured, inside).logs(np.asarray(which, np.int64), None)

    def simulated(cells: Mapping[str, NDArray[np.int64]], which: Sequence[int]) -> Floats:
        found = []
        for _ in range(simulations):
            found.append(ratios(measured_by(plan, cells), which))
            if done is not None:
                done(1 / (simulations * (len(records) + 1)))
        return np.array(found).T

    members = simulated(inside, records)
    promise = None if plan.margins is None else plan.margins.promise
    measured = None if promise is None else promise.measured
    tests = []
    for record, own in zip(records, members, strict=True):
        without = {name: np.delete(cells, record) for name, cells in inside.items()}
        seen = None if measured is None else float(ratios(measured, [record])[0])
        tests.append(MembershipTest(record, own, simulated(without, [record])[0], seen))
    return tests


def _log_ratio(models: tuple[Model, Model], releases: Sequence[Table]) -> float:
    inside, outside = (evidence_of(model, releases) for model in models)
    if inside.impossible and outside.impossible:
        raise CaveatError(
            "the release is impossible with and without the record",
            do="check that original, release and generator belong together",
            code="attack.release.mismatch",
        )
    return inside.log_likelihood - outside.log_likelihood


# -------------------------------------------------------------------------------------------------
# Privacy loss: how far one record can move the probability of the release.
#
# For adjacent data sets D and D' the loss of a release Z is log p(Z | D) - log p(Z | D'). A
# generator is ε-differentially private when no release and no adjacent pair has more than ε. Here
# the data set is the one at hand, so the number is a loss of this instance and no guarantee.


@dataclass(frozen=True, eq=False)
class PrivacyLoss:
    """The largest loss of each record over its adjacent data sets.

    Parameters
    ----------
    records
        Positions of the records, from 0.
    observed
        On the actual release: the largest |log p(Z | D) - log p(Z | D')| over these, inf
        where the release is impossible in one of them; None when no release was given.
    simulated
        The same for simulated releases, one line per record.
    adjacent
        Number of adjacent data sets of each record.
    unit
        Who may move the probability: a record, or a group of them.
    """

    records: NDArray[np.int64]
    observed: NDArray[np.float64] | None
    simulated: NDArray[np.float64]
    adjacent: NDArray[np.int64]
    unit: str = "record"

    __repr__ = without_values

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each record as a pandas or polars frame."""
        seen = {} if self.observed is None else {"observed": self.observed}
        often = {"simulated, 95 %": self.quantile()} if self.simulated.size else {}
        columns = {self.unit: self.records, **seen, **often, "adjacent": self.adjacent}
        return frame_of(columns, backend)

    def quantile(self, share: float = 0.95) -> NDArray[np.float64]:
        """Return the loss that this share of the simulated releases does not exceed."""
        ordered = np.sort(self.simulated, axis=1)
        place = int(np.ceil(share * ordered.shape[1])) - 1
        return np.asarray(ordered[:, max(place, 0)])


def privacy_loss(
    original: Any,
    records: Sequence[int] | None = None,
    *,
    synthetic: Any = None,
    generator: Generator | None = None,
    unknown: Sequence[str] | None = None,
    sample: int | None = None,
    simulations: int = 0,
    rows: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    done: Done | None = None,
) -> PrivacyLoss:
    """Return the privacy loss of records: an ε of this instance, not a guarantee.

    Parameters
    ----------
    original, generator
        As for :func:`caveat.attack.posterior`.
    records
        Positions of the records, from 0; all, or a random sample of them, by default.
    synthetic
        The actual release.
    unknown
        The columns in which an adjacent data set may differ; all by default. The record may
        also be absent altogether.
    sample
        Number of records drawn at random when none are named.
    simulations, rows, seed
        Number of releases simulated from the original, their rows, and their seed.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> loss = privacy_loss(buyer_beware(), [999], synthetic=buyer_beware(2))
    >>> loss.observed.round(3).tolist()
    [1.205]
    """
    table = Table.from_frame(original)
    plan, table = known_to(generator, table)
    check_exact(plan)
    refuse_copies(plan)
    _refuse_nothing(synthetic, simulations)
    names = unknown_columns(unknown, table, plan)
    chosen = _chosen(records, sample, seed, table)
    released = [] if synthetic is None else releases_of(synthetic, plan, table)
    worlds = Worlds(table, plan, released)
    if worlds.tables is not None:
        return _by_tables(worlds, chosen, names, simulations, done)
    base = worlds.model(table, ())
    copies = [draw_release(base, rows or table.n_rows, seed, copy) for copy in range(simulations)]
    sets = ([tuple(released)] if released else []) + [(copy,) for copy in copies]

    results = in_threads(
        lambda record: _losses(worlds, record, names, sets, base), chosen.tolist(), threads, done
    )
    losses, counts = (np.array(part) for part in zip(*results, strict=True))
    first = 1 if released else 0
    return PrivacyLoss(chosen, losses[:, 0] if released else None, losses[:, first:], counts)


def _refuse_nothing(synthetic: Any, simulations: int) -> None:
    if synthetic is None and not simulations:
        raise CaveatError(
            "there is no release to measure",
            do="give one, or simulate some",
            code="data.release.absent",
        )


def _by_tables(
    worlds: Worlds,
    chosen: NDArray[np.int64],
    names: Sequence[str],
    simulations: int,
    done: Done | None,
) -> PrivacyLoss:
    """Return the loss by the noisy tables of a private release."""
    assert worlds.tables is not None
    if simulations:
        raise CaveatError(
            "noise is drawn once: other releases are no part of this one",
            where="simulations",
            do="leave them out, or use caveat.attack.membership_test",
            code="attack.option.conflict",
        )
    losses, counts = [], []
    for record in chosen.tolist():
        _, rows, _, _ = candidates_of(worlds, record, names)
        gone = worlds.tables.logs(np.array([record]), None)
        come = worlds.original.take(np.full(rows.n_rows, record)).with_columns(rows.columns)
        changed = worlds.tables.logs_of(np.full(rows.n_rows, record), come)
        losses.append(float(np.abs(np.append(gone, changed)).max()))
        counts.append(rows.n_rows)
        if done is not None:
            done(1 / len(chosen))
    return PrivacyLoss(chosen, np.array(losses), np.zeros((len(chosen), 0)), np.array(counts))


def _chosen(
    records: Sequence[int] | None, sample: int | None, seed: int, table: Table
) -> NDArray[np.int64]:
    if records is None and sample is not None:
        drawn = np.random.default_rng(seed).permutation(table.n_rows)[:sample]
        records = np.sort(drawn).tolist()
    return chosen_records(records, table)


def _losses(
    worlds: Worlds,
    record: int,
    names: Sequence[str],
    sets: Sequence[tuple[Table, ...]],
    base: Model,
) -> tuple[list[float], int]:
    """Return a record's largest loss for each set of releases, and how many adjacent data sets."""
    wider, rows, truth, _ = candidates_of(worlds, record, names)
    here = base if wider is worlds else wider.model(wider.original)
    reference = [evidence_of(here, releases) for releases in sets]
    largest = np.zeros(len(sets))
    tables = [wider.without(record)]
    tables += [
        wider.changed(record, {name: int(rows[name].codes[i]) for name in names})
        for i in range(rows.n_rows)
        if i != truth
    ]
    for position, table in enumerate(tables):
        model = wider.model(table, names if position else None)
        for k, releases in enumerate(sets):
            largest[k] = max(largest[k], _loss(reference[k], evidence_of(model, releases)))
    return largest.tolist(), len(tables)


def _loss(ours: Evidence, theirs: Evidence) -> float:
    if ours.impossible and theirs.impossible:
        return 0.0
    return abs(ours.log_likelihood - theirs.log_likelihood)
