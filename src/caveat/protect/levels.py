"""Protections of categories: put together, exchanged at random (PRAM), masked (Robin Hood)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.lattice import Lattice, Levels, Node, equivalence_classes
from caveat.protect.record import Protected, Step
from caveat.seeds import rng_of
from caveat.showing import without_values
from caveat.table import Column, Kind, Missing, Table
from caveat.table.cells import Ints


def group_rare_levels(
    synthetic: Table, columns: Sequence[str], *, fewest: int = 5, into: str = "other"
) -> Protected:
    """Put the levels that fewer than so many synthetic records have into one.

    A single rare level is left as it is unless the group exists already or takes another with it:
    a new name alone hides nothing. Then the next rarest level joins it.

    Parameters
    ----------
    synthetic
        The release; rarity is judged from it, not from the original.
    columns
        The categories.
    fewest
        A level with at least so many records stays.
    into
        The name of the group.

    Examples
    --------
    >>> release = Table.from_frame({"job": ["clerk"] * 6 + ["baker", "smith"]})
    >>> group_rare_levels(release, ["job"]).table["job"].counts.tolist()
    [6, 2]
    """
    if fewest < 2:
        raise CaveatError(
            "a level with one record cannot be rarer",
            do="fewest must be 2 or more",
            code="protection.setting.range",
        )
    out, counts = {}, {}
    for name in columns:
        column = synthetic[name]
        if column.kind is not Kind.CATEGORY or column.levels.dtype != object:
            raise CaveatError(
                "only categories without an order can be grouped",
                column=name,
                do="use top and bottom coding or rounding for numbers and ordered levels",
                code="data.column.type",
            )
        out[name], counts[f"{name}: levels grouped"], counts[f"{name}: records"] = _grouped(
            column, fewest, into
        )
    parameters = {"columns": list(columns), "fewest": fewest, "into": into}
    return Protected(synthetic.with_columns(out), Step("group_rare_levels", parameters, counts))


def _grouped(column: Column, fewest: int, into: str) -> tuple[Column, int, int]:
    column = column.compact()
    n = len(column.levels)
    counts = column.counts[:n]
    rare = counts < fewest
    names = column.levels.tolist()
    exists = into in names
    if rare.sum() == 1 and not exists and n > 1:
        # The rarest of the others joins it: one level under another name would still be that level.
        rare[np.argsort(np.where(rare, np.iinfo(np.int64).max, counts), kind="stable")[0]] = True
    if not rare.any() or (n == 1 and not exists):
        return column, 0, 0
    kept = [name for name, gone in zip(names, rare, strict=True) if not gone and name != into]
    place = {name: i for i, name in enumerate([*kept, into])}
    lookup = [place[into] if gone else place[name] for name, gone in zip(names, rare, strict=True)]
    lookup += [len(place) + j for j in range(len(column.missing))]
    labels = {k: v for k, v in column.value_labels.items() if k in place}
    grouped = replace(
        column,
        codes=np.array(lookup)[column.codes],
        levels=np.array(list(place), dtype=object),
        value_labels=labels,
    )
    return grouped, int(rare.sum()), int(counts[rare].sum())


def label(synthetic: Table, *, column: str = "synthetic", text: str = "synthetic") -> Protected:
    """Add a column that says of every record that it is not a real one.

    Examples
    --------
    >>> label(Table.from_frame({"age": [31, 47]})).table["synthetic"].values.tolist()
    ['synthetic', 'synthetic']
    """
    if column in synthetic:
        raise CaveatError(
            "there is such a column already",
            column=column,
            do="name another one",
            code="data.column.exists",
        )
    codes = np.zeros(synthetic.n_rows, np.uint8)
    added = Column(codes, np.array([text], dtype=object), Kind.CATEGORY)
    step = Step("label", {"column": column, "text": text}, {"rows": synthetic.n_rows})
    return Protected(synthetic.with_columns({column: added}), step)


# -------------------------------------------------------------------------------------------------
# Post-randomisation (PRAM): categories exchanged at random, with their expected shares kept.
#
# For counts T_1, …, T_c with the smallest T_k the matrix is P_ii = 1 − θ T_k / T_i and
# P_ij = θ T_k / ((c − 1) T_i); then T P = T (Gouweleeuw et al. 1998; Kwatra and Torra 2024).


Floats = NDArray[np.float64]


def pram_matrix(counts: NDArray[Any] | Sequence[int], theta: float) -> Floats:
    """Return the invariant matrix: row i holds the chances of what category i becomes.

    Examples
    --------
    >>> pram_matrix([50, 50], 0.1).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    if not 0 <= theta <= 1:
        raise CaveatError(
            "theta must lie between 0 and 1", where="pram", code="protection.setting.range"
        )
    totals = np.asarray(counts, dtype=np.float64)
    if len(totals) < 2 or not (totals > 0).all():
        raise CaveatError(
            "PRAM needs two or more categories that occur", where="pram", code="data.level.too-few"
        )
    moved = theta * totals.min() / totals
    matrix = np.repeat(moved[:, None] / (len(totals) - 1), len(totals), axis=1)
    np.fill_diagonal(matrix, 1 - moved)
    return matrix


