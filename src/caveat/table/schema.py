"""What the user says about the columns: kinds, missing codes, formats, orders and labels."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from caveat.errors import CaveatError
from caveat.table.column import Column, Kind, Missing
from caveat.table.encode import convert
from caveat.table.table import Table
from caveat.table.toml import loads

__all__ = ["ColumnSchema", "Schema", "read_toml"]


def read_toml(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says, or say where it cannot be read."""
    try:
        return loads(Path(path).read_text("utf-8"))
    except FileNotFoundError:
        raise CaveatError(
            "there is no such file", where=str(path), do="check the name", code="spec.file.absent"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise CaveatError(
            f"not valid TOML ({error})", where=str(path), do="mend it", code="spec.file.malformed"
        ) from None


@dataclass(frozen=True)
class ColumnSchema:
    """What is declared about one column; whatever is empty is taken from the data.

    Parameters
    ----------
    kind
        The kind it should have, or its name.
    missing
        Codes that mean "missing", with their labels ("" if they have none).
    date_format
        How dates are written, as in ``%d.%m.%Y``.
    levels
        The levels of an ordered column from low to high.
    label
        Description of the variable.
    value_labels
        Descriptions of single values.
    recode
        Values that are read as another one: spellings that mean the same.
    public
        Whether the data holder has declared that the values may leave as they are.
    """

    kind: Kind | None = None
    missing: Mapping[Any, str] = field(default_factory=dict)
    date_format: str = ""
    levels: Sequence[Any] = ()
    label: str = ""
    value_labels: Mapping[Any, str] = field(default_factory=dict)
    recode: Mapping[Any, Any] = field(default_factory=dict)
    public: bool = False

    def __post_init__(self) -> None:
        if self.kind is not None:  # the name of a kind is as good as the kind
            object.__setattr__(self, "kind", _kind(self.kind))

    @classmethod
    def from_mapping(cls, entry: Mapping[str, Any], name: str) -> ColumnSchema:
        """Read one ``[columns.NAME]`` block of a TOML file."""
        known = {"kind", "missing", "format", "levels", "label", "value_labels", "recode", "public"}
        unknown = sorted(set(entry) - known)
        if unknown:
            raise CaveatError(
                f"{unknown[0]!r} is no property of a column",
                where="schema",
                column=name,
                do=f"use {', '.join(sorted(known))}",
                code="spec.entry.unknown",
            )
        missing = entry.get("missing", [])
        missing = dict(missing) if isinstance(missing, Mapping) else dict.fromkeys(missing, "")
        return cls(
            kind=_kind(entry["kind"], name) if "kind" in entry else None,
            missing=missing,
            date_format=str(entry.get("format", "")),
            levels=tuple(entry.get("levels", ())),
            label=str(entry.get("label", "")),
            value_labels=dict(entry.get("value_labels", {})),
            recode=dict(entry.get("recode", {})),
            public=entry.get("public", False) is True,
        )


def _kind(word: Any, name: str | None = None) -> Kind:
    try:
        return Kind(word)
    except ValueError:
        raise CaveatError(
            f"there is no kind {word!r}",
            where="schema",
            column=name,
            do=f"choose among {', '.join(Kind)}",
            code="data.kind.unknown",
        ) from None


@dataclass(frozen=True)
class Schema:
    """Declarations about columns by name, separate from any data.

    Examples
    --------
    >>> table = Table.from_frame({"income": [800, -8, 1500]})
    >>> schema = Schema({"income": ColumnSchema(missing={-8: "not asked"})})
    >>> schema.apply(table)["income"]
    <Column integer: 3 rows, 2 levels, missing -8 (not asked)>
    """

    columns: Mapping[str, ColumnSchema] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @classmethod
    def from_mapping(cls, entries: Mapping[str, Any]) -> Schema:
        """Read the ``[columns]`` part of a specification."""
        for name, entry in entries.items():
            if not isinstance(entry, Mapping):
                raise CaveatError(
                    "a column is described by a table of properties",
                    where="schema",
                    column=name,
                    do=f'write [columns."{name}"] and below it kind = "numeric"',
                    code="spec.entry.type",
                )
        return cls(
            {name: ColumnSchema.from_mapping(entry, name) for name, entry in entries.items()}
        )

    @classmethod
    def from_toml(cls, path: str | Path) -> Schema:
        """Read the ``[columns]`` part of a TOML file."""
        return cls.from_mapping(read_toml(path).get("columns", {}))

    def only(self, names: Iterable[str]) -> Schema:
        """Return the declarations about the named columns."""
        wanted = set(names)
        return Schema({name: entry for name, entry in self.columns.items() if name in wanted})

    @property
    def public(self) -> tuple[str, ...]:
        """The columns whose values may leave as they are, by the data holder's declaration."""
        return tuple(name for name, entry in self.columns.items() if entry.public)

    def apply(self, table: Table) -> Table:
        """Return the table with the declarations carried out."""
        self.check(table.names)
        return table.with_columns({name: self.declared(name, table[name]) for name in self.columns})

    def check(self, names: Sequence[str]) -> None:
        """Refuse declarations about columns that a table does not have."""
        unknown = [name for name in self.columns if name not in names]
        if unknown:
            raise CaveatError(
                "the schema names a column that the data do not have",
                column=unknown[0],
                do=f"remove it or choose among {', '.join(names)}",
                code="data.column.unknown",
            )

    def declared(self, name: str, column: Column) -> Column:
        """Return a column with what is declared about it carried out."""
        entry = self.columns.get(name)
        return column if entry is None else _apply(column, entry, name)


def _apply(column: Column, entry: ColumnSchema, name: str) -> Column:
    column = _recoded(column, entry.recode) if entry.recode else column
    # Missing codes go first: they must be out of the way before text becomes numbers.
    declared = [Missing(_as_missing(code, column), label) for code, label in entry.missing.items()]
    column = column.declare_missing(declared) if declared else column
    if entry.kind is not None:
        column = convert(column, entry.kind, name, date_format=entry.date_format)
        column = replace(column, missing=tuple(_as_kind(m, column) for m in column.missing))
    if entry.levels:
        column = _order(column, entry.levels, name)
    labels = {_as_level(value, column): label for value, label in entry.value_labels.items()}
    return replace(
        column, label=entry.label or column.label, value_labels={**column.value_labels, **labels}
    )


def _recoded(column: Column, recode: Mapping[Any, Any]) -> Column:
    """Return a column in which spellings that mean the same are one level."""
    told = {_as_level(old, column): _as_level(new, column) for old, new in recode.items()}
    present = column.levels.tolist()
    read = [told.get(level, level) for level in present]
    places = {level: i for i, level in enumerate(dict.fromkeys(read))}
    if column.kind is not Kind.ORDERED:
        places = {level: i for i, level in enumerate(sorted(places))}
    lookup = np.array(
        [places[level] for level in read] + [len(places) + j for j in range(len(column.missing))],
        np.int64,
    )
    levels = np.array([*places], dtype=column.levels.dtype)
    return replace(column, codes=lookup[column.codes], levels=levels)


def _as_missing(code: Any, column: Column) -> Any:
    """Return a declared code as it is held; "" is the empty cell where it is no empty text."""
    if code is None or (
        code == "" and (column.levels.dtype != object or Missing() in column.missing)
    ):
        return None
    return _as_level(code, column)


def _as_level(code: Any, column: Column) -> Any:
    """Return a declared code in the type of the column's levels (TOML keys are always text)."""
    kind = column.levels.dtype.kind
    if kind == "O":
        return str(code)
    if kind in "iuf" and isinstance(code, str):
        try:
            return int(code)
        except ValueError:
            try:
                return float(code)
            except ValueError:
                return code
    return code


def _as_kind(missing: Missing, column: Column) -> Missing:
    """Return a missing code that stood as text in a column that now holds numbers."""
    return replace(missing, code=_as_level(missing.code, column)) if missing.code else missing


def _order(column: Column, levels: Sequence[Any], name: str) -> Column:
    declared = [_as_level(value, column) for value in levels]
    present = column.levels.tolist()
    undeclared = [i for i, value in enumerate(present) if value not in set(declared)]
    if undeclared:
        row = int(np.argmax(np.isin(column.codes, undeclared))) + 1
        raise CaveatError(
            f"{len(undeclared)} of its levels are not in the declared order",
            column=name,
            row=row,
            do="list every level from low to high, or declare it as missing",
            code="data.level.undeclared",
        )
    position = {value: i for i, value in enumerate(declared)}
    lookup = np.array(
        [position[value] for value in present]
        + [len(declared) + j for j in range(len(column.missing))]
    )
    kind = Kind.ORDERED if column.kind in (Kind.CATEGORY, Kind.TEXT) else column.kind
    typed = np.array(declared, dtype=column.levels.dtype)
    codes = lookup[column.codes]
    return replace(column, codes=codes, levels=typed, kind=kind, closed=True)
