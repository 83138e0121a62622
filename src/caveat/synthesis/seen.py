"""What models see of the data: no names of people, no rare levels, of numbers what is public."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, about, hint
from caveat.expressions import Expression
from caveat.expressions.parser import Place, tokens_of
from caveat.synthesis.coding import SCALES, Coding, Grid, assumed_grid, declared_bins, declared_grid
from caveat.synthesis.methods.guarded import GUARDS
from caveat.table import Column, Kind, Table
from caveat.table.identifying import (
    CODES,
    MOST,
    Judgement,
    K,
    Origin,
    Output,
    has_open_vocabulary,
    level_texts,
    rare_levels,
    units_of_levels,
)
from caveat.table.linked import Linked
from caveat.table.table import Missing, decimals_of, survey_weights

__all__ = [
    "HOWS",
    "KEPT",
    "LEFT_OUT",
    "RareLevels",
    "assumed_public",
    "assumed_ranges",
    "declared_levels",
    "find_rare",
    "has_guard",
    "left_out",
    "origins_of",
    "pool_linked",
    "pool_table",
    "rare_below",
    "rare_threshold",
    "refuse_both",
    "refuse_strata",
    "release_output",
    "released",
    "remark_on_ranges",
    "remarks_on_rare",
    "said_about",
    "sole_ends",
    "too_many_levels",
    "tree_fits",
    "weight_unit",
    "with_grids",
    "with_guards",
]

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan, Plan


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


# -------------------------------------------------------------------------------------------------
# Rare levels leave the vocabulary of a model before anything is coded.
#
# A text that few units have leads to them wherever it stands. Levels that nobody declared and
# that fewer than ``rare_below`` units have are therefore pooled, merged or left out with their
# column, at one place: every fit, every draw and every attacker sees the pooled table.


LABELS = ("other", "other (rare)", "other (pooled)")
"""What pooled levels are called, the first that the column does not have."""
POOLED, COMMONEST, NEIGHBOUR, EMPTY, LEFT_OUT, KEPT, NONE_RARE = HOWS = (
    "pooled", "commonest", "neighbour", "empty", "left out", "kept", "none",
)  # fmt: skip
"""What happens to rare levels."""
UNITS = {"people": "person", "groups": "group"}
"""What rare levels are counted in: of many, and of one."""
WORDS = {
    POOLED: 'pooled as "{into}"',
    COMMONEST: "too few to pool and replaced by the most frequent level",
    NEIGHBOUR: "merged with the neighbouring level",
    EMPTY: "left empty",
}


@dataclass(frozen=True)
class RareLevels:
    """What happens to the rare levels of a column.

    Parameters
    ----------
    how
        One of ``HOWS``.
    n_levels, records
        How many levels are rare, and how many records have one of them.
    people
        The units that have one of them.
    edge
        The units with a level that exactly as many units have as are needed: without one of them
        it would be rare.
    levels
        The levels that stay, as texts; of a column that is left out or kept none are noted.
    into
        What the others become: a label, or one of the levels.
    held
        Of an order: the levels with enough people, with which others are merged.
    """

    how: str
    n_levels: int
    records: int
    people: int
    edge: int = 0
    levels: tuple[str, ...] = ()
    into: str = ""
    held: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<RareLevels: {self.n_levels:,} {self.how}>"

    def apply(self, column: Column) -> Column:
        """Return a column whose levels are those that leave; such a column stays as it is."""
        if self.how in (LEFT_OUT, KEPT, NONE_RARE):
            return column
        texts = level_texts(column)
        stays = np.isin(texts, [*self.levels, self.into] if self.into else list(self.levels))
        if stays.all():
            return column
        places = np.cumsum(stays) - 1
        levels, missing = column.levels[stays], column.missing
        held = np.flatnonzero(np.isin(texts, self.held))
        if self.how in (POOLED, COMMONEST):
            levels, order = _with_label(levels, self.into)
            places = np.append(order, 0)[places]
        new = [str(level) for level in levels.tolist()]
        if self.how == NEIGHBOUR and len(held):
            places = np.where(stays, places, places[_nearest(held, len(texts))])
        elif self.into and self.into in new:
            places = np.where(stays, places, new.index(self.into))
        else:  # also where a part of the table has no level that others become
            missing = missing if any(m.code is None for m in missing) else (*missing, Missing())
            empty = next(i for i, m in enumerate(missing) if m.code is None)
            places = np.where(stays, places, len(levels) + empty)
        ways = len(levels) + np.arange(len(column.missing))
        codes = np.concatenate([places, ways])[column.codes]
        gone = {level for level, stay in zip(column.levels.tolist(), stays, strict=True)
                if not stay}  # fmt: skip
        labels = {value: text for value, text in column.value_labels.items() if value not in gone}
        return replace(column, codes=codes, levels=levels, missing=missing, value_labels=labels)

    def state(self) -> dict[str, Any]:
        """Return what a file has to hold."""
        return {
            "how": self.how,
            "counts": [self.n_levels, self.records, self.people, self.edge],
            "levels": list(self.levels),
            "into": self.into,
            "held": list(self.held),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> RareLevels:
        """Return the rare levels from a file, or raise ValueError if it holds none."""
        counts, levels, into = state["counts"], state["levels"], state["into"]
        held = state.get("held", [])
        if state["how"] not in HOWS or len(counts) != 4:
            raise ValueError("no rare levels")
        if not all(type(n) is int and n >= 0 for n in counts):
            raise ValueError("no counts")
        if not all(isinstance(text, str) for text in (*levels, *held, into)):
            raise ValueError("no levels")
        n, records, people, edge = counts
        if state["how"] == NEIGHBOUR and not held:
            raise ValueError("no level to merge with")
        return cls(state["how"], n, records, people, edge, tuple(levels), into, tuple(held))


def _nearest(stays: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    """Return for each level the nearest one that stays; of two the lower one."""
    distance = np.abs(np.arange(n)[:, None] - stays[None, :])
    return np.asarray(stays[distance.argmin(axis=1)])


def _with_label(levels: NDArray[Any], label: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the levels with a label among them, and where each of them stands now."""
    same = np.arange(len(levels))
    if levels.dtype != object or label in levels.tolist():
        return levels, same
    if list(levels) != sorted(levels):
        return np.append(levels, np.array([label], object)), same
    place = int(np.searchsorted(levels.astype(str), label))
    return np.insert(levels, place, label), same + (same >= place)


