"""What would change it: the same record in fresh releases made in other ways.

Nothing is guessed. Each way is carried out a few times, and the same attack is made on what comes
out of it; the way of the release itself is tried too, for one release is one draw.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from caveat.attack.explain import Explanation, likelihoods, member_probability
from caveat.attack.membership import membership
from caveat.attack.posterior import bayes
from caveat.attack.priors import DEFAULT_PRIOR, NamedPrior
from caveat.attack.worlds import Worlds
from caveat.errors import CaveatError, CaveatWarning
from caveat.generators import Setting
from caveat.seeds import Stream, child_seed
from caveat.synthesis import Plan
from caveat.synthesis.methods.guarded import guard_of
from caveat.synthesis.options import DIAL, PLAIN
from caveat.table import Table

__all__ = ["Tried", "Way", "other_ways", "what_if"]

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