def epsilon0(matrix: Floats) -> float:
    """Return the level of local differential privacy: log of the largest ratio in a column.

    It is the maximum over all pairs. Infinite where some category can never become another one.

    Examples
    --------
    >>> round(epsilon0(pram_matrix([50, 50], 0.1)), 4)
    2.1972
    """
    low = matrix.min(axis=0)
    if (low <= 0).any():
        return math.inf
    return float(np.log(matrix.max(axis=0) / low).max())


def theta_for_epsilon(counts: NDArray[Any] | Sequence[int], epsilon: float) -> float:
    """Return the smallest theta whose level is at most ``epsilon``.

    The level falls with theta up to a point and rises again behind it; only the first part is
    searched, because there is less noise in it.

    Examples
    --------
    >>> round(theta_for_epsilon([50, 50], math.log(9)), 6)
    0.1
    """
    grid = np.linspace(0, 1, 1001)[1:]
    levels = np.array([epsilon0(pram_matrix(counts, theta)) for theta in grid])
    if levels.min() > epsilon:
        raise CaveatError(
            f"no theta gives an epsilon of {epsilon:g}; the smallest is {levels.min():.4f}",
            where="pram",
            do="allow more, or group rare categories first: they decide it",
            code="protection.limit.failed",
        )
    above = int(np.argmax(levels <= epsilon))
    low, high = (float(grid[above - 1]) if above else 0.0), float(grid[above])
    for _ in range(60):
        middle = (low + high) / 2
        if epsilon0(pram_matrix(counts, middle)) <= epsilon:
            high = middle
        else:
            low = middle
    return high


def pram(synthetic: Table, columns: Sequence[str], *, theta: float, seed: int = 0) -> Protected:
    """Exchange categories at random by the invariant matrix of each column.

    Parameters
    ----------
    synthetic
        The table; the matrices are built from its own counts. A way to be missing is a category
        like any other.
    columns
        The columns to exchange, independently of each other.
    theta
        How much: 0 nothing, 1 as much as the rarest category bears.
    seed
        Seed of the draws.

    Returns
    -------
    Protected
        The record has the level ε₀ of each column and their sum. They hold for the categories of a
        record that went in, given that the counts are public.
    """
    out, counts, total = {}, {}, 0.0
    for position, name in enumerate(columns):
        column = synthetic[name].compact()
        if column.n_levels < 2:
            raise CaveatError(
                "PRAM needs two or more categories",
                column=name,
                do="leave it out",
                code="data.level.too-few",
            )
        matrix = pram_matrix(column.counts, theta)
        chance = rng_of(seed, position).random(len(column))
        steps = np.cumsum(matrix, axis=1)
        steps[:, -1] = 1.0
        codes = np.empty(len(column), dtype=np.int64)
        for code in range(column.n_levels):
            here = column.codes == code
            codes[here] = np.searchsorted(steps[code], chance[here], side="right")
        out[name] = column.with_codes(codes)
        level = epsilon0(matrix)
        counts[f"{name}: epsilon0"] = level
        counts[f"{name}: changed"] = int((codes != column.codes).sum())
        total += level
    counts["epsilon0, all columns"] = total
    parameters = {"columns": list(columns), "theta": theta}
    return Protected(synthetic.with_columns(out), Step("pram", parameters, counts, seed))