def rare_below(given: Any) -> int:
    """Return from how many units on a level is not rare, or say what is wrong with the setting."""
    if given is None:
        return K
    if type(given) is not int or given < 1:
        raise CaveatError(
            "rare_below is a whole number of units, 1 or more",
            where="synthesis",
            do=f"write rare_below = {K}, or 1 to let every level leave",
            entry=("rare_below",),
            code="synthesis.setting.range",
        )
    return given


def rare_threshold(k: int) -> int:
    """Return below how many units a level is called rare where fewer than k do not leave.

    Where every level leaves (k = 1) it is the default: who is recognised by a level is counted all
    the same.
    """
    return K if k <= 1 else k


def declared_levels(options: Mapping[str, Any], column: str) -> list[Any]:
    """Return the levels of a column that a specification names: listed, or in rules and formulas.

    Examples
    --------
    >>> declared_levels({"columns": {"town": {"levels": ["Ulm"]}}}, "town")
    ['Ulm']
    >>> declared_levels({"rules": ['if age < 18 then marital = "single"']}, "marital")
    ['single']
    """
    own = options.get("columns", {}).get(column, {})
    texts = [*options.get("rules", ()), own.get("formula", "")]
    texts += [text for text in options.get("derived", {}).values() if isinstance(text, str)]
    return [*own.get("levels", ()), *(value for text in texts if text for value in _quoted(text))]


