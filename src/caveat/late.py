"""Large libraries, loaded when something of them is first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["Late"]


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
