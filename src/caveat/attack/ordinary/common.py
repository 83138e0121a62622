"""What several attacks share: options that they take, and words of their measures."""

from __future__ import annotations

from typing import Any

from caveat.attack.entry import Option
from caveat.risk.measure import Measure

__all__ = [
    "CONTROL",
    "GIOMI",
    "KEYS",
    "N_ATTACKS",
    "ONE_ATTACK",
    "ONE_ATTACK_SHORT",
    "SEED",
    "TARGET",
    "TARGET_TOLERANCE",
    "attack_measure",
]

KEYS = Option(
    "keys", "columns", "Columns she knows.", (), lacking="no key is named",
    do="say which columns an attacker may know (keys)",
)  # fmt: skip
TARGET = Option(
    "target", "column", "The column she wants to learn.", lacking="no target is named",
    do="say what she wants to learn (target)",
)  # fmt: skip
TARGET_TOLERANCE = Option("tolerance", "number", "How far a guess of a number may lie off.")
CONTROL = Option("control", "table", "People who were not in the data.")
N_ATTACKS = Option("n_attacks", "whole", "How often the attack is tried.", 2000)
SEED = Option("seed", "whole", "Root of the randomness.", 0, least=0)

GIOMI = (
    "Giomi, Boenisch, Wehmeyer, Tasnádi (2023), A Unified Framework for Quantifying Privacy Risk"
)
ONE_ATTACK = (
    "One attacker with one method: a low rate says that this attack failed, not that all do. The "
    "control does not take away all that the release says about the population."
)
ONE_ATTACK_SHORT = "one attack; that it fails is no all-clear"


def attack_measure(*needs: str, family: str = "ordinary attackers", **entry: Any) -> Measure:
    """Return an entry of MEASURES whose function takes two tables and keywords, not a Pair.

    It needs "attack", so that an audit does not run it.
    """
    return Measure(family=family, needs=frozenset({"attack", *needs}), default=False, **entry)
