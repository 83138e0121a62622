"""Which world a simulated release looks like: its surroundings, structures and learnt scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.adjacent import GuardedChanges, is_guarded, without_each
from caveat.attack.ordinary.density import Kernels
from caveat.attack.worlds import Worlds, refuse_impossible
from caveat.errors import CaveatError
from caveat.generators import Generator, Setting
from caveat.nearest import Mixed
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.synthesis import Model
from caveat.synthesis.choosing import drawn_again
from caveat.synthesis.margins.promise import is_private
from caveat.table import Column, Kind, Table
from caveat.table.align import recode_to

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

WINDOW = 0.1
"""A number is near the record's if no more than this share of the other records is nearer."""
RANKS = (1, 5, 25, 125)
"""Radii: as far as the record's first, fifth, … nearest other record."""
NEAREST = 10
MOST_TRIPLES = 24
"""With more columns than this no three are counted together."""
OFF = (0, 1, 2, 3)
"""In how many columns a synthetic row may differ from the record."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A table as arrays in the codes and the units of the original.

    Parameters
    ----------
    codes
        Row by column; values that the original has not get a code of their own.
    numbers
        In units of the range of the original; NaN for categories and missing values.
    is_number
        Which columns of the original are numbers, whatever is missing here.
    """

    codes: NDArray[np.int64]
    numbers: Floats
    is_number: Flags

    __repr__ = without_values

    @classmethod
    def of(cls, table: Table, original: Table) -> Seen:
        """Return a table as arrays, with the columns of the original in their order."""
        codes = [recode_to(table[name], original[name]) for name in original]
        numbers = [_in_ranges(table[name], original[name]) for name in original]
        is_number = np.array([_has_range(original[name]) for name in original])
        return cls(np.stack(codes, axis=1), np.stack(numbers, axis=1), is_number)

    def take(self, rows: NDArray[np.int64]) -> Seen:
        """Return some of the rows."""
        return Seen(self.codes[rows], self.numbers[rows], self.is_number)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.codes)

    @cached_property
    def mixed(self) -> Mixed:
        """The same for densities: a number that is missing lies far from all others."""
        filled = np.where(np.isnan(self.numbers), 10.0 + 2.0 * self.codes, self.numbers)
        return Mixed(
            np.ascontiguousarray(filled[:, self.is_number]),
            np.ascontiguousarray(self.codes[:, ~self.is_number].astype(np.int32)),
        )

    @cached_property
    def kernels(self) -> Kernels:
        """Scott's widths for densities of this table; of a number, from the cells that have it.

        The records that are attacked lie where the data are thin: with the tenth of it by which the
        ordinary attacker tells people apart, no release has a row within reach of them.
        """
        columns = self.numbers[:, self.is_number].T
        there = (column[~np.isnan(column)] for column in columns)
        spread = np.array([column.std() if len(column) else 0.0 for column in there])
        return Kernels.of(self.mixed, spread, part=1.0)


def _has_range(column: Column) -> bool:
    return bool(column.kind.is_number and len(column.levels))


def _in_ranges(column: Column, original: Column) -> Floats:
    if not (_has_range(original) and column.kind.is_number):
        return np.full(len(column.codes), np.nan)
    span = float(np.ptp(original.numbers)) or 1.0
    return np.asarray((column.cell_numbers - original.numbers.min()) / span)


def log_densities(people: Seen, release: Seen, kernels: Kernels) -> Floats:
    """Return the log of the density of a release at each of some people, away from zero."""
    floor = kernels.peak - np.log(release.n)
    return np.asarray(np.logaddexp(kernels.log_mean(people.mixed, release.mixed), floor))


