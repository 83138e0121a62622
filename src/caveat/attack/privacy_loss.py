"""Privacy loss: how far one record can move the probability of the release.

For adjacent data sets D and D' the loss of a release Z is log p(Z | D) - log p(Z | D'). A
generator is ε-differentially private when no release and no adjacent pair has more than ε. Here
the data set is the one at hand, so the number is a loss of this instance and no guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import Done
from caveat.attack.candidates import candidates_of
from caveat.attack.generator import Generator, known_to, releases_of
from caveat.attack.membership import chosen_records, refuse_copies
from caveat.attack.posterior import check_exact, unknown_columns
from caveat.attack.worlds import Evidence, Worlds, draw_release, evidence_of, in_threads
from caveat.errors import CaveatError
from caveat.showing import frame_of, without_values
from caveat.synthesis import Model
from caveat.table import Table

__all__ = ["PrivacyLoss", "privacy_loss"]


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
