"""Releases from end to end: one specification in, one folder of tables and evidence out."""

from caveat.release.difference import diff_releases
from caveat.release.explain import explain_row
from caveat.release.run import Outcome, Release
from caveat.spec.spec import ReleaseSpec

__all__ = ["Outcome", "Release", "ReleaseSpec", "diff_releases", "explain_row"]
