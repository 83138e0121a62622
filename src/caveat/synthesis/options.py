"""What the options of a plan say, wherever they say it: about single columns, and their order."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from caveat.errors import CaveatError
from caveat.synthesis._plan_checks import named
from caveat.synthesis.leaving_out import refuse_both
from caveat.table import Table

__all__ = [
    "kept",
    "look_ups",
    "one_stratum",
    "parents_first",
    "refuse_unknown",
    "single_columns",
    "sources_first",
    "visit_order",
]


def refuse_unknown(
    options: Mapping[str, Any], known: Sequence[str], column: str | None = None
) -> None:
    """Refuse an option that nobody knows, and name one that is near."""
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}" if near else f"use {', '.join(known)}"
            raise CaveatError(
                f"{name!r} is no setting",
                where="synthesis",
                do=hint,
                column=column,
                entry=(name,),
                code="synthesis.setting.unknown",
            )


def kept(
    options: Mapping[str, Any], table: Table, single: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Return the columns that stay by somebody's word, even where they name people.

    A method of its own is somebody's word for a column, a method for all columns is none.
    """
    keep = [named(table, name, "keep") for name in options.get("keep", ())]
    refuse_both(keep, options.get("drop", ()))
    return keep + [name for name, entry in single.items() if "method" in entry]


def single_columns(options: Mapping[str, Any], table: Table) -> dict[str, dict[str, Any]]:
    """Return what the options say about single columns, wherever they say it."""
    single = {name: dict(entry) for name, entry in options.get("columns", {}).items()}
    for name in options.get("drop", ()):
        single.setdefault(name, {})["method"] = "drop"
    for name, value in options.get("derived", {}).items():
        single.setdefault(name, {}).update(_derivation(value, name))
    for key in ("special", "predictors"):
        told = options.get(key, {})
        for name, value in told.items() if isinstance(told, Mapping) else ():
            single.setdefault(name, {})[key] = value
    for name in single:
        named(table, name, "columns")
    return single


def _derivation(value: Any, name: str) -> dict[str, Any]:
    """Return the settings for a formula, or for the column that a value is looked up by."""
    if isinstance(value, str):
        return {"method": "derived", "formula": value}
    if isinstance(value, Mapping) and set(value) == {"lookup"}:
        return {"method": "lookup", "predictors": value["lookup"]}
    raise CaveatError(
        "a derived column has a formula or a lookup",
        where=f"synthesis, derived, {name}",
        do='write "weight / 2" or { lookup = "age" }',
        entry=("derived", name),
        code="synthesis.setting.type",
    )


def one_stratum(given: Any) -> str:
    """Return the column of strata, which may stand alone in a list as synthpop's users write it."""
    if isinstance(given, str):
        return given
    names = list(given)
    if len(names) == 1:
        return str(names[0])
    raise CaveatError(
        f"strata is one column, and {len(names)} are named",
        where="synthesis, strata",
        do="name one, and the others first in order: trees split by them where it matters",
        entry=("strata",),
        code="synthesis.strata.too-many",
    )


def visit_order(
    table: Table,
    order: Sequence[str] | None,
    strata: str,
    weights: str,
    looked_up: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> list[str]:
    """Return the visit sequence: the named columns first, the others after them as they stand.

    Columns that are looked up and not named follow the columns that they are looked up by.
    """
    given = [named(table, name, "order") for name in order or ()]
    repeated = [name for name in given if given.count(name) > 1]
    if repeated:
        what, where = f"{repeated[0]!r} is listed twice", "synthesis, order"
        raise CaveatError(
            what,
            where=where,
            do="list it once",
            entry=("order",),
            code="synthesis.column.duplicate",
        )
    whole = [*given, *(name for name in table if name not in given)]
    whole = sources_first(whole, looked_up, given)
    first = [strata] if strata else []
    return first + [name for name in whole if name not in (strata, weights)]


def sources_first(
    names: Sequence[str], looked_up: Mapping[str, Sequence[str]], fixed: Collection[str] = ()
) -> list[str]:
    """Return the names with each column that is looked up behind those it is looked up by.

    Parameters
    ----------
    names
        A visit sequence.
    looked_up
        The sources of columns.
    fixed
        Columns that stay where they are.

    Examples
    --------
    >>> sources_first(["region", "age", "town", "sex"], {"region": ["town"]})
    ['age', 'town', 'region', 'sex']
    """
    left = dict.fromkeys(names)
    found: list[str] = []
    waiting: list[str] = []
    for name in names:
        waiting.append(name)
        while ready := [
            n for n in waiting if n in fixed or not any(s in left for s in looked_up.get(n, ()))
        ]:
            found.append(ready[0])
            waiting.remove(ready[0])
            left.pop(ready[0])
    return found + waiting


def look_ups(options: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the columns that are looked up by the options, and what each is looked up by.

    Examples
    --------
    >>> look_ups({"derived": {"bmi": "weight / height", "region": {"lookup": "town"}}})
    {'region': ('town',)}
    """
    named_ones = options.get("predictors", {})
    named_ones = named_ones if isinstance(named_ones, Mapping) else {}
    found = {
        name: how["lookup"]
        for name, how in options.get("derived", {}).items()
        if isinstance(how, Mapping) and "lookup" in how
    }
    for name, entry in options.get("columns", {}).items():
        if entry.get("method") == "lookup":
            found[name] = entry.get("predictors", named_ones.get(name, ()))
    return {n: (by,) if isinstance(by, str) else tuple(by) for n, by in found.items()}


def parents_first(order: Sequence[str], parents: Mapping[str, Any]) -> list[str]:
    """Return the order with the places of columns made from margins taken by parents first."""
    arranged = iter(parents)
    return [next(arranged) if name in parents else name for name in order]
