"""What the attack by prediction measures: accuracy, F1 macro and Matthews' correlation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caveat.attack.ordinary.common import attack_measure
from caveat.risk.measurement import Measurement

__all__ = ["measures_of"]

Function = Callable[..., Measurement]

TRAINS = (
    "trains naive Bayes, SVM, nearest neighbours, forest, logistic regression and FR-NN on the "
    "release, and knows the keys of people in the original"
)
SLOKOM = "Slokom, Agrawal, Krol, de Wolf (2024), Relational Or Single, Table 5"


def measures_of(prediction: Function, f1: Function, mcc: Function) -> tuple[Any, ...]:
    """Return the entries of the three, by what computes them."""
    return (
        attack_measure(
            "keys",
            "target",
            name="prediction",
            function=prediction,
            says="people whose target a vote of six models trained on the release names rightly",
            attacker=TRAINS,
            formula="100/n · #(majority vote = t_j), in a tie the one named first; mean over keys",
            source="Hittmeir, Mayer, Ekelhart (2020), section 4, Tables 6 to 11",
            blind_spot="An average over all records: the few for whom the release is decisive "
            "vanish in it. High accuracy may be true of the population: compare with the control.",
            blind="an average; may be true of the population: see the control",
            baseline="the commonest target of the release, named for everybody",
        ),
        attack_measure(
            "keys",
            "target",
            name="predictionF1",
            function=f1,
            says="F1 macro of the same vote: every value of the target counts as much, 0 to 1",
            attacker=TRAINS,
            formula="mean over values t of 2 TP_t / (2 TP_t + FP_t + FN_t), of values that occur",
            source=SLOKOM,
            blind_spot="Near ½ for an attacker who learnt nothing about a rare value: with two "
            "values the commonest, named for all, gives p / (1 + p). A low value may mean that the "
            "release lost how keys and target go together: that is a defect, not privacy.",
            blind="½ may be nothing learnt; low may be lost utility",
            baseline="the commonest target of the release, named for everybody",
            unit="score",
        ),
        attack_measure(
            "keys",
            "target",
            name="predictionMCC",
            function=mcc,
            says="Matthews' correlation of the same vote with the truth, −1 to 1",
            attacker=TRAINS,
            formula="(c n − Σ_t p_t q_t) / √((n² − Σ p_t²)(n² − Σ q_t²)), c right of n people, p_t "
            "have and q_t are said to have t; with two values (TP TN − FP FN) / √((TP + FP)"
            "(TP + FN)(TN + FP)(TN + FN))",
            source=f"{SLOKOM}; Gorodkin (2004) for more than two values",
            blind_spot="An average over all records, as prediction. A low value may mean that the "
            "release lost how keys and target go together: that is a defect, not privacy.",
            blind="an average; low may be lost utility",
            baseline="0: one value named for everybody",
            unit="score",
        ),
    )
