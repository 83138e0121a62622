"""What singles a record out: descriptions, copies of whole rows, small published counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.nearest import within
from caveat.notes import Note
from caveat.risk.identity import margin_probability
from caveat.risk.measure import Measure, Measurement, Property, rate, undefined, wilson
from caveat.risk.pair import KeyCells, ScenarioPair, split
from caveat.risk.scenario import Scenario, group, select_common
from caveat.table import Table, align_copies
from caveat.table.cells import Ints, dense, key_cells

DACQUISTO = "D'Acquisto, Cohen, Naldi, Nissim (2024), From Isolation to Identification"


def isolation_probability(p: NDArray[np.float64] | float, n: int) -> NDArray[np.float64]:
    """Return the chance that a description of probability p matches exactly one of n records.

    Examples
    --------
    >>> float(isolation_probability(1 / 5, 5).round(4))
    0.4096
    """
    p = np.asarray(p, dtype=np.float64)
    if n <= 1:
        return n * p
    with np.errstate(divide="ignore"):
        return np.asarray(n * p * np.exp((n - 1) * np.log1p(-p)))


def best_isolations(k: int, n: int) -> float:
    """Return how many of k disjoint guesses, made without a release, isolate on average at best."""
    return k * float(isolation_probability(1 / max(k, n), n))


def population_uniqueness(p: float, n: int, population: int) -> float:
    """Return the chance that a description which isolates in the sample does in the population."""
    return float(np.exp((population - n) * np.log1p(-p)))


def count_gain(p: float, m: int, n: int) -> float:
    """Return the isolation gain from a published count m of a cell of probability p.

    The best guess is a part of the cell that each of its m records is in with chance 1/m. The cell
    must have been chosen without looking at the data.

    Examples
    --------
    >>> round(count_gain(1e-6, 1, 1000))
    1001
    """
    return float(isolation_probability(1 / m, m) / isolation_probability(p / m, n))


def tree_probability(pair: ScenarioPair) -> NDArray[np.float64]:
    """Return for each cell its probability if each key of the release hangs on one other key.

    The tree is the one of the largest mutual information (Chow and Liu 1968). Every conditional
    share leaves out one record of the cell, if the release has any there, and is drawn to the share
    without the condition as by one more record: nothing is rare because it was seen only once.
    """
    keys, cells = list(pair.cells.codes), pair.cells
    release = {key: pair.synthetic[key].codes.astype(np.int64) for key in keys}
    n = len(cells.synthetic)
    own = (cells.s > 0).astype(np.float64)
    shares = {key: pair.synthetic[key].counts / max(n, 1) for key in keys}
    w: NDArray[np.float64] = np.asarray(shares[keys[0]][cells.codes[keys[0]]], np.float64)
    for key, parent in _tree(keys, release):
        levels = pair.synthetic[key].n_levels
        seen = release[parent] * levels + release[key]
        asked = cells.codes[parent].astype(np.int64) * levels + cells.codes[key]
        both, _ = dense(np.append(seen, asked), levels * pair.synthetic[parent].n_levels)
        together = np.bincount(both[:n], minlength=int(both.max(initial=0)) + 1)[both[n:]] - own
        given = pair.synthetic[parent].counts[cells.codes[parent]] - own
        w = w * (together + shares[key][cells.codes[key]]) / (given + 1)
    return np.minimum(w, 1 - 1e-12)


def _tree(keys: Sequence[str], codes: dict[str, NDArray[np.int64]]) -> list[tuple[str, str]]:
    """Return each key but the first with the one it hangs on; the strongest tie next."""
    ties = {
        (a, b): _mutual_information(codes[a], codes[b])
        for i, a in enumerate(keys)
        for b in keys[:i]
    }
    inside, found = [keys[0]], []
    while len(inside) < len(keys):
        outside = [key for key in keys if key not in inside]
        choices = [(a, b) for a in outside for b in inside]
        best = max(choices, key=lambda c: ties[c] if c in ties else ties[c[::-1]])
        found.append(best)
        inside.append(best[0])
    return found


def _mutual_information(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    if not len(a):
        return 0.0
    levels = int(a.max()) + 1
    both, counts = np.unique(b * levels + a, return_counts=True)
    alone = np.bincount(a)[both % levels] * np.bincount(b)[both // levels]
    return float((counts * np.log(counts * len(a) / alone)).sum()) / len(a)


@dataclass(frozen=True)
class Chance:
    """How often the same descriptions isolate without the release, by one way to say P(B).

    Attributes
    ----------
    success, chance
        The shares of the descriptions that isolate in the original, and without the release.
    gain
        Their ratio; None where the chance was never seen.
    interval
        Its limits, at the unfavourable ends of the intervals of what was counted.
    """

    success: float
    chance: float
    gain: float | None
    interval: tuple[float, float]


def isolation_chances(
    original: Any, synthetic: Any, scenario: Scenario, control: Any = None
) -> dict[str, Chance]:
    """Return the gain of the release by each way to say what could be had without it.

    Parameters
    ----------
    original, synthetic
        The confidential table and the release.
    scenario
        Who attacks: its keys, and its population if only rare descriptions are to be tried.
    control
        People who were not in the data. Of two groups of different size random parts of the size of
        the smaller one are compared, so it may be small.

    Returns
    -------
    ``"independent"``: P(B) is the product of the margins of the keys; ``"tree"``: each key depends
    on one other (:func:`tree_probability`); ``"control"``: no model, the descriptions are tried on
    the control. Empty where the release has no description to try.

    Examples
    --------
    >>> people = {"age": [31, 31, 47, 52], "sex": list("ffmm")}
    >>> release = {"age": [31, 31, 47, 52], "sex": list("ffmm")}
    >>> others = {"age": [31, 47, 47, 52], "sex": list("ffmm")}
    >>> found = isolation_chances(people, release, Scenario(("age", "sex")), others)
    >>> round(found["independent"].gain, 2), round(found["control"].gain, 2)
    (2.99, 1.0)
    """
    given = [original, synthetic, *([] if control is None else [control])]
    tables = [Table.from_frame(table) for table in given]
    if not all(map(len, tables)):
        raise CaveatError(
            "a table has no rows", where="isolation", do="check the files", code="data.table.empty"
        )
    ours, theirs, *outside = select_common(tables, scenario.keys)
    common = align_copies(ours, [theirs], *outside)[0]
    (theirs, *people), _ = group([common.synthetic, *common.people], scenario.groups)
    keys = scenario.with_target(None)
    pair, *others = (ScenarioPair(table, theirs, keys) for table in people)
    predicates = _predicates(pair)
    if not predicates.any():
        return {}
    k, tried = int(predicates.sum()), pair.cells.d[predicates]
    success = float((tried == 1).mean())
    low, high = wilson(success * k, k)
    found = {}
    for name, w in (("independent", margin_probability(pair)), ("tree", tree_probability(pair))):
        chance = float(isolation_probability(w[predicates], pair.n).mean())
        if chance:
            limits = (low / chance, high / chance)
            found[name] = Chance(success, chance, success / chance, limits)
    if others:
        found["control"] = _by_control(pair, others[0], predicates)
    return found


def _by_control(pair: ScenarioPair, control: ScenarioPair, which: NDArray[np.bool_]) -> Chance:
    """Try the same descriptions, those of some rows of the release, on both groups of people."""
    rows = which[pair.cells.synthetic]
    size, k = min(pair.n, control.n), int(rows.sum())
    success, chance = (
        float(_in_a_part(one.cells.d[one.cells.synthetic[rows]], one.n, size).mean())
        for one in (pair, control)
    )
    (low, high), (least, most) = wilson(success * k, k), wilson(chance * k, k)
    limits = (low / most, high / least if least else math.inf)
    return Chance(success, chance, success / chance if chance else None, limits)


def _in_a_part(counts: NDArray[np.int64], n: int, size: int) -> NDArray[np.float64]:
    """Return the chance that exactly one of the records is in a random part of all n."""
    return np.asarray(scipy.stats.hypergeom.pmf(1, n, counts, size))


def isolation(pair: ScenarioPair) -> Measurement:
    """Return how often the keys of a unique synthetic record isolate an original one."""
    predicates = _predicates(pair)
    if not predicates.any():
        return undefined(_no_predicate(pair))
    n = pair.n
    success = predicates & (pair.cells.d == 1)
    weights = margin_probability(pair)[predicates]
    return rate(
        int(success.sum()),
        int(predicates.sum()),
        baseline=float(isolation_probability(weights, n).mean()),
        details={"best single guess": float(isolation_probability(1 / n, n)) if n else None},
        trace=lambda: success[pair.cells.original].astype(np.float64),
    )


def isolation_gain(pair: ScenarioPair) -> Measurement:
    """Return how many times as often as without the release."""
    found = isolation(pair)
    if found.value is None or found.baseline is None:
        return undefined(found.notes[0])
    if not found.baseline:
        return undefined(
            Note("tiny-baseline", "the chance without the release is too small to divide by")
        )
    low, high = found.interval or (found.value, found.value)
    return Measurement(
        found.value / found.baseline,
        interval=(low / found.baseline, high / found.baseline),
        baseline=1.0,
        n=found.n,
        details=found.details,
        trace=found.trace,
    )


def _predicates(pair: ScenarioPair) -> NDArray[np.bool_]:
    """Return which cells are tried: unique in the release, rare enough for the population."""
    chosen = pair.cells.s == 1
    if pair.scenario.population is not None:
        chosen &= margin_probability(pair) <= 1 / (100 * pair.scenario.population)
    return np.asarray(chosen)


def _no_predicate(pair: ScenarioPair) -> Note:
    if not (pair.cells.s == 1).any():
        return Note("no-unique", "no synthetic record is unique on these keys")
    says = "no unique synthetic record is rare enough to be unique in the population"
    return Note("no-rare-unique", says)


_TRIES = (
    "has the release only; tries the keys of every synthetic record that is unique there as a "
    "description of somebody in the original"
)
_INDEPENDENT = (
    "the chance for the same descriptions without a release, n·p·(1−p)^(n−1), with p the product "
    "of the key margins of the release"
)
_SPOT = (
    "Only uniques on the named keys are tried. The chance without the release rests on independent "
    "keys, which makes rare combinations look rarer than they are where keys depend on each other: "
    "prefer a control, or see isolation_chances in Python, which also lets each key depend on "
    "another. An isolated record need not be unique in the population."
)

ENTRIES = (
    Measure(
        name="isolation",
        function=isolation,
        family="isolation",
        says="unique synthetic key combinations that match exactly one original record",
        attacker=_TRIES,
        formula="#(q with s_q = 1 and d_q = 1) / #(q with s_q = 1) · 100; with a population N only "
        "q of probability ≤ 1/(100 N)",
        source=f"{DACQUISTO}, section 4, with predicates from the release",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; undefined is no all-clear",
        baseline=_INDEPENDENT,
        needs=frozenset({"keys"}),
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="isolationGain",
        function=isolation_gain,
        family="isolation",
        says="how many times as often as without the release",
        attacker=_TRIES,
        formula="G = Pr[isolates | release] / Pr[isolates without it]",
        source=f"{DACQUISTO}, Definition 3",
        blind_spot=_SPOT,
        blind="only uniques on the named keys; baseline assumes independent keys",
        baseline="1: no gain",
        needs=frozenset({"keys"}),
        unit="ratio",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)


# -------------------------------------------------------------------------------------------------
# Whole rows: how many synthetic records are copies, or nearly copies, of original ones.


# The relative tolerance of SDMetrics' NewRowSynthesis.
TOLERANCE = 0.01


def exact_match(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic rows that equal an original row in all common columns."""
    d, s, cells = _whole_rows(pair)
    return rate(
        int(s[d > 0].sum()),
        int(s.sum()),
        baseline=int(d[d > 1].sum()) / max(int(d.sum()), 1),
        reference=1.0,
        details={"columns": len(pair.rows.original.names)},
        trace=lambda: (s > 0)[cells].astype(np.float64),
    )


