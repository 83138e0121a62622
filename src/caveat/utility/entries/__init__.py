"""The entries of the table of measures, one file per family; the order is that of reports."""

from caveat.utility.entries import analyses, associations, general, tables, variables

__all__ = ["analyses", "associations", "general", "tables", "variables"]

for _family in (general, tables, variables, associations, analyses):
    _family.register()
