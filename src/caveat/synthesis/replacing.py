"""Invented values and fresh keys in place of identifying ones, and columns as plain states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import gcd, prod
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.showing import without_values
from caveat.synthesis.methods import State
from caveat.synthesis.methods.base import check_codes, need
from caveat.table import Column, Kind, Table
from caveat.table.code_files import column_of, dictionary_state
from caveat.table.coding import decode
from caveat.table.identifying import K, level_texts
from caveat.table.linked import Linked

__all__ = [
    "HOW",
    "FreshKeys",
    "Replaced",
    "Replacement",
    "check_decodes",
    "column_from_state",
    "complete_linked",
    "dropping",
    "remarks_on",
    "replaced_in",
    "replaced_in_linked",
    "table_from_state",
    "table_state",
]


DATES = tuple(f"<M8[{unit}]" for unit in ("D", "s", "ms", "us", "ns"))
LEVEL_TYPES = ("|O", "|b1", "<i8", "<u8", "<f8", *DATES)
# What the levels of these kinds are made of; levels of the others can be anything.
TYPES_OF_KIND = {
    Kind.NUMERIC: "fiu",
    Kind.INTEGER: "iu",
    Kind.BOOLEAN: "b",
    Kind.DATE: "M",
    Kind.DATETIME: "M",
}
END = 20  # levels at each end that are tried
SCALARS = (type(None), str, bool, int, float)


def column_from_state(state: State) -> Column:
    """Return a column without cells, or raise ValueError if it is no dictionary."""
    kind, missing = Kind(state["kind"]), state["missing"]
    levels = _levels(state["levels"], state["type"])
    need(levels.dtype.kind in TYPES_OF_KIND.get(kind, "ObiufM"), "levels of another kind")
    _check_levels(levels, kind)
    _check_pairs(missing)
    _check_pairs(state["value_labels"])
    need(isinstance(state["label"], str), "no label")
    need(isinstance(state["storage"], str), "no type of cells")
    column = column_of(np.zeros(0, np.uint8), levels, state)
    need(len({m.key for m in column.missing}) == len(missing), "a way to be missing twice")
    return column


def _levels(levels: Any, dtype: Any) -> NDArray[Any]:
    need(dtype in LEVEL_TYPES, "levels of no known type")
    if dtype == "|O":
        need(isinstance(levels, list), "no levels")
        types = {type(value) for value in levels} - {type(None)}
        need(len(types) <= 1 and types <= set(SCALARS), "levels of several types")
        values = np.empty(len(levels), dtype=object)
        values[:] = levels
        return values
    stored = "<i8" if dtype in DATES else dtype
    need(isinstance(levels, np.ndarray) and levels.dtype.str == stored, "no levels")
    need(levels.ndim == 1, "no levels")
    return np.asarray(levels.view(dtype))


def _check_levels(levels: NDArray[Any], kind: Kind) -> None:
    """Need distinct levels, none of them empty, and rising ones where they are numbers."""
    if levels.dtype == object:
        need(len(set(levels.tolist())) == len(levels), "a level twice")
        return
    need(levels.dtype.kind != "f" or np.all(np.isfinite(levels)), "a level that is no number")
    need(levels.dtype.kind != "M" or not np.any(np.isnat(levels)), "a level that is no date")
    ordered = levels if kind.is_number else np.sort(levels)
    need(np.all(ordered[1:] > ordered[:-1]), "a level twice, or out of order")


def _check_pairs(pairs: Any) -> None:
    need(isinstance(pairs, list), "no list of values and labels")
    for value, label in pairs:
        need(type(value) in SCALARS and isinstance(label, str), "no value with a label")


def check_decodes(column: Column, backend: str) -> None:
    """Need a dictionary that can be turned into values of the frame that came in.

    Levels are of one type and rise where they are numbers: what holds at both ends holds between.
    """
    levels = column.levels
    ends = levels if len(levels) <= 2 * END else np.append(levels[:END], levels[-END:])
    codes = np.arange(len(ends) + len(column.missing))
    try:
        decode(replace(column, levels=ends, codes=codes), backend or "pandas")
    except Exception as error:  # three libraries, each with errors of its own
        raise ValueError("levels that no frame can hold") from error


def table_state(table: Table) -> State:
    """Return a whole table."""
    columns = {
        name: {**dictionary_state(column), "codes": column.codes}
        for name, column in table.columns.items()
    }
    return {"columns": columns, "backend": table.backend}


def table_from_state(state: State) -> Table:
    """Return a table, or raise ValueError if it is none."""
    columns = {}
    for name, entry in state["columns"].items():
        column = column_from_state(entry)
        check_codes(entry["codes"], column.n_levels)
        columns[name] = column.with_codes(entry["codes"])
    return Table(columns, state["backend"])


# -------------------------------------------------------------------------------------------------
# Fresh keys: none of them is one that the original has.


EXACT = 2.0**52  # whole numbers that floating point tells apart, with room to spare
ROOM = 10**9  # keys that may be needed


@dataclass(frozen=True, eq=False)
class FreshKeys:
    """Numbers, or words with numbers, that no row of the original has as its key.

    Parameters
    ----------
    column
        What the keys are like; its cells do not matter and its levels are none.
    start
        The number before the first one.
    prefix
        What stands before the number; "" for keys that are numbers.

    Examples
    --------
    >>> from caveat.table import Table
    >>> table = Table.from_frame({"n": [7, 12], "word": ["k1", "a"]})
    >>> [FreshKeys.unlike(table[name]).make(3).values.tolist() for name in table]
    [[101, 102, 103], ['kk1', 'kk2', 'kk3']]
    """

    column: Column
    start: int
    prefix: str

    __repr__ = without_values

    @classmethod
    def unlike(cls, column: Column) -> FreshKeys:
        """Return keys that a column does not have; keys are whole numbers or words."""
        levels = column.levels
        whole = levels.dtype.kind in "iu" or (
            levels.dtype.kind == "f"
            and bool((levels == np.rint(levels)).all() and (np.abs(levels) < EXACT).all())
        )
        if not whole and levels.dtype != object:
            raise CaveatError(
                "a key is a whole number or a word",
                do="write dates, fractions and truth values as text, or name another column",
                code="data.key.type",
            )
        none = replace(column, codes=np.zeros(0, np.uint8), levels=column.levels[:0], missing=(),
                       value_labels={})  # fmt: skip
        if whole:
            return cls(none, _free(np.unique(levels)), "")
        words, prefix = [str(level) for level in column.levels.tolist()], "k"
        while any(word.startswith(prefix) for word in words):
            prefix += "k"
        return cls(none, 0, prefix)

    def make(self, n: int, first: int = 0, width: int = 0) -> Column:
        """Return so many keys from a place on; words have at least so many digits."""
        numbers = np.arange(self.start + first + 1, self.start + first + n + 1)
        if not self.prefix:
            levels = numbers.astype(self.column.levels.dtype)
        else:
            width = max(width, len(str(n)))
            levels = np.array([f"{self.prefix}{i:0{width}d}" for i in numbers], object)
        return replace(self.column, codes=np.arange(n), levels=levels)


def _free(levels: NDArray[Any]) -> int:
    """Return a number behind which there is room: with a digit more than any key, if that fits."""
    known = sorted({0, *(int(level) for level in levels[[0, -1]])}) if len(levels) else [0]
    more = 10 ** len(str(max(abs(known[0]), known[-1])))
    if more + ROOM < (EXACT if levels.dtype.kind == "f" else np.iinfo(np.int64).max):
        return int(more)
    between = np.unique([0, *(int(level) for level in levels.tolist() if level > 0)])
    gaps = np.flatnonzero(np.diff(between) > ROOM)
    if not len(gaps):
        raise CaveatError(
            "there is no room for fresh keys",
            do="number the rows by smaller ones",
            code="data.key.too-large",
        )
    return int(between[gaps[0]])


# -------------------------------------------------------------------------------------------------
# Invented values in place of identifying columns, so that code still runs on a release.
#
# They are computed from the root of the draws, the name of the column and the place of the row,
# never from a value of a record. What is taken from the original is the form of its values: how
# many digits, which signs. Attackers and measures of utility do not see these columns.


HOW: Mapping[str, str] = {
    "id": "fresh ids",
    "name": "invented names",
    "code": "invented codes of the same form",
}
"""What a column can be replaced by."""

WIDTH = 7
"""Digits of fresh ids that are words."""
LINE = 2**31  # values that one line of numbers counts, so that products fit into 64 bits
DIGITS, UPPER, LOWER = "0123456789", "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
# Syllables and an end that no family has: an invented name cannot be taken for a real one.
_SOUNDS = ("bdfgklmnprstvz", "aeiou")
_NAME = (*_SOUNDS, *_SOUNDS, _SOUNDS[0], "o", "q")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, eq=False, repr=False)
class Replacement:
    """How the values of one column are invented.

    Parameters
    ----------
    how
        A key of ``HOW``.
    column
        What the column is like; its cells do not matter and its levels are none.
    keys
        What makes ids; None for names and codes.
    form
        The characters that can stand at each place of a name or code.
    shared
        Whether all rows of a group have the same value.
    above
        The table above it whose column of the same name has the same values; "" if there is none.
    """

    how: str
    column: Column
    keys: FreshKeys | None = None
    form: tuple[str, ...] = ()
    shared: bool = False
    above: str = ""

    @classmethod
    def of(cls, how: str, column: Column) -> Replacement:
        """Return a replacement for a column, by its form alone."""
        if how not in HOW:
            raise CaveatError(
                f"there is no replacement {how!r}",
                do=f"use {', '.join(HOW)}",
                code="synthesis.replacement.unknown",
            )
        if column.levels.dtype == object:  # invented values are no list of codes
            column = replace(column, kind=Kind.ID if column.kind is Kind.ID else Kind.TEXT)
        empty = replace(column, codes=np.zeros(0, np.uint8), levels=column.levels[:0], missing=(),
                        value_labels={})  # fmt: skip
        if how == "id":
            return cls(how, empty, FreshKeys.unlike(column))
        texts = _texts(column, how)
        form = _form_of_names(texts) if how == "name" else _form_of_codes(texts)
        if column.levels.dtype != object:  # a number has no zeros in front
            form = (form[0].replace("0", ""), *form[1:]) if len(form[0]) > 1 else form
        return cls(how, empty, form=form)

    def make(self, n: int, seed: int, word: str, first: int = 0) -> Column:
        """Return values for so many rows from the first on; ``word`` tells columns apart.

        They are all different as long as the form has room.
        """
        if self.keys is not None:
            return self.keys.make(n, first, WIDTH)
        places = first + np.arange(n)
        characters = np.empty((n, len(self.form)), "U1")
        for number, line in enumerate(_lines(self.form)):
            size = prod(len(self.form[at]) for at in line)
            step, start = _line(size, seed, f"{word} {number}")
            counted = (step * (places % size) + start) % size
            for at in line:
                counted, digit = np.divmod(counted, len(self.form[at]))
                characters[:, at] = np.array([*self.form[at]])[digit]
        texts = np.ascontiguousarray(characters).view(f"U{len(self.form)}").reshape(n)
        levels, codes = np.unique(texts, return_inverse=True)
        kept = self.column.levels.dtype
        numbers = levels if kept.kind == "O" else levels.astype(np.int64)
        typed = numbers.astype(kept)
        return replace(self.column, codes=codes, levels=typed)

    def state(self) -> State:
        """Return what a file has to hold."""
        keys = None if self.keys is None else [self.keys.start, self.keys.prefix]
        return {
            "how": self.how,
            "dictionary": dictionary_state(self.column),
            "keys": keys,
            "form": list(self.form),
            "shared": self.shared,
            "above": self.above,
        }

    @classmethod
    def from_state(cls, state: State) -> Replacement:
        """Return the replacement of a file, checked."""
        column, form, keys = column_from_state(state["dictionary"]), state["form"], None
        need(state["how"] in HOW and isinstance(state["above"], str), "no replacement")
        need(type(state["shared"]) is bool and not len(column.levels), "values in a replacement")
        whole = column.levels.dtype.kind in "iuf"
        need(whole or column.levels.dtype == object, "a replacement of another kind")
        if state["how"] == "id":
            start, prefix = state["keys"]
            need(type(start) is int and 0 <= start < 2**62 and isinstance(prefix, str), "no ids")
            need(bool(prefix) != whole and not form, "ids of another kind")
            keys = FreshKeys(column, start, prefix)
        else:
            texts = isinstance(form, list) and all(isinstance(one, str) and one for one in form)
            need(texts and bool(form) and state["keys"] is None, "no form")
            need(
                not whole or (len(form) < 19 and set("".join(form)) <= {*DIGITS, "-"}), "no number"
            )
        return cls(state["how"], column, keys, tuple(form), state["shared"], state["above"])


@dataclass(frozen=True)
class Replaced:
    """The columns of a table that are replaced, and its released columns in their order."""

    columns: Mapping[str, Replacement] = field(default_factory=lambda: MappingProxyType({}))
    names: tuple[str, ...] = ()

    def complete(
        self, table: Table, seed: int, copy: int = 0, first: int = 0, key: str = ""
    ) -> Table:
        """Return a drawn table with the invented columns.

        Parameters
        ----------
        table
            The drawn columns.
        seed
            The root of the draws.
        copy
            The number of the copy.
        first
            The place of its first row, if it is a block of a longer one.
        key
            The column that says which rows belong together, if they do.
        """
        if not self.columns:
            return table
        made = {}
        for name, one in self.columns.items():
            rows, n = None, table.n_rows
            if one.shared:
                rows = np.unique(table[key].codes, return_inverse=True)[1]
                n = int(rows.max(initial=-1)) + 1
            column = one.make(n, seed, f"{copy} {name}", first)
            made[name] = column if rows is None else column.take(rows)
        return self._in_order(table.with_columns(made))

    def _in_order(self, table: Table) -> Table:
        order = [name for name in self.names if name in table]
        return table.select([*order, *(name for name in table if name not in order)])

    def state(self) -> State:
        """Return what a file has to hold."""
        columns = {name: one.state() for name, one in self.columns.items()}
        return {"columns": columns, "names": list(self.names)}

    @classmethod
    def from_state(cls, state: State | None) -> Replaced:
        """Return the replaced columns of a file, checked; none of a file that has no such entry."""
        if state is None:
            return cls()
        names = state["names"]
        need(isinstance(names, list) and all(isinstance(n, str) for n in names), "no names")
        columns = {name: Replacement.from_state(of) for name, of in state["columns"].items()}
        need(set(columns) <= set(names), "replaced columns that are not released")
        return cls(columns, tuple(names))


def dropping(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options in which columns that are replaced are left out of all that is modelled."""
    given = dict(options)
    replaced = given.pop("replace", {})
    if not replaced:
        return given
    said = {
        "drop": given.get("drop", ()),
        "keep": given.get("keep", ()),
        "derived": given.get("derived", ()),
        "columns": [n for n, entry in given.get("columns", {}).items() if "method" in entry],
    }
    for entry, names in said.items():
        both = [name for name in replaced if name in names]
        if both:
            raise CaveatError(
                f"{both[0]!r} is to be replaced, and {entry} names it too",
                where="synthesis, replace",
                do="name it once",
                entry=("replace", both[0]),
                code="synthesis.column.conflict",
            )
    return {**given, "drop": [*said["drop"], *replaced]}


