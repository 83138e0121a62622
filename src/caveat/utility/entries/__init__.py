"""The entries of the table of measures, one file per family; the order is that of reports."""

from caveat.utility.entries import analyses, associations, general, structure, tables, variables

__all__ = ["analyses", "associations", "general", "structure", "tables", "variables"]

for _family in (general, tables, variables, associations, analyses, structure):
    _family.register()
