"""Attackers who know more than the release: the generator, the other records, a model."""

from caveat.attack import figures
from caveat.attack.attributes import Attributes, attributes
from caveat.attack.explain import Explanation, explain
from caveat.attack.groups import group_membership, group_posterior, group_privacy_loss
from caveat.attack.membership import (
    Membership,
    MembershipTest,
    PrivacyLoss,
    membership,
    membership_test,
    privacy_loss,
)
from caveat.attack.paired import PairedMembership, simulated_membership
from caveat.attack.posterior import Posterior, posterior
from caveat.attack.simulated import proper_posterior, simulated_posterior
from caveat.attack.targets import Vulnerable, vulnerable
from caveat.risk import register

register(*figures.ENTRIES)

__all__ = [
    "Attributes",
    "Explanation",
    "Membership",
    "MembershipTest",
    "PairedMembership",
    "Posterior",
    "PrivacyLoss",
    "Vulnerable",
    "attributes",
    "explain",
    "group_membership",
    "group_posterior",
    "group_privacy_loss",
    "membership",
    "membership_test",
    "posterior",
    "privacy_loss",
    "proper_posterior",
    "simulated_membership",
    "simulated_posterior",
    "vulnerable",
]
