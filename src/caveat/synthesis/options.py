"""What a plan says in its options and rules, and what it must not ask for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, about, hint
from caveat.expressions import Expression
from caveat.expressions.parser import Parser, Place, named
from caveat.synthesis.margins.plan import MarginsPlan
from caveat.synthesis.methods import Settings
from caveat.synthesis.methods.guarded import GUARDS
from caveat.synthesis.seen import refuse_both
from caveat.table import Column, Table
from caveat.table.align import recode_to

__all__ = [
    "Fixed",
    "Order",
    "kept",
    "look_ups",
    "one_stratum",
    "parents_first",
    "parse_rule",
    "refuse_unknown",
    "single_columns",
    "sources_first",
    "visit_order",
]

if TYPE_CHECKING:
    from caveat.synthesis.plan import ColumnPlan


UNREADABLE = (
    "it cannot be read",
    'write it as in: if age < 18 then marital = "single", or: start <= end',
)
WORDS = {"missing": None, "None": None, "True": True, "False": False}


@dataclass(frozen=True)
class Fixed:
    """Where the condition holds the column has a value (None: empty), or that of another column."""

    condition: Expression
    column: str
    value: Any
    other: str = ""

    def __str__(self) -> str:
        value = "missing" if self.value is None else repr(self.value)
        value = f"`{self.other}`" if self.other else value
        return f"if {self.condition.text} then {named(self.column)} = {value}"

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that decide."""
        return (*self.condition.columns, *([self.other] if self.other else []))

    @property
    def target(self) -> str:
        """The column that is decided upon."""
        return self.column

    def code(self, column: Column) -> int:
        """Return the code of the fixed value."""
        for code, level in enumerate(column.levels.tolist()):
            if level == self.value or (
                column.levels.dtype.kind == "M" and str(level) == self.value
            ):
                return code
        for position, missing in enumerate(column.missing):
            # "missing" is an empty cell; in a column that has none, its first missing code
            if missing.code == self.value or self.value is None:
                return len(column.levels) + position
        raise CaveatError(
            f"the rule gives {self.column} a value that never occurs in the data",
            where=f"rule {str(self)!r}",
            do="use a value of the column, or missing",
            code="data.value.unknown",
        )

    def contradictions(self, table: Table) -> int:
        """Return how many records meet the condition and have another value."""
        holds = self.condition.holds(table.columns)
        column = table[self.column]
        wanted = recode_to(table[self.other], column) if self.other else self.code(column)
        return int(np.sum(holds & (column.codes != wanted)))


@dataclass(frozen=True)
class Order:
    """The first column is never greater than the second."""

    lower: str
    upper: str

    @property
    def sources(self) -> tuple[str, ...]:
        """The columns that decide."""
        return (self.lower,)

    @property
    def target(self) -> str:
        """The column that is decided upon."""
        return self.upper

    def __str__(self) -> str:
        return f"{named(self.lower)} <= {named(self.upper)}"

    def broken(self, table: Table) -> NDArray[np.bool_]:
        """Return which records have both values, and in the wrong order."""
        return np.asarray(table[self.lower].cell_numbers > table[self.upper].cell_numbers)

    def contradictions(self, table: Table) -> int:
        """Return how many records have the two values in the wrong order."""
        return int(self.broken(table).sum())


def parse_rule(text: str) -> Fixed | Order:
    """Read a rule.

    Examples
    --------
    >>> str(parse_rule("if age < 18 then marital = 'single'"))
    "if age < 18 then marital = 'single'"
    >>> parse_rule("married <= divorced")
    Order(lower='married', upper='divorced')
    """
    parser = Parser(Place("rule", text), unreadable=UNREADABLE)
    if parser.take("if"):
        start = parser.next.start
        parser.expression()
        end = parser.tokens[parser.at - 1].end
        _expect(parser, "then")
        column = _column(parser)
        _expect(parser, "=", "==")
        other = _column(parser) if parser.next.kind == "quoted" else ""
        value = None if other else _value(parser)
        parser.end()
        return Fixed(Expression(text[start:end]), column, value, other)
    first = _column(parser)
    upwards = parser.next.is_word("<=")
    _expect(parser, "<=", ">=")
    second = _column(parser)
    parser.end()
    return Order(first, second) if upwards else Order(second, first)


def _expect(parser: Parser, *words: str) -> None:
    if not parser.take(*words):
        raise parser.place.error(*UNREADABLE).replaced(code="synthesis.rule.malformed")


