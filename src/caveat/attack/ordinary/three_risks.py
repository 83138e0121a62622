"""Singling out, linkability and inference: the three risks that anonymity should exclude."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.attack.figures import Attack, Finding, Option
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
    attack_rate,
    chosen,
    code_matrix,
    cut_note,
    nearest_rows,
    prepare,
    seeds,
)
from caveat.compiling import kernel
from caveat.errors import CaveatError
from caveat.nearest import Codes, Floats
from caveat.notes import Note
from caveat.risk.measure import Measurement, undefined
from caveat.table import Column, Table

Ints = NDArray[np.int64]

# Descriptions that are thought of for each one that is wanted, before the search ends.
MOST_TRIES = 100


class Descriptions(NamedTuple):
    """One row per description: columns in order, and the range of codes in each."""

    columns: Codes
    low: Codes
    high: Codes

    @property
    def n(self) -> int:
        """Number of descriptions."""
        return len(self.columns)

    def take(self, rows: Ints | NDArray[np.bool_] | slice) -> Descriptions:
        """Return some of them."""
        return Descriptions(self.columns[rows], self.low[rows], self.high[rows])


class Index(NamedTuple):
    """Records by column: those within a range of codes lie side by side.

    Attributes
    ----------
    codes
        One row per column, one column per record.
    order
        For each column the records in the order of their codes.
    starts
        For each column and code the first place in that order.
    """

    codes: Codes
    order: Ints
    starts: Ints

    @classmethod
    def of(cls, table: Table) -> Index:
        """Index all columns of a table."""
        codes = code_matrix(table, table.names)
        order = np.argsort(codes, axis=1, kind="stable")
        starts = np.zeros((len(codes), int(codes.max(initial=0)) + 2), np.int64)
        for position, column in enumerate(codes):
            counts = np.bincount(column, minlength=starts.shape[1] - 1)
            np.cumsum(counts, out=starts[position, 1:])
        return cls(codes, order, starts)


def singling_out(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: int | Literal["one"] = 4,
    attacks: int = 2000,
    seed: int = 0,
) -> Measurement:
    """Return how often a description that fits one synthetic record fits one original record.

    Parameters
    ----------
    original, synthetic
        Frames or tables.
    control
        People who were not in the data. Whether a description fits exactly one record depends on
        how many records there are: the larger of original and control is cut at random to the
        size of the smaller, and the rate on the whole original is among the details.
    columns
        Number of columns in a description; "one" takes the extremes and the unique values of single
        columns instead.
    attacks, seed
        Number of descriptions (fewer if the release does not give as many); root of randomness.

    Returns
    -------
    A share of the descriptions. The baseline are descriptions made of random columns, levels
    and directions.
    """
    tables = prepare(original, synthetic, control)
    search, blind, cut = seeds(seed, 3)
    found = _described(tables.synthetic, columns, attacks, search)
    if not found.n:
        return undefined(Note("no-description", "no description fits exactly one synthetic record"))
    guesses = _at_random(tables.synthetic, 1 if columns == "one" else columns, found.n, blind)
    ours = Index.of(tables.original)
    whole = isolated(found, ours)
    notes: tuple[Note, ...] = ()
    details: dict[str, float | int | None] = {
        "people singled out": len(np.unique(whole[whole >= 0])),
        "wanted": attacks,
    }
    hit, theirs = whole, None
    if tables.control is not None:
        size = min(map(len, tables.people))
        details["on the whole original"] = everyone = float(np.mean(whole >= 0))
        details["records compared"] = size
        if size < max(map(len, tables.people)):
            notes = (cut_note(size, f"{100 * everyone:.1f} %"),)
        hit = isolated(found, Index.of(_cut(tables.original, size, cut)))
        theirs = isolated(found, Index.of(_cut(tables.control, size, cut))) >= 0
    return attack_rate(
        hit >= 0,
        theirs,
        baseline=float(np.mean(isolated(guesses, ours) >= 0)),
        details=details,
        notes=notes,
        trace=lambda: np.isin(np.arange(len(tables.original)), whole).astype(np.float64),
    )


def _described(
    release: Table, columns: int | Literal["one"], attacks: int, rng: np.random.Generator
) -> Descriptions:
    if columns == "one":
        return describe_one_column(release, attacks, rng)
    if not 1 <= columns <= len(release.names):
        raise CaveatError(
            f"there are no descriptions of {columns} among {len(release.names)} columns",
            do="choose fewer columns",
            code="attack.setting.range",
        )
    return describe(release, columns, attacks, rng)


def describe(release: Table, columns: int, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return distinct descriptions of some columns that fit exactly one synthetic record."""
    names = release.names
    index = Index.of(release)
    medians = [_median_code(release[name]) for name in names]
    ordinary = np.array([len(release[name].levels) for name in names], np.int32)
    kept: list[Descriptions] = []
    seen: set[bytes] = set()
    tries = 0
    while len(seen) < wanted and tries < MOST_TRIES * wanted:
        batch = max(2 * wanted, 1024)
        tries += batch
        picked = _choices(len(names), columns, batch, rng)
        value = index.codes[picked, rng.integers(0, len(release), batch)[:, None]]
        drawn = _extremes(picked, value, np.array(medians)[picked], ordinary[picked])
        drawn = drawn.take(isolated(drawn, index) >= 0)
        fresh = []
        for i, row in enumerate(np.concatenate(drawn, axis=1)):
            key = row.tobytes()
            if key not in seen and len(seen) < wanted:
                seen.add(key)
                fresh.append(i)
        kept.append(drawn.take(np.array(fresh, np.int64)))
    return Descriptions(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))


