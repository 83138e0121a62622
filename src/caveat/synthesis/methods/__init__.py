"""The methods by name."""

from caveat.synthesis.methods.base import Fitted, Inputs, Method, Settings, State, Target
from caveat.synthesis.methods.cart import Cart
from caveat.synthesis.methods.lookup import Lookup
from caveat.synthesis.methods.sample import Sample

__all__ = ["METHODS", "Fitted", "Inputs", "Method", "Settings", "State", "Target"]

METHODS: dict[str, type[Method]] = {
    "cart": Cart,
    "lookup": Lookup,
    "sample": Sample,
}
