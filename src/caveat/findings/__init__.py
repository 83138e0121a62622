"""The look before anything is synthesised: what the columns are, and what has to be decided.

Every criterion is a named constant beside the findings that it decides.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from caveat.findings import arithmetic, derived
from caveat.findings.codes_and_kinds import find_codes_and_kinds, find_weights
from caveat.findings.keys import find_groups
from caveat.findings.profile import (
    CATALOGUE,
    TOPICS,
    ColumnProfile,
    Finding,
    Profile,
    Strength,
    percent,
    plural,
    profile_column,
)
from caveat.findings.shape import (
    FINDINGS,
    find_few_numbers,
    find_mostly_rare,
    find_private_numbers,
    find_shapes,
    find_spikes,
)
from caveat.table.identifying import Judgement, judge
from caveat.table.table import Kind, Table

__all__ = ["CATALOGUE", "TOPICS", "ColumnProfile", "Finding", "Profile", "Strength", "look"]

# Fewer rows prove no relation between columns: each search needs so many.
LEAST_ROWS = min(arithmetic.LEAST_ROWS, derived.CHANCE_ROWS, derived.SUPPORT)
# Findings by which a column is left out.
_LEFT_OUT = (*FINDINGS.values(), "mostly-rare")
# Columns that are not compared with others.
_NAMES = (
    *(code for code in _LEFT_OUT if code != "group-id"),
    *("constant", "all-missing", "survey-weights"),
)


# Numbers at the limits of floating point overflow without consequence.
@np.errstate(all="ignore")
def look(data: Any) -> Profile:
    """Look at a table and report what has to be decided before it is synthesised.

    Parameters
    ----------
    data
        A pandas, polars or pyarrow frame, a dict of arrays, a Table, or the path of a file.

    Examples
    --------
    >>> profile = look({"income": [800, -8, 1500, -8, 950], "children": [0, 1, 2, 0, 1]})
    >>> for finding in profile.findings:
    ...     print(finding.message)
    -8 occurs in 2 rows (40.0 %); it is the only negative value.
    """
    original = _table(data)
    compact = Table({name: original[name].compact() for name in original}, original.backend)
    found, table = find_codes_and_kinds(compact)
    findings = [*_repairs(original), *found]
    weighing = find_weights(table)
    weights = [f.columns[0] for f in weighing]
    # Weights are no data: nothing else about them has to be decided.
    findings = [f for f in findings if not set(weights).intersection(f.columns)] + weighing
    data = table.drop(weights)
    judged = judge(compact.drop(weights))
    for name in data:
        findings += _of_one_column(compact, table, name, judged.get(name))
    keys = [name for name, of in judged.items() if of.code == "group-key"]
    grouped = find_groups(compact, keys, table)
    findings += grouped
    units = table[grouped[0].columns[0]].codes if grouped else None
    findings += find_mostly_rare(data, judged, units)
    findings += _across(table, findings)
    # The numbers of members are counted, and sums over members are computed.
    counted = {name for f in grouped for of in ("size", "sums") for name in f.suggestion[of]}
    findings = [f for f in findings if f.code != "determined-by" or f.columns[0] not in counted]
    computed = {f.columns[0] for f in findings if f.code == "arithmetic"}
    looked_up = {f.columns[0] for f in findings if f.code in ("groups-of", "one-to-one")}
    no_data = computed | looked_up | counted
    findings += find_few_numbers(data.drop([n for n in data if n in no_data]))
    findings += find_private_numbers(data, computed.union(judged))
    findings = _without_left_out(findings)
    # What a whole group shares comes in runs of equal values: those are no spikes.
    shared = {name for f in findings if f.code == "same-in-group" for name in f.columns}
    findings = [f for f in findings if f.code != "spike" or f.columns[0] not in shared]
    # A zero that may be a code for missing is reported once.
    zero = {f.columns for f in findings if f.suggestion.get("missing") == [0]}
    findings = [f for f in findings if f.code != "semi-continuous" or f.columns not in zero]
    findings += _duplicates(table)
    order = list(CATALOGUE)
    findings.sort(key=lambda f: (TOPICS.index(f.topic), order.index(f.code)))
    return Profile(
        original.n_rows,
        tuple(profile_column(compact, name) for name in compact),
        tuple(findings),
    )


def _table(data: Any) -> Table:
    if isinstance(data, str | Path):
        from caveat.table.files import read

        return read(data)
    return Table.from_frame(data)


def _repairs(original: Table) -> list[Finding]:
    """Report what the reader of the file mended."""
    notes = [note for note in original.notes if note.code in CATALOGUE]
    return [Finding(note.code, (), f"{note}.") for note in notes]


def _of_one_column(
    compact: Table, table: Table, name: str, judgement: Judgement | None
) -> list[Finding]:
    shapes = find_shapes(compact[name], table[name], name, judgement)
    if judgement is not None or any(f.code == "constant" for f in shapes):
        return shapes
    return [*shapes, *find_spikes(table[name], name)]


def _without_left_out(findings: list[Finding]) -> list[Finding]:
    """Return the findings without those about columns that are left out for another reason."""
    left_out = {f.columns[0]: f.code for f in findings if f.code in _LEFT_OUT}
    about_them = (*_LEFT_OUT, "groups", "same-in-group")
    return [
        f
        for f in findings
        if f.code in about_them
        or not set(left_out).intersection(f.columns)
        # Read as numbers, they are no rare levels.
        or (f.code == "number-as-text" and left_out[f.columns[0]] == "mostly-rare")
    ]


def _across(table: Table, findings: list[Finding]) -> list[Finding]:
    """Search for relations between columns, from the clearest to the loosest."""
    if table.n_rows < LEAST_ROWS:
        return []
    named = {name for f in findings if f.code in _NAMES for name in f.columns}
    groups = [name for f in findings if f.code == "group-id" for name in f.columns]
    names = [n for n in table if n not in named and len(table[n].levels) > 1]
    every = [n for n in names if n not in groups]
    free = derived.sample_columns(every, derived.MOST_COLUMNS)
    numeric = [n for n in free if table[n].kind in (Kind.NUMERIC, Kind.INTEGER)]
    shared = [f for g in groups if (f := derived.find_shared_in_groups(table, g, every))]
    identities = arithmetic.find_identities(table, numeric)
    explained = [i.columns for i in identities]
    dependencies = derived.find_dependencies(table, free)
    found = [*_sampled(len(every), len(free), len(numeric)), *shared]
    found += arithmetic.report(table, identities)
    found += derived.report(table, dependencies, explained)
    explained += [frozenset((d.source, d.target)) for d in dependencies]
    short = [n for n in free if len(table[n].levels) <= derived.RULE_LEVELS]
    twins = {i.target for i in identities if len(i.inputs) == 1}
    ordered = [n for n in free if table[n].kind.is_number and n not in twins]
    found += derived.find_missing_patterns(table.drop([*named, *groups]), free, explained)
    found += derived.find_orders(table, ordered, explained)
    return [*found, *derived.find_implications(table, short, explained)]


def _sampled(columns: int, paired: int, numeric: int) -> list[Finding]:
    """Report that only a sample of the columns was compared."""
    notes = []
    if paired < columns:
        notes.append(f"pairs were compared in a sample of {paired:,} of {columns:,} columns")
    if numeric > arithmetic.MOST_COLUMNS:
        sample = f"a sample of {arithmetic.MOST_COLUMNS} of {numeric:,} numeric columns"
        notes.append(f"sums and products were tried in {sample}")
    return [Finding("sampled-columns", (), f"{'; '.join(notes)}.")] if notes else []


def _duplicates(table: Table) -> list[Finding]:
    if not table.n_rows or not table.columns:
        return []
    import polars as pl

    codes = pl.DataFrame({str(i): c.codes for i, c in enumerate(table.columns.values())})
    again = table.n_rows - codes.n_unique()
    if not again:
        return []
    share = again / table.n_rows
    be = "is" if again == 1 else "are"
    message = f"{plural(again, 'row')} ({percent(share)}) {be} identical to an earlier row."
    return [Finding("duplicate-rows", (), message, rows=again, share=share)]
