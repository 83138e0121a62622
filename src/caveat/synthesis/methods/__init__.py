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
from caveat.synthesis.methods.cart import Cart
from caveat.synthesis.methods.forest import Forest
from caveat.synthesis.methods.guarded import Guarded
from caveat.synthesis.methods.ipf import Ipf
from caveat.synthesis.methods.logistic import Logistic
from caveat.synthesis.methods.lookup import Lookup
from caveat.synthesis.methods.margins import Margins
from caveat.synthesis.methods.multinomial import Multinomial
from caveat.synthesis.methods.nested import Nested
from caveat.synthesis.methods.normal import Normal
from caveat.synthesis.methods.normrank import Normrank
from caveat.synthesis.methods.ordinal import Ordinal
from caveat.synthesis.methods.sample import Sample
from caveat.synthesis.methods.saturated import Saturated

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
