"""How long work says how far it is."""

from collections.abc import Callable

__all__ = ["Progress"]

Progress = Callable[[str, float], None]
"""Called with the name of the step that goes on and the share of the whole that is done."""
