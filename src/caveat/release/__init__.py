"""Releases from end to end: one specification in, one folder of tables and evidence out."""

from caveat.release.outcome import Outcome
from caveat.release.run import Release
from caveat.spec.spec import ReleaseSpec

__all__ = ["Outcome", "Release", "ReleaseSpec"]
