"""Drafts: files made from published numbers alone, for teaching and for tests of programs."""

from caveat.synthesis.drafts.columns import Category, Derived, Numeric
from caveat.synthesis.drafts.draft import Draft, draft
from caveat.synthesis.drafts.plan import Correlations, DraftPlan, Model, PublishedTable

__all__ = [
    "Category",
    "Correlations",
    "Derived",
    "Draft",
    "DraftPlan",
    "Model",
    "Numeric",
    "PublishedTable",
    "draft",
]
