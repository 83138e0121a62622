"""What is found when it is asked for: entries a program can add, and large libraries."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeVar


class Late:
    """A module that is not loaded before it is used: a refusal need not wait for it.

    Parameters
    ----------
    name
        Of the module.

    Examples
    --------
    >>> Late("math").sqrt(4)
    2.0
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


# -------------------------------------------------------------------------------------------------
# Tables of entries that a program can extend: measures, attacks, methods, protections, formats.
#
# The command line knows the entries of Caveat itself from files, so that it need not load the
# rooms. What a program has added is in no file: `is_extended` says whether there is any, and
# loads nothing.


Entry = TypeVar("Entry")

_REGISTRIES: list[Registry[Any]] = []


class Registry(dict[str, Entry]):
    """Entries by name, in order.

    Parameters
    ----------
    entries
        The entries of Caveat itself; whatever is set later is an extension.

    Examples
    --------
    >>> formats = Registry({".csv": "text"})
    >>> formats.is_extended
    False
    >>> formats[".jsonl"] = "text"
    >>> formats.is_extended
    True
    """

    def __init__(self, entries: Mapping[str, Entry] | None = None) -> None:
        super().__init__(entries or {})
        self._built_in = dict(self)
        _REGISTRIES.append(self)

    def put(self, name: str, entry: Entry, *, built_in: bool) -> None:
        """Add an entry of Caveat itself, or an extension."""
        self[name] = entry
        if built_in:
            self._built_in[name] = entry

    @property
    def is_extended(self) -> bool:
        """Whether the entries are others than those of Caveat itself."""
        if len(self) != len(self._built_in):
            return True
        return any(self._built_in.get(name) is not entry for name, entry in self.items())


def is_extended() -> bool:
    """Return whether a program has added to any of the tables, or changed one."""
    return any(registry.is_extended for registry in _REGISTRIES)
