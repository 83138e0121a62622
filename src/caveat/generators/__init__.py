"""Generators of releases behind one contract: ours, reference generators, and other people's."""

from caveat.generators.contract import REFERENCES, Exact, Fitted, Generator, Reference, exact_model
from caveat.generators.ours import Copy, Drafted, Setting, settings_of
from caveat.generators.process import GeneratorError, Limits, ProcessGenerator, Usage
from caveat.generators.registry import RECIPES, Recipe, generator_names, generator_of

__all__ = [
    "RECIPES",
    "REFERENCES",
    "Copy",
    "Drafted",
    "Exact",
    "Fitted",
    "Generator",
    "GeneratorError",
    "Limits",
    "ProcessGenerator",
    "Recipe",
    "Reference",
    "Setting",
    "Usage",
    "exact_model",
    "generator_names",
    "generator_of",
    "settings_of",
]
