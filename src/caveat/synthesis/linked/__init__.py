"""Groups and linked tables: every table is drawn in stages, each an ordinary synthesis."""

from caveat.synthesis.linked.model import GroupModel, LinkedModel, fit_linked
from caveat.synthesis.linked.plan import LinkedPlan, make_linked_plan
from caveat.synthesis.linked.unfold import unfold

__all__ = ["GroupModel", "LinkedModel", "LinkedPlan", "fit_linked", "make_linked_plan", "unfold"]
