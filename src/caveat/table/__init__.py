"""Tables of codes: reading, typing, encoding, profiling and writing."""

from caveat.table.align import Difference, Pair, align, align_copies
from caveat.table.column import Column, Kind, Missing
from caveat.table.files import read, write
from caveat.table.hosts import allow_host
from caveat.table.schema import ColumnSchema, Schema
from caveat.table.table import Table, concat

__all__ = [
    "Column",
    "ColumnSchema",
    "Difference",
    "Kind",
    "Missing",
    "Pair",
    "Schema",
    "Table",
    "align",
    "align_copies",
    "allow_host",
    "concat",
    "read",
    "write",
]
