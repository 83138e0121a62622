"""How much of the truth the simulated attacker finds, measured where the truth is known.

On trees of our own the exact attacker is computed for the same records. The figures are the share
of what she finds above guessing, mean over the records:

    (TPR of the simulated − 10 %) / (TPR of the exact − 10 %), both at 10 % false positives.

They are those of the 20 most vulnerable records of twelve columns of SD2011 and say what to expect
of data and generators of this kind, no more. The exact ratio is found in 1.00 (plain) and 0.53
(guarded) of the releases; of guarded trees the exact attacker is given the structure too, which
nobody can see in a release. The features and the ridge of the score were chosen on other releases
of the same data, for 10 and 12 of the same records: on other data the share may be lower.
``benchmarks/bench_simulated.py`` measures all of it anew.
"""

from __future__ import annotations

from collections.abc import Mapping

from caveat.notes import Note

__all__ = [
    "ERRORS",
    "RECOVERED",
    "STRUCTURE_ERROR",
    "STRUCTURE_RECOVERED",
    "recovered_at",
    "recovered_note",
    "structure_note",
]

RECOVERED: Mapping[str, Mapping[int, float]] = {
    "plain": {16: 0.304, 32: 0.319, 64: 0.332, 128: 0.372},
    "guarded": {16: 0.177, 32: 0.179, 64: 0.161, 128: 0.193},
}
"""Share of the exact by kind of trees and number of simulations."""
ERRORS: Mapping[str, Mapping[int, float]] = {
    "plain": {16: 0.024, 32: 0.023, 64: 0.025, 128: 0.025},
    "guarded": {16: 0.037, 32: 0.036, 64: 0.025, 128: 0.033},
}
"""Standard errors over the records."""


STRUCTURE_RECOVERED, STRUCTURE_ERROR = 0.307, 0.051
"""The same of guarded trees by the likelihood ratio under one structure that the attacker draws,
which does not depend on the number of simulations; and its standard error over the records."""


def recovered_at(simulations: int) -> tuple[int, dict[str, float]]:
    """Return the largest measured number that is no larger, the least if none is, and the shares.

    Examples
    --------
    >>> recovered_at(100)[0]
    64
    """
    known = sorted(RECOVERED["plain"])
    number = max((n for n in known if n <= simulations), default=known[0])
    return number, {trees: shares[number] for trees, shares in RECOVERED.items()}


def recovered_note(simulations: int) -> Note:
    """Say beside a simulated number what such a number leaves out."""
    number, shares = recovered_at(simulations)
    return Note(
        "recovered",
        "a lower bound: on plain trees, where the truth is known, this attacker with {n} "
        "simulations finds {plain:.0f} % of what the exact one finds, on guarded trees "
        "{guarded:.0f} %",
        public=True,
        n=number,
        **{trees: 100 * share for trees, share in shares.items()},
    )


def structure_note() -> Note:
    """Return the same for the likelihood ratio under the attacker's own structure."""
    return Note(
        "own-structure",
        "a lower bound: on guarded trees the likelihood ratio under one structure drawn by the "
        "attacker finds {share:.0f} ± {error:.0f} % of what the exact attacker finds, who also "
        "has the structure of the release",
        public=True,
        share=100 * STRUCTURE_RECOVERED,
        error=100 * STRUCTURE_ERROR,
    )
