"""Membership for generators that can only be run: paired fits with and without a record.

For each record the generator is run on the data and on the data without it, with the same seeds and
the same number of rows. On half of the runs a score is learnt that tells the two apart, on the
other half it is judged: what is found there, it would find in a release. It is a lower bound for
what the strong attacker finds: a better score may exist.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.membership import MembershipTest, chosen_records
from caveat.attack.scores import (
    CALIBRATION,
    OURS,
    SCORES,
    STRUCTURE,
    Looks,
    Neighbourhood,
    Seen,
    log_densities,
    log_odds,
    own_structures,
)
from caveat.attack.targets import vulnerable
from caveat.attack.worlds import in_threads
from caveat.errors import CaveatError
from caveat.generators import Generator
from caveat.generators.registry import seed_by_seed
from caveat.seeds import Stream, child_seed, rng_of
from caveat.showing import without_values
from caveat.table import Kind, Table

__all__ = [
    "LEAST_SIMULATIONS", "RECORDS", "SIMULATIONS", "STRUCTURES", "PairedMembership", "PairedRuns",
    "Runner", "fits_needed", "found_at", "simulated_membership",
]  # fmt: skip

Floats = NDArray[np.float64]
Done = Callable[[float], None]

SIMULATIONS, RECORDS, STRUCTURES = 64, 10, 1
LEAST_SIMULATIONS = 20
"""Half of them must allow one false positive in ten."""
POPULATION = 50
"""Other records whose density RMIA compares with."""
GROUPS = 10
"""Groups of simulations that are left out in turn to find the Monte Carlo error."""


def fits_needed(simulations: int, records: int) -> int:
    """Return how often a generator is run: on the data, and on them without each record.

    Examples
    --------
    >>> fits_needed(64, 10)
    704
    """
    return simulations * (records + 1)


def found_at(inside: Floats, outside: Floats, level: float) -> tuple[int, int] | None:
    """Return how many of ``inside`` score higher than all but a few of ``outside``, and how few.

    So few are above the threshold that another release without the record is, too, with a
    probability of at most ``level``. None if they are too few to say so.

    Examples
    --------
    >>> found_at(np.array([5.0, 25.0, 19.0]), np.arange(20.0), 0.1)
    (2, 1)
    >>> found_at(np.array([5.0, 25.0, 19.0]), np.arange(20.0), 0.01) is None
    True
    """
    allowed = math.floor(level * (len(outside) + 1) + 1e-9) - 1
    if allowed < 0:
        return None
    threshold = np.sort(outside)[len(outside) - 1 - allowed]
    return int((inside > threshold).sum()), int((outside > threshold).sum())


@dataclass(frozen=True, eq=False)
class PairedRuns:
    """Releases simulated with and without a record, as they are seen from it.

    Parameters
    ----------
    record
        Position of the record, from 0.
    inside, outside
        Releases with the record and without it; the same place, the same seed.
    observed
        The actual release; None if there is none.
    """

    record: int
    inside: Looks
    outside: Looks
    observed: Looks | None = None

    __repr__ = without_values

    def test(self, score: str = OURS, learn: int | None = None) -> MembershipTest:
        """Learn a score on the first half of the simulations and apply it to the second.

        Parameters
        ----------
        score
            One of SCORES.
        learn
            Learn on so many instead of half of them.
        """
        half = len(self.inside.features) // 2
        first = slice(half if learn is None else min(learn, half))
        learnt = SCORES[score](self.inside.take(first), self.outside.take(first))
        rest = slice(half, None)
        seen = None if self.observed is None else float(learnt(self.observed)[0])
        return MembershipTest(
            self.record, learnt(self.inside.take(rest)), learnt(self.outside.take(rest)), seen
        )


@dataclass(frozen=True, eq=False)
class PairedMembership:
    """How well membership of some records shows in releases of a generator.

    Parameters
    ----------
    runs
        The simulated releases, by record.
    generator
        Name of the generator.
    """

    runs: tuple[PairedRuns, ...]
    generator: str
    _tests: dict[str, tuple[MembershipTest, ...]] = field(default_factory=dict, repr=False)

    __repr__ = without_values

    @property
    def records(self) -> NDArray[np.int64]:
        """Positions of the records, from 0."""
        return np.array([run.record for run in self.runs])

    @property
    def simulations(self) -> int:
        """Number of releases simulated with each record, and without it."""
        return len(self.runs[0].inside.features)

    @property
    def judged(self) -> int:
        """Number of those on which the scores are judged."""
        return self.simulations - self.simulations // 2

    @property
    def scores(self) -> tuple[str, ...]:
        """The scores that these releases have: all, or all but the one by a structure."""
        lacks = self.runs[0].inside.ratio is None
        return tuple(score for score in SCORES if not (lacks and score == STRUCTURE))

    def tests(self, score: str = OURS) -> tuple[MembershipTest, ...]:
        """Return the test of every record with a score of SCORES."""
        if score not in self._tests:
            self._tests[score] = tuple(run.test(score) for run in self.runs)
        return self._tests[score]

    def power(self, level: float = 0.1, score: str = OURS) -> Floats | None:
        """Return the share of releases with each record that is told from those without it.

        Parameters
        ----------
        level
            Share of releases without it that may be taken for releases with it.
        score
            One of SCORES.

        Returns
        -------
        array or None
            By record; None if the simulations are too few for this level.
        """
        found = [found_at(test.inside, test.outside, level) for test in self.tests(score)]
        if any(one is None for one in found):
            return None
        return np.array([one[0] for one in found if one is not None]) / self.judged

    def auc(self, score: str = OURS) -> Floats:
        """Return the area under the curve of each record."""
        return np.array([test.auc for test in self.tests(score)])

    @cached_property
    def log_ratio(self) -> tuple[Floats, Floats] | None:
        """The log-likelihood ratio of the actual release for each record, with standard errors."""
        return self.log_ratio_by()

    def log_ratio_by(self, score: str = OURS) -> tuple[Floats, Floats] | None:
        """Return the same by another score.

        The log odds of the score, fitted on the simulations on which it is judged. Errors are those
        of these simulations, groups of which are left out in turn.
        """
        if self.runs[0].observed is None:
            return None
        found = np.array([_observed_ratio(test) for test in self.tests(score)])
        return found[:, 0], found[:, 1]


def _observed_ratio(test: MembershipTest) -> tuple[float, float]:
    inside, outside = test.inside[:, None], test.outside[:, None]
    seen = np.array([[test.observed]], dtype=np.float64)

    def ratio(keep: NDArray[np.int64]) -> float:
        return float(log_odds(inside[keep], outside[keep], CALIBRATION)(seen)[0])

    every = np.arange(len(inside))
    parts = np.array_split(every, min(GROUPS, len(every)))
    left = np.array([ratio(np.setdiff1d(every, part)) for part in parts])
    spread = (len(left) - 1) * float(((left - left.mean()) ** 2).mean())
    return ratio(every), math.sqrt(spread)


class Runner:
    """Runs a generator on tables that differ in one record, and looks at what it releases.

    Parameters
    ----------
    original
        The original table.
    generator
        Anything that meets the contract of :mod:`caveat.generators`.
    simulations, seed
        Number of runs on each table, and the root of their seeds.
    rows, copies
        Size of a release.
    structures
        How many structures the attacker draws, where the generator draws one.
    """

    def __init__(
        self, original: Table, generator: Generator, *, simulations: int, seed: int,
        rows: int | None = None, copies: int = 1, structures: int = STRUCTURES,
    ) -> None:  # fmt: skip
        if simulations < LEAST_SIMULATIONS:
            raise CaveatError(
                f"the number of simulations must be {LEAST_SIMULATIONS} or more",
                where="simulations",
                do="half of them are learnt from, the other half is judged",
                code="attack.setting.range",
            )
        if original.n_rows < 3:
            raise CaveatError(
                "there are too few records",
                do="give a table with three or more",
                code="data.record.too-few",
            )
        self.generator, self.simulations, self.seed = generator, simulations, seed
        self.rows, self.copies = rows or original.n_rows, copies
        self._first = self._makes(original)(self._seed(0))
        named = [
            name for name in original
            if name in self._first[0] and original[name].kind not in (Kind.ID, Kind.TEXT)
        ]  # fmt: skip
        if not named:
            raise CaveatError(
                "the release has no column of the original",
                do="check the generator",
                code="data.column.too-few",
            )
        self.original = original
        self.shown = original.select(named)
        self.seen = Seen.of(self.shown, self.shown)
        self.kernels = self.seen.kernels
        some = rng_of(seed, Stream.PEOPLE).permutation(original.n_rows)[:POPULATION]
        self.people = self.seen.take(np.sort(some))
        self.structures = own_structures(generator, original, seed, structures)

    __repr__ = without_values

    def _seed(self, run: int) -> int:
        return child_seed(self.seed, run)

    def _makes(self, table: Table) -> Callable[[int], list[Table]]:
        """Return what releases, seed by seed, from a table."""
        fitted = seed_by_seed(self.generator, table)
        return lambda seed: fitted(seed).sample(self.rows, self.copies)

    def look(self, releases: Sequence[Table]) -> Seen:
        """Return the copies of a release as one array."""
        for table in releases:
            lacking = [name for name in self.shown if name not in table]
            if lacking:
                raise CaveatError(
                    "a release lacks a column that others have",
                    column=lacking[0],
                    code="data.column.absent",
                )
        parts = [Seen.of(table, self.shown) for table in releases]
        codes, numbers = (
            np.concatenate([getattr(p, n) for p in parts]) for n in ("codes", "numbers")
        )
        return Seen(codes, numbers, parts[0].is_number)

    def around(self, record: int) -> Neighbourhood:
        """Return what looks at releases around a record of the data."""
        others = np.delete(np.arange(self.seen.n), record)
        mine = self.seen.take(np.array([record]))
        return Neighbourhood(mine, self.seen.take(others), self.kernels)

    def ratios(self, releases: Sequence[Table], records: NDArray[np.int64]) -> Floats:
        """Return the mean log-likelihood ratios of records under the attacker's own structures."""
        found = [one.ratios(releases, records) for one in self.structures]
        return np.mean(found, axis=0) if found else np.zeros(0)

    def looks(
        self, table: Table, around: Mapping[int, Neighbourhood], done: Done | None = None
    ) -> list[Looks]:
        """Run the generator on a table and look at the releases around some records."""
        makes = self._makes(table)
        records = np.array(list(around), np.int64)
        features: list[list[Floats]] = [[] for _ in around]
        population, ratios = [], []
        for run in range(self.simulations):
            again = table is self.original and run == 0
            releases = self._first if again else makes(self._seed(run))
            seen = self.look(releases)
            for place, one in zip(features, around.values(), strict=True):
                place.append(one.features(seen))
            ratios.append(self.ratios(releases, records))
            population.append(log_densities(self.people, seen, self.kernels))
            if done is not None:
                done(1 / self.simulations)
        by_record = np.array(ratios).T if self.structures else [None] * len(features)
        return [
            Looks(np.array(place), np.array(population), ratio)
            for place, ratio in zip(features, by_record, strict=True)
        ]

    def one(self, releases: Sequence[Table], record: int, around: Neighbourhood) -> Looks:
        """Look at one release around a record."""
        seen = self.look(releases)
        population = log_densities(self.people, seen, self.kernels)
        ratio = self.ratios(releases, np.array([record]))
        return Looks(
            around.features(seen)[None], population[None], ratio if self.structures else None
        )


