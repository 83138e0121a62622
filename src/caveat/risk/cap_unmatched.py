"""CAP by what is done with keys that the release does not have: 0, left out, or the nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from caveat.nearest import Floats, cell_pools, nearest_pools
from caveat.notes import Note
from caveat.risk.cap import AVERAGE, AVERAGE_FAILS, AVERAGE_SHORT, DRAW, DRAWS, cell_share
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate, undefined
from caveat.risk.pair import ScenarioPair
from caveat.table.cells import Ints

__all__ = ["ENTRIES", "gcap", "gcap_pools"]

HITTMEIR = "Hittmeir, Mayer, Ekelhart (2020), A Baseline for Attribute Disclosure Risk"


def zero_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP with 0 for records whose keys the release does not have."""
    return _mean(pair, cell_share)


def i_cap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP of the records whose keys the release has."""
    return _mean_of_matched(pair, cell_share)


def gcap(pair: ScenarioPair) -> Measurement:
    """Return the mean CAP, keys not in the release taken from the nearest ones that are."""
    return _nearest(pair, 0)


def accuracy_zero(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target of the cell is right, no cell counting as wrong."""
    return _mean(pair, _cell_credit, baseline=zero_rule(pair))


def accuracy_ignored(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target of the cell is right, where there is a cell."""
    return _mean_of_matched(pair, _cell_credit, baseline=zero_rule(pair))


def accuracy_nearest(pair: ScenarioPair) -> Measurement:
    """Return how often the most frequent target among the nearest records is right."""
    return _nearest(pair, 1, baseline=zero_rule(pair))


def zero_rule(pair: ScenarioPair) -> float | None:
    """Return how often the most frequent target of the release, guessed for all, is right."""
    if not pair.n or not len(pair.cells.synthetic):
        return None
    mode = pair.joint.s_target == pair.joint.s_target.max()
    return float(pair.joint.d_target[mode].mean()) / pair.n


def gcap_pools(pair: ScenarioPair) -> tuple[Floats, Floats, Ints]:
    """Return share, chance of a right guess and distance of the nearest pool of every pair."""
    keys = pair.scenario.keys
    codes = [pair.cells.codes[key] for key in keys]
    return nearest_pools(pair.joint, codes, [pair.original[key].n_levels for key in keys])


def _cell_credit(pair: ScenarioPair) -> Floats:
    return cell_pools(pair.joint)[1]


def _nearest(pair: ScenarioPair, which: Literal[0, 1], **more: Any) -> Measurement:
    if not len(pair.cells.synthetic):
        return undefined(Note("empty-release", "the release has no record"))
    *found, distance = gcap_pools(pair)
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    d = pair.counted.original
    return rate(
        float((found[which] * d).sum()),
        pair.n,
        details={
            "not in the release": int(d[distance > 0].sum()),
            "largest distance": int(distance.max(initial=0)),
        },
        trace=lambda: gcap_pools(pair)[which][pair.position],
        **more,
    )


def _mean(
    pair: ScenarioPair, of_pairs: Callable[[ScenarioPair], Floats], **more: Any
) -> Measurement:
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    total = float((of_pairs(pair) * pair.counted.original).sum())
    return rate(total, pair.n, trace=lambda: of_pairs(pair)[pair.position], **more)


def _mean_of_matched(
    pair: ScenarioPair, of_pairs: Callable[[ScenarioPair], Floats], **more: Any
) -> Measurement:
    more.setdefault("baseline", pair.disclosure.baseCAPd)
    d = pair.counted.iS
    if not d.any():
        return undefined(
            Note("no-known-keys", "no original record has keys that occur in the release")
        )
    return rate(
        float((of_pairs(pair) * d).sum()),
        int(d.sum()),
        details={"ignored": pair.n - int(d.sum())},
        trace=lambda: of_pairs(pair)[pair.position],
        **more,
    )


_MODE = "always guessing the most frequent target of the release"
_GUESSES: dict[str, Any] = {
    "family": "attribution",
    "blind_spot": AVERAGE + " Rare values are never the most frequent: they seem safe.",
    "blind": "an average; rare values are never guessed",
    "baseline": _MODE,
    "fails": frozenset({Property.CERTAINTY, Property.GAIN}),
    "default": False,
}

ENTRIES = (
    Measure(
        name="0CAP",
        function=zero_cap,
        family="attribution",
        says="mean CAP with 0 for keys not in the release; DCAP with shares before exclusions",
        attacker=DRAWS,
        formula="100/N_d · Σ_tq d_tq · s_tq/s_q",
        source=f"{HITTMEIR}, section 3, option 1",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="ICAP",
        function=i_cap,
        family="attribution",
        says="mean CAP of the records whose keys the release has",
        attacker=DRAWS,
        formula="100 · Σ_tq d_tq · s_tq/s_q / Σ_q d_q 1{s_q > 0}",
        source=f"{HITTMEIR}, section 3, option 2; DCAP of Elliot and Taub",
        blind_spot=AVERAGE + " Records without a match are left out, often the rare ones.",
        blind="an average that leaves out records without a match",
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="GCAP",
        function=gcap,
        family="attribution",
        says="mean CAP; keys not in the release are replaced by the nearest that are",
        attacker=DRAWS + ", or, if there are none, with the most keys in common (all of them)",
        formula="100/N_d · Σ_j share of t_j among synthetic records at the least Hamming distance",
        source=f"{HITTMEIR}, section 3, GCAP",
        blind_spot=AVERAGE,
        blind=AVERAGE_SHORT,
        baseline=DRAW,
        fails=AVERAGE_FAILS,
        default=False,
    ),
    Measure(
        name="R_0CAP",
        function=accuracy_zero,
        says="how often the most frequent target of the cell is right; no cell counts as wrong",
        attacker=DRAWS + ": the most frequent value, one at random if several are",
        formula="100/N_d · Σ_j 1{t_j = argmax_t s_tq}, ties shared",
        source=f"{HITTMEIR}, section 4, R after eq. 2.1",
        **_GUESSES,
    ),
    Measure(
        name="R_ICAP",
        function=accuracy_ignored,
        says="how often the most frequent target of the cell is right, where there is a cell",
        attacker=DRAWS + ": the most frequent value, one at random if several are",
        formula="Σ_j 1{t_j = argmax_t s_tq} / Σ_q d_q 1{s_q > 0} · 100, ties shared",
        source=f"{HITTMEIR}, section 4",
        **_GUESSES,
    ),
    Measure(
        name="R_GCAP",
        function=accuracy_nearest,
        says="how often the most frequent target among the nearest synthetic records is right",
        attacker=DRAWS + " or with the most keys in common: the most frequent value",
        formula="100/N_d · Σ_j 1{t_j = argmax_t of the nearest pool}, ties shared",
        source=f"{HITTMEIR}, section 4; the accuracy of the classifier of Algorithm 3.1",
        **_GUESSES,
    ),
)
