"""Attribute disclosure: looking up a person's keys gives one value, and the right one."""

from __future__ import annotations

from caveat.notes import Note
from caveat.risk.disclosure import denominators
from caveat.risk.identity import RAAB
from caveat.risk.measure import Measure, Property
from caveat.risk.measurement import Measurement, rate
from caveat.risk.pair import ScenarioPair

__all__ = [
    "ENTRIES",
    "UNLINKED",
    "chance_of_disco",
    "d_orig",
    "d_syn",
    "di_s",
    "di_s_co",
    "di_s_di_o",
    "i_s",
]


def d_orig(pair: ScenarioPair) -> Measurement:
    """Return the share of original records in cells with one target only."""
    return _share(pair, "Dorig")


def d_syn(pair: ScenarioPair) -> Measurement:
    """Return the share of synthetic records in cells with one target only."""
    counts = pair.counted.Dsyn
    return rate(int(counts.sum()), len(pair.cells.synthetic), excluded=_excluded(pair, "Dsyn"))


def i_s(pair: ScenarioPair) -> Measurement:
    """Return the share of original records whose keys occur in the release."""
    return _share(pair, "iS", reference=1.0)


def di_s(pair: ScenarioPair) -> Measurement:
    """Return the share of original records whose keys show one target only in the release."""
    return _share(pair, "DiS", reference=d_orig(pair).value)


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
    return _share(
        pair,
        "DiSCO",
        baseline=chance_of_disco(pair),
        reference=d_orig(pair).value,
        notes=notes,
        details={"max_denom": largest, "mean_denom": mean},
    )


def di_s_di_o(pair: ScenarioPair) -> Measurement:
    """Return DiSCO among records whose keys show one target only in the original too."""
    return _share(pair, "DiSDiO", reference=d_orig(pair).value)


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


def _share(pair: ScenarioPair, table: str, **more: object) -> Measurement:
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

ENTRIES = (
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
