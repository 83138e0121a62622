"""Tables of codes: reading, typing, encoding, profiling and writing."""

from caveat.table.align import Difference, Pair, align, align_copies
from caveat.table.files import ColumnSchema, Schema, read, write
from caveat.table.source import allow_host
from caveat.table.table import Column, Kind, Missing, Table, concat

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
