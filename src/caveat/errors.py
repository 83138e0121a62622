"""The one exception for mistakes that the user can mend."""

from __future__ import annotations

__all__ = ["CaveatError", "CaveatWarning"]


class CaveatError(Exception):
    """A mistake in the input, said in three parts.

    Parameters
    ----------
    what
        What is wrong. Never holds a confidential value.
    where
        File, column or row the message is about.
    do
        What the user can do about it.

    Examples
    --------
    >>> print(CaveatError("two columns are called 'x'", where="columns 3 and 7", do="rename one"))
    columns 3 and 7: two columns are called 'x'; rename one.
    """

    def __init__(self, what: str, *, where: str | None = None, do: str | None = None) -> None:
        self.what = what
        self.where = where
        self.do = do
        place = f"{where}: " if where else ""
        advice = f"; {do}" if do else ""
        super().__init__(f"{place}{what}{advice}.")


class CaveatWarning(UserWarning):
    """Something that was decided for the user and that she should know."""
