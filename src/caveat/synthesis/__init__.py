"""The sequential synthesiser: a plan, a model per column, and draws from them."""

from caveat.synthesis.model import LogProb, Model
from caveat.synthesis.plan import Plan, make_plan
from caveat.synthesis.store import load, save
from caveat.synthesis.synthesizer import Synthesizer

__all__ = ["LogProb", "Model", "Plan", "Synthesizer", "load", "make_plan", "save"]
