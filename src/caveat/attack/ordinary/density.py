"""Membership without the generator: the release may know a person better than others like her.

Whether a release is dense around a record says little: it is dense where people are. Both scores
compare it with a reference set of people who were not in the data: the ratio of two densities
(after van Breugel, Sun, Qian and van der Schaar 2023, DOMIAS), or of the distances to the nearest
records.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from caveat.attack.figures import Attack, Finding, Option
from caveat.attack.ordinary.common import (
    CONTROL,
    N_ATTACKS,
    ONE_ATTACK,
    SEED,
    attack_measure,
    chosen,
    mixed,
    nearest_rows,
    prepare,
    seeds,
)
from caveat.compiling import kernel
from caveat.errors import CaveatError
from caveat.nearest import Floats, Mixed, in_blocks
from caveat.risk.measure import Measurement, rate, wilson
from caveat.showing import without_values
from caveat.table import Table
from caveat.table.linked import Members, members_of

__all__ = ["ATTACK", "Kernels", "MembershipScores", "density_scores", "membership_scores"]

# The bandwidth as a part of Scott's.
NARROW = 0.1

# Shares of outsiders that may be taken for members.
FALSE_POSITIVES = (0.01, 0.001)

Score = Literal["density", "distance"]


@dataclass(frozen=True, eq=False)
class MembershipScores:
    """Scores of people who were in the data and of people who were not; higher says "was in".

    Attributes
    ----------
    members, outsiders
        The scores.
    score
        "density" or "distance".
    """

    members: Floats
    outsiders: Floats
    score: str

    __repr__ = without_values

    @property
    def auc(self) -> float:
        """The chance that a member scores higher than an outsider, ties counted half."""
        ordered = np.sort(self.outsiders)
        below = np.searchsorted(ordered, self.members, side="left")
        up_to = np.searchsorted(ordered, self.members, side="right")
        return float((below + up_to).mean() / 2 / len(ordered))

    def true_positives(self, rate_of_false: float) -> Measurement:
        """Return the share of members found when at most so many outsiders are taken for members.

        The limit is the score that no more than this share of outsiders exceeds; the control is the
        share that does exceed it.
        """
        n = len(self.outsiders)
        allowed = int(rate_of_false * n + 1e-9)
        limit = np.sort(self.outsiders)[n - 1 - allowed]
        false = float(np.mean(self.outsiders > limit))
        found = int((self.members > limit).sum())
        low, high = wilson(false * n, n)
        return rate(
            found,
            len(self.members),
            baseline=rate_of_false,
            control=false,
            control_n=n,
            details={
                "AUC": self.auc,
                "false positives low": low,
                "false positives high": high,
            },
        )

    def f1(self, fraction: float) -> tuple[float, float]:
        """Return F1 for an attacker who knows the share of the population in the data.

        She calls members the share ``fraction`` of the people with the highest scores. The second
        number is F1 without the release, everybody called a member: 2f/(1 + f).

        Examples
        --------
        >>> scores = MembershipScores(np.array([3.0, 4.0]), np.array([1.0, 2.0]), "density")
        >>> scores.f1(0.5)
        (1.0, 0.6666666666666666)
        """
        if not 0 < fraction < 1:
            raise CaveatError(
                "the sampling fraction lies between 0 and 1",
                where="fraction",
                code="attack.setting.range",
            )
        values = np.concatenate([self.members, self.outsiders])
        weight = np.concatenate([
            np.full(len(self.members), fraction / len(self.members)),
            np.full(len(self.outsiders), (1 - fraction) / len(self.outsiders)),
        ])  # fmt: skip
        levels, inverse = np.unique(-values, return_inverse=True)
        claimed = np.cumsum(np.bincount(inverse, weight, len(levels)))
        limit = -levels[min(int(np.searchsorted(claimed, fraction - 1e-12)), len(levels) - 1)]
        true = fraction * float(np.mean(self.members >= limit))
        false = (1 - fraction) * float(np.mean(self.outsiders >= limit))
        return 2 * true / (true + false + fraction), 2 * fraction / (1 + fraction)


def membership_scores(
    original: Any,
    synthetic: Any,
    *,
    control: Any,
    score: Score = "density",
    groups: str = "",
    attacks: int = 2000,
    seed: int = 0,
) -> MembershipScores:
    """Score people, or groups of them, who were in the data and others who were not.

    Parameters
    ----------
    original, synthetic
        Frames or tables.
    control
        People who were not in the data. Half of them, at random, are the reference set that the
        attacker has; the other half are the outsiders she is tested on.
    score
        "density": log of the density of the release at the record less that of the reference set.
        "distance": the distance to the nearest reference record less that to the nearest synthetic
        record, both by Gower, relative to their sum: each record is its own yardstick.
    groups
        The column of the original and of the control that says who belongs together, as a
        household; it is not compared. Then groups are scored, by the sum of their members' scores:
        what speaks for a household adds up. The control is halved by groups.
    attacks
        Number of members and of outsiders scored, at most.
    seed
        Root of the randomness.
    """
    if score not in _SCORES:
        what, do = f"there is no score {score!r}", "choose density or distance"
        raise CaveatError(what, do=do, code="attack.setting.unknown")
    (original, inside), (control, outside) = (_units(t, groups) for t in (original, control))
    release = Table.from_frame(synthetic)
    tables = prepare(original, release.drop([n for n in release if n == groups]), control)
    if tables.control is None or outside.n_groups < 4:
        who = "groups" if groups else "people"
        raise CaveatError(
            f"membership needs at least four {who} outside the data",
            do="add some",
            code="attack.control.too-few",
        )
    halves, pick = seeds(seed, 2)
    order = halves.permutation(outside.n_groups)
    half = len(order) // 2
    reference = tables.control.take(np.sort(outside.take(order[:half])[0]))
    rows, outside = outside.take(np.sort(order[half:]))
    people = ((tables.original, inside), (tables.control.take(rows), outside))
    found = []
    for table, members in people:
        rows, attacked = members.take(chosen(members.n_groups, attacks, pick))
        scores = _SCORES[score](table.take(rows), tables.synthetic, reference)
        sums = np.bincount(attacked.group, scores, attacked.n_groups)
        found.append(np.asarray(sums, dtype=np.float64))
    return MembershipScores(found[0], found[1], score)


def _units(frame: Any, key: str) -> tuple[Any, Members]:
    """Return a table without its key, and who belongs together; without a key all are alone."""
    if frame is None:
        return None, Members(np.zeros(0, dtype=np.int64), 0)
    table = Table.from_frame(frame)
    if not key:
        return table, Members(np.arange(len(table)), len(table))
    return table.drop([key]), members_of(table, key)


def _distance_scores(people: Table, release: Table, reference: Table) -> Floats:
    synthetic, others = (
        nearest_rows(people, data, people.names, 1, scale=release).distance[:, 0]
        for data in (release, reference)
    )
    total = synthetic + others
    return np.divide(others - synthetic, total, out=np.zeros(len(total)), where=total > 0)


def density_scores(people: Table, release: Table, reference: Table) -> Floats:
    """Return the log of the ratio of two kernel densities at each person.

    A product kernel for mixed data: a normal kernel for each number, and for a category with L
    levels 1 − λ where it agrees and λ/(L − 1) where it does not, with λ falling as the square of
    the bandwidth (Li and Racine 2003). Widths are those of the release, a tenth of Scott's: what
    it remembers of a record shows close to it, and is smoothed away at the width that suits a
    density. Both densities get the weight of one synthetic record added: far from all data the
    ratio of two nearly empty tails says nothing and would be huge.
    """
    ours, *known = mixed([people, release, reference], people.names, release)
    kernels = Kernels.of(known[0])
    floor = kernels.peak - np.log(known[0].n)
    high, low = (np.logaddexp(kernels.log_mean(ours, data), floor) for data in known)
    return np.asarray(high - low)


_SCORES = {"density": density_scores, "distance": _distance_scores}


class Kernels(NamedTuple):
    """Widths of the kernels: of the numbers, and log weights of categories that agree or not."""

    bandwidth: Floats
    agree: Floats
    differ: Floats

    @classmethod
    def of(cls, data: Mixed, spread: Floats | None = None, part: float = NARROW) -> Kernels:
        """Return the widths that suit a table: a part of Scott's.

        Parameters
        ----------
        data
            The table.
        spread
            Standard deviations of the numbers, where they are not those of ``data``: a missing cell
            is coded far away from all numbers, and no kernel should be wide enough to get there.
        part
            Of Scott's width.
        """
        width = data.numbers.shape[1]
        shrink = part * data.n ** (-1 / (width + 4))
        bandwidth = (data.numbers.std(axis=0) if spread is None else spread) * shrink
        levels = np.maximum(data.codes.max(axis=0, initial=0) + 1.0, 2.0)
        share = np.minimum((levels - 1) / levels, shrink**2)
        return cls(
            np.where(bandwidth > 0, bandwidth, 1.0), np.log1p(-share), np.log(share / (levels - 1))
        )

    @property
    def peak(self) -> float:
        """The log of a kernel at its own record."""
        return float(self.agree.sum())

    def log_mean(self, people: Mixed, data: Mixed) -> Floats:
        """Return the log of the mean kernel at each person, up to a constant."""
        others = data.numbers / self.bandwidth

        def block(rows: slice) -> Floats:
            part = people.take(rows)
            out = np.empty(part.n)
            _sum_kernels(
                part.numbers / self.bandwidth, part.codes, others, data.codes,
                self.agree, self.differ, out,
            )  # fmt: skip
            return out

        sums: Floats = np.concatenate(in_blocks(block, people.n))
        return sums - float(np.log(data.n))


@kernel
def _sum_kernels(numbers, codes, others, other_codes, agree, differ, out):  # type: ignore[no-untyped-def]
    """Fill ``out`` with the log of the sum of kernels, the largest term taken out as it is met."""
    for i in range(len(codes)):
        top, total = -np.inf, 0.0
        for j in range(len(other_codes)):
            term = 0.0
            for c in range(codes.shape[1]):
                term += agree[c] if codes[i, c] == other_codes[j, c] else differ[c]
            for c in range(numbers.shape[1]):
                term -= 0.5 * (numbers[i, c] - others[j, c]) ** 2
            if term > top:
                total = total * np.exp(top - term) + 1.0
                top = term
            elif term > top - 40.0:
                total += np.exp(term - top)
        out[i] = top + np.log(total)


def _at_most(original: Any, synthetic: Any, *, false: float = 0.01, **more: Any) -> Measurement:
    return membership_scores(original, synthetic, **more).true_positives(false)


def _f1(original: Any, synthetic: Any, *, fraction: float, **more: Any) -> Measurement:
    return _f1_of(membership_scores(original, synthetic, **more), fraction)


def _f1_of(found: MembershipScores, fraction: float) -> Measurement:
    f1, without = found.f1(fraction)
    return Measurement(f1, baseline=without, n=len(found.members))


def _run(
    original: Any, synthetic: Any, *, fraction: float | None, n_attacks: int, **told: Any
) -> list[Finding]:
    out = []
    scores: tuple[Score, ...] = ("density", "distance")
    for score in scores:
        found = membership_scores(original, synthetic, score=score, attacks=n_attacks, **told)
        out += [
            Finding(
                "membershipScore",
                f"{score}, false ≤ {100 * share:g} %",
                found.true_positives(share),
            )
            for share in FALSE_POSITIVES
        ]
        if fraction is not None:
            out.append(Finding("membershipF1", f"F1, {score}", _f1_of(found, fraction)))
    return out


ATTACK = Attack(
    name="membership",
    does="tells who was in the data, without knowing the generator",
    run=_run,
    options=(
        replace(
            CONTROL,
            lacking="membership needs people who were not in the data",
            do="give them as the control",
        ),
        Option(
            "fraction",
            "share",
            "Share of the population that is in the data, for F1.",
            otherwise="no F1",
        ),
        N_ATTACKS,
        SEED,
    ),
    measures=(
        attack_measure(
            "control",
            name="membershipScore",
            function=_at_most,
            says="members found while no more than a given share of outsiders is taken for members",
            attacker="has the release, complete records of people, and a reference set of people "
            "who were not in the data; does not know the generator",
            formula="TPR at FPR ≤ α of log p_release(x)/p_reference(x), or of the nearest "
            "distances",
            source="van Breugel, Sun, Qian, van der Schaar (2023), Membership Inference Attacks "
            "against Synthetic Data through Overfitting Detection",
            blind_spot=ONE_ATTACK + " Against trees the strong attacker is exact and finds more.",
            blind="weaker than the strong attacker, who knows the generator",
            baseline="α: as many members as outsiders",
        ),
        attack_measure(
            "control",
            "fraction",
            name="membershipF1",
            function=_f1,
            says="F1 of naming as members the known share of the population that is in the data",
            attacker="as membershipScore, and knows the sampling fraction f",
            formula="2·P·R/(P + R) with members weighted f and outsiders 1 − f",
            source="El Emam, Mosquera, Fang (2022), Validating a membership disclosure metric",
            blind_spot="Depends on the sampling fraction more than on the release; an average over "
            "all members.",
            blind="moves with the sampling fraction more than with the release",
            baseline="everybody called a member: 2f/(1 + f)",
        ),
    ),
    example="--control control.csv --fraction 0.1",
    labels=r"(?:density|distance), false ≤ [\d.]+ %|F1, (?:density|distance)",
    usual=True,
)