class Neighbourhood:
    """Takes the measure of releases around one record.

    Parameters
    ----------
    record
        The record, as a table of one row.
    others
        All other records.
    kernels
        Widths of the kernels of densities.
    """

    def __init__(self, record: Seen, others: Seen, kernels: Kernels) -> None:
        self.record, self.kernels = record, kernels
        apart = np.abs(others.numbers - record.numbers[0])
        known = ~np.isnan(apart)
        self.reach = np.array([
            np.quantile(column[there], WINDOW) if there.any() else 0.0
            for column, there in zip(apart.T, known.T, strict=True)
        ])  # fmt: skip
        equal, near, distance = self._compare(others)
        ordered = np.sort(distance)
        self.radii = ordered[[min(rank, len(ordered)) - 1 for rank in RANKS]]
        self.expected = self._together(equal, near)
        self.n = others.n

    __repr__ = without_values

    def _compare(self, table: Seen) -> tuple[Flags, Flags, Floats]:
        """Return which cells equal the record's, which are near, and how far rows are (Gower)."""
        equal = table.codes == self.record.codes[0]
        apart = np.abs(table.numbers - self.record.numbers[0])
        known = ~np.isnan(apart)
        near = equal | (known & (apart <= self.reach))
        gap = np.where(known, np.minimum(apart, 1.0), ~equal)
        return equal, near, gap.mean(axis=1)

    @staticmethod
    def _together(equal: Flags, near: Flags) -> Floats:
        """Return how often a cell equals the record's where one or two others are near."""
        width = equal.shape[1]
        three = width <= MOST_TRIPLES
        counts = np.zeros((width, width, width) if three else (width, width, 1))
        for column in range(width):
            rows = near[equal[:, column]].astype(np.float32)
            counts[column] = rows.T @ rows if three else rows.sum(axis=0)[:, None]
        return counts

    def features(self, release: Seen) -> Floats:
        """Return the numbers: the density first, then counts and distances.

        Counts are of rows that differ in few columns, of rows within the radii, and of values that
        come together, all as if the release had as many rows as there are other records; their
        roots are taken, whose spread hardly depends on their size.
        """
        equal, near, distance = self._compare(release)
        scale = self.n / release.n
        off, off_near = (same.shape[1] - same.sum(axis=1) for same in (equal, near))
        few = min(NEAREST, release.n)
        nearest = np.sort(np.partition(distance, few - 1)[:few])
        counts = [
            *((off <= most).sum() for most in OFF),
            *((off_near <= most).sum() for most in OFF),
            *((distance <= radius).sum() for radius in self.radii),
        ]
        return np.concatenate([
            log_densities(self.record, release, self.kernels),
            np.sqrt(np.array(counts) * scale),
            [nearest[0], nearest[: max(few // 3, 1)].mean(), nearest.mean()],
            self._surprise(self._together(equal, near) * scale),
        ])  # fmt: skip

    def _surprise(self, found: Floats) -> Floats:
        """Return by column how much more often than among the others its values come together.

        Each count is compared with the other records' as a Poisson count whose rate is one higher
        with the record. Counts of the same rows are not independent: the sum is no likelihood.
        """
        terms = (found - self.expected) * np.log((self.expected + 1.5) / (self.expected + 0.5))
        alone = np.arange(len(terms))
        sums = [terms[alone, alone, np.minimum(alone, terms.shape[2] - 1)], terms.mean(axis=(1, 2))]
        both = np.concatenate([*sums, [terms.mean()]])
        return np.asarray(np.sign(both) * np.sqrt(np.abs(both)))


# -------------------------------------------------------------------------------------------------
# Scores that tell releases with a record from releases without it, learnt from simulated ones.
#
# Ours weighs all that a release shows around the record. Beside it stand three of the literature,
# which look at the density at the record alone: LiRA (Carlini and others 2022), RMIA (Zarifzadeh,
# Liu and Shokri 2024) and DOMIAS (van Breugel and others 2023). They were made for models that
# give a probability to a record; here it is a kernel density of the release. Of guarded trees
# there is also the likelihood ratio under structures that the attacker draws, which needs nothing
# to be learnt.


OURS, STRUCTURE = "paired fits", "own structure"
STRENGTH, FREE = 0.01, 6.0
"""Inverse of the ridge, and by how much lighter it is on the last number, the sum of surprises,
which alone finds much. Chosen among twenty pairs of values on releases of SD2011, both trees;
before that, a logistic regression among a dozen kinds of scores."""
STEPS, ENOUGH = 50, 1e-9
MARGINS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Values of γ in RMIA, of which the best on the simulations to learn from is taken."""


class Looks(NamedTuple):
    """What releases look like, one row each.

    Parameters
    ----------
    features
        Around the record; the first is the log of the density at it.
    population
        The log of the density at some other records.
    ratio
        The mean log-likelihood ratio under the attacker's own structures; None without any.
    """

    features: Floats
    population: Floats
    ratio: Floats | None = None

    @property
    def density(self) -> Floats:
        """The log of the density of each release at the record."""
        return np.asarray(self.features[:, 0])

    def take(self, rows: slice | NDArray[np.int64]) -> Looks:
        """Return some of the releases."""
        ratio = None if self.ratio is None else self.ratio[rows]
        return Looks(self.features[rows], self.population[rows], ratio)


Score = Callable[[Looks], Floats]
"""Gives every release a number: the higher, the more it looks like one with the record."""
Scorer = Callable[[Looks, Looks], Score]
"""Learns a score from releases with the record and releases without it."""


def auc(inside: Floats, outside: Floats) -> float:
    """Return the chance that a release with the record scores higher, ties counted half.

    Examples
    --------
    >>> auc(np.array([1.0, 2.0]), np.array([0.0, 1.0]))
    0.875
    """
    ordered = np.sort(outside)
    sides = (np.searchsorted(ordered, inside, side) for side in ("left", "right"))
    return float(sum(sides).mean() / 2 / len(ordered))  # type: ignore[union-attr]


def log_odds(
    inside: Floats, outside: Floats, strength: float, free: float = 1.0
) -> Callable[[Floats], Floats]:
    """Return log odds that rows of numbers come from ``inside``, each side with the same weight.

    A logistic regression of the standardised numbers with a ridge; the last is ``free`` times as
    large as the others.
    """
    both = np.concatenate([inside, outside])
    spread = both.std(axis=0)
    centre, spread = both.mean(axis=0), np.where(spread > 0, spread, 1.0)
    spread[-1] /= free
    weights, offset = _ridge((both - centre) / spread, len(inside), strength)
    return lambda numbers: np.asarray((numbers - centre) @ (weights / spread) + offset)


def _ridge(rows: Floats, n_inside: int, strength: float) -> tuple[Floats, float]:
    """Return weights and offset of a logistic regression; both sides count as much as one row each.

    Newton's method, the step halved until it helps: the rows are few, and with a ridge there is
    one optimum.
    """
    n, width = rows.shape
    inside = np.arange(n) < n_inside
    sign, share = np.where(inside, 1.0, -1.0), n / 2 / np.where(inside, n_inside, n - n_inside)
    design = np.column_stack([rows, np.ones(n)])
    ridge = np.append(np.full(width, 1 / strength), 1e-9)

    def loss(weights: Floats) -> float:
        misfit = share @ np.logaddexp(0.0, -sign * (design @ weights))
        return float(misfit + ridge @ weights**2 / 2)

    weights = np.zeros(width + 1)
    now = loss(weights)
    for _ in range(STEPS):
        odds = design @ weights
        slope = design.T @ (share * sign * scipy.special.expit(-sign * odds)) - ridge * weights
        bend = (
            design * (share * scipy.special.expit(odds) * scipy.special.expit(-odds))[:, None]
        ).T @ design
        step = np.linalg.solve(bend + np.diag(ridge + 1e-9), slope)
        while loss(weights + step) > now and np.abs(step).max() > ENOUGH:
            step = step / 2
        weights, before = weights + step, now
        now = loss(weights)
        if before - now < ENOUGH:
            break
    return weights[:-1], float(weights[-1])


def learn(inside: Looks, outside: Looks) -> Score:
    """Weigh everything that is seen around the record."""
    found = log_odds(inside.features, outside.features, STRENGTH, FREE)
    return lambda looks: found(looks.features)


def _lira(inside: Looks, outside: Looks) -> Score:
    """LiRA: the ratio of two normal densities, fitted with and without the record."""

    def log_normal(values: Floats, fitted: Floats) -> Floats:
        variance = fitted.var() + 1e-9
        return np.asarray(-((values - fitted.mean()) ** 2) / 2 / variance - np.log(variance) / 2)

    first, second = inside.density, outside.density
    return lambda looks: log_normal(looks.density, first) - log_normal(looks.density, second)


def _rmia(inside: Looks, outside: Looks) -> Score:
    """RMIA: against how many others the record gained more than γ-fold by this very release.

    What a record had before is its mean density over all simulated releases.
    """
    both = [np.concatenate(parts) for parts in zip(inside[:2], outside[:2], strict=True)]
    before, others = (
        scipy.special.logsumexp(v, axis=0) - np.log(len(v)) for v in (both[0][:, 0], both[1])
    )

    def score(margin: float) -> Score:
        limit = np.log(margin)
        return lambda looks: np.mean(
            (looks.density - before)[:, None] - (looks.population - others) >= limit, axis=1
        )

    return score(max(MARGINS, key=lambda m: auc(score(m)(inside), score(m)(outside))))


def _domias(inside: Looks, outside: Looks) -> Score:
    """DOMIAS: the density over that of a reference set, here the same in every release."""
    del inside, outside
    return lambda looks: looks.density


def _structure(inside: Looks, outside: Looks) -> Score:
    """Return the likelihood ratio under the attacker's own structure."""
    del inside, outside

    def score(looks: Looks) -> Floats:
        assert looks.ratio is not None
        return looks.ratio

    return score


SCORES: Mapping[str, Scorer] = {
    OURS: learn, STRUCTURE: _structure, "LiRA": _lira, "RMIA": _rmia, "DOMIAS": _domias,
}  # fmt: skip


# -------------------------------------------------------------------------------------------------
# Which candidate a release looks like, where only runs of the generator can tell.
#
# Every world is the data with one candidate in the place of the record. What a release shows
# around each candidate is compared with what releases of its own world show there and releases of
# all other worlds: on half of the runs a score is learnt, on the other half its log odds are
# fitted. So no answer is surer than the runs allow, and what cannot be told apart stays as likely
# as it was.


ScoreOfOne = Callable[[Floats], Floats]
"""Gives everything that is seen of some releases a number for each release."""

CALIBRATION = 10.0
"""Inverse of the ridge when log odds are fitted to a score: hardly any."""


def around_candidates(
    worlds: Sequence[Table], record: int, release: Table
) -> Callable[[Table], Floats]:
    """Return a function that looks at a release around each candidate.

    Parameters
    ----------
    worlds
        The data with each candidate.
    record
        Its place.
    release
        The actual release, which has the columns of all others.
    """
    names = [
        name for name in worlds[0]
        if name in release and worlds[0][name].kind not in (Kind.ID, Kind.TEXT)
    ]  # fmt: skip
    shown = worlds[0].select(names)
    here = np.array([record])
    others = Seen.of(shown.take(np.delete(np.arange(shown.n_rows), record)), shown)
    places = [
        Neighbourhood(Seen.of(world.select(names).take(here), shown), others, others.kernels)
        for world in worlds
    ]

    def look(table: Table) -> Floats:
        seen = Seen.of(table, shown)
        return np.array([place.features(seen) for place in places])

    return look


def candidate_likelihood(observed: Floats, simulated: Floats) -> Floats:
    """Return for each candidate the log of how much more a release looks like its world's.

    Parameters
    ----------
    observed
        What the release shows: candidate, number.
    simulated
        What runs show: world, run, candidate, number.
    """
    half, width = simulated.shape[1] // 2, simulated.shape[-1]

    def score_of(own: int) -> ScoreOfOne:
        here = simulated[:, :half, own]
        others = np.delete(here, own, axis=0).reshape(-1, width)
        learnt = log_odds(here[own], others, STRENGTH, FREE)
        return lambda seen: learnt(seen[..., own, :])

    return _fitted(observed, simulated, score_of)


def count_likelihood(observed: Floats, simulated: Floats, n_rows: int) -> Floats:
    """Return the same from counts alone, each taken as binomial with the share found in the runs.

    Parameters
    ----------
    observed
        What the release shows: candidate.
    simulated
        What runs show: world, run, candidate.
    n_rows
        Number of rows of a release.
    """
    half = simulated.shape[1] // 2
    share = (simulated[:, :half].sum(axis=1) + 0.5) / (half * n_rows + 1)

    def score_of(own: int) -> ScoreOfOne:
        def score(seen: Floats) -> Floats:
            logs = seen @ np.log(share).T + (n_rows - seen) @ np.log1p(-share).T
            return np.asarray(
                logs[..., own] - scipy.special.logsumexp(np.delete(logs, own, axis=-1), axis=-1)
            )

        return score

    return _fitted(observed, simulated, score_of)


def structure_likelihood(observed: Floats, simulated: Floats) -> Floats:
    """Return the same from log-likelihoods under a structure that the attacker has drawn.

    The release was drawn from another structure, so they are no odds yet: they are fitted.

    Parameters
    ----------
    observed
        Of the release: candidate.
    simulated
        Of runs: world, run, candidate.
    """

    def score_of(own: int) -> ScoreOfOne:
        return lambda seen: np.asarray(
            seen[..., own] - scipy.special.logsumexp(np.delete(seen, own, axis=-1), axis=-1)
        )

    return _fitted(observed, simulated, score_of)


def _fitted(observed: Floats, simulated: Floats, score_of: Callable[[int], ScoreOfOne]) -> Floats:
    """Return the log odds of every world, fitted to its score on the second half of the runs."""
    judged = simulated[:, simulated.shape[1] // 2 :]
    logs = np.zeros(len(simulated))
    if len(logs) == 1:
        return logs  # nothing to choose
    for own in range(len(logs)):
        score = score_of(own)
        others = score(np.delete(judged, own, axis=0)).reshape(-1, 1)
        ratio = log_odds(score(judged[own])[:, None], others, CALIBRATION)
        logs[own] = ratio(score(observed[None])[:, None])[0]
    return logs


# -------------------------------------------------------------------------------------------------
# Likelihood ratios under a structure that the attacker draws.
#
# A release of guarded trees does not show the structure of its trees. An attacker who knows the
# generator and all other records can draw a structure of their own, once, and compare how
# probable the release is under it with and without a record. The structure itself is no evidence:
# the probability of drawing it is divided out.


class OwnStructure:
    """A structure that the attacker has drawn from the original or from what they know of it.

    Parameters
    ----------
    worlds
        The records that the structure is drawn from, and the plan with its seed.
    """

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.empty = worlds.seeing([worlds.original.take([])])
        self._before: dict[bytes, Floats] = {}

    __repr__ = without_values

    @classmethod
    def of(
        cls, generator: Generator, table: Table, seed: int, *, without: int | None = None
    ) -> OwnStructure | None:
        """Draw a structure; None for a generator whose releases have no such likelihood.

        Parameters
        ----------
        generator
            What makes releases: our own, with guarded trees alone and no protections after them.
        table
            The original. Its levels and ranges are public.
        seed
            Seed of the attacker's structure.
        without
            The record that the attacker does not know: the structure is drawn from the others.
        """
        if not isinstance(generator, Setting):
            return None
        if generator.protect or is_private(generator.options):
            return None
        model = generator.fit(table, seed).model
        if not isinstance(model, Model) or not is_guarded(model.plan):
            return None
        whole = Worlds(table, model.plan, ())
        if without is None:
            return cls(whole)
        others = whole.without(without)
        return cls(Worlds(others, drawn_again(model.plan, others, seed, whole.bins), (), seed))

    def ratios(self, releases: Sequence[Table], records: NDArray[np.int64]) -> Floats:
        """Return by how much each record raises the log-likelihood of the copies of a release.

        Parameters
        ----------
        releases
            The copies.
        records
            Positions of the records, from 0.
        """
        key = records.tobytes()
        if key not in self._before:
            self._before[key] = _differences(self.empty, records)
        return _differences(self.worlds.seeing(releases), records) - self._before[key]

    def log_likelihoods(self, releases: Sequence[Table], come: Table) -> Floats:
        """Return the log-likelihood of a release with each of some records beside the others.

        Parameters
        ----------
        releases
            The copies.
        come
            The record with each candidate's values, on the dictionaries of the others.
        """
        nobody, each = np.zeros(0, np.int64), np.arange(come.n_rows + 1)
        logs = []
        for worlds in (self.worlds.seeing(releases), self.empty):
            changes = GuardedChanges(worlds)
            refuse_impossible([changes.base], "under the attacker's structure")
            logs.append(changes.logs_of_sets(nobody, np.zeros_like(each), come, each, 1))
        return np.asarray(logs[0] - logs[1])


def _differences(worlds: Worlds, records: NDArray[np.int64]) -> Floats:
    """Return the log-likelihood less that without each record; 0 where both are impossible."""
    with_it, without = without_each(worlds, records, 1, refuse=False)
    with np.errstate(invalid="ignore"):
        ratio = with_it - without
    return np.where(np.isnan(ratio), 0.0, ratio)


def own_structures(
    generator: Generator, table: Table, seed: int, number: int
) -> tuple[OwnStructure, ...]:
    """Draw several structures; none for a generator whose releases have no such likelihood.

    Parameters
    ----------
    generator, table
        As for :meth:`OwnStructure.of`.
    seed
        Seed of the attack; theirs follow from it.
    number
        How many.
    """
    root = child_seed(seed, Stream.STRUCTURE)
    found = (OwnStructure.of(generator, table, child_seed(root, i)) for i in range(number))
    return tuple(one for one in found if one is not None)


def need_structure(generator: Generator, table: Table, seed: int, *, without: int) -> OwnStructure:
    """Return a structure from all records but one, or refuse a generator that has none."""
    found = OwnStructure.of(generator, table, child_seed(seed, Stream.STRUCTURE), without=without)
    if found is None:
        raise CaveatError(
            "releases of this generator have no likelihood under a structure drawn by the attacker",
            where="summary",
            do="use guarded trees without protections, or another summary",
            code="attack.summary.unsupported",
        )
    return found
