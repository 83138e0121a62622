"""Identity and attribute disclosure: unique keys that come back, match, or give a value away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.measure import Measure, Measurement, Property, rate, scaled, undefined
from caveat.risk.pair import ScenarioPair, denominators

RAAB = "Raab (2024), Privacy Risk from Synthetic Data: Practical Proposals, Appendix 1"


def ui_o(pair: ScenarioPair) -> Measurement:
    """Return the share of original records that are alone with their keys."""
    d, _ = pair.key_counts
    return rate(int((d == 1).sum()), pair.n, trace=lambda: _records(pair, d == 1))


def ui_s(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic records that are alone with their keys."""
    _, s = pair.key_counts
    return rate(int((s == 1).sum()), len(pair.cells.synthetic))


def ui_o_i_s(pair: ScenarioPair) -> Measurement:
    """Return the share of original records alone with their keys, which the release has too."""
    d, s = pair.key_counts
    here = (d == 1) & (s > 0)
    w, n_s = margin_probability(pair)[d == 1], len(pair.cells.synthetic)
    return rate(
        int(here.sum()),
        pair.n,
        baseline=_share(-np.expm1(n_s * np.log1p(-w)), pair.n),
        reference=ui_o(pair).value,
        trace=lambda: _records(pair, here),
    )


def ui_s_i_o(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic records alone with their keys, which the original has too.

    Of several original records with such keys each carries an equal part.
    """
    d, s = pair.key_counts
    here = (d > 0) & (s == 1)
    n_s = len(pair.cells.synthetic)
    return rate(
        int(here.sum()),
        n_s,
        baseline=_share(_once(pair, d > 0), n_s),
        reference=ui_o(pair).value,
        trace=lambda: (here / np.maximum(d, 1))[pair.cells.original],
    )


def rep_u(pair: ScenarioPair) -> Measurement:
    """Return the share of original records, alone with their keys, alone in the release too."""
    d, s = pair.key_counts
    here = (d == 1) & (s == 1)
    return rate(
        int(here.sum()),
        pair.n,
        baseline=_share(_once(pair, d == 1), pair.n),
        reference=ui_o(pair).value,
        notes=_no_uniques(pair),
        trace=lambda: _records(pair, here),
    )


def margin_probability(pair: ScenarioPair) -> NDArray[np.float64]:
    """Return for each cell its probability if the keys of the release were independent."""
    w = np.ones(pair.cells.n)
    for key, codes in pair.cells.codes.items():
        counts = pair.synthetic[key].counts
        w *= (counts / max(counts.sum(), 1))[codes]
    return np.minimum(w, 1 - 1e-12)


def _once(pair: ScenarioPair, cells: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the chance that independent keys show each of these cells exactly once."""
    w, n_s = margin_probability(pair)[cells], len(pair.cells.synthetic)
    return n_s * w * np.exp((n_s - 1) * np.log1p(-w)) if n_s else w


def _no_uniques(pair: ScenarioPair) -> tuple[Note, ...]:
    """Say what a value of 0 does not mean."""
    if (pair.key_counts[0] == 1).any():
        return ()
    says = "no original record is unique on these keys, so this is 0 whatever the release holds"
    return (Note("no-unique", says),)


def _share(parts: NDArray[np.float64], n: int) -> float | None:
    return float(parts.sum()) / n if n else None


def _records(pair: ScenarioPair, of_cell: NDArray[np.bool_]) -> NDArray[np.float64]:
    return of_cell[pair.cells.original].astype(np.float64)


_KEYS = frozenset({"keys"})
_LOOKS_UP = "has the release, knows the keys of somebody in the original, and looks for them"
_MARGINS = "the same count if the release kept the margins of the keys but not their joint pattern"

ENTRIES = (
    Measure(
        name="UiO",
        function=ui_o,
        family="identity",
        says="original records whose keys nobody else in the original has",
        attacker="holds the original itself: a reference for the other measures of identity",
        formula="100/N_d · Σ_q 1{d_q = 1}",
        source=f"{RAAB}, eq. 2",
        blind_spot="Says nothing of the release. A person unique in a sample need not be unique in "
        "the population.",
        blind="describes the original only",
        needs=_KEYS,
        direction="reference",
    ),
    Measure(
        name="UiS",
        function=ui_s,
        family="identity",
        says="synthetic records whose keys no other synthetic record has",
        attacker="sees the release only",
        formula="100/N_s · Σ_q 1{s_q = 1}",
        source=f"{RAAB}, eq. 3 (printed with the counts of the original, a slip)",
        blind_spot="Says nothing of the original: invented records are unique as well.",
        blind="describes the release only",
        needs=_KEYS,
        direction="reference",
    ),
    Measure(
        name="UiOiS",
        function=ui_o_i_s,
        family="identity",
        says="original uniques whose keys occur in the release at least once",
        attacker=_LOOKS_UP,
        formula="100/N_d · Σ_q 1{d_q = 1 and s_q > 0}",
        source=f"{RAAB}, eq. 4 (printed with the condition of repU, a slip)",
        blind_spot="Only the named keys are looked at: a record that is unique once the target is "
        "added may be copied whole and this stays 0. A match may also be chance.",
        blind="only sees uniques on the named keys; 0 is no all-clear",
        baseline=_MARGINS,
        needs=_KEYS,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.REASSURANCE}),
        by_size=True,
    ),
    Measure(
        name="UiSiO",
        function=ui_s_i_o,
        family="identity",
        says="synthetic uniques whose keys occur in the original at least once",
        attacker="sees a record that stands alone in the release, and takes it for a person",
        formula="100/N_s · Σ_q 1{s_q = 1 and d_q > 0}",
        source="synthpop 1.9-3, replicated.uniques: synthetic uniques in original",
        blind_spot="Only the named keys are looked at, and keys that the release shows twice do "
        "not count, though it may copy an original unique. Keys that many people share count like "
        "those of one.",
        blind="keys shown twice do not count, keys of many people do; 0 is no all-clear",
        baseline=_MARGINS,
        needs=_KEYS,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.REASSURANCE}),
        by_size=True,
    ),
    Measure(
        name="repU",
        function=rep_u,
        family="identity",
        says="original uniques that are unique in the release too",
        attacker=_LOOKS_UP,
        formula="100/N_d · Σ_q 1{d_q = 1 and s_q = 1}",
        source=f"{RAAB}, eq. 5; N_d below on purpose, Jackson et al. divide by N_s",
        blind_spot="Only the named keys are looked at, and a unique that the release shows twice "
        "does not count. In the 16-cell example the attacker is certain and repU is 0.",
        blind="only sees uniques on the named keys, shown exactly once; 0 is no all-clear",
        baseline=_MARGINS,
        needs=_KEYS,
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.REASSURANCE}),
        by_size=True,
    ),
)


