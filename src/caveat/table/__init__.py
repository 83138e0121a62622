"""Tables of codes: reading, typing, encoding, profiling and writing."""

from caveat.table.align import Aligned, Difference, align
from caveat.table.column import Column, Kind, Missing
from caveat.table.files import read, write
from caveat.table.schema import ColumnSchema, Schema
from caveat.table.table import Table, concat

__all__ = [
    "Aligned",
    "Column",
    "ColumnSchema",
    "Difference",
    "Kind",
    "Missing",
    "Schema",
    "Table",
    "align",
    "concat",
    "read",
    "write",
]