def full_match(pair: ScenarioPair) -> Measurement:
    """Return the share of original rows, unique in all common columns, that the release has."""
    d, s, cells = _whole_rows(pair)
    here = (d == 1) & (s > 0)
    return rate(
        int(here.sum()),
        int(d.sum()),
        baseline=int(d[d == 2].sum()) / max(int(d.sum()), 1),
        reference=int((d == 1).sum()) / max(int(d.sum()), 1),
        details={"columns": len(pair.rows.original.names)},
        trace=lambda: here[cells].astype(np.float64),
    )


def new_rows(pair: ScenarioPair, tolerance: float = TOLERANCE) -> Measurement:
    """Return the share of synthetic rows that no original row is near.

    Categories and missing cells must agree; numbers may differ by ``tolerance`` times the absolute
    synthetic value.
    """
    original, synthetic = pair.rows.original, pair.rows.synthetic
    if not len(synthetic) or not len(original):
        return undefined(Note("empty-table", "one of the tables has no row"))
    names = sorted(original.names, key=lambda name: -original[name].n_levels)
    numeric = dict.fromkeys((n for n in names if original[n].kind.is_number), 0.0)
    query, data = split(synthetic, names, numeric), split(original, names, numeric)
    found, _ = within(query, data, tolerance * np.abs(query.numbers))
    return rate(
        int((found == 0).sum()),
        len(synthetic),
        reference=0.0,
        details={"columns": len(names), "tolerance": tolerance},
    )


