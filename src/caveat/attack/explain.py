"""One record: what the strong attacker believes, what gives it away, what would change it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from caveat.attack.adjacent import FROM_THESE, with_each_value
from caveat.attack.attributes import check_target
from caveat.attack.membership import membership, refuse_copies
from caveat.attack.posterior import (
    bayes,
    check_exact,
    check_record,
    known_part,
    prior_of,
    with_released_levels,
)
from caveat.attack.targets import Leaf, leaves_of
from caveat.attack.worlds import (
    Generator,
    Worlds,
    evidence_of,
    known_to,
    refuse_impossible,
    releases_of,
)
from caveat.errors import CaveatError, CaveatWarning
from caveat.generators import Setting
from caveat.risk.scenario import DEFAULT_PRIOR, NamedPrior
from caveat.seeds import Stream, child_seed
from caveat.showing import without_values
from caveat.synthesis import Model, Plan
from caveat.synthesis.methods.guarded import guard_of
from caveat.synthesis.options import DIAL, PLAIN
from caveat.table import Column, Table

CHOICE = "(choice of predictors)"
"""What stands for a column where predictors were drawn or chosen from the data."""

EXACT = ("cart", "guarded", "sample", "lookup", "constant", "derived", "drop")
"""Methods whose releases have an exact probability that hangs on leaves."""


@dataclass(frozen=True)
class Part:
    """What one column does to a log ratio.

    Parameters
    ----------
    column
        The column.
    log_ratio
        Its part of the sum; infinite if the other world cannot have made the column.
    impossible
        Released cells that the other world cannot have made.
    """

    column: str
    log_ratio: float
    impossible: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the same for JSON, which has no infinity: None, and `impossible` says why."""
        return {
            "column": self.column,
            "log_ratio": self.log_ratio if math.isfinite(self.log_ratio) else None,
            "impossible": self.impossible,
        }


@dataclass(frozen=True)
class Belief:
    """What she believes about one column of the record.

    Parameters
    ----------
    target
        The column; all others of the record she knows.
    prior, posterior
        The probability of the truth before the release and after it.
    candidates, excluded
        Values that she considers, and those that the release rules out.
    rank
        Place of the truth, 1 for the most probable value.
    correct
        Whether the truth is her only best guess.
    rival_prior, rival_posterior
        The same probabilities of the most probable other value.
    parts
        What each column says for the truth and against that other value, the most telling first.
        They add up to the log of the factor by which the release moved the odds of the two.
    value, rival
        The two values.
    """

    target: str
    prior: float
    posterior: float
    candidates: int
    excluded: int
    rank: int
    correct: bool
    rival_prior: float
    rival_posterior: float
    parts: tuple[Part, ...]
    value: str
    rival: str

    __repr__ = without_values

    def to_dict(self, values: bool = False) -> dict[str, Any]:
        """Return the same for JSON; the two values only if they are asked for."""
        names = ("target", "prior", "posterior", "candidates", "excluded", "rank", "correct",
                 "rival_prior", "rival_posterior")  # fmt: skip
        found = {name: getattr(self, name) for name in names}
        found["parts"] = [part.to_dict() for part in self.parts]
        return found | ({"value": self.value, "rival": self.rival} if values else {})


@dataclass(frozen=True)
class Explanation:
    """What a release gives away about one record, and through what.

    Parameters
    ----------
    record, records
        Position of the record, from 0, and the number of records that the release was made from.
    log_ratio
        log p(Z | D) - log p(Z | D without the record).
    parts
        What each column adds to it, the most telling first.
    beliefs
        What she believes about single columns.
    leaves
        The leaves that the record lies in.
    refused
        Columns that were asked for and have no answer, with the reason.
    values
        The values of the record.
    """

    record: int
    records: int
    log_ratio: float
    parts: tuple[Part, ...]
    beliefs: tuple[Belief, ...]
    leaves: tuple[Leaf, ...]
    refused: Mapping[str, str]
    values: Mapping[str, str]

    __repr__ = without_values

    @property
    def membership(self) -> float:
        """The probability that it was in the data, for someone who gave it one half."""
        return member_probability(self.log_ratio)

    def to_dict(self, values: bool = False) -> dict[str, Any]:
        """Return the same for JSON.

        Parameters
        ----------
        values
            Whether the values of the record are in it too.
        """
        found = {
            "row": self.record + 1,
            "records": self.records,
            "membership": {
                "prior": 0.5,
                "posterior": self.membership,
                "log_ratio": self.log_ratio if math.isfinite(self.log_ratio) else None,
                "impossible_without": self.log_ratio == math.inf,
                "parts": [part.to_dict() for part in self.parts],
            },
            "targets": [belief.to_dict(values) for belief in self.beliefs],
            "leaves": [leaf.to_dict() for leaf in self.leaves],
            "refused": dict(self.refused),
        }
        return found | ({"values": dict(self.values)} if values else {})