def _quoted(text: str) -> list[str]:
    """Return the texts between quotation marks in a rule or formula."""
    try:
        tokens = tokens_of(Place("rule", text))
    except CaveatError:  # who reads it says what is wrong
        return []
    return [str(token.value) for token in tokens if token.kind == "text"]


def find_rare(
    column: Column,
    k: int,
    *,
    declared: Collection[Any] = (),
    keep: bool = False,
    units: NDArray[Any] | None = None,
    leave_out: bool | None = None,
) -> RareLevels | None:
    """Return what happens to the rare levels of a column; None if nothing does.

    Parameters
    ----------
    column
        The column of the original.
    k
        Units that must have a level; 1 keeps every column as it is.
    declared
        Levels that are public.
    keep
        Whether the column is kept as it is.
    units
        The unit of each row; every row is one by default.
    leave_out
        Whether the column is left out, where that was decided on a larger table; by default it is
        if more than half of the records with a value have a rare level.
    """
    if not has_open_vocabulary(column):
        return None
    k, keep = rare_threshold(k), keep or k <= 1
    rare = rare_levels(column, units, k, declared)
    public = column.closed | np.isin(level_texts(column), [str(value) for value in declared])
    edge = (units_of_levels(column, units) == k) & ~public
    if not (rare.any() or edge.any()):
        return None
    n = len(column.levels)
    counts = column.counts[:n]
    records, people = int(counts[rare].sum()), _holders(column, rare, units)
    of = int(rare.sum()), records, people, 0 if keep else _holders(column, edge, units)
    if keep or not rare.any():
        return RareLevels(KEPT if keep else NONE_RARE, *of)
    if records > MOST * counts.sum() if leave_out is None else leave_out:
        return RareLevels(LEFT_OUT, *of[:3])
    stays = tuple(level_texts(column)[~rare].tolist())
    held = tuple(level_texts(column)[~rare & (counts > 0)].tolist())
    if column.kind is Kind.ORDERED and held:
        return RareLevels(NEIGHBOUR, *of, stays, held=held)
    if people < k and held:
        commonest = int(np.where(rare, -1, counts).argmax())
        return RareLevels(COMMONEST, *of, stays, str(level_texts(column)[commonest]))
    if column.levels.dtype != object:
        return RareLevels(EMPTY, *of, stays)
    return RareLevels(POOLED, *of, stays, _label(column, stays))


def _label(column: Column, stays: Collection[str]) -> str:
    used = {*stays, *(str(m.code) for m in column.missing)}
    numbered = (f"other ({i})" for i in range(2, len(used) + 4))
    return next(label for label in (*LABELS, *numbered) if label not in used)


def _holders(column: Column, levels: NDArray[np.bool_], units: NDArray[Any] | None) -> int:
    """Return how many units have one of the levels."""
    flags = np.append(levels, np.zeros(len(column.missing), bool))[column.codes]
    return int(flags.sum()) if units is None else len(np.unique(np.asarray(units)[flags]))


def pool_table(table: Table, rare: Mapping[str, RareLevels]) -> Table:
    """Return a table with nothing but levels that leave; a table that is pooled stays as it is."""
    pooled = {name: of.apply(table[name]) for name, of in rare.items() if name in table}
    changed = {name: column for name, column in pooled.items() if column is not table[name]}
    return table.with_columns(changed) if changed else table


def pool_linked(linked: Linked, rare: Mapping[str, Mapping[str, RareLevels]]) -> Linked:
    """Return linked tables with nothing but levels that leave."""
    tables = {name: pool_table(table, rare.get(name, {})) for name, table in linked.tables.items()}
    same = all(tables[name] is table for name, table in linked.tables.items())
    return linked if same else replace(linked, tables=tables)


