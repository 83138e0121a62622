"""How sure someone can be who knows everything except this: candidates, priors and beliefs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.adjacent import with_rows
from caveat.attack.worlds import Generator, Worlds, known_to, releases_of
from caveat.errors import CaveatError, CaveatWarning, hint
from caveat.risk import key_cells
from caveat.risk.scenario import DEFAULT_PRIOR, PRIORS, NamedPrior
from caveat.showing import Summary, frame_of, on_page
from caveat.synthesis import Plan
from caveat.synthesis.model import written
from caveat.table import Column, Table

if TYPE_CHECKING:
    from caveat.attack.attributes import Attributes


MOST_CANDIDATES = 1_000
"""Up to this many combinations of levels are all considered."""


def candidates_of(
    worlds: Worlds, record: int, unknown: Sequence[str], given: Any = None
) -> tuple[Worlds, Table, int, tuple[str, ...]]:
    """Return the worlds on a common dictionary, the candidates, the place of the truth, and notes.

    Candidates are the given rows; or all combinations of the levels that the original and the
    release have, when there are no more than `MOST_CANDIDATES`; or the combinations that occur in
    one of the two, the most frequent first, up to that number. The truth is always among them.
    """
    if given is not None:
        table = _without_rare(worlds, Table.from_frame(given))
        if set(table.names) != set(unknown):
            raise CaveatError(
                "the candidates have not exactly the unknown columns",
                where="candidates",
                do=f"give the columns {', '.join(unknown)}",
                code="attack.candidate.mismatch",
            )
        worlds, columns = worlds.with_values({name: table[name] for name in unknown})
        rows = Table(columns)
        if len(np.unique(_cells(rows)[0])) < rows.n_rows:
            raise CaveatError(
                "a candidate is given twice",
                where="candidates",
                do="give it once",
                code="attack.candidate.duplicate",
            )
        return worlds, rows, _position_of(worlds, record, rows), ()
    worlds = with_released_levels(worlds, unknown)
    dictionary = {name: worlds.original[name] for name in unknown}
    size = math.prod(column.n_levels for column in dictionary.values())
    if size <= MOST_CANDIDATES:
        rows = _all_combinations(dictionary)
        return worlds, rows, _position_of(worlds, record, rows), ()
    rows = _observed(worlds, record, unknown)
    note = (
        f"{rows.n_rows:,} of {size:,} combinations of the unknown columns are considered: those "
        "that occur in the original or in the release, most frequent first; probabilities are "
        "conditional on these"
    )
    warnings.warn(note, CaveatWarning, stacklevel=3)
    return worlds, rows, _position_of(worlds, record, rows), (note,)


def _without_rare(worlds: Worlds, given: Table) -> Table:
    """Return candidates as the generator sees them: those that it cannot tell apart are one."""
    pooled = worlds.plan.pooled(given)
    if pooled is given:
        return given
    return pooled.take(np.sort(np.unique(_cells(pooled)[0], return_index=True)[1]))


def with_released_levels(worlds: Worlds, unknown: Sequence[str]) -> Worlds:
    """Return the worlds on dictionaries that also hold what the releases have in some columns."""
    for release in worlds.releases:
        values = {name: release[name] for name in unknown if name in release}
        worlds, _ = worlds.with_values(values)
    return worlds


def _all_combinations(dictionary: dict[str, Column]) -> Table:
    sizes = [column.n_levels for column in dictionary.values()]
    grid = np.indices(sizes).reshape(len(sizes), -1)
    return Table({n: c.with_codes(codes) for (n, c), codes in zip(dictionary.items(), grid,
                                                                  strict=True)})  # fmt: skip


def _observed(worlds: Worlds, record: int, unknown: Sequence[str]) -> Table:
    """Return the truth and the most frequent combinations of original and release."""
    parts = [worlds.original.select(unknown)]
    for release in worlds.releases:
        if all(name in release for name in unknown):
            _, columns = worlds.with_values({name: release[name] for name in unknown})
            parts.append(Table(columns))
    stacked = Table(
        {
            name: parts[0][name].with_codes(np.concatenate([part[name].codes for part in parts]))
            for name in unknown
        }
    )
    cells, n_cells = _cells(stacked)
    first = np.full(n_cells, -1)
    first[cells[::-1]] = np.arange(len(cells))[::-1]
    counts = np.bincount(cells, minlength=n_cells)
    counts[cells[record]] = len(cells) + 1  # the truth is never left out
    chosen = np.argsort(-counts, kind="stable")[:MOST_CANDIDATES]
    return stacked.take(np.sort(first[chosen]))


def _cells(rows: Table) -> tuple[Any, int]:
    (cells,), n = key_cells(
        [[column.codes for column in rows.columns.values()]],
        [column.n_levels for column in rows.columns.values()],
    )
    return cells, n


def _position_of(worlds: Worlds, record: int, candidates: Table) -> int:
    """Return which candidate the record really has."""
    same = np.ones(candidates.n_rows, dtype=bool)
    for name in candidates:
        same &= candidates[name].codes == worlds.original[name].codes[record]
    if not same.any():
        raise CaveatError(
            "the true values of the record are not among the candidates",
            where=f"row {record + 1}",
            do="add them, or leave the candidates out",
            code="attack.candidate.absent",
        )
    return int(np.argmax(same))


# -------------------------------------------------------------------------------------------------
# What the attacker believes about the unknown values before she sees the release.


Prior = NamedPrior | Sequence[float] | NDArray[np.float64]

PSEUDO_RECORDS = 1.0
"""Records spread over the candidates, so that no prior excludes a world outright."""


def prior_of(prior: Prior, others: Table, known: Table, candidates: Table) -> NDArray[np.float64]:
    """Return the prior probability of each candidate.

    Parameters
    ----------
    prior
        "uniform"; "marginal": how often a candidate occurs among the other records; "conditional":
        the same among those that agree with the record in all known columns, with one more record
        that has the marginal distribution; or one number per candidate.
    others
        The other records, with all columns.
    known
        The record's known columns, one row; no columns when nothing is known.
    candidates
        The candidates, on the dictionaries of the others.
    """
    n = candidates.n_rows
    if not isinstance(prior, str):
        return _given(prior, n)
    if prior == "uniform":
        return np.full(n, 1 / n)
    named_prior(prior)
    cells = _cells_priors(others.select(candidates.names), candidates)
    marginal = (np.bincount(cells, minlength=n + 1)[:n] + PSEUDO_RECORDS / n) / (
        (cells < n).sum() + PSEUDO_RECORDS
    )
    if prior == "marginal" or not known.names:
        return np.asarray(marginal)
    alike = np.ones(others.n_rows, dtype=bool)
    for name in known:
        alike &= others[name].codes == known[name].codes[0]
    counts = np.bincount(cells[alike], minlength=n + 1)[:n]
    return np.asarray((counts + PSEUDO_RECORDS * marginal) / (counts.sum() + PSEUDO_RECORDS))


def named_prior(name: str) -> NamedPrior:
    """Return the prior of this name, or say which there are."""
    for known in PRIORS:
        if known == name:
            return known
    raise CaveatError(
        f"there is no prior {name!r}",
        where="prior",
        do=hint(name, PRIORS),
        code="attack.prior.unknown",
    )


def _cells_priors(rows: Table, candidates: Table) -> NDArray[np.int64]:
    """Return the candidate that each row equals, or the number of candidates if none."""
    tables = [[table[name].codes for name in candidates] for table in (candidates, rows)]
    (ours, theirs), n_cells = key_cells(tables, [candidates[name].n_levels for name in candidates])
    place = np.full(n_cells, candidates.n_rows, dtype=np.int64)
    place[ours] = np.arange(candidates.n_rows)
    return np.asarray(place[theirs])


def _given(prior: Sequence[float] | NDArray[np.float64], n: int) -> NDArray[np.float64]:
    numbers = np.asarray(prior, dtype=np.float64)
    if numbers.shape != (n,):
        raise CaveatError(
            f"the prior has not one number for each of {n:,} candidates",
            code="attack.prior.mismatch",
        )
    if not (np.isfinite(numbers).all() and (numbers >= 0).all() and numbers.sum() > 0):
        raise CaveatError(
            "the prior has a number that is no probability",
            do="give shares from 0",
            code="attack.prior.range",
        )
    return np.asarray(numbers / numbers.sum())


# -------------------------------------------------------------------------------------------------
# What a notebook shows of an attack: how sure the attacker is, and of nobody in particular.


SURE = 0.9
"""From this posterior probability on a record can count as disclosed."""
RISE, FACTOR = 0.1, 2.0
"""It counts if the release raised the probability by so much, or to so many times what it was."""
_NEARLY = 1e-9  # 1 - 0.9 is less than 0.1 in binary
Floats = NDArray[np.float64]


def rose(before: Floats, after: Floats) -> NDArray[np.bool_]:
    """Return for each probability whether the release raised it by much.

    Examples
    --------
    >>> rose(np.array([0.885, 0.9, 0.01, 1.0]), np.array([0.905, 1.0, 0.02, 1.0])).tolist()
    [False, True, True, False]
    """
    by_points = after >= before + RISE - _NEARLY
    return np.asarray(by_points | ((after >= FACTOR * before) & (after > 0)))


def disclosed(before: Floats, after: Floats, limit: float = SURE) -> NDArray[np.bool_]:
    """Return for each probability of a truth whether it is large, and because of the release.

    Parameters
    ----------
    before, after
        The probabilities before the release and after it.
    limit
        From this probability on it is a disclosure.

    Examples
    --------
    >>> disclosed(np.array([0.885, 0.5, 0.1]), np.array([0.905, 0.95, 0.4])).tolist()
    [False, True, False]
    """
    return (after >= limit) & rose(before, after)


def place_of(p: NDArray[np.float64], truth: int) -> int:
    """Return the place of the truth among the guesses, 1 for the most probable one."""
    return 1 + int((p > p[truth]).sum())


def posterior_summary(found: Posterior) -> Summary:
    """Return what is shown of the attack on one record."""
    before, after = float(found.prior[found.truth]), found.probability
    rows = [
        ("how sure she is of the true values", before, after),
        ("bits that are left to learn", found.prior_entropy, found.entropy),
        ("the truth is her guess number", place_of(found.prior, found.truth), found.rank),
    ]
    how = "exact" if found.exact else "simulated"
    title = f"Posterior of record {found.record}, {how}: {before:.1%} before, {after:.1%} after"
    header = (f"{len(found.prior):,} candidates", "before the release", "after")
    return Summary(title, header, rows, found.notes)


def membership_summary(after: NDArray[np.float64], unit: str) -> Summary:
    """Return what is shown of the probabilities of membership that were 0.5 before."""
    known = after[~np.isnan(after)]
    sure, n = int((known >= SURE).sum()), len(known)
    rows = [
        (f"{unit}s whose membership she knows almost surely (≥ {SURE:.0%})", sure),
        (f"as a share of the {unit}s", sure / max(n, 1)),
        ("median probability", float(np.median(known)) if n else None),
        ("largest probability", float(known.max()) if n else None),
    ]
    title = f"Membership of {len(after):,} {unit}s: {sure:,} known almost surely"
    return Summary(title, ("an attacker who gave each 0.5 before", ""), rows)


def attributes_summary(found: Attributes) -> Summary:
    """Return what is shown of the attack on one column of many records."""
    before, after = found.prior_probability, found.probability
    rows = [
        (f"a probability of {SURE:.0%} or more", _share(before >= SURE), _share(after >= SURE)),
        ("of these, because of the release", 0.0, _share(disclosed(before, after))),
        ("the only best guess is true", _share(found.prior_correct), _share(found.correct)),
        ("mean probability of the true value", _share(before), _share(after)),
    ]
    title = f"Attributes of {len(after):,} {found.unit}s: {rows[1][2]:.1%} known because of it"
    return Summary(title, (f"share of the {found.unit}s", "before the release", "after"), rows)


def _share(each: NDArray[np.generic]) -> float:
    return float(each.mean()) if len(each) else 0.0


# -------------------------------------------------------------------------------------------------
# How sure someone can be who knows everything except this.
#
# The attacker knows the generator, all other records, and of one record everything but the
# unknown columns. For each candidate she refits the generator and computes the exact probability
# of the release; Bayes' theorem does the rest (Reiter, Wang and Zhang 2014).


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the attacker believes about one record after she has seen the release.

    Parameters
    ----------
    record
        Position of the record, from 0.
    candidates
        The values she considers, one row each.
    prior
        Their probability before the release.
    log_likelihood
        The log probability of the release under each; -inf where it is impossible.
    truth
        Position of the true values among the candidates.
    notes
        What should be known about the number.
    error
        Standard error of each probability when the likelihood was simulated; None when exact.
    """

    record: int
    candidates: Table
    prior: NDArray[np.float64]
    log_likelihood: NDArray[np.float64]
    truth: int
    notes: tuple[str, ...] = ()
    error: NDArray[np.float64] | None = field(default=None)

    @property
    def exact(self) -> bool:
        """Whether the likelihood was computed and not simulated."""
        return self.error is None

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """The posterior probability of each candidate."""
        return bayes(self.prior, self.log_likelihood)

    @property
    def probability(self) -> float:
        """The posterior probability of the truth."""
        return float(self.probabilities[self.truth])

    @property
    def rank(self) -> int:
        """Place of the truth, 1 for the most probable candidate."""
        return place_of(self.probabilities, self.truth)

    @property
    def entropy(self) -> float:
        """What is left to learn about the record, in bits."""
        return _entropy(self.probabilities)

    @property
    def prior_entropy(self) -> float:
        """What was to learn before the release, in bits."""
        return _entropy(self.prior)

    @property
    def gain(self) -> float:
        """By what factor the release raised the probability of the truth."""
        return self.probability / float(self.prior[self.truth])

    @property
    def best(self) -> int:
        """The most probable candidate, the first of several equal ones."""
        return int(np.argmax(self.probabilities))

    @property
    def correct(self) -> bool:
        """Whether the truth is the only best guess (R_i of Hittmeir et al., eq. 2.1)."""
        top = self.probabilities == self.probabilities.max()
        return bool(top[self.truth]) and int(top.sum()) == 1

    def _summary(self) -> Summary:
        return posterior_summary(self)

    _repr_html_ = on_page

    def to_frame(self, backend: str = "pandas") -> Any:
        """Return one row for each candidate, with its values, as a pandas or polars frame."""
        values = self.candidates.to_frame("dict")
        columns = {
            "before": self.prior,
            "after": self.probabilities,
            "truth": np.arange(len(self.prior)) == self.truth,
        }
        return frame_of({**values, **columns}, backend)

    def __repr__(self) -> str:
        how = "exact" if self.exact else "simulated"
        return (
            f"<Posterior of record {self.record}, {how}: truth {self.probability:.4f} "
            f"(prior {self.prior[self.truth]:.4f}, {len(self.prior):,} candidates), "
            f"rank {self.rank}>"
        )


