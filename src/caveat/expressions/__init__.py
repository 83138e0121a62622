"""The one language of rules, derived columns, edit rules and model formulas: parsed, never run."""

from __future__ import annotations

from caveat.expressions.design import Categories, design
from caveat.expressions.expression import Expression
from caveat.expressions.formula import Formula
from caveat.expressions.parser import FUNCTIONS

__all__ = ["FUNCTIONS", "Categories", "Expression", "Formula", "design"]