def remarks_on_rare(rare: Mapping[str, RareLevels], k: int, units: str = "people") -> list[str]:
    """Return what has to be said about the rare levels of each column, without a level."""
    said, below = [], rare_threshold(k)
    if 1 < k < K:
        said.append(f"rare levels of {k} to {K - 1} {units} leave, because of rare_below = {k}")
    for name, of in rare.items():
        if not of.n_levels:
            continue
        which = f"{_counted(of.n_levels, 'rare level')} (fewer than {below} {units})"
        if of.how == LEFT_OUT:
            said.append(
                f"{name} is left out: most of its values are rare, {which}; "
                f'keep = ["{name}"] would release it, levels = […] declares public ones'
            )
        elif of.how == KEPT:
            said.append(
                f"{name} leaves with {which}: it identifies {_counted(of.people, UNITS[units])}"
            )
        else:
            words = WORDS[of.how].format(into=of.into)
            said.append(f"{name}: {which} in {_counted(of.records, 'record')}, {words}")
    return said


def _counted(n: int, what: str) -> str:
    """Return a number with what it counts.

    Examples
    --------
    >>> _counted(1, "person"), _counted(2, "person"), _counted(2, "record")
    ('1 person', '2 people', '2 records')
    """
    more = next((many for many, one in UNITS.items() if one == what), f"{what}s")
    return f"{n:,} {what if n == 1 else more}"


# -------------------------------------------------------------------------------------------------
# What guarded trees take as public about a number: declared, or read off the data.


Floats = NDArray[np.float64]
UNUSED = ("derived", "drop", "constant", "copy")
MOST_PREDICTED = 5_000
"""Levels of a column that guarded trees draw from others; more are drawn from their own shares."""
HEAP = 0.25
"""Share of records at the lowest value from which on it is modelled apart unless declared."""
FEW_VALUES = 20
"""Numbers with fewer values have no heap."""
USUAL_BINS = 16
"""Cells of a number in tables of counts."""
USUAL_ROWS = 5_000
"""Rows from which on the dial is as it is."""
NAMED = 8
"""Columns that a remark names at most."""
MOST_SPLIT = 1_000
"""Levels without an order that guarded trees split."""


def too_many_levels(column: Column) -> bool:
    """Whether guarded trees draw a column from its own shares only."""
    return not column.kind.is_number and column.n_levels > MOST_PREDICTED


def tree_fits(predictor: Column, column: Column) -> bool:
    """Whether guarded trees can draw a column from another."""
    if too_many_levels(column):
        return False
    return predictor.kind.is_number or predictor.n_levels <= MOST_SPLIT


def weight_unit(columns: Mapping[str, ColumnPlan], table: Table, weights: str) -> float:
    """Return the weight that counts as one record: about the mean, one digit; 1 without guard."""
    if not weights or not has_guard(columns):
        return 1.0
    mean = float(survey_weights(table[weights], weights).mean())
    return float(f"{mean:.0e}") if mean > 0 else 1.0


def assumed_public(
    plan: Plan, columns: Mapping[str, Column] = MappingProxyType({})
) -> tuple[str, ...]:
    """Return what nobody declared and the guard takes as public, in words.

    Parameters
    ----------
    plan
        The plan.
    columns
        The columns, for those that hold dates.
    """
    found = []
    for name, entry in plan.columns.items():
        grid = entry.grid
        if grid is not None and not grid.declared:
            found.append(f"{name}: {_dates(grid, columns.get(name)) or grid.words}")
        if grid is not None and grid.heap:
            found.append(f"{name}: {', '.join(f'{v:g}' for v in grid.special)} is modelled apart")
    if plan.weights and has_guard(plan.columns):
        found.append(f"a weight of {plan.weight_unit:g} counts as one record")
    return tuple(found)


def assumed_ranges(columns: Mapping[str, ColumnPlan]) -> tuple[str, ...]:
    """Return the columns whose range was read off the data."""
    return tuple(
        name
        for name, entry in columns.items()
        if entry.grid is not None and not entry.grid.declared
    )