def remarks_on(replaced: Mapping[str, str]) -> tuple[str, ...]:
    """Return what has to be said about columns that are replaced."""
    said = [f"{name} ({HOW.get(how, how)})" for name, how in replaced.items()]
    return (f"replaced by invented values: {', '.join(said)}",) if said else ()


def replaced_in(
    table: Table, wanted: Mapping[str, str], drawn: Iterable[str], shared: Iterable[str] = ()
) -> Replaced:
    """Return how columns of a table are replaced.

    Parameters
    ----------
    table
        The original.
    wanted
        The columns with what they are replaced by.
    drawn
        The columns of the release that are drawn.
    shared
        Columns that have one value in each group.
    """
    found = {}
    for name, how in wanted.items():
        with _about(name):
            found[name] = replace(Replacement.of(how, table[name]), shared=name in {*shared})
    released = {*drawn, *found}
    return Replaced(found, tuple(name for name in table if name in released))


def replaced_in_linked(linked: Linked, wanted: Mapping[str, str]) -> dict[str, Replaced]:
    """Return how columns of linked tables are replaced, by table.

    A column that has the values of one of the same name in a table above it has them again.
    """
    found: dict[str, Replaced] = {}
    fresh = {*linked.keys.values(), *(link.column for link in linked.links)}
    for name in wanted:
        with _about(name):
            _refuse_key(name in fresh)
    for table in linked.sequence:
        of = linked.tables[table]
        here = {name: how for name, how in wanted.items() if name in of}
        if here:
            one = replaced_in(of, here, of.names)
            above = {name: _above(linked, table, name) for name in here}
            columns = {n: replace(r, above=above[n]) for n, r in one.columns.items()}
            found[table] = replace(one, columns=columns)
    return found


