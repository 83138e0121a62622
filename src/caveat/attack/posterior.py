"""How sure someone can be who knows everything except this.

The attacker knows the generator, all other records, and of one record everything but the unknown
columns. For each candidate she refits the generator and computes the exact probability of the
release; Bayes' theorem does the rest (Reiter, Wang and Zhang 2014).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.adjacent import with_rows
from caveat.attack.candidates import candidates_of
from caveat.attack.generator import Generator, known_to, releases_of
from caveat.attack.priors import DEFAULT_PRIOR, Prior, prior_of
from caveat.attack.summaries import place_of, posterior_summary
from caveat.attack.worlds import Worlds
from caveat.errors import CaveatError, CaveatWarning
from caveat.showing import Summary, frame_of, on_page
from caveat.synthesis import Plan
from caveat.synthesis.model import written
from caveat.table import Table

__all__ = [
    "Posterior",
    "bayes",
    "check_exact",
    "check_record",
    "drawn_columns",
    "known_part",
    "posterior",
    "remarks_on",
    "unknown_columns",
]


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
