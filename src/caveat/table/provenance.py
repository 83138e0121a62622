"""Where the columns of an output come from, and whether the output may leave the building.

Every command that writes something describes it as an :class:`Output` and has :func:`clear` decide.
The name of a file decides nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from caveat.table.identifying import CODES, Judgement
from caveat.table.rare import K

__all__ = ["Clearance", "Origin", "Output", "clear", "copied_records", "joined"]

MOST_NAMES = 6
"""Columns that a reason lists by name."""
UNKNOWN = "the origin of its contents is not declared"


class Origin(StrEnum):
    """Where the values of a column of an output come from.

    Drawn values come from a fitted model or from noise. Looked-up values follow from other columns
    by a table of codes, computed ones by a formula or by counting. Copied values are those of
    original records, cell by cell. Identifying values belong to single people or groups. Invented
    ones stand in their place, and come from no record.
    """

    DRAWN = "drawn"
    COPIED = "copied"
    LOOKED_UP = "looked up"
    COMPUTED = "computed"
    IDENTIFYING = "identifying"
    INVENTED = "invented"

    @property
    def may_leave(self) -> bool:
        """Whether a column of this origin may leave without a declaration of the data holder."""
        return self not in (Origin.COPIED, Origin.IDENTIFYING)


@dataclass(frozen=True)
class Output:
    """What is about to be written.

    Parameters
    ----------
    name
        What it is called in messages.
    columns
        The origin of each column; none of a page or a document.
    public
        Columns that the data holder has declared as public: copies of them may leave.
    judged
        Why columns are identifying.
    rare
        For columns the number of values that few people have and nobody declared.
    inside
        Why the output is for the inside by its nature, as evidence is; "" if it is not.
    outside
        Why a document without columns may leave; one without a reason may not.
    """

    name: str
    columns: Mapping[str, Origin] = field(default_factory=dict)
    public: Collection[str] = ()
    judged: Mapping[str, Judgement] = field(default_factory=dict)
    rare: Mapping[str, int] = field(default_factory=dict)
    inside: str = ""
    outside: str = ""


@dataclass(frozen=True)
class Clearance:
    """The verdict on an output.

    Parameters
    ----------
    confidential
        Whether it must stay inside.
    reasons
        Why, one sentence each; none if it may leave.
    notes
        What the data holder should know all the same.
    """

    confidential: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def clear(output: Output) -> Clearance:
    """Decide from the origin of its columns whether an output may leave.

    Examples
    --------
    >>> clear(Output("synthetic.csv", {"age": Origin.DRAWN, "sex": Origin.LOOKED_UP})).confidential
    False
    >>> found = clear(Output("moved.csv", {"x": Origin.DRAWN, "age": Origin.COPIED}))
    >>> found.confidential, found.reasons
    (True, ('age: copied from the original records',))
    >>> clear(Output("moved.csv", {"age": Origin.COPIED}, public=["age"])).confidential
    False
    >>> clear(Output("notes.html")).confidential
    True
    """
    held = {
        name: origin
        for name, origin in output.columns.items()
        if not origin.may_leave and name not in output.public
    }
    reasons = [output.inside] if output.inside else []
    if not output.columns and not output.inside and not output.outside:
        reasons.append(UNKNOWN)
    for name, origin in held.items():
        if origin is Origin.IDENTIFYING:
            reasons.append(f"{name}: {_looks_like(output.judged.get(name))}")
    copied = [name for name, origin in held.items() if origin is Origin.COPIED]
    if copied:
        reasons.append(f"{_listed(copied)}: copied from the original records")
    reasons += [
        f"{name}: {n:,} {'value' if n == 1 else 'values'} of fewer than {K} people, not declared"
        for name, n in output.rare.items()
        if n and name not in output.public
    ]
    declared = [n for n, o in output.columns.items() if not o.may_leave and n in output.public]
    notes = [f"{_listed(declared)}: original values, declared public"] if declared else []
    return Clearance(bool(reasons), tuple(reasons), tuple(notes))


def _looks_like(judged: Judgement | None) -> str:
    if judged is None:
        return "values that identify people"
    return f"looks like {CODES[judged.code]} ({judged.reason})"


def _listed(names: list[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def joined(name: str, outputs: Iterable[Output]) -> Output:
    """Return one output for several tables, as those of a workbook.

    Examples
    --------
    >>> two = [Output("a", {"x": Origin.DRAWN}), Output("b", {"x": Origin.COPIED})]
    >>> clear(joined("book.xlsx", two)).confidential
    True
    """
    parts = list(outputs)
    columns: dict[str, Origin] = {}
    judged: dict[str, Judgement] = {}
    held: set[str] = set()
    rare: dict[str, int] = {}
    for part in parts:
        judged |= part.judged
        rare |= {column: n for column, n in part.rare.items() if column not in part.public}
        for column, origin in part.columns.items():
            stays = not origin.may_leave and column not in part.public
            held |= {column} if stays else set()
            if stays or column not in columns:
                columns[column] = origin
    public = {column for part in parts for column in part.public} - held - {*rare}
    inside = next((part.inside for part in parts if part.inside), "")
    return Output(name, columns, public, judged, rare, inside)


def copied_records(
    names: Iterable[str],
    judged: Collection[str],
    others: Mapping[str, Origin] | None = None,
) -> dict[str, Origin]:
    """Return the origins of the columns of original records, some of them changed.

    Parameters
    ----------
    names
        The columns of the output.
    judged
        Columns that identify people.
    others
        The origins of columns that are not copied.

    Examples
    --------
    >>> found = copied_records(["pid", "x", "age"], ["pid", "x"], {"x": Origin.DRAWN})
    >>> [str(origin) for origin in found.values()]
    ['identifying', 'drawn', 'copied']
    """
    known = others or {}
    return {
        name: known.get(name, Origin.IDENTIFYING if name in judged else Origin.COPIED)
        for name in names
    }
