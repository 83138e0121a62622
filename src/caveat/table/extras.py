"""Packages that only some users need: loaded when they are asked for, or one sentence instead."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from caveat.errors import CaveatError
from caveat.memory import is_memory_short

__all__ = ["load_extra"]


def load_extra(module: str, package: str, extra: str, purpose: str) -> Any:
    """Return a module of an optional package; say how to install it if it is not there.

    Parameters
    ----------
    module, package
        What is imported, and what it is called where packages are installed from.
    extra
        The extra of Caveat that brings it.
    purpose
        What needs it, as the beginning of a sentence.

    Examples
    --------
    >>> load_extra("math", "math", "sums", "a sum").sqrt(4)
    2.0
    """
    try:
        return import_module(module)
    except ImportError as error:
        if is_memory_short(error):
            raise MemoryError from None
        raise CaveatError(
            f"{purpose} needs the package {package}, which is not installed",
            do=f"run: pip install 'caveat[{extra}]'",
            code="command.package.not-installed",
        ) from None
