"""The entries of the table of measures, by families; the order is that of reports."""

from caveat.risk.measure import Measure
from caveat.utility.entries import analyses, general, tables
from caveat.utility.pair import register

__all__ = ["ENTRIES", "analyses", "general", "tables"]

ENTRIES: tuple[Measure, ...] = (
    *general.ENTRIES,
    *tables.ENTRIES,
    *tables.VARIABLES_ENTRIES,
    *tables.ASSOCIATIONS_ENTRIES,
    *analyses.ENTRIES,
    *analyses.STRUCTURE_ENTRIES,
)
register(*ENTRIES, built_in=True)
