"""Entries of MEASURES for attackers with ordinary means.

Each function takes the original and the synthetic table and its own keywords, not a Pair: ``needs``
names "attack", so that an audit does not run it.
"""

from __future__ import annotations

from typing import Any

from caveat.attack.ordinary import distances
from caveat.attack.ordinary.classifiers import prediction
from caveat.attack.ordinary.density import membership_scores
from caveat.attack.ordinary.inference import inference
from caveat.attack.ordinary.linkability import linkability
from caveat.attack.ordinary.linkage import closer_than_neighbour, record_linkage
from caveat.attack.ordinary.outliers import outlier_links
from caveat.attack.ordinary.singling_out import singling_out
from caveat.risk.measure import Measure
from caveat.risk.measurement import Measurement

__all__ = ["ENTRIES"]

GIOMI = (
    "Giomi, Boenisch, Wehmeyer, Tasnádi (2023), A Unified Framework for Quantifying Privacy Risk"
)
GANEV = (
    "Counter-examples: Ganev and De Cristofaro (2023), On the Inadequacy of Similarity-based "
    "Privacy Metrics, rebuild records of releases that pass it; Yao et al. (2025), The DCR "
    "Delusion, find members in releases that it calls private; in the 16 cells of Latner, "
    "Neunhoeffer and Drechsler it is the same whether or not the one record is given away."
)
NO_PROOF = "fails against releases that give records away; no proof of safety"
ONE_ATTACK = (
    "One attacker with one method: a low rate says that this attack failed, not that all do. The "
    "control does not take away all that the release says about the population."
)
ONE_ATTACK_SHORT = "one attack; that it fails is no all-clear"


def _prediction(original: Any, synthetic: Any, **more: Any) -> Measurement:
    return prediction(original, synthetic, **more).measurement("ENS")


def _membership(original: Any, synthetic: Any, *, false: float = 0.01, **more: Any) -> Measurement:
    return membership_scores(original, synthetic, **more).true_positives(false)


def _membership_f1(original: Any, synthetic: Any, *, fraction: float, **more: Any) -> Measurement:
    found = membership_scores(original, synthetic, **more)
    f1, without = found.f1(fraction)
    return Measurement(f1, baseline=without, n=len(found.members))


def _needs(*more: str) -> frozenset[str]:
    return frozenset({"attack", *more})