def remark_on_ranges(columns: Mapping[str, ColumnPlan]) -> list[str]:
    """Name the columns whose range was read off the data; nothing if there are none."""
    names = assumed_ranges(columns)
    if not names:
        return []
    which = ", ".join(names[:NAMED]) + (" and others" if len(names) > NAMED else "")
    return [
        f"{which}: the range was read off the data and rounded outwards; declare it, "
        "range = [lowest, highest, step]"
    ]


def sole_ends(columns: Mapping[str, ColumnPlan], table: Table) -> Iterator[SoleEnd]:
    """Yield the records without which an undeclared range would be narrower.

    Parameters
    ----------
    columns
        The plan of each column.
    table
        The table that it was made for.
    """
    for name in assumed_ranges(columns):
        grid, column = columns[name].grid, table[name]
        assert grid is not None
        ordinary = np.flatnonzero(~np.isin(column.numbers, grid.special))
        for end in {int(ordinary[0]), int(ordinary[-1])}:
            if len(ordinary) < 3 or column.counts[end] != 1:
                continue
            record = int(np.flatnonzero(column.codes == end)[0])
            rest = column.take(np.delete(np.arange(len(column)), record)).compact()
            others = rest.numbers[~np.isin(rest.numbers, grid.special)]
            without = assumed_grid(rest, others, decimals_of(rest), grid.scale, grid.special)
            if without.low > grid.low or without.high < grid.high:
                yield SoleEnd(name, record, without.low, without.high)


class SoleEnd(NamedTuple):
    """A record that alone holds an end of a range, and the ends without it."""

    column: str
    record: int
    low: float
    high: float


def _dates(grid: Grid, column: Column | None) -> str:
    """Return the range of dates as dates; nothing for numbers."""
    if column is None or column.levels.dtype.kind != "M":
        return ""
    ends = np.array([grid.low, grid.high]).astype(np.int64).astype(column.levels.dtype)
    return f"range {ends[0]} to {ends[1]}, {grid.scale} cells"


def has_guard(columns: Mapping[str, ColumnPlan]) -> bool:
    """Whether a column is made by guarded trees, which draw their structure."""
    return any(entry.settings.method == "guarded" for entry in columns.values())


def with_grids(
    columns: Mapping[str, ColumnPlan],
    table: Table,
    given: Mapping[str, Mapping[str, Any]],
    exact: Collection[str] = (),
) -> dict[str, ColumnPlan]:
    """Give every number its grid, if a column of the plan is guarded, or it is made from margins.

    Parameters
    ----------
    columns
        The plan of each column.
    table
        The original table.
    given
        What the user says about single columns: their ``range``, ``scale`` and ``bins``.
    exact
        Columns whose range is not made wider than the data.
    """
    guarded = has_guard(columns)
    found = dict(columns)
    for name, entry in columns.items():
        own, tabulated = given.get(name, {}), entry.settings.method == "margins"
        if "bins" in own and not tabulated:
            raise CaveatError(
                "bins are for columns that are made from margins",
                where="synthesis",
                column=name,
                do='add method = "margins", or leave them out',
                entry=(name, "bins"),
                code="synthesis.setting.unused",
            )
        if tabulated or (guarded and entry.settings.method not in UNUSED):
            heap = () if "special" in own else _heap(entry, table[name])
            entry = replace(entry, special=heap or entry.special)
            grid = _grid(entry, table, name, own, name in exact)
            if grid is not None and heap:
                grid = replace(grid, heap=True)
            if grid is not None and tabulated:
                grid = replace(grid, bins=declared_bins(own.get("bins", USUAL_BINS), name))
            found[name] = replace(entry, grid=grid)
    return found


