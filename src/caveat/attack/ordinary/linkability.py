"""Linkability: whether the release joins what two parties know about the same person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.entry import Attack, Finding, Option
from caveat.attack.ordinary.common import (
    CONTROL,
    GIOMI,
    KEYS,
    N_ATTACKS,
    ONE_ATTACK,
    ONE_ATTACK_SHORT,
    SEED,
    attack_measure,
)
from caveat.attack.ordinary.encoding import nearest_rows, prepare, seeds
from caveat.attack.ordinary.rates import attack_rate, chosen
from caveat.errors import CaveatError
from caveat.risk.measurement import Measurement
from caveat.table import Table

__all__ = ["ATTACK", "chance_of_link", "linkability"]


def linkability(
    original: Any,
    synthetic: Any,
    *,
    first: Sequence[str],
    second: Sequence[str],
    control: Any = None,
    neighbours: int = 1,
    attacks: int = 2000,
    seed: int = 0,
) -> Measurement:
    """Return how often two parts of a person's record lead to the same synthetic record.

    For each person attacked the nearest synthetic records by the first columns and by the second
    columns are found (Gower's distance); the attack succeeds if the two have a record in common.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables; the control are people who were not in the data.
    first, second
        What each of the two parties knows.
    neighbours
        How many nearest records each of them takes. Equally near ones are drawn by lot, apart for
        the two parties, so that a lot in common makes no link.
    attacks
        Number of people attacked.
    seed
        Root of the randomness.

    Returns
    -------
    A percentage of the people attacked. The baseline is the exact chance that two random sets of
    synthetic records meet.
    """
    _check_parties(first, second)
    tables = prepare(original, synthetic, control, [*first, *second])
    _check_neighbours(neighbours, len(tables.synthetic))
    streams = seeds(seed, 6)
    success = [
        _links(
            person.take(chosen(len(person), attacks, rng)),
            tables.synthetic,
            (first, second),
            neighbours,
            lots,
        )
        for person, rng, lots in zip(
            tables.people, streams[:2], (streams[2:4], streams[4:]), strict=False
        )
    ]
    return attack_rate(
        success[0],
        success[1] if len(success) > 1 else None,
        baseline=chance_of_link(len(tables.synthetic), neighbours),
        details={"neighbours": neighbours},
    )


def _check_parties(first: Sequence[str], second: Sequence[str]) -> None:
    both = set(first) & set(second)
    if both or not first or not second:
        raise CaveatError(
            "each party needs columns of its own",
            column=min(both) if both else None,
            code="attack.key.conflict" if both else "attack.key.absent",
        )


def _check_neighbours(neighbours: int, n: int) -> None:
    if neighbours < 1:
        raise CaveatError(
            "the number of neighbours is at least 1",
            where="neighbours",
            code="attack.setting.range",
        )
    if neighbours > n:
        raise CaveatError(
            f"there are no {neighbours} neighbours among {n} records",
            where="neighbours",
            do="choose fewer",
            code="attack.setting.range",
        )


def chance_of_link(n: int, k: int) -> float:
    """Return the chance that two random sets of k among n records have one in common.

    Examples
    --------
    >>> chance_of_link(10, 1)
    0.1
    >>> round(chance_of_link(4, 2), 6)  # 1 - C(2, 2)/C(4, 2)
    0.833333
    """
    if 2 * k > n:
        return 1.0
    return round(1 - math.exp(sum(math.log1p(-k / (n - i)) for i in range(k))), 15)


def _links(
    people: Table,
    release: Table,
    parts: tuple[Sequence[str], Sequence[str]],
    k: int,
    lots: Sequence[np.random.Generator],
) -> NDArray[np.bool_]:
    ours, theirs = (
        nearest_rows(people, release, part, k, scale=release, rng=lot).position
        for part, lot in zip(parts, lots, strict=True)
    )
    return np.asarray((ours[:, :, None] == theirs[:, None, :]).any(axis=(1, 2)))


def _run(
    original: Any,
    synthetic: Any,
    *,
    keys: Sequence[str],
    neighbours: int,
    n_attacks: int,
    **told: Any,
) -> list[Finding]:
    found = linkability(
        original, synthetic, first=keys, neighbours=neighbours, attacks=n_attacks, **told
    )
    return [Finding("linkability", f"{neighbours} nearest", found)]


ATTACK = Attack(
    name="linkability",
    does="joins what two parties know about the same person",
    run=_run,
    options=(
        KEYS,
        Option(
            "second",
            "columns",
            "Columns that the second party knows.",
            (),
            lacking="linkability needs two parties",
            do="name the columns of the second",
        ),
        Option("neighbours", "whole", "Nearest records each party takes.", 1),
        CONTROL,
        N_ATTACKS,
        SEED,
    ),
    measures=(
        attack_measure(
            "keys",
            "second keys",
            name="linkability",
            function=linkability,
            says="people whose two parts of a record lead to the same synthetic record",
            attacker="two parties who know different columns of the same people look for the "
            "nearest synthetic records",
            formula="100/k · #(nearest by the first columns ∩ nearest by the second ≠ ∅)",
            source=f"{GIOMI}, section 4.2",
            blind_spot=ONE_ATTACK
            + " With few levels many records are equally near and a lot decides.",
            blind=ONE_ATTACK_SHORT,
            baseline="the exact chance that two random sets of synthetic records meet",
            by_size=True,
        ),
    ),
    example="--keys age,sex --second job,region --neighbours 5",
    labels=r"\d+ nearest",
    usual=True,
)
