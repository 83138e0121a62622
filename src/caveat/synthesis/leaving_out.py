"""What a plan says about columns that name people, and what it refuses about them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from caveat.errors import CaveatError
from caveat.expressions import Expression
from caveat.table.identifying import CODES, Judgement, Origin, Output

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan

__all__ = [
    "left_out",
    "origins_of",
    "refuse_both",
    "refuse_strata",
    "release_output",
    "released",
    "said_about",
]

ORIGINS = {"copy": Origin.COPIED, "lookup": Origin.LOOKED_UP, "derived": Origin.COMPUTED}
"""Where the values of a method come from; all others draw them."""


def left_out(name: str, judged: Judgement) -> str:
    """Return the remark about a column that nobody has asked for."""
    whole = f'groups = "{name}" synthesises whole groups with fresh keys, '
    return (
        f"{name} is left out: it looks like {CODES[judged.code]} ({judged.reason}); "
        f'{whole if judged.code == "group-key" else ""}keep = ["{name}"] would release it'
    )


def released(name: str, judged: Judgement) -> str:
    """Return the remark about a column that somebody wants all the same."""
    return (
        f"{name} is kept, and real values of it leave with the release: it looks like "
        f"{CODES[judged.code]} ({judged.reason}); the release is confidential unless "
        f"[columns] declares public = true of it"
    )


def refuse_both(keep: Sequence[str], drop: Sequence[str]) -> None:
    """Refuse a column that is to be kept and left out."""
    both = [name for name in keep if name in drop]
    if both:
        raise CaveatError(
            f"{both[0]!r} cannot be both kept and left out",
            where="synthesis, keep",
            do="name it in one of keep and drop",
            entry=("keep",),
            code="synthesis.column.conflict",
        )


def refuse_strata(name: str, strata: str) -> None:
    """Refuse a column as strata that is left out: within its levels people are alone."""
    if name == strata:
        raise CaveatError(
            f"{name} looks like an identifier and cannot be the strata of a release",
            where="synthesis, strata",
            do=f'choose another column, or write keep = ["{name}"]',
            entry=("strata",),
            code="synthesis.strata.refused",
        )


def said_about(
    name: str, judged: Judgement, given: dict[str, Any], kept: bool, strata: str
) -> list[str]:
    """Leave a column out that names people unless it is kept; return what has to be said."""
    if not kept:
        refuse_strata(name, strata)
        given["method"] = "drop"
        return [left_out(name, judged)]
    return [] if given.get("method") in ("drop", "derived") else [released(name, judged)]


def origins_of(
    columns: Mapping[str, ColumnPlan],
    names: Sequence[str],
    judged: Collection[str],
    public: Collection[str] = (),
    replaced: Collection[str] = (),
) -> dict[str, Origin]:
    """Return where each released column of a plan comes from.

    What follows from a copied or an identifying column by a formula or a lookup is as close to the
    original record as that column.

    Parameters
    ----------
    columns
        The plan of each column.
    names
        The released columns; one without a plan is a fresh key.
    judged
        Columns that identify people.
    public
        Columns whose values are public, so that what follows from them is.
    replaced
        Columns that invented values take the place of.
    """
    found: dict[str, Origin] = {}
    for name, entry in columns.items():  # what a column follows from comes before it
        origin = ORIGINS.get(entry.settings.method, Origin.DRAWN)
        if origin is not Origin.COMPUTED and name in judged:
            origin = Origin.IDENTIFYING
        if origin in (Origin.COMPUTED, Origin.LOOKED_UP):
            close = [source for source in _sources(entry) if source not in public]
            sources = (found[source] for source in close if source in found)
            origin = next((one for one in sources if not one.may_leave), origin)
        found[name] = Origin.INVENTED if name in replaced else origin
    return {name: found.get(name, Origin.DRAWN) for name in names}


def _sources(entry: ColumnPlan) -> Sequence[str]:
    formula = entry.settings.formula
    return sorted(Expression(formula).columns) if formula else entry.predictors


def release_output(
    columns: Mapping[str, ColumnPlan],
    names: Sequence[str],
    judged: Mapping[str, Judgement],
    public: Collection[str] = (),
    replaced: Collection[str] = (),
) -> Output:
    """Return what a release holds, for :func:`caveat.table.identifying.clear` to decide on."""
    names = [*names, *(name for name in replaced if name not in names)]
    origins = origins_of(columns, names, judged, public, replaced)
    return Output("release", origins, public, judged)