# -------------------------------------------------------------------------------------------------
# Robin Hood: values of one attribute masked in large classes, so that small ones need not merge.
#
# k-anonymity makes a minority as large as it must be by taking its name away. Robin Hood (Brown
# et al. 2024) generalises only a little and then masks the attribute, mostly of records of large
# classes: who looks for a minority person must try the masked records too. The criterion is the
# expected number of attempts; the chance of the first one stays what it was.


MASK = "?"
"""What stands in a masked cell."""
MOST_NODES = 20_000
WHERE = "robin_hood"
Flags = NDArray[np.bool_]


class Attempts(NamedTuple):
    """What somebody must do who looks for a member of a class, by where she begins.

    Attributes
    ----------
    unmasked_first, masked_first, mixed
        The expected number of attempts. The first is the smallest, and is assumed.
    chances
        The chance that the first attempt is right, in the same order.
    """

    unmasked_first: float
    masked_first: float
    mixed: float
    chances: tuple[float, float, float]


def attempts(size: int, masked: int, outside: int) -> Attempts:
    """Return the expected attempts to find a member of a class.

    Parameters
    ----------
    size
        Records of the class.
    masked
        How many of them are masked.
    outside
        Masked records beside the class that differ from it in the attribute only.

    Examples
    --------
    >>> attempts(3, 1, 3)[:3]
    (2.5, 4.5, 3.5)
    """
    _check_class(size, masked, outside)
    open_ones, hidden = size - masked, masked + outside
    in_open, in_hidden = open_ones / size, masked / size
    return Attempts(
        in_open * (open_ones + 1) / 2 + in_hidden * (open_ones + (hidden + 1) / 2),
        in_hidden * (hidden + 1) / 2 + in_open * (hidden + (open_ones + 1) / 2),
        (open_ones + hidden + 1) / 2,
        (
            1 / size if open_ones else 1 / hidden,
            masked / (size * hidden) if hidden else 1 / size,
            1 / (open_ones + hidden),
        ),
    )


def effective_k(size: int, masked: int, outside: int) -> float:
    """Return the k of k-anonymity that needs as many attempts: A + C D / A.

    Examples
    --------
    >>> effective_k(3, 1, 3), round(effective_k(7, 3, 1), 4)
    (4.0, 7.4286)
    """
    _check_class(size, masked, outside)
    return size + masked * outside / size


