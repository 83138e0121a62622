"""The entries of the table of measures, one file per family; the order is that of reports."""

from caveat.risk.measure import Measure
from caveat.utility.entries import analyses, associations, general, structure, tables, variables
from caveat.utility.measures import register

__all__ = ["ENTRIES", "analyses", "associations", "general", "structure", "tables", "variables"]

ENTRIES: tuple[Measure, ...] = (
    *general.ENTRIES,
    *tables.ENTRIES,
    *variables.ENTRIES,
    *associations.ENTRIES,
    *analyses.ENTRIES,
    *structure.ENTRIES,
)
register(*ENTRIES, built_in=True)
