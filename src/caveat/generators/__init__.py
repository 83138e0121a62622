"""Generators of releases behind one contract: ours, and others as they move in."""

from caveat.generators.contract import Fitted, Generator
from caveat.generators.ours import Made, Setting, settings_of

__all__ = ["Fitted", "Generator", "Made", "Setting", "settings_of"]