def _entropy(p: NDArray[np.float64]) -> float:
    positive = p[p > 0]
    return float(-(positive * np.log2(positive)).sum()) + 0.0


def bayes(prior: NDArray[np.float64], log_likelihood: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return posterior probabilities; candidates run along the last axis.

    Examples
    --------
    >>> bayes(np.array([0.5, 0.25, 0.25]), np.array([-700.0, -700.0, -np.inf])).round(4).tolist()
    [0.6667, 0.3333, 0.0]
    """
    with np.errstate(divide="ignore"):
        weights = np.log(prior) + log_likelihood
    return np.asarray(np.exp(weights - scipy.special.logsumexp(weights, axis=-1, keepdims=True)))


def posterior(
    original: Any,
    synthetic: Any,
    record: int,
    *,
    unknown: Sequence[str] | None = None,
    generator: Generator | None = None,
    candidates: Any = None,
    prior: Prior = DEFAULT_PRIOR,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> Posterior:
    """Return what the strong attacker believes about one record after the release.

    Parameters
    ----------
    original, synthetic
        The original table, and the released copy or a list of copies (log-likelihoods add up).
    record
        Position of the record in the original, from 0.
    unknown
        The columns whose values in this record the attacker does not know; all by default.
    generator
        How the release was made: a Synthesizer, a plan, options or a model. Nothing said is a
        release of plain CART as synthpop makes it, not of the usual method.
    candidates
        The values to consider, a frame with the unknown columns. By default all combinations of
        levels, or, when these are too many, those that occur (with a warning).
    prior
        What she believes before: "conditional", the distribution among the other records that agree
        with this one in all she knows, with one record more that has the marginal distribution;
        "marginal", that among all other records; "uniform"; or one number per candidate.
    threads
        Worlds computed at the same time; all cores by default. The result does not depend on it.
    done
        Called with the share of the work that has become ready.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> round(posterior(buyer_beware(), buyer_beware(1), 999).probability, 4)
    1.0
    >>> round(posterior(buyer_beware(), buyer_beware(2), 999, prior="uniform").probability, 4)
    0.024
    """
    table = Table.from_frame(original)
    check_record(record, table)
    plan, table = known_to(generator, table)
    check_exact(plan)
    names = unknown_columns(unknown, table, plan)
    worlds = Worlds(table, plan, releases_of(synthetic, plan, table))
    worlds, rows, truth, notes = candidates_of(worlds, record, names, candidates)
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, names), rows)
    logs = with_rows(worlds, record, rows, threads, done)
    return Posterior(record, rows, beliefs, logs, truth, notes + remarks_on(names, plan))


def check_record(record: int, table: Table) -> None:
    """Refuse a record that the table has not."""
    if not 0 <= record < table.n_rows:
        raise CaveatError(
            f"there is no record {record}",
            do=f"choose from 0 to {table.n_rows - 1} (positions are counted from 0)",
            code="attack.record.unknown",
        )


def check_exact(plan: Plan) -> None:
    """Refuse a plan whose parameters are drawn: its likelihood is an integral over them."""
    if drawn := drawn_columns(plan):
        raise CaveatError(
            "the parameters of the model are drawn, so that there is no single refit",
            column=drawn[0],
            do="use caveat.attack.proper_posterior, which averages over them",
            code="attack.probability.unsupported",
        )


def drawn_columns(plan: Plan) -> list[str]:
    """Return the columns whose models draw their parameters."""
    return [
        name
        for name, entry in plan.columns.items()
        if entry.settings.proper or entry.settings.method == "forest"
    ]


def unknown_columns(unknown: Sequence[str] | None, table: Table, plan: Plan) -> tuple[str, ...]:
    """Return the unknown columns, or say which one the table has not."""
    if isinstance(unknown, str):
        raise CaveatError(
            "unknown is one text",
            do=f"give a list: unknown=[{unknown!r}]",
            code="attack.setting.type",
        )
    names = tuple(unknown) if unknown is not None else written(plan, table)
    if not names:
        raise CaveatError(
            "nothing is unknown",
            where="unknown",
            do="name at least one column",
            code="attack.setting.empty",
        )
    for name in names:
        table[name]
    if len(set(names)) < len(names):
        raise CaveatError(
            "a column is named twice",
            where="unknown",
            do="name it once",
            code="data.column.duplicate",
        )
    return names


def remarks_on(names: Sequence[str], plan: Plan) -> tuple[str, ...]:
    """Return what has to be said about unknown columns that are not synthesised."""
    notes = []
    for name in names:
        entry = plan.columns.get(name)
        method = "weights" if entry is None else entry.settings.method
        if method == "copy":
            note = f"{name} is copied into the release: its risk is 1 by construction"
            notes.append(note)
            warnings.warn(note, CaveatWarning, stacklevel=3)
        if method == "drop":
            notes.append(f"{name} is not in the release and no other column is made from it")
    return tuple(notes)


def known_part(worlds: Worlds, record: int, unknown: Sequence[str]) -> Table:
    """Return the record with the columns that are not unknown, one row."""
    names = [name for name in worlds.original if name not in unknown]
    return worlds.original.select(names).take(np.array([record]))
