"""The methods by name."""

from caveat.registry import Registry
from caveat.synthesis.methods.base import (
    Fitted,
    Inputs,
    LeafModel,
    Method,
    NumberModel,
    Settings,
    State,
    Target,
)
from caveat.synthesis.methods.classes import Logistic, Multinomial, Ordinal
from caveat.synthesis.methods.guarded import Guarded
from caveat.synthesis.methods.normal import Normal, Normrank
from caveat.synthesis.methods.tables import Ipf, Lookup, Margins, Nested, Saturated
from caveat.synthesis.methods.trees import Cart, Forest, Sample

__all__ = [
    "METHODS",
    "Fitted",
    "Inputs",
    "LeafModel",
    "Method",
    "NumberModel",
    "Settings",
    "State",
    "Target",
]

METHODS: Registry[type[Method]] = Registry(
    {
        "cart": Cart,
        "guarded": Guarded,
        "forest": Forest,
        "sample": Sample,
        "normal": Normal,
        "normrank": Normrank,
        "logistic": Logistic,
        "multinomial": Multinomial,
        "ordinal": Ordinal,
        "nested": Nested,
        "saturated": Saturated,
        "ipf": Ipf,
        "margins": Margins,
        "lookup": Lookup,
    }
)