def member_probability(log_ratio: float) -> float:
    """Return the probability of membership after the release, if it was one half before.

    Examples
    --------
    >>> member_probability(0.0), member_probability(math.inf)
    (0.5, 1.0)
    """
    return 1 / (1 + math.exp(-log_ratio)) if log_ratio > -700 else 0.0


def explain(
    original: Any,
    synthetic: Any,
    record: int,
    *,
    generator: Generator | None = None,
    targets: Sequence[str] = (),
    prior: NamedPrior = DEFAULT_PRIOR,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> Explanation:
    """Say what the strong attacker believes about one record, and what gives it away.

    Parameters
    ----------
    original, synthetic, generator, prior
        As for :func:`caveat.attack.posterior`.
    record
        Position of the record, from 0.
    targets
        Columns that she wants to learn, one at a time: she knows all others.
    threads
        Worlds computed at the same time; all cores by default.
    done
        Called with the share of the work that has become ready.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> found = explain(buyer_beware(), buyer_beware(1), 999, targets=["var4"])
    >>> found.membership, found.parts[0].column, found.leaves[-1].size, found.leaves[-1].alike
    (1.0, 'var4', 67, 1)
    """
    table = Table.from_frame(original)
    check_record(record, table)
    plan, table = known_to(generator, table)
    check_trees(plan)
    worlds = Worlds(table, plan, releases_of(synthetic, plan, table))
    base = worlds.model(worlds.original, ())
    parts = _of_membership(worlds, base, record)
    beliefs, refused = [], {}
    for target in targets:
        try:
            check_target(target, plan, table)
            beliefs.append(_believed(worlds, record, target, prior, threads))
        except CaveatError as error:
            refused[target] = error.what
        if done is not None:
            done(1 / len(targets))
    total = math.inf if any(p.impossible for p in parts) else math.fsum(p.log_ratio for p in parts)
    leaves = leaves_of(base, worlds.original, record, worlds.releases)
    values = {name: _text(c, int(c.codes[record])) for name, c in table.columns.items()}
    return Explanation(record, table.n_rows, total, parts, tuple(beliefs), leaves, refused, values)


def _of_membership(worlds: Worlds, base: Model, record: int) -> tuple[Part, ...]:
    """Return what each column says for the world with the record."""
    refuse_impossible([evidence_of(base, worlds.releases)], FROM_THESE)
    outside = worlds.model(worlds.without(record))
    return _compared(_by_column(base, worlds.releases), _by_column(outside, worlds.releases))


def check_trees(plan: Plan) -> None:
    """Refuse a plan without an exact attacker, or without leaves that could be told about."""
    check_exact(plan)
    refuse_copies(plan)
    other = {n: e.settings.method for n, e in plan.columns.items()}
    for name, method in other.items():
        if method not in EXACT:
            raise CaveatError(
                f"it is made by {method}, and a record is explained by the leaves of trees",
                column=name,
                do="use caveat attack strong --record, where it is exact",
                code="attack.method.unsupported",
            )


Logs = dict[str, tuple[float, int]]
"""Of each column the sum of its finite log probabilities, and the cells that have none."""


def _by_column(model: Model, releases: Sequence[Table]) -> Logs:
    # A column that is dropped is no part of the release and can say nothing.
    entries = {n: c for n, c in model.columns.items()
               if model.plan.columns[n].settings.method != "drop"}  # fmt: skip
    terms: dict[str, list[float]] = {n: [c.log_structure] for n, c in entries.items()}
    impossible = dict.fromkeys(terms, 0)
    for release in releases:
        found = model.log_prob(release)
        for name, reason in found.unknown.items():
            raise CaveatError(
                f"there is no exact probability: {reason}",
                column=name,
                do="leave smoothing and order rules out, or attack it by simulation",
                code="attack.probability.unsupported",
            )
        for name, logs in found.columns.items():
            if name not in terms:
                continue
            possible = np.isfinite(logs)
            impossible[name] += int((~possible).sum())
            terms[name] += logs[possible].tolist()
    sums = {name: (math.fsum(values), impossible[name]) for name, values in terms.items()}
    return sums | ({CHOICE: (model.log_choice, 0)} if model.plan.choice is not None else {})


def _compared(ours: Logs, theirs: Logs) -> tuple[Part, ...]:
    """Return what each column says for our world and against the other, the most telling first."""
    parts = []
    for name, (finite, _) in ours.items():  # our world is that of the data: nothing is impossible
        other, impossible = theirs[name]
        parts.append(Part(name, math.inf if impossible else finite - other, impossible))
    return tuple(sorted(parts, key=lambda part: (-abs(part.log_ratio), -part.impossible)))


def likelihoods(
    worlds: Worlds, record: int, target: str, prior: NamedPrior, threads: int | None
) -> tuple[Worlds, NDArray[np.float64], NDArray[np.float64]]:
    """Return worlds that know all values of a column, and of each the prior and log-likelihood."""
    worlds = with_released_levels(worlds, [target])
    column = worlds.original[target]
    rows = Table({target: column.with_codes(np.arange(column.n_levels))})
    beliefs = prior_of(prior, worlds.without(record), known_part(worlds, record, [target]), rows)
    return worlds, beliefs, with_each_value(worlds, target, [record], threads)[0]


def _believed(
    worlds: Worlds, record: int, target: str, prior: NamedPrior, threads: int | None
) -> Belief:
    worlds, beliefs, logs = likelihoods(worlds, record, target, prior, threads)
    column = worlds.original[target]
    chances, truth = bayes(beliefs, logs), int(column.codes[record])
    rival = _rival(beliefs, chances, truth)
    parts: tuple[Part, ...] = ()
    if rival is not None:
        changed = (worlds.changed(record, {target: code}) for code in (truth, rival))
        ours, theirs = (_by_column(worlds.model(w, [target]), worlds.releases) for w in changed)
        parts = tuple(p for p in _compared(ours, theirs) if p.log_ratio or p.impossible)
    top = chances == chances.max()
    return Belief(
        target,
        float(beliefs[truth]),
        float(chances[truth]),
        len(beliefs),
        int(np.isneginf(logs).sum()),
        1 + int((chances > chances[truth]).sum()),
        bool(top[truth]) and int(top.sum()) == 1,
        0.0 if rival is None else float(beliefs[rival]),
        0.0 if rival is None else float(chances[rival]),
        parts,
        _text(column, truth),
        "" if rival is None else _text(column, rival),
    )


def _rival(beliefs: NDArray[np.float64], chances: NDArray[np.float64], truth: int) -> int | None:
    """Return the most probable other value: after the release, and among equals before it."""
    others = [code for code in range(len(beliefs)) if code != truth]
    return max(others, key=lambda code: (chances[code], beliefs[code]), default=None)


def _text(column: Column, code: int) -> str:
    """Return a value as it is written; an empty cell in a word."""
    value = column.with_codes(np.array([code])).values[0]
    empty = not isinstance(value, str) and str(value) in ("None", "nan", "NaT", "<NA>")
    return "missing" if empty else str(value)


# -------------------------------------------------------------------------------------------------
# What would change it: the same record in fresh releases made in other ways.
#
# Nothing is guessed. Each way is carried out a few times, and the same attack is made on what
# comes out of it; the way of the release itself is tried too, for one release is one draw.


LARGER, MUCH_LARGER = 4, 10
"""By what factor leaves grow: those of guarded trees, and of plain ones."""
FEWEST_LEAVES = 2
"""A leaf size that leaves fewer leaves than this is no tree, and not tried."""
MOST_DROPPED = 2

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Way:
    """A way to make the release.

    Parameters
    ----------
    kind
        What is changed.
    to
        To what: the guard, the smallest leaf, or the column that is left out.
    options
        Options of the synthesiser.
    """

    kind: Literal["as it is", "guarded trees", "guard", "leaf size", "without"]
    to: str
    options: Options = field(repr=False)


@dataclass(frozen=True)
class Tried:
    """What the attacker believes about the record after fresh releases made in one way.

    Parameters
    ----------
    kind, to
        As for :class:`Way`.
    membership
        The probability that the record was in the data, from one half before, for each release.
    posteriors
        The probability of the true value of each target, for each release.
    refused
        Why it cannot be done, if it cannot.
    """

    kind: str
    to: str
    membership: tuple[float, ...] = ()
    posteriors: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {
            "kind": self.kind,
            "to": self.to,
            "membership": list(self.membership),
            "posteriors": {name: list(found) for name, found in self.posteriors.items()},
            "refused": self.refused,
        }


def other_ways(plan: Plan, options: Options, found: Explanation) -> list[Way]:
    """Return the way of the release, and others worth a try.

    Parameters
    ----------
    plan, options
        How the release was made.
    found
        What gives the record away: the columns that tell most about it are left out in turn.
    """
    ways = [Way("as it is", "", options)]
    plain = [e.settings for e in plan.columns.values() if e.settings.method == "cart"]
    guarded = [e.settings for e in plan.columns.values() if e.settings.method == "guarded"]
    if plain:
        told = _without(options, (*PLAIN, "smoothing", "proper", "method"), ("cart",))
        ways.append(Way("guarded trees", "guarded", {**told, "method": "guarded"}))
        size = MUCH_LARGER * min(settings.minbucket for settings in plain)
        if size * FEWEST_LEAVES <= found.records:
            told = _without(options, ("minbucket", "minsplit"))
            ways.append(Way("leaf size", f"{size}", {**told, "minbucket": size}))
    if guarded:
        told = _without(options, DIAL)
        if any(settings.guard != "strong" for settings in guarded):
            ways.append(Way("guard", "strong", {**told, "guard": "strong"}))
        size = LARGER * round(min(guard_of(settings).smallest for settings in guarded))
        if size * FEWEST_LEAVES <= found.records:
            told = _without(options, ("smallest",))
            ways.append(Way("leaf size", f"{size}", {**told, "smallest": size}))
    return ways + [Way("without", name, _dropped(options, name)) for name in _telling(found)]


def _without(options: Options, names: Sequence[str], methods: Sequence[str] = ()) -> Options:
    """Return options without some settings, those of single columns too.

    A column with a method of its own keeps its settings, unless it is among ``methods``.
    """
    columns = {}
    for column, given in options.get("columns", {}).items():
        other = methods and given.get("method", methods[0]) not in methods
        columns[column] = given if other else {k: v for k, v in given.items() if k not in names}
    left = {name: value for name, value in options.items() if name not in names}
    return {**left, "columns": columns} if columns else left


def _dropped(options: Options, name: str) -> Options:
    apart = {
        "order": [n for n in options.get("order", ()) if n != name],
        **{
            part: {n: v for n, v in options.get(part, {}).items() if n != name}
            for part in ("columns", "special")
        },
    }
    told = {key: apart.get(key, value) for key, value in options.items()}
    return {**told, "drop": [*options.get("drop", ()), name]}


def _telling(found: Explanation) -> list[str]:
    """Return the columns that tell most: about membership, and about targets but themselves."""
    targets = [belief.target for belief in found.beliefs]
    lists = [found.parts, *(belief.parts for belief in found.beliefs)]
    first = [
        next((p.column for p in parts if p.log_ratio > 0 and p.column not in targets), None)
        for parts in lists
    ]
    known = {leaf.column for leaf in found.leaves}
    return [name for name in dict.fromkeys(first) if name in known][:MOST_DROPPED]


def what_if(
    original: Table,
    record: int,
    ways: Sequence[Way],
    *,
    targets: Sequence[str] = (),
    draws: int = 3,
    rows: int | None = None,
    copies: int = 1,
    seed: int = 0,
    prior: NamedPrior = DEFAULT_PRIOR,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> tuple[Tried, ...]:
    """Make fresh releases in each way, and attack the record in each of them.

    Parameters
    ----------
    original
        The records that releases are made from.
    record
        Position of the record, from 0.
    ways
        What is tried.
    targets
        Columns that the attacker wants to learn.
    draws
        Releases in each way.
    rows, copies
        Rows of each table, and tables of each release.
    seed
        Root of their randomness; the same for all ways.
    prior, threads, done
        As for :func:`caveat.attack.explain.explain`.
    """
    found = []
    for way in ways:
        members, beliefs = [], {target: list[float]() for target in targets}
        try:
            for drawn, plan in _releases(original, way, draws, rows, copies, seed, threads):
                (ratio,) = membership(
                    original, drawn, generator=plan, records=[record], threads=threads
                ).log_ratio
                members.append(member_probability(float(ratio)))
                for target, values in beliefs.items():
                    values.append(_posterior(original, plan, drawn, record, target, prior, threads))
                if done is not None:
                    done(1 / draws / len(ways))
        except CaveatError as error:
            found.append(Tried(way.kind, way.to, refused=error.what))
            continue
        after = {name: tuple(values) for name, values in beliefs.items()}
        found.append(Tried(way.kind, way.to, tuple(members), after))
    return tuple(found)


def _releases(
    original: Table, way: Way, draws: int, rows: int | None, copies: int, seed: int,
    threads: int | None,
) -> Iterator[tuple[list[Table], Plan]]:  # fmt: skip
    """Make releases in one way, each with the plan that made it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)  # of columns left out the run has told
        fitted = Setting(way.options).seed_by_seed(original)
        made = [fitted(child_seed(seed, Stream.WHAT_IF, k)) for k in range(draws)]
    for each in made:
        plan = each.model.plan
        assert isinstance(plan, Plan)
        yield each.draw(rows, copies, threads), plan


def _posterior(
    original: Table, plan: Plan, drawn: Sequence[Table], record: int, target: str,
    prior: NamedPrior, threads: int | None,
) -> float:  # fmt: skip
    worlds = Worlds(original, plan, drawn)
    worlds, beliefs, logs = likelihoods(worlds, record, target, prior, threads)
    return float(bayes(beliefs, logs)[int(worlds.original[target].codes[record])])
