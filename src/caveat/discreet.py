"""How objects that hold data are printed: what they are and how large, never what is in them.

A notebook, a log or a traceback prints objects without being asked. Values, levels and donors of a
confidential table must not get there.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import Field, fields
from typing import Any

__all__ = ["without_values"]


def without_values(instance: Any) -> str:
    """Return the name of a dataclass and the sizes of its fields; meant to be its ``__repr__``.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Donors:
    ...     names: list[str]
    ...     n_rows: int
    ...     __repr__ = without_values
    >>> Donors(["Ann", "Bob"], 7)
    <Donors: names of 2, n_rows 7>
    """
    sizes = [_size(item, getattr(instance, item.name)) for item in fields(instance)]
    known = ", ".join(size for size in sizes if size)
    return f"<{type(instance).__name__}{': ' if known else ''}{known}>"


def _size(item: Field[Any], value: Any) -> str:
    if item.type in ("int", "bool", int, bool):  # a count; a number in a field of any type is data
        return f"{item.name} {value}"
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        return f"{item.name} of {' x '.join(map(str, shape)) or 1}"
    if isinstance(value, Sized) and not isinstance(value, str | bytes):
        return f"{item.name} of {len(value)}"
    return ""
