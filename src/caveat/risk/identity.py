"""Identity: whose combination of keys is unique, and comes back in the release.

Exclusions of target levels have no say here: who can be found by her keys does not depend on what
the attacker then wants to read. (In synthpop they have; the class ``Disclosure`` gives those
figures.) Keys whose missing values are excluded do count as excluded.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from caveat.notes import Note
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate
from caveat.risk.pair import ScenarioPair

__all__ = ["ENTRIES", "margin_probability", "rep_u", "ui_o", "ui_o_i_s", "ui_s", "ui_s_i_o"]

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
