"""Attackers who know more than the release: the generator, the other records, a model."""

from caveat.attack.posterior import Posterior, posterior

__all__ = ["Posterior", "posterior"]