def masked_outside(size: int, masked: int, k: int) -> int:
    """Return how many records beside a class must be masked for an effective k.

    Examples
    --------
    >>> [masked_outside(10, masked, 30) for masked in (1, 2, 3, 4, 5)]
    [200, 100, 67, 50, 40]
    """
    _check_class(size, masked, 0)
    if not masked:
        raise CaveatError(
            "a class without a masked record gains nothing",
            where=WHERE,
            code="protection.setting.range",
        )
    return max(0, -(-size * (k - size) // masked))


def _check_class(size: int, masked: int, outside: int) -> None:
    if size < 1 or not 0 <= masked <= size or outside < 0:
        raise CaveatError(
            "a class has one record or more, and masks no more than it has",
            code="protection.setting.range",
        )


@dataclass(frozen=True, eq=False)
class Masking:
    """Which records are masked, and what that makes of each class.

    Parameters
    ----------
    alike
        The class of each record: equal in all quasi-identifiers.
    without
        The same without the attribute.
    masked
        Which records are masked.
    failed
        Classes that cannot reach the effective k: they would need a coarser level.
    """

    alike: Ints
    without: Ints
    masked: Flags
    failed: tuple[int, ...] = ()

    __repr__ = without_values

    @property
    def effective_k(self) -> Floats:
        """The effective k of each record."""
        size = np.bincount(self.alike)[self.alike]
        inside = np.bincount(self.alike, self.masked)[self.alike]
        outside = np.bincount(self.without, self.masked)[self.without] - inside
        return np.asarray(size + inside * outside / size)


def choose_masked(
    alike: Ints, without: Ints, k: int, *, of_majority: float, of_minority: float, seed: int = 0
) -> Masking:
    """Choose records to mask until each class has an effective k, smallest classes first.

    Parameters
    ----------
    alike, without
        The class of each record, with the attribute and without it.
    k
        The effective k. Classes of this size are majorities and give; smaller ones take.
    of_majority
        Share of the majority records of a masking class that may be masked in all.
    of_minority
        Share of a small class that may be masked.
    seed
        Seed of the draws.
    """
    rng = rng_of(seed)
    masked = np.zeros(len(alike), dtype=bool)
    sizes = np.bincount(alike)
    is_large = sizes[alike] >= k
    order = np.argsort(without, kind="stable")
    places = np.split(order, np.cumsum(np.bincount(without))[:-1])
    home = np.zeros(len(sizes), np.int64)
    home[alike] = without
    failed = []
    for small in np.argsort(sizes, kind="stable"):
        size = int(sizes[small])
        if size >= k:
            break
        rows = places[home[small]]
        own, large = rows[alike[rows] == small], rows[is_large[rows]]
        there, given = int(masked[rows].sum()), int(masked[large].sum())
        for inside in range(1, math.floor(size * of_minority + 1e-9) + 1):
            more = max(0, masked_outside(size, inside, k) - there)
            if given + more <= len(large) * of_majority:
                masked[rng.choice(own, inside, replace=False)] = True
                masked[rng.choice(large[~masked[large]], more, replace=False)] = True
                break
        else:
            failed.append(int(small))
    return Masking(alike, without, masked, tuple(failed))


def k_minimal(codes: Ints, lattice: Lattice, k: int) -> tuple[Node, float]:
    """Return the node with classes of k or more, nothing left out, that loses least.

    Parameters
    ----------
    codes
        One row per record, one column per hierarchy.
    lattice
        The levels.
    k
        The smallest class.

    Returns
    -------
    The node, and its loss: the mean of log2(class size there / class size as it is), in bits.

    Notes
    -----
    Classes only grow from a node to its successors, and so does the loss: what lies above a node
    that has classes of k need not be looked at.
    """
    if lattice.n_nodes > MOST_NODES:
        raise CaveatError(
            f"there are {lattice.n_nodes:,} combinations of levels",
            where=WHERE,
            do=f"declare fewer levels: {MOST_NODES:,} combinations are the most",
            code="protection.level.too-many",
        )
    enough: set[Node] = set()
    found: list[tuple[float, int, Node]] = []
    before = _class_sizes(codes, lattice, (0,) * len(lattice.top))
    for node in sorted(lattice.nodes(), key=lambda node: (sum(node), node)):
        if enough.isdisjoint(lattice.predecessors(node)):
            sizes = _class_sizes(codes, lattice, node)
            if sizes.min() < k:
                continue
            found.append((float(np.log2(sizes / before).mean()), sum(node), node))
        enough.add(node)
    if not found:
        raise CaveatError(
            f"no levels give classes of {k}",
            where=WHERE,
            do="declare coarser levels, round, top-code or group values first, or lower k_initial",
            code="protection.limit.failed",
        )
    loss, _, node = min(found)
    return node, loss


def _class_sizes(codes: Ints, lattice: Lattice, node: Node) -> Ints:
    classes, _ = lattice.classes(codes, node)
    return np.bincount(classes)[classes]


def robin_hood(
    synthetic: Table, attribute: str, levels: Mapping[str, Levels | Mapping[str, object]], *,
    k_target: int, k_initial: int = 3, of_majority: float = 1.0, of_minority: float = 0.5,
    seed: int = 0,
) -> Protected:  # fmt: skip
    """Generalise a little, then mask one attribute until everybody has an effective k.

    Parameters
    ----------
    synthetic
        The records; real ones as well as synthetic ones.
    attribute
        The column to mask, by which groups are compared: a category.
    levels
        The quasi-identifiers with their declared levels: :class:`Levels`, or what it takes. The
        attribute is one of them, as it is unless levels of it are declared.
    k_target
        The effective k.
    k_initial
        The smallest class after generalisation: the k of k-anonymity that really holds.
    of_majority, of_minority
        Share that may be masked of the large classes, and of each small one.
    seed
        Seed of the draws. Keep it secret.

    Returns
    -------
    Protected
        The masked cells are missing, with the code "?". Classes that could not reach the effective
        k are counted, and told in a note.
    """
    _check_numbers(k_initial, k_target, (of_majority, of_minority))
    everything = _declared(levels, attribute)
    _check_attribute(synthetic[attribute], attribute)
    names = list(everything)  # the attribute is the last one
    lattice = Lattice(tuple(one.of(synthetic[name], name) for name, one in everything.items()))
    codes = np.stack([synthetic[name].codes.astype(np.int64) for name in names], axis=1)
    node, loss = k_minimal(codes, lattice, k_initial)
    made, sizes = lattice.generalise(codes, node), lattice.sizes(node)
    alike, _ = equivalence_classes(made, sizes)
    without, _ = equivalence_classes(made[:, :-1], sizes[:-1])
    masking = choose_masked(
        alike, without, k_target, of_majority=of_majority, of_minority=of_minority, seed=seed
    )
    columns = {
        name: lattice.hierarchies[i].column(synthetic[name], node[i], made[:, i])
        for i, name in enumerate(names)
        if node[i]
    }
    columns[attribute] = _mask(columns.get(attribute, synthetic[attribute]), masking.masked)
    parameters = {
        "attribute": attribute, "columns": names, "k_target": k_target, "k_initial": k_initial,
        "of_majority": of_majority, "of_minority": of_minority,
    }  # fmt: skip
    counts = {**_counts(masking, k_target), "bits lost by generalising": loss}
    counts |= {f"{name}: level": level for name, level in zip(names, node, strict=True)}
    step = Step(WHERE, parameters, counts, seed, notes=_notes(masking, k_initial, k_target))
    return Protected(synthetic.with_columns(columns), step)


def _check_numbers(k_initial: int, k_target: int, shares: tuple[float, float]) -> None:
    if not 2 <= k_initial <= k_target:
        raise CaveatError(
            "k_initial must be 2 or more and no larger than k_target",
            where=WHERE,
            do="use for instance 3 and 11",
            code="protection.setting.range",
        )
    if not all(0 < share <= 1 for share in shares):
        raise CaveatError(
            "a share that may be masked lies between 0 and 1",
            where=WHERE,
            code="protection.setting.range",
        )


def _declared(
    levels: Mapping[str, Levels | Mapping[str, object]], attribute: str
) -> dict[str, Levels]:
    found: dict[str, Levels] = {}
    for name, one in levels.items():
        try:
            found[name] = one if isinstance(one, Levels) else Levels(**one)  # type: ignore[arg-type]
        except TypeError:
            raise CaveatError(
                "levels are widths and origin, or groups",
                column=name,
                where=WHERE,
                code="protection.setting.type",
            ) from None
    if not any(name != attribute for name in found):
        raise CaveatError(
            "no quasi-identifier beside the attribute is named",
            where=WHERE,
            do="say which columns an attacker may know",
            code="protection.key.absent",
        )
    own = found.pop(attribute, Levels(hides=False))
    return {**found, attribute: own}


def _check_attribute(column: Column, name: str) -> None:
    if not len(column):
        raise CaveatError("there is no record", where=WHERE, code="data.table.empty")
    if column.kind.is_number:
        raise CaveatError(
            "only a category can be masked",
            column=name,
            do="declare it as a category",
            code="data.column.type",
        )
    if MASK in map(str, [*column.levels.tolist(), *(way.code for way in column.missing)]):
        raise CaveatError(
            f"the column has a value {MASK} already",
            column=name,
            do="rename it",
            code="protection.value.conflict",
        )


def _mask(column: Column, rows: Flags) -> Column:
    codes = np.where(rows, column.n_levels, column.codes.astype(np.int64))
    ways = (*column.missing, Missing(MASK, "masked"))
    return replace(column, codes=codes, missing=ways).compact()


def _counts(masking: Masking, k: int) -> dict[str, float]:
    sizes = np.bincount(masking.alike)
    return {
        "rows": len(masking.alike),
        "masked": int(masking.masked.sum()),
        "classes": len(sizes),
        "classes below k_target": int((sizes < k).sum()),
        "classes that stay below": len(masking.failed),
        "smallest class": int(sizes.min()),
        "smallest effective k": float(masking.effective_k.min()),
    }


def _notes(masking: Masking, k_initial: int, k_target: int) -> tuple[Note, ...]:
    first = Note(
        "first-attempt",
        f"the chance of a first guess is not lowered: it may be 1/{k_initial}; what grows is the "
        "number of guesses. A second release with other masks undoes the first",
    )
    if not masking.failed:
        return (first,)
    stay = Note(
        "stay-below",
        f"{len(masking.failed)} classes stay below an effective k of {k_target}: too few records "
        "around them may be masked; declare coarser levels or a larger k_initial",
    )
    return first, stay