def simulated_membership(
    original: Any,
    generator: Generator,
    *,
    synthetic: Any = None,
    records: Sequence[int] | int = RECORDS,
    simulations: int = SIMULATIONS,
    structures: int = STRUCTURES,
    seed: int = 0,
    threads: int | None = 1,
    done: Done | None = None,
) -> PairedMembership:
    """Find out by running a generator how well it shows who was in the data.

    Parameters
    ----------
    original
        The original table.
    generator
        Anything with ``fit(table, seed)`` and ``sample(rows, copies)``, as
        :func:`caveat.generators.generator_of` returns it.
    synthetic
        The actual release, or its copies, to be placed among the simulated ones.
    records
        Positions of the records, from 0; or a number: the most vulnerable are taken.
    simulations
        Runs on the data, and as many on the data without each record.
    structures
        Structures that the attacker draws, where the generator is guarded trees: the mean of the
        log-likelihood ratios under them is a score.
    seed
        Root of the seeds; a run on the data and one without the record share theirs.
    threads
        Tables that are worked on at the same time.
    done
        Hears what share of the work became ready.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> from caveat.generators import generator_of
    >>> found = simulated_membership(
    ...     buyer_beware(), generator_of("copy"), records=[999], simulations=20)
    >>> found.power(0.1).tolist()
    [1.0]
    """
    table = Table.from_frame(original)
    if isinstance(records, int):
        chosen = vulnerable(table).first(records)
    else:
        chosen = chosen_records(records, table)
    releases = _releases(synthetic)
    runner = Runner(
        table, generator, simulations=simulations, seed=seed,
        rows=releases[0].n_rows if releases else None, copies=len(releases) or 1,
        structures=structures,
    )  # fmt: skip
    return PairedMembership(_runs(runner, chosen, releases, threads, done), generator.name)


