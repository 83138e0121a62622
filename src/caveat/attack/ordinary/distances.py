"""Distances between release and original: diagnostics, not evidence of safety."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.attack.figures import Attack, Finding
from caveat.attack.ordinary.common import (
    CONTROL,
    Part,
    attack_measure,
    categories_first,
    cut_note,
    level_values,
    mixed,
    nearest_rows,
    place,
    prepare,
    seeds,
    whitened,
)
from caveat.errors import CaveatError
from caveat.nearest import Floats, Ints, Mixed, Vectors, euclid_nearest, gower_nearest
from caveat.notes import Note
from caveat.risk.measure import Measurement, rate, undefined
from caveat.table import Column, Pair, Table
from caveat.table.cells import key_cells

NEIGHBOURS = 5
LEAST_SHARED = 3
LEAST_SIMILAR = 2
SMALL = 5
FEW = Note("few-records", "there are fewer records than neighbours", public=True)


def shared_neighbour_identifiability(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: Sequence[str] | None = None,
    neighbours: int = NEIGHBOURS,
    seed: int = 0,
) -> Measurement:
    """Return the share of synthetic records in small clusters that hold an original as well (SNI).

    Parameters
    ----------
    original, synthetic, control
        Frames or tables; for the control the same with people outside the data in the place of the
        original.
    columns
        The columns to use; all that the tables share by default.
    neighbours
        How many nearest records are neighbours. Not printed in the paper; its values appear with
        4 to 7.
    seed
        Decides between equally near records.
    """
    tables = prepare(original, synthetic, control, columns)
    n = min(len(people) for people in tables.people)
    if neighbours < 1:
        raise CaveatError(
            "records have at least one neighbour",
            do="give neighbours from 1 up",
            code="attack.setting.range",
        )
    if n + len(tables.synthetic) <= neighbours:
        return undefined(FEW)
    found = [_at_risk(_first(people, n), tables, neighbours, seed) for people in tables.people]
    risky, noise = found[0]
    more = {}
    if len(found) > 1:
        more = {"control": found[1][0] / len(tables.synthetic), "control_n": len(tables.synthetic)}
    return rate(
        risky,
        len(tables.synthetic),
        details={"neighbours": neighbours, "share in no cluster": noise},
        **more,
    )


def _first(people: Table, n: int) -> Table:
    """Cut people to so many records, evenly through the table."""
    if len(people) == n:
        return people
    return people.take(np.linspace(0, len(people) - 1, n).astype(np.int64))


def _at_risk(people: Table, tables: Pair, k: int, seed: int) -> tuple[int, float]:
    """Return how many synthetic records are in clusters at risk, and the share in none."""
    parts = mixed([people, tables.synthetic], people.names, tables.original)
    pool = Mixed(*(np.concatenate(sides) for sides in zip(*parts, strict=True)))
    (rng,) = seeds(seed, 1)
    near = gower_nearest(pool, pool, k, rng=rng, own=np.arange(pool.n)).position
    cluster = shared_neighbour_clusters(near)
    ours = np.arange(pool.n) < len(people)
    there = cluster >= 0
    if not there.any():
        return 0, 1.0
    originals, others = (np.bincount(cluster[there & side]) for side in (ours, ~ours))
    size = max(len(originals), len(others))
    originals, others = (np.pad(c, (0, size - len(c))) for c in (originals, others))
    risky = (originals > 0) & (others > 0) & (originals + others < SMALL)
    return int(others[risky].sum()), float(1 - there.mean())


def shared_neighbour_clusters(
    near: Ints, *, least_shared: int = LEAST_SHARED, least_similar: int = LEAST_SIMILAR
) -> Ints:
    """Return the cluster of each record, and −1 for records that are in none.

    Parameters
    ----------
    near
        For each record the positions of its nearest others, the nearest first.
    least_shared
        Records are similar if they share so many neighbours ("Eps").
    least_similar
        Records with so many similar ones are the cores of clusters ("MinPts").

    Examples
    --------
    >>> near = np.array([[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2], [0, 1, 2]])
    >>> shared_neighbour_clusters(near, least_shared=2).tolist()
    [0, 0, 0, 0, -1]
    """
    n, k = near.shape
    start, end = np.repeat(np.arange(n), k), near.ravel()
    mutual = (near[end] == start[:, None]).any(axis=1)
    start, end = start[mutual], end[mutual]
    shared = (near[start][:, :, None] == near[end][:, None, :]).sum(axis=(1, 2))
    strong = shared >= least_shared
    start, end, shared = start[strong], end[strong], shared[strong]
    core = np.bincount(start, minlength=n) >= least_similar
    joined = core[start] & core[end]
    links = scipy.sparse.csr_array(
        (np.ones(joined.sum()), (start[joined], end[joined])), shape=(n, n)
    )
    _, label = scipy.sparse.csgraph.connected_components(links, directed=False)
    cluster = np.where(core, label, -1)
    # Others go with the core record that they share most with, the nearest of several.
    loose = ~core[start] & core[end]
    order = np.flatnonzero(loose)[::-1]
    order = order[np.argsort(shared[order], kind="stable")]
    cluster[start[order]] = label[end[order]]
    return np.asarray(cluster)


SNI = attack_measure(
    "columns",
    name="SNI",
    function=shared_neighbour_identifiability,
    family="diagnostics",
    says="synthetic records in clusters of fewer than five that hold an original as well",
    attacker="none: a diagnostic, to be read beside the control",
    formula="100/m · #(synthetic records in clusters of < 5 records of both kinds); a "
    "cluster: records that share 3 of their 5 nearest neighbours (MinPts 2)",
    source="Miletic, Sariyar (2024), Shared Neighbor Identifiability; they do not print k, "
    "the number of neighbours",
    blind_spot="A copy of the original scores low, since few of its records are in small "
    "clusters: 14 % on the Pima data, where a CART release has 7, and 0.7 % with 20 "
    "neighbours. The number of neighbours decides more than the release. Never read it "
    "alone.",
    blind="a copy scores low; k decides; never alone",
    by_size=True,
)


# -------------------------------------------------------------------------------------------------
# Distances between release and original: diagnostics, not evidence of safety.
#
# None of these is a measure of privacy. Each is shown beside the same number for people who were
# not in the data, and its entry in MEASURES names the published counter-examples.


def closest_record(
    original: Any, synthetic: Any, *, control: Any = None, columns: Sequence[str] | None = None
) -> Measurement:
    """Return the median Gower distance of a synthetic record to the closest original (DCR).

    The control is the same with people who were not in the data in the place of the original, cut
    to the size of the smaller of the two; the 5 % quantiles are among the details.
    """
    whole = prepare(original, synthetic, control, columns)
    tables = _cut(whole)
    found = [_closest(tables.synthetic, people)[:, 0] for people in tables.people]
    details = {
        "5 % quantile": float(np.quantile(found[0], 0.05)),
        "share 0": float(_zero(found[0])),
    }
    if len(found) > 1:
        details["5 % quantile, control"] = float(np.quantile(found[1], 0.05))
    return Measurement(
        float(np.median(found[0])),
        control=float(np.median(found[1])) if len(found) > 1 else None,
        reference=0.0,
        n=len(found[0]),
        details=details,
        notes=_whole(whole, tables, lambda t: f"{_median_closest(t):.4f}"),
    )


def closest_share(
    original: Any, synthetic: Any, *, control: Any, columns: Sequence[str] | None = None
) -> Measurement:
    """Return the share of synthetic records closer to the original than to the control.

    The baseline is the share of a release that knows the two equally well, n/(n + control): a half
    when they are of one size. Equally close ones count as much.
    """
    tables = prepare(original, synthetic, control, columns)
    if tables.control is None:
        raise CaveatError(
            "this diagnostic needs a control",
            do="give people outside the data",
            code="attack.control.absent",
        )
    ours, theirs = (_closest(tables.synthetic, people)[:, 0] for people in tables.people)
    n, others = map(len, tables.people)
    return rate(
        float((ours < theirs).sum() + (ours == theirs).sum() * n / (n + others)),
        len(ours),
        baseline=n / (n + others),
    )


def neighbour_ratio(
    original: Any, synthetic: Any, *, control: Any = None, columns: Sequence[str] | None = None
) -> Measurement:
    """Return the median ratio of the distances to the closest and second closest original (NNDR).

    Where both are 0 the ratio is 1: the record is hidden among its likes.
    """
    whole = prepare(original, synthetic, control, columns)
    tables = _cut(whole)
    found = [_ratios(tables.synthetic, people) for people in tables.people]
    return Measurement(
        float(np.median(found[0])),
        control=float(np.median(found[1])) if len(found) > 1 else None,
        n=len(found[0]),
        details={"5 % quantile": float(np.quantile(found[0], 0.05))},
        notes=_whole(whole, tables, lambda t: f"{np.median(_ratios(t.synthetic, t.original)):.4f}"),
    )


def _ratios(release: Table, people: Table) -> Floats:
    distance = _closest(release, people, 2)
    if distance.shape[1] < 2:
        raise CaveatError(
            "a ratio needs two records to compare with",
            do="give more records",
            code="data.record.too-few",
        )
    first, second = distance.T
    return np.asarray(np.divide(first, second, out=np.ones(len(first)), where=second > 0))


def identical_matches(
    original: Any, synthetic: Any, *, control: Any = None, columns: Sequence[str] | None = None
) -> Measurement:
    """Return the share of synthetic records that equal an original record (IMS), beside control."""
    whole = prepare(original, synthetic, control, columns)
    tables = _cut(whole)
    shares = [_identical(tables.synthetic, people) for people in tables.people]
    notes = _whole(
        whole, tables, lambda t: f"{100 * _identical(t.synthetic, t.original).mean():.1f} %"
    )
    return _against(shares, reference=1.0, notes=notes)


def _identical(release: Table, people: Table) -> NDArray[np.bool_]:
    """Return which synthetic records occur among people."""
    sides = [[table[name].codes for name in people.names] for table in (release, people)]
    (theirs, ours), n = key_cells(sides, [people[name].n_levels for name in people.names])
    there = np.zeros(n, dtype=bool)
    there[ours] = True
    return np.asarray(there[theirs])


def epsilon_identifiability(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: Sequence[str] | None = None,
    scale: Literal["sd", "raw"] = "sd",
) -> Measurement:
    """Return the share of originals that a synthetic record is nearer to than any other original.

    Euclidean distance; every column is divided by the entropy of its values in the original (Yoon,
    Drumright and van der Schaar 2020), columns of entropy 0 are left out. The control is the same
    with people outside the data in the place of the original. An independent sample of the same
    size gives about n/(2n − 1), a half.

    Parameters
    ----------
    original, synthetic, control
        Frames or tables.
    columns
        The columns to use; all that the tables share by default.
    scale
        "sd" divides numbers by their standard deviation first; "raw" takes them as they are, with
        the entropy of their values rounded to whole numbers, as the publications do: then columns
        with large numbers decide alone.
    """
    tables = _cut(prepare(original, synthetic, control, columns))
    release, *known = weighted(tables.original, [tables.synthetic, *tables.people], scale=scale)
    shares = []
    for ours in known:
        itself = euclid_nearest(ours, ours, own=np.arange(len(ours.values))).distance
        if not itself.shape[1]:
            raise CaveatError(
                "one record has no neighbour", do="give at least two", code="data.record.too-few"
            )
        shares.append(euclid_nearest(ours, release).distance[:, 0] < itself[:, 0])
    n, m = len(tables.original), len(tables.synthetic)
    return _against(shares, baseline=m / (m + n - 1))


def closer_than_neighbour(
    original: Any,
    synthetic: Any,
    *,
    control: Any = None,
    columns: Sequence[str] | None = None,
) -> Measurement:
    """Return the share of synthetic records nearer to an original than its nearest neighbour is.

    The rule by which arXiv:2310.06571 removes synthetic records: the nearest original record of a
    synthetic one is found, and the synthetic one is too close if that record's nearest other
    original is farther away.

    Returns
    -------
    A share of the synthetic records; for the control the same with the control in the place
    of the original. Independent data of the same size score about a half.
    """
    tables = prepare(original, synthetic, control, columns)
    # Euclidean after the correlation of numbers and 0/1 columns is taken out.
    release, *sides = whitened(tables.original, [tables.synthetic, *tables.people])
    shares = []
    for people, side in zip(tables.people, sides, strict=True):
        itself = euclid_nearest(side, side, own=np.arange(len(people))).distance
        if not itself.shape[1]:
            raise CaveatError(
                "one record has no neighbour", do="give at least two", code="data.record.too-few"
            )
        found = euclid_nearest(release, side)
        shares.append(found.distance[:, 0] < itself[found.position[:, 0], 0])
    more = {}
    if len(shares) > 1:
        more = {"control": float(shares[1].mean()), "control_n": len(shares[1])}
    return rate(int(shares[0].sum()), len(shares[0]), baseline=0.5, **more)


def weighted(original: Table, tables: Sequence[Table], *, scale: str) -> list[Vectors]:
    """Return numbers and 0/1 columns, each divided by the entropy of the column."""
    categories, ordered = categories_first(original)
    parts: list[Part] = []
    ends, start = [], 0
    for name in [*categories, *ordered]:
        levels = _weighted_levels(original[name], scale)
        if levels is None:
            continue
        parts.append(Part(name, start, levels))
        start += levels.shape[1]
        if name in categories:
            ends.append(start)
    return [place(table, parts, np.array(ends, np.int64)) for table in tables]


def _weighted_levels(column: Column, scale: str) -> Floats | None:
    """Return a row for each level, or nothing for a column without entropy."""
    counts = column.counts
    if column.kind.is_number and scale == "raw":
        rounded = np.append(np.round(column.numbers), np.inf + np.arange(len(column.missing)))
        counts = np.bincount(np.unique(rounded, return_inverse=True)[1], counts)
    entropy = _entropy(counts)
    if not entropy:
        return None
    if column.kind.is_number and scale == "raw" and not column.missing:
        return np.asarray(column.numbers[:, None] / entropy)
    return level_values(column) / entropy


def _entropy(counts: NDArray[Any]) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log(share)).sum())


def _against(shares: Sequence[NDArray[np.bool_]], **more: Any) -> Measurement:
    """Return the share of the original, with that of the control if there is one."""
    if len(shares) > 1:
        more |= {"control": float(shares[1].mean()), "control_n": len(shares[1])}
    return rate(int(shares[0].sum()), len(shares[0]), **more)


def _closest(release: Table, people: Table, k: int = 1) -> Floats:
    """Return the distances of synthetic records to their closest people; units of the release."""
    return nearest_rows(release, people, people.names, k, scale=release).distance


def _median_closest(tables: Pair) -> float:
    return float(np.median(_closest(tables.synthetic, tables.original)))


def _whole(whole: Pair, cut: Pair, value: Callable[[Pair], str]) -> tuple[Note, ...]:
    """Say what the value is for all originals, if some were left out to compare with the control.

    A copy of the original would else look like a copy of a part of it.
    """
    if len(cut.original) == len(whole.original):
        return ()
    return (cut_note(len(cut.original), value(whole)),)


def _zero(distance: Floats) -> float:
    return float(np.mean(distance == 0))


def _cut(tables: Pair) -> Pair:
    """Cut original and control to the same number of records, evenly through the table."""
    if tables.control is None:
        return tables
    n = min(len(tables.original), len(tables.control))
    parts = [
        table.take(np.linspace(0, len(table) - 1, n).astype(np.int64)) for table in tables.people
    ]
    return Pair(parts[0], tables.synthetic, parts[1])


def _run(original: Any, synthetic: Any, *, control: Any) -> list[Finding]:
    return [
        Finding(entry.name, "", entry.function(original, synthetic, control=control))
        for entry in ATTACK.measures
        if control is not None or "control" not in entry.needs
    ]


GANEV = (
    "Counter-examples: Ganev and De Cristofaro (2023), On the Inadequacy of Similarity-based "
    "Privacy Metrics, rebuild records of releases that pass it; Yao et al. (2025), The DCR "
    "Delusion, find members in releases that it calls private; in the 16 cells of Latner, "
    "Neunhoeffer and Drechsler it is the same whether or not the one record is given away."
)
NO_PROOF = "fails against releases that give records away; no proof of safety"

ATTACK = Attack(
    name="distances",
    does="no attack: how near synthetic and original records lie",
    run=_run,
    options=(CONTROL,),
    measures=(
        attack_measure(
            "columns",
            name="DCR",
            function=closest_record,
            family="diagnostics",
            says="median distance of synthetic records to the closest original (0 to 1)",
            attacker="none: a diagnostic, to be read beside the control",
            formula="median over synthetic i of min_j gower(i, j)",
            source="Zhao, Kunar, Birke, Chen (2021), CTAB-GAN; peers call it DCR",
            blind_spot=GANEV,
            blind=NO_PROOF,
            direction="lower is riskier",
            unit="score",
            by_size=True,
        ),
        attack_measure(
            "columns",
            "control",
            name="DCRshare",
            function=closest_share,
            family="diagnostics",
            says="synthetic records closer to the original than to people outside the data",
            attacker="none: a diagnostic",
            formula="100/m · #(i: min over originals < min over control), ties in parts",
            source="Platzner, Reutterer (2021), Holdout-based empirical assessment",
            blind_spot=GANEV,
            blind=NO_PROOF,
            baseline="n/(n + size of the control): the release knows both equally well",
            by_size=True,
        ),
        attack_measure(
            "columns",
            name="NNDR",
            function=neighbour_ratio,
            family="diagnostics",
            says="median ratio of the distances to the closest and second closest original",
            attacker="none: a diagnostic, to be read beside the control",
            formula="median over synthetic i of d_1(i)/d_2(i); 1 where both are 0",
            source="Zhao, Kunar, Birke, Chen (2021), CTAB-GAN",
            blind_spot=GANEV,
            blind=NO_PROOF,
            direction="lower is riskier",
            unit="score",
            by_size=True,
        ),
        attack_measure(
            "columns",
            name="IMS",
            function=identical_matches,
            family="diagnostics",
            says="synthetic records that equal an original in every column, beside the control",
            attacker="none: a diagnostic, to be read beside the control",
            formula="100/m · #(synthetic rows that occur in the original)",
            source="peers call it identical match share",
            blind_spot=GANEV + " One changed digit hides every copy.",
            blind=NO_PROOF,
            by_size=True,
        ),
        attack_measure(
            "columns",
            name="epsilonIdentifiability",
            function=epsilon_identifiability,
            family="diagnostics",
            says="originals that a synthetic record is nearer to than any other original",
            attacker="none: a diagnostic, to be read beside the control",
            formula="100/n · #(j: min_i d(j, i) < min_k≠j d(j, k)), columns divided by "
            "their entropy",
            source="Yoon, Drumright, van der Schaar (2020), ADS-GAN; Miletic, Sariyar (2024)",
            blind_spot="Independent data score about 50: small values mean a bad fit, not privacy. "
            + GANEV,
            blind="independent data score about 50; small values mean a bad fit",
            baseline="m/(m + n − 1): an independent sample of m records",
            by_size=True,
        ),
        attack_measure(
            "columns",
            name="tooClose",
            function=closer_than_neighbour,
            family="diagnostics",
            says="synthetic records nearer to an original than its nearest neighbour is",
            attacker="none: the rule of a filter, Mahalanobis distance",
            formula="100/m · #(i: d(i, j) < min_k≠j d(j, k), j the original nearest to i)",
            source="arXiv:2310.06571, distance-based filter",
            blind_spot=GANEV,
            blind=NO_PROOF,
            baseline="50: about the value of independent data of the same size",
            by_size=True,
        ),
        SNI,
    ),
    example="--control control.csv",
)
