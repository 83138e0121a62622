"""Caveat makes synthetic microdata, and says before the release what they give away."""

__version__ = "0.1.0"