def complete_linked(
    replaced: Mapping[str, Replaced], linked: Linked, seed: int, copy: int = 0
) -> Linked:
    """Return drawn tables with the invented columns of each."""
    tables = dict(linked.tables)
    for name in (name for name in linked.sequence if name in replaced):
        of, made = replaced[name], {}
        for column, one in of.columns.items():
            if one.above:
                made[column] = tables[one.above][column].take(_rows(linked, name, one.above))
            else:
                word = f"{copy} {name} {column}"
                made[column] = one.make(tables[name].n_rows, seed, word)
        tables[name] = of._in_order(tables[name].with_columns(made))
    return replace(linked, tables=tables)


def _refuse_key(is_key: bool) -> None:
    if is_key:
        raise CaveatError(
            "keys get fresh values anyway",
            do="leave it out of replace",
            code="synthesis.setting.unused",
        )


def _above(linked: Linked, table: str, name: str) -> str:
    """Return the topmost table whose column of this name says what that of a table says."""
    ours, found, above = _cells(linked.tables[table][name]), "", table
    while (link := linked.parent_of(above)) is not None:
        above = link.parent
        if name in linked.tables[above]:
            theirs = _cells(linked.tables[above][name])[_rows(linked, table, above)]
            found = above if (ours == theirs).all() else found
    return found


