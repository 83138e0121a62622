"""Survey weights and sampling units.

Survey weights: columns with the number of people that a record represents.

They are recognised by their name and their shape together. A name that can mean nothing else needs
little shape; "weight" may be that of a body, and needs a shape that no body has.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from caveat.findings.profile import Finding, Strength
from caveat.table.column import Column, Kind
from caveat.table.table import Table

__all__ = ["chosen_weights", "find_weights", "says_sampling_unit"]

# Shorter tables say nothing about weights.
FEWEST_ROWS = 20
# Share of records without weight.
MOST_ZEROS = 0.2
# No weight is larger than so many times the mean.
MOST_TIMES_MEAN = 100.0
# Weights that are scaled have this mean, up to this share.
NORMAL_MEAN, NORMAL_SHARE = 1.0, 0.01
# Measured weights are written with at most so many decimals.
SCALE_DECIMALS = 2

# Names that stand for survey weights and for nothing else: those of EU-SILC, the ACS, IPUMS, the
# CPS, the ESS, PISA, the SOEP, and what offices call them in several languages.
_KNOWN = re.compile(
    r"(fnl|per|hh|earn|ann|anal|analysis|pop|design|sample|sampling|survey|house|household|person"
    r"|indiv|ind|cross|psp|rep|repl|d|p|h|s)_?(wgt|wght|weights?|wts?)(p|per|hh)?\d*"
    r"|wgtp\d*|w_fst\w*|weighting(_?factor)?|pweights?"
    r"|rb05\d|rb06\d|db080|db09[05]|pb0[4-8]0|rl070"
    r"|gewichtung(sfaktor)?|hochrechnung(sfaktor)?|[ph]?hrf\w?|pond(eration)?|coef_?pond"
    r"|fac(tor)?_?exp(ansion)?|(expansion|raising)_?factor"
)
# Names that can also be those of what a scale shows.
_MAYBE = re.compile(
    r"((final|base|post|raw)_?)?(weights?|wgt|wght|wts?)(_?\d+)?|gew(icht)?|poids|peso|w"
)
# A column that only a table about bodies has.
_BODY = re.compile(r"(?<![a-z])(height|bmi|stature|body|birth|groesse|größe|taille)")
_TOLD = re.compile(
    r"(sampl\w*|survey|design|person|household|final|expansion|cross.?sectional)\s+weight"
    r"|weighting factor|hochrechnungsfaktor|gewichtungsfaktor|pond[ée]ration",
    re.IGNORECASE,
)


# Names of clusters and strata of a sample, with those of NHANES and HRS.
_UNIT = re.compile(
    r"(.*_)?(psu|ssu|usu|fsu|secu|vpsu|sdmvpsu|sdmvstra|vstrat|clust|cluster|klumpen|grappe|"
    r"strat|strata|stratum|schicht|strate)(_?(id|no|nr|num|number|code|var))?\d*"
)


def says_sampling_unit(name: str) -> bool:
    """Whether a name says that the column holds clusters or strata of a sample.

    Examples
    --------
    >>> [says_sampling_unit(name) for name in ("psu", "Cluster_ID", "SDMVSTRA", "strategy")]
    [True, True, True, False]
    """
    return bool(_UNIT.fullmatch(name.lower().strip()))


def find_weights(table: Table) -> list[Finding]:
    """Return the columns that are survey weights.

    Examples
    --------
    >>> people = {"age": [31, 47] * 20, "fnlwgt": [120.5, 388.25] * 20}
    >>> [f.columns for f in find_weights(Table.from_frame(people))]
    [('fnlwgt',)]
    """
    sampled = any(says_sampling_unit(name) for name in table)
    bodies = not sampled and any(_BODY.search(name.lower()) for name in table)
    return [
        _finding(table[name], name)
        for name in table
        if _has_shape(table[name])
        and (_is_named(table[name], name) or (_may_be(name, bodies) and _is_no_body(table[name])))
    ]


def chosen_weights(findings: Iterable[Finding]) -> str | None:
    """Return the column to use where several are weights: that which tells most records apart."""
    found = [f for f in findings if f.code == "survey-weights"]
    best = max((f.suggestion["distinct"] for f in found), default=0)
    names = [f.columns[0] for f in found if f.suggestion["distinct"] == best]
    return names[-1] if names else None  # those of persons come after those of households


def _is_named(column: Column, name: str) -> bool:
    return bool(_KNOWN.fullmatch(name.lower().strip()) or _TOLD.search(column.label))


def _may_be(name: str, bodies: bool) -> bool:
    return not bodies and bool(_MAYBE.fullmatch(name.lower().strip()))


def _has_shape(column: Column) -> bool:
    """Whether every record has a number of zero or more, none of which is out of all proportion."""
    if column.kind not in (Kind.NUMERIC, Kind.INTEGER) or len(column) < FEWEST_ROWS:
        return False
    if column.is_missing.any() or len(column.levels) < 2:
        return False
    levels, counts = column.numbers, column.counts[: len(column.levels)]
    mean = float(levels @ counts / counts.sum())
    zeros = float(counts[levels == 0].sum() / counts.sum())
    return levels[0] >= 0 and zeros <= MOST_ZEROS and levels[-1] <= MOST_TIMES_MEAN * mean


def _is_no_body(column: Column) -> bool:
    """Whether the numbers are scaled to a mean of 1, or computed rather than read off a scale."""
    levels, counts = column.numbers, column.counts[: len(column.levels)]
    mean = float(levels @ counts / counts.sum())
    scaled = abs(mean - NORMAL_MEAN) <= NORMAL_SHARE
    computed = not np.allclose(levels, np.round(levels, SCALE_DECIMALS), rtol=0, atol=1e-9)
    return scaled or computed


def _finding(column: Column, name: str) -> Finding:
    mean = float(column.cell_numbers.mean())
    message = f"mean {mean:,.4g}, sum {column.cell_numbers.sum():,.0f}: probably survey weights."
    return Finding(
        "survey-weights",
        (name,),
        message,
        Strength.LIKELY,
        len(column),
        1.0,
        {"weights": name, "distinct": len(column.levels)},
    )