def _whole_rows(pair: ScenarioPair) -> tuple[Ints, Ints, Ints]:
    """Return how often each distinct row occurs in both tables, and that of each original row."""
    original, synthetic = pair.rows.original, pair.rows.synthetic
    tables = [[table[name].codes for name in original] for table in (original, synthetic)]
    (ours, theirs), n = key_cells(tables, [original[name].n_levels for name in original])
    return np.bincount(ours, minlength=n), np.bincount(theirs, minlength=n), ours


_COPIES = "compares the release with people whom she knows completely"
_NO_CELL = frozenset({"columns"})

ROWS_ENTRIES = (
    Measure(
        name="exactMatch",
        function=exact_match,
        family="rows",
        says="synthetic rows that equal an original row in every common column",
        attacker=_COPIES,
        formula="100/N_s · #(synthetic rows that occur in the original)",
        source="general; peers call it identical match share",
        blind_spot="With few columns most rows repeat by chance: it is near 100 for any release; "
        "with one continuous column a tiny change hides every copy. Compare with a control.",
        blind="few columns: high by chance; one noisy number: 0",
        baseline="the share of original rows that equal another original row",
        needs=_NO_CELL,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        by_size=True,
    ),
    Measure(
        name="fullMatch",
        function=full_match,
        family="rows",
        says="original rows, unique in every common column, that the release contains",
        attacker=_COPIES,
        formula="100/N_d · #(rows unique in the original that occur in the release)",
        source="Francis (2024), A Comparison of SynDiffix Multi-table Versus Single-table, Table 2",
        blind_spot="One continuous column with a tiny change hides every copy.",
        blind="one noisy number hides every copy; 0 is no all-clear",
        baseline="the share of original rows that exactly one other original row equals",
        needs=_NO_CELL,
        fails=frozenset({Property.GAIN}),
        by_size=True,
    ),
    Measure(
        name="NewRow",
        function=partial(new_rows, tolerance=TOLERANCE),
        family="rows",
        says="synthetic rows that no original row is near (numbers within 1 %)",
        attacker=_COPIES,
        formula="100/N_s · #(synthetic rows i without a row j: categories equal, "
        "|x_jk − x_ik| ≤ 0.01 · |x_ik| for numbers)",
        source="SDMetrics NewRowSynthesis, as used in Aghaddar et al. (2024)",
        blind_spot="With few columns near 0 for any release. The tolerance is relative to the "
        "synthetic value: a 0 must be met exactly. High is no all-clear: one changed cell makes a "
        "copy new.",
        blind="one changed cell makes a copy new; high is no all-clear",
        needs=_NO_CELL,
        direction="lower is riskier",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
)


# -------------------------------------------------------------------------------------------------
# What published tables would give away, and small combinations that single out a record.


KOLB = "Kolb, Tang, Giessing (2024), Comparing Utility and Risk in Microdata and Tables"
# Tables of up to this many keys by the target are looked at, as in the source (dimensions 2 to 5).
LARGEST_TABLE = 4
# A target value this frequent in the original is guessed anyway.
NAIVE_SHARE = 0.9
# Combinations of up to this many columns are searched for minimal sample uniques.
LARGEST_UNIQUE = 6


class TableRisk(NamedTuple):
    """Disclosive cells of one table: keys by target.

    Attributes
    ----------
    keys
        The keys that span the table.
    synthetic, original
        Combinations of these keys with one target only.
    common
        Those that both tables have, with the same target.
    """

    keys: tuple[str, ...]
    synthetic: int
    original: int
    common: int


def table_risks(pair: ScenarioPair, largest: int = LARGEST_TABLE) -> list[TableRisk]:
    """Count disclosive cells in the tables of every set of keys by the target."""
    naive = naive_targets(pair)
    return [
        table_risk(pair, keys, naive)
        for size in range(1, min(largest, len(pair.scenario.keys)) + 1)
        for keys in combinations(pair.scenario.keys, size)
    ]


def naive_targets(pair: ScenarioPair) -> NDArray[np.bool_]:
    """Return which values of the target are so frequent in the original that anyone guesses."""
    return np.asarray(pair.joint.d_target / max(pair.n, 1) >= NAIVE_SHARE)


def table_risk(pair: ScenarioPair, keys: tuple[str, ...], naive: NDArray[np.bool_]) -> TableRisk:
    """Count disclosive cells of the table of some of the keys by the target.

    Parameters
    ----------
    pair
        The tables.
    keys
        Some of the keys.
    naive
        Values of the target that do not count.
    """
    cells = None if keys != pair.scenario.keys else pair.cells
    cells = cells or KeyCells.of(pair.original, pair.synthetic, keys)
    joint = ScenarioPair(pair.original, pair.synthetic, pair.scenario, cells).joint
    counts = ~naive[joint.target]
    ours, theirs = joint.disclosive_in_original & counts, joint.disclosive_in_synthetic & counts
    return TableRisk(keys, int(theirs.sum()), int(ours.sum()), int((ours & theirs).sum()))


def group_disclosure(pair: ScenarioPair) -> Measurement:
    """Return which share of the disclosive cells of synthetic tables is true of the original."""
    tables = table_risks(pair)
    seen, true = sum(t.synthetic for t in tables), sum(t.common for t in tables)
    there = sum(t.original for t in tables)
    details = {"tables": len(tables), "disclosive": seen, "true": true, "in the original": there}
    if not seen:
        return undefined(
            Note("no-disclosive-cell", "no table of the release has a disclosive cell"),
            details=details,
        )
    return rate(true, seen, reference=1.0, details=details)


def tcap_ratio(pair: ScenarioPair) -> Measurement:
    """Return which share of the disclosive combinations of all keys is true of the original."""
    found = table_risk(pair, pair.scenario.keys, np.zeros(pair.n_targets, bool))
    details = {"disclosive": found.synthetic, "true": found.common}
    if not found.synthetic:
        return undefined(
            Note("no-disclosive-keys", "no combination of keys is disclosive in the release"),
            details=details,
        )
    return rate(found.common, found.synthetic, reference=1.0, details=details)


def minimal_uniques(
    columns: Sequence[NDArray[np.integer[Any]]], n_levels: Sequence[int], largest: int
) -> dict[tuple[int, ...], NDArray[np.bool_]]:
    """Find minimal sample uniques: values that only one row has together, and no part of them.

    Parameters
    ----------
    columns
        Codes, one array per column.
    n_levels
        Number of codes of each column.
    largest
        Largest number of columns combined.

    Returns
    -------
    For each set of columns, which rows are minimal uniques on it; sets without any are left out.

    Notes
    -----
    A row that is unique on a set is unique on every larger one. So only the sets with one column
    less need be looked at to see whether a unique is minimal, and such rows no longer matter to
    the others.
    """
    n = len(columns[0])
    unique: dict[tuple[int, ...], NDArray[np.bool_]] = {(): np.zeros(n, dtype=bool)}
    minimal = {}
    for size in range(1, min(largest, len(columns)) + 1):
        for chosen in combinations(range(len(columns)), size):
            known = np.any([unique[part] for part in combinations(chosen, size - 1)], axis=0)
            rows = np.flatnonzero(~known)
            flags = np.zeros(n, dtype=bool)
            if len(rows):
                (cells,), m = key_cells(
                    [[columns[j][rows] for j in chosen]], [n_levels[j] for j in chosen]
                )
                flags[rows] = (np.bincount(cells, minlength=m) == 1)[cells]
            if flags.any():
                minimal[chosen] = flags
            unique[chosen] = known | flags
    return minimal


def msu_risk(pair: ScenarioPair) -> Measurement:
    """Return which share of the synthetic rows with a minimal unique has one of the original."""
    names = pair.scenario.columns
    levels = [pair.original[name].n_levels for name in names]
    tables = [[t[name].codes for name in names] for t in (pair.original, pair.synthetic)]
    ours, theirs = (minimal_uniques(columns, levels, LARGEST_UNIQUE) for columns in tables)
    any_unique, common = np.zeros((2, len(pair.synthetic)), dtype=bool)
    carries = np.zeros(pair.n, dtype=bool)
    for chosen, flags in theirs.items():
        any_unique |= flags
        if chosen not in ours:
            continue
        rows = np.flatnonzero(flags), np.flatnonzero(ours[chosen])
        sides = [[tables[1 - i][j][rows[i]] for j in chosen] for i in (0, 1)]
        (here, there), _ = key_cells(sides, [levels[j] for j in chosen])
        common[rows[0][np.isin(here, there)]] = True
        carries[rows[1][np.isin(there, here)]] = True
    details = {"with a minimal unique": int(any_unique.sum()), "shared": int(common.sum())}
    if not any_unique.any():
        return undefined(
            Note("no-minimal-unique", "the release has no minimal sample unique"), details=details
        )
    return rate(
        int(common.sum()),
        int(any_unique.sum()),
        reference=1.0,
        details=details,
        trace=lambda: carries.astype(np.float64),
    )


_PRECISION = (
    "A precision: a release that destroys the data scores low and may still publish many false "
    "disclosures; and it is undefined where nothing is homogeneous, however much is copied. Look "
    "at the counts beside it."
)

TABLES_ENTRIES = (
    Measure(
        name="groupDisclosure",
        function=group_disclosure,
        family="tables",
        says="true share of the homogeneous cells in tables of up to four keys by the target",
        attacker="sees tables made from the release and reads cells in which all share one target",
        formula="Σ_tables #(disclosive cells common to both) / Σ_tables #(disclosive in the "
        "release); target values of 90 % or more of the original are not counted",
        source=f"{KOLB}, eq. 1",
        blind_spot=_PRECISION,
        blind="a precision; undefined or low is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="TCAPratio",
        function=tcap_ratio,
        family="tables",
        says="true share of the combinations of all keys that show one target in the release",
        attacker="sees the release and reads combinations of keys in which all share one target",
        formula="#(q with s_tq = s_q and d_tq = d_q > 0) / #(q with s_tq = s_q)",
        source=f"{KOLB}, eq. 2",
        blind_spot=_PRECISION + " Combinations count once, however many people they hold.",
        blind="a precision; undefined or low is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.NOISE, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="MSU",
        function=msu_risk,
        family="tables",
        says="synthetic rows with a minimal sample unique that share one with the original",
        attacker="looks for combinations of few values that single out one synthetic record",
        formula="#(synthetic rows with a minimal unique that is one of the original) / #(synthetic "
        "rows with a minimal unique); up to six of keys and target combined",
        source=f"{KOLB}, eq. 3",
        blind_spot="Values must be unique in both tables: a unique that the release shows twice is "
        "not seen. A precision: look at the counts.",
        blind="a unique shown twice is not seen; 0 is no all-clear",
        fails=frozenset({Property.CERTAINTY, Property.GAIN}),
        default=False,
        by_size=True,
    ),
)
