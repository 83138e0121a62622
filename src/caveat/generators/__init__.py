"""Generators of releases behind one contract: ours, reference generators, and other people's."""

from caveat.generators.child import Limits, Usage
from caveat.generators.contract import Exact, Fitted, Generator, exact_model
from caveat.generators.drafted import Drafted
from caveat.generators.ours import Copy, Setting, settings_of
from caveat.generators.process import GeneratorError, ProcessGenerator
from caveat.generators.recipes import RECIPES, Recipe
from caveat.generators.reference import REFERENCES, Reference
from caveat.generators.registry import generator_names, generator_of

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
