"""Generators of releases behind one contract: ours, and others as they move in."""

from caveat.generators.contract import Fitted, Generator
from caveat.generators.ours import Copy, Setting, settings_of

__all__ = ["Copy", "Fitted", "Generator", "Setting", "settings_of"]
