"""The one language of rules, derived columns, edit rules and model formulas: parsed, never run."""

from __future__ import annotations

from caveat.expressions.expression import Categories, Expression, Formula, design
from caveat.expressions.parser import FUNCTIONS

__all__ = ["FUNCTIONS", "Categories", "Expression", "Formula", "design"]