def with_guards(columns: Mapping[str, ColumnPlan], rows: int) -> dict[str, ColumnPlan]:
    """Write the numbers behind the dial into the plan of a small table, as far as none are given.

    A record weighs more among few. Below 5,000 rows temperature, backoff and floor are therefore
    those of the dial times √(5000/rows): about as many records then show as in larger tables. The
    number of rows is public, and so is the rule.
    """
    factor = max(1.0, sqrt(USUAL_ROWS / max(rows, 1)))
    found = dict(columns)
    for name, entry in columns.items():
        settings = entry.settings
        if settings.method == "guarded" and factor > 1:
            dial = GUARDS[settings.guard]
            larger: dict[str, Any] = {
                word: float(f"{factor * getattr(dial, word):.3g}")
                for word in ("temperature", "backoff", "floor")
                if getattr(settings, word) is None
            }
            found[name] = replace(entry, settings=replace(settings, **larger))
    return found


def _heap(entry: ColumnPlan, column: Column) -> tuple[Any, ...]:
    """Return the lowest value of a number if very many records have it: zero, mostly."""
    levels = column.levels
    if (
        entry.settings.method not in ("guarded", "margins")
        or not column.kind.is_number
        or len(levels) < FEW_VALUES
    ):
        return ()
    share = column.counts[0] / max(column.counts[: len(levels)].sum(), 1)
    return (levels[0].item(),) if share >= HEAP and levels.dtype.kind != "M" else ()


def _grid(
    entry: ColumnPlan, table: Table, name: str, given: Mapping[str, Any], exact: bool = False
) -> Grid | None:
    where, column = "synthesis", table[name]
    coding = Coding.of(column, entry.special, name)
    if not coding.is_number:
        for word in (word for word in ("range", "scale", "bins") if word in given):
            raise CaveatError(
                f"{word} is for numbers" if word == "bins" else f"a {word} is for numbers",
                where=where,
                column=name,
                do="leave it out",
                entry=(name, word),
                code="synthesis.column.type",
            )
        return None
    scale = given.get("scale", "")
    if scale not in ("", *SCALES):
        raise CaveatError(
            f"there is no scale {scale!r}",
            where=where,
            column=name,
            do=hint(str(scale), SCALES),
            entry=(name, "scale"),
            code="synthesis.scale.unknown",
        )
    special = tuple(coding.special_numbers.tolist())
    ordinary = column.numbers[coding.kind_of[: len(column.levels)] == 0] if coding.two_step else (
        column.numbers
    )  # fmt: skip
    if not len(ordinary):
        raise CaveatError(
            "all values are special: none is left to be drawn",
            where=where,
            column=name,
            do="leave one of them out",
            code="synthesis.column.empty",
        )
    if "range" in given:
        with about(name, "range"):
            return _declared(given["range"], scale, special, column, ordinary, name)
    return assumed_grid(column, ordinary, decimals_of(column), scale, special, exact)


def _declared(
    given: Any, scale: str, special: tuple[float, ...], column: Column, ordinary: Floats, name: str
) -> Grid:
    """Return the grid of a declared range that the data keep to."""
    where = "synthesis"
    grid = declared_grid(given, scale, special, name)
    if column.kind is not Kind.NUMERIC and not all(
        float(v).is_integer() for v in (grid.low, grid.step)
    ):
        raise CaveatError(
            "the column holds whole numbers, the range does not",
            where=where,
            column=name,
            do="give a whole lowest value and step",
            code="synthesis.setting.type",
        )
    if len(ordinary) and (ordinary[0] < grid.low or ordinary[-1] > grid.high):
        raise CaveatError(
            "the data go beyond the declared range",
            where=where,
            column=name,
            do="declare a wider one, or code what lies beyond it (top-coding)",
            code="data.value.range",
        )
    if not grid.holds(ordinary).all():
        raise CaveatError(
            "the data have values between the steps of the declared range",
            where=where,
            column=name,
            do="declare a smaller step, or round the column first",
            code="data.value.range",
        )
    return grid
