"""Inference: a secret guessed from the nearest synthetic record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.attack.entry import Attack, Finding
from caveat.attack.ordinary.common import (
    CONTROL,
    GIOMI,
    KEYS,
    N_ATTACKS,
    ONE_ATTACK,
    ONE_ATTACK_SHORT,
    SEED,
    TARGET,
    TARGET_TOLERANCE,
    attack_measure,
)
from caveat.attack.ordinary.encoding import nearest_rows, prepare, seeds
from caveat.attack.ordinary.rates import attack_rate, chosen
from caveat.errors import CaveatError
from caveat.nearest import Floats
from caveat.risk.measurement import Measurement
from caveat.table import Column

__all__ = ["ATTACK", "inference", "is_right", "rights_by_level"]

Codes = NDArray[np.integer[Any]]


def inference(
    original: Any,
    synthetic: Any,
    *,
    keys: Sequence[str],
    target: str,
    control: Any = None,
    relative: float = 0.05,
    absolute: float = 0.0,
    attacks: int = 2000,
    seed: int = 0,
) -> Measurement:
    """Return how often the nearest synthetic record tells a person's secret.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables; the control are people who were not in the data.
    keys
        What the attacker knows. The nearest record is that of the least Gower distance on these;
        among equally near ones a lot decides.
    target
        The secret. A category must be met; so must a missing value.
    relative, absolute
        A number counts as met if it lies no farther from the truth than
        ``absolute + relative · |truth|``.
    attacks
        Number of people attacked.
    seed
        Root of the randomness.

    Returns
    -------
    A share of the people attacked. The baseline is the exact chance of a guess drawn from the
    released secrets; the best single guess is among the details.
    """
    if target in keys:
        raise CaveatError("a key is also the target", column=target, code="attack.key.conflict")
    if relative < 0 or absolute < 0:
        raise CaveatError(
            "a tolerance is a number from 0 up", where="tolerance", code="attack.tolerance.range"
        )
    tables = prepare(original, synthetic, control, [*keys, target])
    release = tables.synthetic
    streams = seeds(seed, 4)
    success, truths = [], []
    for table, pick, lot in zip(tables.people, streams[:2], streams[2:], strict=False):
        people = table.take(chosen(len(table), attacks, pick))
        found = nearest_rows(people, release, keys, 1, scale=release, rng=lot).position[:, 0]
        truth = people[target].codes
        guess = release[target].codes[found]
        success.append(is_right(release[target], truth, guess, relative, absolute))
        truths.append(truth)
    chances = rights_by_level(release[target], relative, absolute)
    return attack_rate(
        success[0],
        success[1] if len(success) > 1 else None,
        baseline=float(chances[truths[0]].mean()),
        details={"best single guess": _best_guess(release[target], truths[0], relative, absolute)},
    )


def is_right(
    column: Column, truth: Codes, guess: Codes, relative: float, absolute: float
) -> NDArray[np.bool_]:
    """Return which guesses are right: equal, or for numbers near enough to the truth.

    Examples
    --------
    >>> from caveat.table import Table
    >>> debt = Table.from_frame({"debt": [-100, -96, 50]})["debt"]
    >>> truth, guess = np.array([0, 0, 2]), np.array([1, 2, 0])  # −100 for −96, −100 for 50 …
    >>> is_right(debt, truth, guess, 0.05, 0).tolist()
    [True, False, False]
    """
    right = np.asarray(truth == guess)
    if not column.kind.is_number:
        return right
    numbers = _numbers(column)
    off = np.abs(numbers[guess] - numbers[truth])
    # A missing number is NaN here, and no comparison with it holds.
    return right | (off <= absolute + relative * np.abs(numbers[truth]))


def rights_by_level(column: Column, relative: float, absolute: float) -> Floats:
    """Return for each true level the share of the column's cells that would be a right guess."""
    n = max(len(column), 1)
    if not column.kind.is_number or not len(column.levels):
        return column.counts / n
    numbers = column.numbers
    reach = absolute + relative * np.abs(numbers)
    total = np.concatenate([[0], np.cumsum(column.counts[: len(numbers)])])
    low = np.searchsorted(numbers, numbers - reach, side="left")
    high = np.searchsorted(numbers, numbers + reach, side="right")
    return np.append(total[high] - total[low], column.counts[len(numbers) :]) / n


def _best_guess(column: Column, truth: Codes, relative: float, absolute: float) -> float:
    """Return how often the commonest released value, guessed for all, is right."""
    guess = np.full(len(truth), int(np.argmax(column.counts)))
    return float(is_right(column, truth, guess, relative, absolute).mean())


def _numbers(column: Column) -> Floats:
    return np.append(column.numbers, np.full(len(column.missing), np.nan))


def _run(
    original: Any,
    synthetic: Any,
    *,
    target: str,
    tolerance: float | None,
    n_attacks: int,
    **told: Any,
) -> list[Finding]:
    if tolerance is not None:
        told |= {"relative": 0.0, "absolute": tolerance}
    found = inference(original, synthetic, target=target, attacks=n_attacks, **told)
    return [Finding("inference", target, found)]


ATTACK = Attack(
    name="inference",
    does="takes the secret of the nearest synthetic record",
    run=_run,
    options=(KEYS, TARGET, TARGET_TOLERANCE, CONTROL, N_ATTACKS, SEED),
    measures=(
        attack_measure(
            "keys",
            "target",
            name="inference",
            function=inference,
            says="people whose secret the nearest synthetic record tells",
            attacker="knows the keys of a person and takes the secret of the nearest "
            "synthetic record",
            formula="100/k · #(guess = secret, or |guess − secret| ≤ a + r·|secret|)",
            source=f"{GIOMI}, section 4.3; the tolerance is ours",
            blind_spot=ONE_ATTACK,
            blind=ONE_ATTACK_SHORT,
            baseline="a guess drawn from the released secrets, exactly",
        ),
    ),
    example="--keys age,sex --target debt --tolerance 100",
    usual=True,
)
