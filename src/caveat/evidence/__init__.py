"""The evidence of a release: a versioned document, its schema, and what of it may leave."""

from caveat.evidence.external import FEWEST, external, withheld
from caveat.evidence.file import FORMAT, check, read, schema, text_of, write

__all__ = [
    "FEWEST",
    "FORMAT",
    "check",
    "external",
    "read",
    "schema",
    "text_of",
    "withheld",
    "write",
]