def _column(parser: Parser) -> str:
    token = parser.next
    if token.kind not in ("name", "quoted"):
        raise parser.place.error(*UNREADABLE).replaced(code="synthesis.rule.malformed")
    parser.at += 1
    return token.written if token.kind == "name" else str(token.value)


def _value(parser: Parser) -> Any:
    """Read a number, a text, a truth value or the word missing."""
    signed, negative = parser.next.is_word("+", "-"), parser.next.is_word("-")
    parser.at += signed
    token = parser.next
    if token.kind != "end":
        parser.at += 1
    if token.kind == "number":
        return -token.value if negative else token.value  # type: ignore[operator]
    if not signed and token.kind == "text":
        return token.value
    if not signed and token.is_word(*WORDS):
        return WORDS[token.written]
    raise parser.place.error(
        "the value is neither a number nor quoted text",
        'write it as in: if age < 18 then marital = "single"',
    ).replaced(code="synthesis.rule.malformed")


# -------------------------------------------------------------------------------------------------
# What a plan must not ask for, said before anything is fitted.


# Methods that the plan itself carries out: they have no model of their own.
WITHOUT_MODEL = ("constant", "copy", "derived", "drop", "given")
GIVEN = "given"  # columns that others are drawn from, known before anything is drawn
TOP_LEVEL = ("order", "method", "columns", "rules", "strata", "weights", "derived", "drop",
             "special", "predictors", "keep", "clearing", "rare_below")  # fmt: skip
# Settings of plain trees that guarded ones have not, with the method to name; and the other way.
PLAIN = {
    **dict.fromkeys(("minbucket", "minsplit", "cp", "prune", "max_depth"), "cart"),
    "trees": "forest",
}
DIAL = ("guard", "temperature", "smallest", "backoff", "floor", "depth")
GROWN = ("cart", "forest")  # methods with plain trees
MOST_WHOLE = 1 << 31  # whole numbers of the tree engine
ROWS_FOR_FORMULAS = 100  # enough to see whether a formula can be computed


def column_named(table: Table, name: str, where: str) -> str:
    if name and name not in table:
        raise CaveatError(
            f"there is no column {name!r}",
            where=f"synthesis, {where}",
            do=f"choose among {', '.join(table.names)}",
            entry=(where,) if where in TOP_LEVEL else (),
            code="data.column.unknown",
        )
    return name


def check_strata(columns: Mapping[str, ColumnPlan], strata: str) -> None:
    if strata and columns[strata].settings.method in ("derived", "drop"):
        raise CaveatError(
            f"{strata} is not drawn, so that nothing can be drawn within its levels",
            where="synthesis, strata",
            do="name another column",
            entry=("strata",),
            code="synthesis.column.absent",
        )
    for method in ("ipf", "margins"):
        block = [n for n, entry in columns.items() if entry.settings.method == method]
        if strata and block:
            raise CaveatError(
                f"a block with the method {method} cannot be fitted within strata",
                where="synthesis",
                column=block[0],
                do=f"give the strata column the method {method} too, and put it into the margins",
                code="synthesis.strata.conflict",
            )


def refuse_own(block: Mapping[str, Mapping[str, Any]], clearing: Any) -> None:
    """Refuse what has no meaning with margins, or without them.

    Parameters
    ----------
    block
        What is said of the columns that are made from margins.
    clearing
        The rules that tables are cleared by.
    """
    if not block and clearing is not None:
        raise CaveatError(
            "clearing is for tables that columns are made from, and none are",
            where="synthesis, clearing",
            do='add method = "margins", or leave it out',
            entry=("clearing",),
            code="synthesis.setting.unused",
        )
    for name, entry in block.items():
        for word in ("predictors", "proper", "smoothing"):
            if word in entry and entry[word] not in (False, ""):
                raise CaveatError(
                    f"{word} is not for columns that are made from margins",
                    where="synthesis",
                    column=name,
                    do=f"leave {word} out: the tables say what a column is drawn from",
                    code="synthesis.setting.conflict",
                )


