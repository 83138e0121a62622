"""Generators of releases behind one contract: ours, reference generators, and other people's."""

from caveat.generators.contract import Exact, Fitted, Generator, exact_model
from caveat.generators.ours import Copy, Setting, settings_of
from caveat.generators.reference import REFERENCES, Reference
from caveat.generators.registry import generator_names, generator_of

__all__ = [
    "REFERENCES",
    "Copy",
    "Exact",
    "Fitted",
    "Generator",
    "Reference",
    "Setting",
    "exact_model",
    "generator_names",
    "generator_of",
    "settings_of",
]