def describe_one_column(release: Table, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return the extremes and the unique levels of single columns that fit one record."""
    rows: list[tuple[int, int, int]] = []
    for position, name in enumerate(release.names):
        column = release[name]
        rows += [(position, int(code), int(code)) for code in np.flatnonzero(column.counts == 1)]
        used = np.flatnonzero(column.counts[: len(column.levels)])
        if column.kind.has_order and len(used):
            # An extreme that is unique is open to the outside: it fits also what lies beyond.
            n = len(column.levels)
            rows += [(position, 0, int(used[0])), (position, int(used[-1]), n - 1)]
    found = _rows(rows)
    found = found.take(isolated(found, Index.of(release)) >= 0)
    return found.take(rng.permutation(found.n)[:wanted])


def isolated(descriptions: Descriptions, index: Index) -> Ints:
    """Return for each description the one record it fits, or −1 if it fits none or several."""
    out = np.empty(descriptions.n, np.int64)
    _isolated(*descriptions, *index, out)
    return out


def _rows(rows: list[tuple[int, int, int]]) -> Descriptions:
    matrix = np.array(rows, dtype=np.int32).reshape(-1, 3)
    return Descriptions(*(np.ascontiguousarray(matrix[:, [j]]) for j in range(3)))


def _median_code(column: Column) -> float:
    """Return the median code of the ordinary cells, or −1 where codes have no order."""
    if not column.kind.has_order:
        return -1.0
    held = np.repeat(np.arange(len(column.levels)), column.counts[: len(column.levels)])
    return float(np.median(held)) if len(held) else 0.0


def _extremes(columns: Codes, value: Codes, median: Any, ordinary: Codes) -> Descriptions:
    """Turn values into ranges: ordered ones reach outwards, away from the median."""
    is_open = (median >= 0) & (value < ordinary)
    low = np.where(is_open & (value <= median), 0, value)
    high = np.where(is_open & (value > median), ordinary - 1, value)
    return Descriptions(columns, low.astype(np.int32), high.astype(np.int32))


def _at_random(release: Table, columns: int, wanted: int, rng: np.random.Generator) -> Descriptions:
    """Return descriptions of random columns: a level of the release at random, =, ≤ or ≥."""
    names = release.names
    picked = _choices(len(names), columns, wanted, rng)
    low, high = np.empty((2, *picked.shape), np.int32)
    for position, name in enumerate(names):
        column = release[name]
        here = picked == position
        value = rng.choice(np.flatnonzero(column.counts), int(here.sum()))
        direction = rng.integers(0, 3 if column.kind.has_order else 1, len(value))
        direction[value >= len(column.levels)] = 0
        low[here] = np.where(direction == 1, 0, value)
        high[here] = np.where(direction == 2, len(column.levels) - 1, value)
    return Descriptions(picked, low, high)


def _choices(n: int, columns: int, rows: int, rng: np.random.Generator) -> Codes:
    """Return in each row so many of n columns, in order."""
    picked = np.argsort(rng.random((rows, n)), axis=1)[:, :columns]
    return np.ascontiguousarray(np.sort(picked, axis=1), dtype=np.int32)


def _cut(table: Table, size: int, rng: np.random.Generator) -> Table:
    """Return so many records at random."""
    return table if len(table) == size else table.take(chosen(len(table), size, rng))


@kernel
def _isolated(columns, low, high, codes, order, starts, out):  # type: ignore[no-untyped-def]
    """Look only at the records that fit the column which the fewest records fit."""
    last_code = starts.shape[1] - 2
    for q in range(len(columns)):
        best, first, end = -1, 0, codes.shape[1] + 1
        for c in range(columns.shape[1]):
            column = columns[q, c]
            a = starts[column, min(low[q, c], last_code + 1)]
            b = max(a, starts[column, min(high[q, c], last_code) + 1])
            if b - a < end - first:
                best, first, end = column, a, b
        found, last = 0, -1
        for place in range(first, end):
            i = order[best, place]
            fits = True
            for c in range(columns.shape[1]):
                code = codes[columns[q, c], i]
                if code < low[q, c] or code > high[q, c]:
                    fits = False
                    break
            if fits:
                found += 1
                last = i
                if found > 1:
                    break
        out[q] = last if found == 1 else -1


def _run(
    original: Any, synthetic: Any, *, columns: int, n_attacks: int, **told: Any
) -> list[Finding]:
    sizes: dict[str, int | Literal["one"]] = {f"{columns} columns": columns, "one column": "one"}
    return [
        Finding(
            "singlingOut",
            label,
            singling_out(original, synthetic, columns=size, attacks=n_attacks, **told),
        )
        for label, size in sizes.items()
    ]


SINGLING_OUT_ATTACK = Attack(
    name="singling-out",
    does="looks for descriptions that fit one person only",
    run=_run,
    options=(Option("columns", "whole", "Columns in a description.", 4), CONTROL, N_ATTACKS, SEED),
    measures=(
        attack_measure(
            "columns",
            name="singlingOut",
            function=singling_out,
            says="descriptions of one synthetic record that fit exactly one original record",
            attacker="has the release only; describes a synthetic record by some columns, numbers "
            "open to the outside",
            formula="100/k · #(descriptions that fit one record of the original)",
            source=f"{GIOMI}, section 4.1",
            blind_spot=ONE_ATTACK + " That a record is alone in the sample says nothing about the "
            "population: about 37 % of good guesses isolate without any release.",
            blind=ONE_ATTACK_SHORT,
            baseline="random columns, levels of the release and directions",
            by_size=True,
        ),
    ),
    example="--control control.csv",
    labels=r"\d+ columns?|one column",
    usual=True,
)


# -------------------------------------------------------------------------------------------------
# Linkability: whether the release joins what two parties know about the same person.


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


def _run_linkability(
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
    run=_run_linkability,
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


# -------------------------------------------------------------------------------------------------
# Inference: a secret guessed from the nearest synthetic record.


AnyCodes = NDArray[np.integer[Any]]


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
    column: Column, truth: AnyCodes, guess: AnyCodes, relative: float, absolute: float
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


def _best_guess(column: Column, truth: AnyCodes, relative: float, absolute: float) -> float:
    """Return how often the commonest released value, guessed for all, is right."""
    guess = np.full(len(truth), int(np.argmax(column.counts)))
    return float(is_right(column, truth, guess, relative, absolute).mean())


def _numbers(column: Column) -> Floats:
    return np.append(column.numbers, np.full(len(column.missing), np.nan))


def _run_inference(
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


INFERENCE_ATTACK = Attack(
    name="inference",
    does="takes the secret of the nearest synthetic record",
    run=_run_inference,
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