def _runs(
    runner: Runner, chosen: NDArray[np.int64], releases: list[Table], threads: int | None,
    done: Done | None,
) -> tuple[PairedRuns, ...]:  # fmt: skip
    """Run the generator on the data, which all records share, and without each record."""
    table = runner.original
    around = {record: runner.around(record) for record in chosen.tolist()}

    def hear(share: float) -> None:
        if done is not None:
            done(share / (len(chosen) + 1))

    def run(world: int) -> list[Looks]:
        if world == 0:
            return runner.looks(table, around, hear)
        record = int(chosen[world - 1])
        without = table.take(np.delete(np.arange(table.n_rows), record))
        return runner.looks(without, {record: around[record]}, hear)

    first, *outside = in_threads(run, list(range(len(chosen) + 1)), threads)
    inside = dict(zip(around, first, strict=True))
    return tuple(
        PairedRuns(
            record, inside[record], without[0],
            runner.one(releases, record, around[record]) if releases else None,
        )
        for record, without in zip(chosen.tolist(), outside, strict=True)
    )  # fmt: skip


def _releases(synthetic: Any) -> list[Table]:
    if synthetic is None:
        return []
    several = isinstance(synthetic, list | tuple)
    return [Table.from_frame(one) for one in (synthetic if several else [synthetic])]