def _rows(linked: Linked, table: str, above: str) -> NDArray[np.int64]:
    """Return the row of a table above to which each row of a table belongs."""
    rows = np.arange(linked.tables[table].n_rows)
    while table != above:
        link = linked.parent_of(table)
        assert link is not None
        rows, table = linked.parent_rows(table)[rows], link.parent
    return rows


def _cells(column: Column) -> NDArray[Any]:
    levels = np.append(level_texts(column), [None] * len(column.missing))
    return np.asarray(levels[column.codes])


class _about:  # noqa: N801 - reads as a sentence
    """Say of which column an error is, and where it is named."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, CaveatError) and not error.place:
            raise error.replaced(
                where="synthesis, replace", column=self.name, entry=("replace", self.name)
            ) from None


# -------------------------------------------------------------------------------------------------
# Forms


def _texts(column: Column, how: str) -> list[str]:
    """Return the different values as texts."""
    levels = column.levels[column.counts[: len(column.levels)] > 0]
    if levels.dtype == object:
        return [str(level) for level in levels.tolist()]
    whole = levels.dtype.kind in "iuf" and column.kind in (Kind.INTEGER, Kind.NUMERIC, Kind.ID)
    if how == "name" or not whole or (levels != np.rint(levels)).any():
        what = "a name is a text" if how == "name" else "a code is a text or a whole number"
        raise CaveatError(
            what,
            do="leave the column out (drop), or declare another kind",
            code="synthesis.column.type",
        )
    return [str(int(level)) for level in levels.tolist()]


def _commonest(texts: list[str], shape: Callable[[str], str]) -> tuple[str, list[str]] | None:
    """Return the shape that most values have, with these; None if fewer than five have one."""
    shapes = [shape(text) for text in texts]
    counted = sorted(Counter(shapes).items(), key=lambda item: (-item[1], item[0]))
    if not counted or counted[0][1] < K or not counted[0][0]:
        return None
    best = counted[0][0]
    return best, [text for text, own in zip(texts, shapes, strict=True) if own == best]


def _form_of_codes(texts: list[str]) -> tuple[str, ...]:
    """Return the characters at each place of the commonest form; letters that all share stay."""
    for shape in (_signs, _characters):
        found = _commonest(texts, shape)
        if found is not None:
            return tuple(map(_alphabet, map(set, zip(*found[1], strict=True))))
    raise CaveatError(
        f"fewer than {K} of its values have one form",
        do='replace it by "id", or drop it',
        code="data.value.too-few",
    )


def _signs(text: str) -> str:
    return "".join(
        "9" if c.isdecimal() else "A" if c.isupper() else "a" if c.isalpha() else c for c in text
    )


def _characters(text: str) -> str:
    return "".join("x" if c.isalnum() else c for c in text)


def _alphabet(seen: set[str]) -> str:
    """Return the characters that can stand where these did."""
    if len(seen) == 1 and not min(seen).isdecimal():
        return seen.pop()
    hexadecimal = seen <= set("0123456789abcdef") or seen <= set("0123456789ABCDEF")
    parts = [
        (DIGITS, any(c.isdecimal() for c in seen)),
        (UPPER, any(c.isupper() for c in seen)),
        (LOWER, any(c.isalpha() and not c.isupper() for c in seen)),
    ]
    found = [part[:6] if hexadecimal and part != DIGITS else part for part, used in parts if used]
    return "".join(found) if len(found) > 1 else next(part for part, used in parts if used)


def _form_of_names(texts: list[str]) -> tuple[str, ...]:
    """Return the characters at each place of a name: of one word, or of the commonest form."""
    found = _commonest(texts, _words)
    words = found[0] if found is not None else "W"
    form: list[str] = []
    for sign in words:
        if sign == "I":
            form.append(_SOUNDS[0].upper())
        elif sign in "UWw":
            name = [part.upper() if sign == "U" else part for part in _NAME]
            form += [name[0] if sign == "w" else name[0].upper(), *name[1:]]
        else:
            form.append(sign)
    return tuple(form)


def _words(text: str) -> str:
    """Return initials, words in one of three ways, and what stands between them."""

    def sign(found: re.Match[str]) -> str:
        word = found[0]
        return "I" if len(word) == 1 else "U" if word.isupper() else "w" if word.islower() else "W"

    return "" if re.search(r"[\d_]", text) else _WORD.sub(sign, text)


# -------------------------------------------------------------------------------------------------
# Numbers


def _lines(form: tuple[str, ...]) -> Iterator[list[int]]:
    """Yield the places of a form, so many at once as one line of numbers can count."""
    line: list[int] = []
    for at in range(len(form)):
        if line and prod(len(form[i]) for i in line) * len(form[at]) > LINE:
            yield line
            line = []
        line.append(at)
    yield line


def _line(size: int, seed: int, word: str) -> tuple[int, int]:
    """Return a step and a start by which all numbers below a size are counted once.

    They are made one way from the root, so that nobody finds the root from them.
    """
    for tried in range(1000):
        digest = blake2b(f"{seed} replace {word} {tried}".encode(), digest_size=16).digest()
        step, start = (int.from_bytes(half, "little") % size for half in (digest[:8], digest[8:]))
        if gcd(step, size) == 1:
            return step, start
    return 1, 0