# -------------------------------------------------------------------------------------------------
# Attribute disclosure: looking up a person's keys gives one value, and the right one.


def d_orig(pair: ScenarioPair) -> Measurement:
    """Return the share of original records in cells with one target only."""
    return _share_attribute(pair, "Dorig")


def d_syn(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic records in cells with one target only."""
    counts = pair.counted.Dsyn
    return rate(int(counts.sum()), len(pair.cells.synthetic), excluded=_excluded(pair, "Dsyn"))


def i_s(pair: ScenarioPair) -> Measurement:
    """Return the share of original records whose keys occur in the release."""
    return _share_attribute(pair, "iS", reference=1.0)


def di_s(pair: ScenarioPair) -> Measurement:
    """Return the share of original records whose keys show one target only in the release."""
    return _share_attribute(pair, "DiS", reference=d_orig(pair).value)


def di_s_co(pair: ScenarioPair) -> Measurement:
    """Return the share of original records whose keys show one target only, and it is theirs."""
    largest, mean = denominators(pair.joint, pair.counted, pair.rules)
    notes: tuple[Note, ...] = ()
    if not pair.counted.DiSCO.any():
        notes = (
            Note(
                "no-homogeneous-cell",
                "0 also when every cell shows two targets, one of them a copied outlier: "
                "it says that no cell is homogeneous, not that nobody is disclosed",
            ),
        )
    return _share_attribute(
        pair,
        "DiSCO",
        baseline=chance_of_disco(pair),
        reference=d_orig(pair).value,
        notes=notes,
        details={"max_denom": largest, "mean_denom": mean},
    )


def di_s_di_o(pair: ScenarioPair) -> Measurement:
    """Return DiSCO among records whose keys show one target only in the original too."""
    return _share_attribute(pair, "DiSDiO", reference=d_orig(pair).value)


def chance_of_disco(pair: ScenarioPair) -> float | None:
    """Return the DiSCO to expect if the release had these keys and targets but no link of the two.

    With targets drawn from the release's own distribution p, all s records of a cell show t with
    probability p_t^s. A release whose target is constant has DiSCO equal to this number.
    """
    joint = pair.joint
    n_s = len(pair.cells.synthetic)
    if not pair.n or not n_s:
        return None
    p = joint.s_target / n_s
    there = pair.counted.iS > 0
    expected = pair.counted.iS[there] * p[joint.target[there]] ** joint.s_all[there]
    return float(expected.sum()) / pair.n


def _share_attribute(pair: ScenarioPair, table: str, **more: object) -> Measurement:
    return rate(
        int(getattr(pair.counted, table).sum()),
        pair.n,
        excluded=_excluded(pair, table),
        trace=lambda: pair.carries(table),
        **more,
    )


def _excluded(pair: ScenarioPair, table: str) -> int:
    removed = pair.counted.removed[table]
    return sum(n for reason, n in removed.items() if reason != "remaining")


UNLINKED = "its expectation if keys and target of the release were unlinked"
_READS = (
    "has the release and takes it for the truth; knows the keys of somebody in the original; "
    "looks them up and believes what she finds if all records found agree"
)

ATTRIBUTE_ENTRIES = (
    Measure(
        name="Dorig",
        function=d_orig,
        family="attribute",
        says="original records whose keys already fix the target in the original",
        attacker="holds the original itself: a reference for DiSCO",
        formula="100/N_d · Σ_tq d_tq 1{d_tq = d_q}",
        source=f"{RAAB}, eq. 8",
        blind_spot="Says nothing of the release.",
        blind="describes the original only",
        direction="reference",
    ),
    Measure(
        name="Dsyn",
        function=d_syn,
        family="attribute",
        says="synthetic records whose keys fix the target in the release",
        attacker="sees the release only",
        formula="100/N_s · Σ_tq s_tq 1{s_tq = s_q}",
        source="Raab, Nowok, Dibben (2024), Practical privacy metrics for synthetic data",
        blind_spot="Says nothing of the original: what is disclosed may be false.",
        blind="describes the release only",
        direction="reference",
    ),
    Measure(
        name="iS",
        function=i_s,
        family="attribute",
        says="original records whose keys occur in the release",
        attacker=_READS,
        formula="100/N_d · Σ_q d_q 1{s_q > 0}",
        source=f"{RAAB}, eq. 9 (printed with s_tq, a slip)",
        blind_spot="Finding one's keys is not yet learning anything: with few keys it is 100 for "
        "any release.",
        blind="finding keys is not learning the target",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
    ),
    Measure(
        name="DiS",
        function=di_s,
        family="attribute",
        says="original records whose keys show one target only in the release, right or wrong",
        attacker=_READS,
        formula="100/N_d · Σ_q d_q 1{max_t s_tq = s_q > 0}",
        source=f"{RAAB}, eq. 10",
        blind_spot="Counts wrong readings as well as right ones, and none where a cell shows two "
        "targets.",
        blind="right and wrong readings alike; two values in a cell hide it",
        fails=frozenset(Property),
    ),
    Measure(
        name="DiSCO",
        function=di_s_co,
        family="attribute",
        says="original records whose keys show one target only in the release, and it is theirs",
        attacker=_READS,
        formula="100/N_d · Σ_tq d_tq 1{s_tq = s_q > 0}",
        source=f"{RAAB}, eq. 11",
        blind_spot="Blind wherever a cell shows two targets: it falls to 0 when a unique record is "
        "copied into a homogeneous cell, and rises when the target is replaced by a constant "
        "(SD2011: 9.58 to 14.73).",
        blind="a copied outlier lowers it, a constant target raises it; 0 is no all-clear",
        baseline=UNLINKED,
        fails=frozenset(Property),
    ),
    Measure(
        name="DiSDiO",
        function=di_s_di_o,
        family="attribute",
        says="DiSCO restricted to records whose keys fix the target in the original too",
        attacker=_READS,
        formula="100/N_d · Σ_tq d_tq 1{s_tq = s_q > 0 and d_tq = d_q}",
        source=f"{RAAB}, Appendix 1",
        blind_spot="As DiSCO; in addition it ignores readings that are right for some of a cell.",
        blind="as DiSCO, and blind to cells mixed in the original",
        fails=frozenset(Property),
        by_size=True,
    ),
)


# -------------------------------------------------------------------------------------------------
# What a model says of people it has not seen: the baseline of an attack on single records.
#
# Right guesses that follow from how keys and target go together in the population are no
# disclosure. How many there are is seen on records that were held out: each one is guessed by a
# model that was fitted to all the others.


Floats = NDArray[np.float64]

PENALTY = 1.0  # of the squared coefficients: as much as one more record of every level
COLUMNS = 2_000  # levels of keys that have a coefficient of their own, the most frequent first
CELLS = 1 << 22  # numbers held at a time
TIE = 1e-9


def held_out_precision(pair: ScenarioPair) -> float | None:
    """Return how often a model names the target of an original record that it was not fitted to.

    None for fewer than two records.
    """
    joint = pair.joint
    here = np.flatnonzero(joint.d > 0)
    codes = [pair.cells.codes[key] for key in pair.scenario.keys]
    right = leave_one_out(codes, joint.cell[here], joint.target[here], joint.d[here])
    return None if right is None else right / pair.n


def leave_one_out(
    keys: Sequence[NDArray[Any]],
    cells: NDArray[np.integer[Any]],
    targets: NDArray[np.integer[Any]],
    counts: NDArray[np.integer[Any]],
) -> float | None:
    """Return how many records a model fitted to all the others names the target of.

    The model is linear: a 0/1 column for each level of each key, a 0/1 outcome for each target,
    least squares with a ridge penalty; the target of the largest fitted value is named, of several
    each counts in part. What it says without a record follows from the fit to all of them:
    (ŷ − h y) / (1 − h) with h from the diagonal of the hat matrix. So nothing is drawn, and neither
    the order of the rows nor the names of the levels matter.

    Parameters
    ----------
    keys
        For each key, its code in each cell.
    cells, targets, counts
        How many records have which cell and which target.

    Examples
    --------
    >>> sex = np.array([0, 1])
    >>> cells, jobs = np.array([0, 1, 1]), np.array([0, 1, 0])
    >>> float(leave_one_out([sex], cells, jobs, np.array([3, 4, 1])))
    7.0
    """
    if counts.sum() < 2:
        return None
    n_cells = len(keys[0])
    weight = np.bincount(cells, counts, n_cells).astype(np.float64)
    x = _columns(keys, weight)
    # A target that one record has is unknown without it: it can only be missed.
    held = np.bincount(targets, counts)[targets] > 1
    cells, counts = cells[held], counts[held]
    names, targets = np.unique(targets[held], return_inverse=True)
    if not len(names):
        return 0.0
    inverse = np.linalg.inv((x.T @ x.multiply(weight[:, None])).toarray() + _penalty(x))
    there = scipy.sparse.csr_array((counts, (cells, targets)), shape=(n_cells, len(names)))
    coefficient = inverse @ (x.T @ there).toarray()
    right, step = 0.0, max(1, CELLS // max(coefficient.shape))
    for start in range(0, len(cells), step):
        part = slice(start, start + step)
        rows = x[cells[part]]
        fitted = rows @ coefficient
        own = np.arange(len(fitted)), targets[part]
        fitted[own] -= rows.multiply(rows @ inverse).sum(axis=1)
        best = fitted >= fitted.max(axis=1, keepdims=True) - TIE
        right += float((counts[part] * best[own] / best.sum(axis=1)).sum())
    return right


def _columns(keys: Sequence[NDArray[Any]], weight: Floats) -> scipy.sparse.csr_array:
    """Return a 0/1 column for each level that two records have, the most frequent ones, and 1."""
    often = [np.bincount(key, weight) for key in keys]
    counts = np.concatenate(often)
    kept = np.flatnonzero(counts > 1)
    kept = kept[np.argsort(-counts[kept], kind="stable")][:COLUMNS]
    place = np.full(len(counts), -1)
    place[kept] = np.arange(len(kept))
    starts = np.cumsum([0, *map(len, often)])
    columns = [place[key + start] for key, start in zip(keys, starts, strict=False)]
    columns.append(np.full(len(weight), len(kept)))
    rows, where = np.tile(np.arange(len(weight)), len(columns)), np.concatenate(columns)
    shape = (len(weight), len(kept) + 1)
    there = where >= 0
    return scipy.sparse.csr_array((np.ones(there.sum()), (rows[there], where[there])), shape=shape)


def _penalty(x: scipy.sparse.csr_array) -> Floats:
    return PENALTY * np.eye(x.shape[1])


# -------------------------------------------------------------------------------------------------
# One-to-one matches: a person unique on the keys meets a synthetic record unique on the keys.


FRANCIS = "Francis (2024), A Comparison of SynDiffix Multi-table Versus Single-table"


def match_precision(pair: ScenarioPair) -> Measurement:
    """Return how often the target agrees where both sides are unique on the same keys."""
    matched, right = _right(pair)
    n = int(matched.sum())
    if not n:
        return undefined(Note("no-match", "no original unique is a synthetic unique as well"))
    return rate(
        int(right.sum()),
        n,
        baseline=float(pair.joint.d_target.max()) / pair.n,
        reference=1.0,
        details={"matches": n, "coverage": n / pair.n},
        trace=lambda: _right(pair)[1][pair.position].astype(np.float64),
    )


def precision_improvement(pair: ScenarioPair) -> Measurement:
    """Return the precision of one-to-one matches where 0 is what a model says of strangers."""
    matched, right = _right(pair)
    n, found = int(matched.sum()), match_precision(pair)
    base = held_out_precision(pair)
    if found.value is None or base is None:
        few = Note("one-record", "there is no other record that a model could be fitted to")
        return undefined(found.notes[0] if found.value is None else few)
    return improvement(int(right.sum()), n, base, coverage=n / pair.n, trace=found.trace)


def improvement(
    right: int, matches: int, base: float, *, coverage: float | None = None, trace: Any = None
) -> Measurement:
    """Return (P_atk − P_base) / (1 − P_base) from counts of matches.

    Parameters
    ----------
    right, matches
        One-to-one matches whose target is right, and all of them.
    base
        How often a model names the target of a record that it was not fitted to.
    coverage, trace
        Share of the records that are matched, and what each record carries.

    Examples
    --------
    >>> improvement(3, 4, 0.5).value
    0.5
    """
    attack = rate(right, matches)
    if attack.value is None or attack.interval is None:
        return attack
    ends = [scaled(x, base) for x in (attack.value, *attack.interval)]
    if ends[0] is None:
        return undefined(Note("always-right", "the model is always right: nothing to learn"))
    return Measurement(
        ends[0],
        interval=(ends[1] or 0.0, ends[2] or 0.0),
        baseline=0.0,
        n=matches,
        details={
            "matches": matches,
            "coverage": coverage,
            "P_atk": attack.value,
            "P_base": base,
        },
        trace=trace,
    )


def _right(pair: ScenarioPair) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which pairs are matches, and which of them have the right target."""
    joint = pair.joint
    matched = (joint.d_all == 1) & (joint.s_all == 1) & (joint.d == 1)
    return matched, matched & (joint.s == 1)


_JOINS = (
    "has the release, knows the keys of somebody who is unique, and takes the only synthetic "
    "record with these keys for hers"
)
_UNIQUE = "Looks only at records unique on the keys on both sides; report the coverage. "
_SPOT = _UNIQUE + (
    "Right guesses that follow from the population count as well: PI has a model tested on people "
    "outside its data as its baseline, the most frequent value is a weak one."
)

MATCHING_ENTRIES = (
    Measure(
        name="matchPrecision",
        function=match_precision,
        family="matching",
        says="how often the target is right where a unique meets a unique on the same keys",
        attacker=_JOINS,
        formula="#(q with d_q = s_q = 1 and the same target) / #(q with d_q = s_q = 1) · 100",
        source=f"{FRANCIS}, P_atk",
        blind_spot=_SPOT,
        blind="only one-to-one matches; undefined is no all-clear",
        baseline="the most frequent target of the original",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION, Property.GAIN}),
        default=False,
        by_size=True,
    ),
    Measure(
        name="PI",
        function=precision_improvement,
        family="matching",
        says="matchPrecision on a scale from 0 (a model's guess for a stranger) to 100",
        attacker=_JOINS,
        formula="(P_atk − P_base) / (100 − P_base) · 100; may be negative; P_base: how often ridge "
        "regression on 0/1 columns of the keys, fitted to all other records, names a record's "
        "target",
        source=f"{FRANCIS}, PI; there P_base is an L1 logistic regression tested on 30 % of the "
        "records, and PI is 0 where P_base is 100: here it is undefined",
        blind_spot=_UNIQUE + "Far below 0 where P_base is near 100. The model is linear: what only "
        "a combination of keys tells about the population counts as disclosure.",
        blind="only one-to-one matches; undefined is no all-clear",
        baseline="0 by construction",
        fails=frozenset({Property.CERTAINTY, Property.INFORMATION}),
        default=False,
        by_size=True,
    ),
)
