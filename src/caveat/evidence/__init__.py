"""The evidence of a release: a versioned document, its schema, and what of it may leave."""

from caveat.evidence.external import FEWEST, external, withheld
from caveat.evidence.file import (
    DECISION,
    DECISIONS,
    FORMAT,
    Decision,
    check,
    decision_beside,
    decision_schema,
    evidence_sha256,
    read,
    read_decision,
    schema,
    text_of,
    write,
    write_decision,
)
from caveat.evidence.verdict import verdict_of, with_verdict

__all__ = [
    "DECISION",
    "DECISIONS",
    "FEWEST",
    "FORMAT",
    "Decision",
    "check",
    "decision_beside",
    "decision_schema",
    "evidence_sha256",
    "external",
    "read",
    "read_decision",
    "schema",
    "text_of",
    "verdict_of",
    "with_verdict",
    "withheld",
    "write",
    "write_decision",
]
