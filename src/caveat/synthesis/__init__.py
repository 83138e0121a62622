"""The sequential synthesiser: a plan, a model per column, and draws from them."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from caveat.synthesis.model import LogProb, Model
    from caveat.synthesis.plan import Plan, make_plan
    from caveat.synthesis.store import load, save
    from caveat.synthesis.synthesizer import Synthesizer

__all__ = ["LogProb", "Model", "Plan", "Synthesizer", "load", "make_plan", "save"]

# Opened when they are first asked for: they bring a compiler, which not every part needs.
_MODULES = {
    "LogProb": "model",
    "Model": "model",
    "Plan": "plan",
    "Synthesizer": "synthesizer",
    "load": "store",
    "make_plan": "plan",
    "save": "store",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"caveat.synthesis.{_MODULES[name]}"), name)
    raise AttributeError(f"module 'caveat.synthesis' has no attribute {name!r}")