def check_margins_block(
    columns: Mapping[str, ColumnPlan], margins: MarginsPlan | None, rules: Sequence[Fixed | Order]
) -> None:
    """Refuse whatever would come from the data beside cleared tables, which are the only source."""
    made = [n for n, entry in columns.items() if entry.settings.method == "margins"]
    given = [n for n, entry in columns.items() if entry.settings.method == GIVEN]
    if made and given:
        raise CaveatError(
            "margins are for a table that stands by itself: they know no groups and no parents",
            where="synthesis",
            column=made[0],
            do="use another method, or leave [groups] or [tables] out",
            code="synthesis.method.conflict",
        )
    if margins is None or margins.clearing is None:
        return
    for name, entry in columns.items():
        if entry.settings.method not in ("margins", "derived", "drop"):
            raise CaveatError(
                f"{name} is made by {entry.settings.method} beside cleared tables, which are to be "
                "the only source of a release",
                where="synthesis, clearing",
                do="make it from margins too, derive it or drop it",
                entry=("clearing",),
                code="synthesis.method.conflict",
            )
    if rules:
        raise CaveatError(
            "rules do not go with cleared tables, which are to be the only source of a release",
            where="synthesis, clearing",
            do="leave the rules out, or put their columns into one margin",
            entry=("clearing",),
            code="synthesis.rule.conflict",
        )


def check_leaves(settings: Settings, column: Column, name: str) -> None:
    """Refuse smoothing within leaves where there are none."""
    without_leaves = settings.method not in ("cart", *WITHOUT_MODEL)
    if settings.smoothing == "density" and without_leaves and column.kind.is_number:
        raise CaveatError(
            f"the method {settings.method} has no leaves to smooth within",
            where="synthesis",
            column=name,
            do='use smoothing = "kernel", which smooths the column as a whole',
            code="synthesis.setting.conflict",
        )


def check_settings(settings: Settings, column: str) -> None:
    """Refuse settings of a column that are no such numbers, words or flags."""
    for name, least in (("minbucket", 1), ("minsplit", 2), ("max_depth", 1), ("trees", 1)):
        value = getattr(settings, name)
        if value is None and name == "minsplit":
            continue
        if not isinstance(value, int | np.integer) or not least <= value < MOST_WHOLE:
            raise CaveatError(
                f"{name} must be a whole number, {least} or more",
                where="synthesis",
                column=column,
                code="synthesis.setting.range",
            )
    for name in ("cp", "pseudo_count"):
        value = getattr(settings, name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < np.inf:
            raise CaveatError(
                f"{name} must be a number, 0 or more",
                where="synthesis",
                column=column,
                code="synthesis.setting.range",
            )
    check_guard(settings, column)
    if settings.smoothing not in ("", "kernel", "density", "spline"):
        raise CaveatError(
            f"there is no smoothing {settings.smoothing!r}",
            where="synthesis",
            column=column,
            do="use kernel, density or spline",
            code="synthesis.smoothing.unknown",
        )
    for name in ("method", "within", "formula"):
        if not isinstance(getattr(settings, name), str):
            raise CaveatError(
                f"{name} must be text",
                where="synthesis",
                column=column,
                code="synthesis.setting.type",
            )
    for name in ("proper", "prune"):
        if not isinstance(getattr(settings, name), bool):
            raise CaveatError(
                f"{name} must be true or false",
                where="synthesis",
                column=column,
                code="synthesis.setting.type",
            )
    if settings.method == "derived":
        with about(column, "formula"):
            Expression(settings.formula)


def check_guard(settings: Settings, column: str) -> None:
    """Refuse numbers of guarded trees that mean nothing, and settings that they cannot follow."""
    if settings.guard not in GUARDS:
        raise CaveatError(
            f"there is no guard {settings.guard!r}",
            where="synthesis",
            column=column,
            do=hint(str(settings.guard), tuple(GUARDS)),
            code="synthesis.guard.unknown",
        )
    for name in ("temperature", "smallest", "backoff", "floor", "depth"):
        value = getattr(settings, name)
        kinds = int if name == "depth" else int | float
        least = ", 0 or more" if name == "depth" else " above 0"
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, kinds) or not (
            0 <= value < MOST_WHOLE and (value > 0 or least != " above 0")
        ):  # fmt: skip
            raise CaveatError(
                f"{name} must be a {'whole ' if name == 'depth' else ''}number{least}",
                where="synthesis",
                column=column,
                code="synthesis.setting.range",
            )
    if settings.method == "guarded" and (settings.proper or settings.smoothing):
        word = "proper" if settings.proper else "smoothing"
        raise CaveatError(
            f"{word} is not for guarded trees: they draw their structure and their numbers anyway",
            where="synthesis",
            column=column,
            do=f'leave {word} out, or use method = "cart"',
            code="synthesis.setting.conflict",
        )