ENTRIES = (
    Measure(
        name="prediction",
        function=_prediction,
        family="ordinary attackers",
        says="people whose target a vote of six models trained on the release names rightly",
        attacker="trains naive Bayes, SVM, nearest neighbours, forest, logistic regression and "
        "FR-NN on the release, and knows the keys of people in the original",
        formula="100/n · #(majority vote = t_j), in a tie the one named first; mean over keys",
        source="Hittmeir, Mayer, Ekelhart (2020), section 4, Tables 6 to 11",
        blind_spot="An average over all records: the few for whom the release is decisive vanish "
        "in it. High accuracy may be true of the population: compare with the control.",
        blind="an average; may be true of the population: see the control",
        baseline="the commonest target of the release, named for everybody",
        needs=_needs("keys", "target"),
        default=False,
    ),
    Measure(
        name="singlingOut",
        function=singling_out,
        family="ordinary attackers",
        says="descriptions of one synthetic record that fit exactly one original record",
        attacker="has the release only; describes a synthetic record by some columns, numbers open "
        "to the outside",
        formula="100/k · #(descriptions that fit one record of the original)",
        source=f"{GIOMI}, section 4.1",
        blind_spot=ONE_ATTACK + " That a record is alone in the sample says nothing about the "
        "population: about 37 % of good guesses isolate without any release.",
        blind=ONE_ATTACK_SHORT,
        baseline="random columns, levels of the release and directions",
        needs=_needs("columns"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="linkability",
        function=linkability,
        family="ordinary attackers",
        says="people whose two parts of a record lead to the same synthetic record",
        attacker="two parties who know different columns of the same people look for the nearest "
        "synthetic records",
        formula="100/k · #(nearest by the first columns ∩ nearest by the second ≠ ∅)",
        source=f"{GIOMI}, section 4.2",
        blind_spot=ONE_ATTACK + " With few levels many records are equally near and a lot decides.",
        blind=ONE_ATTACK_SHORT,
        baseline="the exact chance that two random sets of synthetic records meet",
        needs=_needs("keys", "second keys"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="inference",
        function=inference,
        family="ordinary attackers",
        says="people whose secret the nearest synthetic record tells",
        attacker="knows the keys of a person and takes the secret of the nearest synthetic record",
        formula="100/k · #(guess = secret, or |guess − secret| ≤ a + r·|secret|)",
        source=f"{GIOMI}, section 4.3; the tolerance is ours",
        blind_spot=ONE_ATTACK,
        blind=ONE_ATTACK_SHORT,
        baseline="a guess drawn from the released secrets, exactly",
        needs=_needs("keys", "target"),
        default=False,
    ),
    Measure(
        name="outlierLinks",
        function=outlier_links,
        family="ordinary attackers",
        says="outliers of the original that exactly one synthetic record agrees with",
        attacker="knows the keys of unusual people, numbers nearly",
        formula="100/#outliers · #(outliers with one synthetic record within the tolerance)",
        source="Trindade, Antunes, Carvalho, Moniz (2024), Synthetic Data Outliers; control added",
        blind_spot="A link is no disclosure: see how often it tells the target. The outliers of "
        "the z rule are those that the largest outliers leave over. More links can mean fewer "
        "unique ones: the share does not rise with what is given away.",
        blind="a link is no disclosure; more links can mean fewer unique ones",
        baseline="0: no links without a release; the control says what chance links",
        needs=_needs("keys"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="recordLinkage",
        function=record_linkage,
        family="ordinary attackers",
        says="people whose nearest released record is their own",
        attacker="knows all columns of a person in a masked or partly synthetic release",
        formula="100/n · #(nearest released row = own row)",
        source="distance-based record linkage; Gower or Mahalanobis distance",
        blind_spot="Meaningless for fully synthetic data, whose rows belong to nobody.",
        blind="meaningless for fully synthetic data",
        baseline="100/n, a record at random",
        needs=_needs("columns"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="membershipScore",
        function=_membership,
        family="ordinary attackers",
        says="members found while no more than a given share of outsiders is taken for members",
        attacker="has the release, complete records of people, and a reference set of people who "
        "were not in the data; does not know the generator",
        formula="TPR at FPR ≤ α of log p_release(x)/p_reference(x), or of the nearest distances",
        source="van Breugel, Sun, Qian, van der Schaar (2023), Membership Inference Attacks "
        "against Synthetic Data through Overfitting Detection",
        blind_spot=ONE_ATTACK + " Against trees the strong attacker is exact and finds more.",
        blind="weaker than the strong attacker, who knows the generator",
        baseline="α: as many members as outsiders",
        needs=_needs("control"),
        default=False,
    ),
    Measure(
        name="membershipF1",
        function=_membership_f1,
        family="ordinary attackers",
        says="F1 of naming as members the known share of the population that is in the data",
        attacker="as membershipScore, and knows the sampling fraction f",
        formula="2·P·R/(P + R) with members weighted f and outsiders 1 − f",
        source="El Emam, Mosquera, Fang (2022), Validating a membership disclosure metric",
        blind_spot="Depends on the sampling fraction more than on the release; an average over all "
        "members.",
        blind="moves with the sampling fraction more than with the release",
        baseline="everybody called a member: 2f/(1 + f)",
        needs=_needs("control", "fraction"),
        default=False,
    ),
    Measure(
        name="DCR",
        function=distances.closest_record,
        family="diagnostics",
        says="median distance of synthetic records to the closest original (0 to 1)",
        attacker="none: a diagnostic, to be read beside the control",
        formula="median over synthetic i of min_j gower(i, j)",
        source="Zhao, Kunar, Birke, Chen (2021), CTAB-GAN; peers call it DCR",
        blind_spot=GANEV,
        blind=NO_PROOF,
        needs=_needs("columns"),
        direction="lower is riskier",
        unit="",
        default=False,
        by_size=True,
    ),
    Measure(
        name="DCRshare",
        function=distances.closest_share,
        family="diagnostics",
        says="synthetic records closer to the original than to people outside the data",
        attacker="none: a diagnostic",
        formula="100/m · #(i: min over originals < min over control), ties in parts",
        source="Platzner, Reutterer (2021), Holdout-based empirical assessment",
        blind_spot=GANEV,
        blind=NO_PROOF,
        baseline="n/(n + size of the control): the release knows both equally well",
        needs=_needs("columns", "control"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="NNDR",
        function=distances.neighbour_ratio,
        family="diagnostics",
        says="median ratio of the distances to the closest and second closest original",
        attacker="none: a diagnostic, to be read beside the control",
        formula="median over synthetic i of d_1(i)/d_2(i); 1 where both are 0",
        source="Zhao, Kunar, Birke, Chen (2021), CTAB-GAN",
        blind_spot=GANEV,
        blind=NO_PROOF,
        needs=_needs("columns"),
        direction="lower is riskier",
        unit="",
        default=False,
        by_size=True,
    ),
    Measure(
        name="IMS",
        function=distances.identical_matches,
        family="diagnostics",
        says="synthetic records that equal an original in every column, beside the control",
        attacker="none: a diagnostic, to be read beside the control",
        formula="100/m · #(synthetic rows that occur in the original)",
        source="peers call it identical match share",
        blind_spot=GANEV + " One changed digit hides every copy.",
        blind=NO_PROOF,
        needs=_needs("columns"),
        default=False,
        by_size=True,
    ),
    Measure(
        name="epsilonIdentifiability",
        function=distances.epsilon_identifiability,
        family="diagnostics",
        says="originals that a synthetic record is nearer to than any other original",
        attacker="none: a diagnostic, to be read beside the control",
        formula="100/n · #(j: min_i d(j, i) < min_k≠j d(j, k)), columns divided by their entropy",
        source="Yoon, Drumright, van der Schaar (2020), ADS-GAN; Miletic, Sariyar (2024)",
        blind_spot="Independent data score about 50: small values mean a bad fit, not privacy. "
        + GANEV,
        blind="independent data score about 50; small values mean a bad fit",
        baseline="m/(m + n − 1): an independent sample of m records",
        needs=_needs("columns"),
        default=False,
        by_size=True,
    ),
    Measure(
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
        needs=_needs("columns"),
        default=False,
        by_size=True,
    ),
)