def check_use(
    shared: Mapping[str, Any], single: Mapping[str, Mapping[str, Any]], methods: Mapping[str, str]
) -> None:
    """Refuse settings that somebody asks for and the trees that she gets have not.

    Parameters
    ----------
    shared, single
        What is said for all columns, and for single ones.
    methods
        The method of each column.
    """
    given = [(name, "", set(methods.values())) for name in shared]
    given += [
        (name, column, {methods[column]})
        for column, own in single.items()
        if column in methods
        for name in own
    ]
    for name, column, used in given:
        if is_idle(name, used):
            what, do = why_idle(name)
            entry = (column, name) if column else (name,)
            raise CaveatError(
                what,
                where="synthesis",
                column=column or None,
                do=do,
                entry=entry,
                code="synthesis.setting.unused",
            )


def is_idle(name: str, methods: Set[str]) -> bool:
    """Whether a setting is one of trees that these methods do not grow, but others.

    Examples
    --------
    >>> [is_idle("minbucket", methods) for methods in ({"guarded"}, {"guarded", "cart"}, {"cart"})]
    [True, False, False]
    >>> [is_idle("guard", methods) for methods in ({"guarded"}, {"guarded", "cart"}, {"cart"})]
    [False, False, True]
    """
    plain = not methods.isdisjoint(GROWN)
    guarded = "guarded" in methods
    return (name in PLAIN and guarded and not plain) or (name in DIAL and plain and not guarded)


def why_idle(name: str) -> tuple[str, str]:
    """Return what is wrong with a setting that is idle, and what to do about it."""
    if name in DIAL:
        what, method = "is for guarded trees alone", "guarded"
    else:
        what = "is not for guarded trees, the method of columns for which none is named"
        method = PLAIN.get(name, "cart")
    return f"{name} {what}", f'name the method, method = "{method}", or leave {name} out'


def check_predictors(chosen: Sequence[str], usable: Sequence[str], name: str) -> None:
    for other in chosen:
        if other not in usable:
            raise CaveatError(
                f"{name} cannot be drawn from {other}",
                where="synthesis",
                column=name,
                do="predictors must come before it in the order and be synthesised themselves",
                code="synthesis.predictor.conflict",
            )


def check_formulas(columns: Mapping[str, ColumnPlan], table: Table) -> None:
    """Try the formulas on a few rows, and see that their columns can hold what they give."""
    head = table.take(range(min(table.n_rows, ROWS_FOR_FORMULAS)))
    for name, entry in columns.items():
        if entry.settings.method == "derived":
            if len(table[name].levels) and table[name].levels.dtype.kind not in "biufM":
                raise CaveatError(
                    "a formula gives numbers, and the column holds text",
                    where="synthesis",
                    column=name,
                    do='use { lookup = "column" }, or synthesise it',
                    code="synthesis.column.type",
                )
            with about(name):
                Expression(entry.settings.formula).evaluate(head.columns)


def check_rules(
    rules: Sequence[Fixed | Order],
    columns: Mapping[str, ColumnPlan],
    table: Table,
    remarks: list[str],
) -> None:
    for i, rule in enumerate(rules):
        with about("rules", i):
            contradictions = _checked(rule, columns, table)
        if contradictions:
            part = f"take no part in the model of {rule.target}"
            if columns[rule.target].settings.method == "margins":
                part = "are counted in the tables all the same"
            remarks.append(
                f"rule {str(rule)!r} does not hold for {contradictions:,} of {table.n_rows:,} "
                f"original records; they {part}"
            )


def _checked(rule: Fixed | Order, columns: Mapping[str, ColumnPlan], table: Table) -> int:
    """Return how many records contradict a rule; a rule that cannot be kept is an error."""
    sources, target = rule.sources, rule.target
    place = {name: i for i, name in enumerate(columns)}
    where = f"rule {str(rule)!r}"
    for name in (*sources, target):
        column_named(table, name, where)
        if name not in place or columns[name].settings.method == "drop":
            raise CaveatError(
                f"{name} is not synthesised", where=where, code="synthesis.column.absent"
            )
    late = [name for name in sources if place[name] >= place[target]]
    if late:
        raise CaveatError(
            f"{target} must come after {late[0]} in the order",
            where=where,
            do="change the order",
            code="synthesis.order.conflict",
        )
    if isinstance(rule, Order) and not all(table[n].kind.is_number for n in (*sources, target)):
        raise CaveatError(
            "only numbers and dates can be compared", where=where, code="synthesis.column.type"
        )
    return rule.contradictions(table)


# -------------------------------------------------------------------------------------------------
# What the options of a plan say, wherever they say it: about single columns, and their order.


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
    keep = [column_named(table, name, "keep") for name in options.get("keep", ())]
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
        column_named(table, name, "columns")
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
    given = [column_named(table, name, "order") for name in order or ()]
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
