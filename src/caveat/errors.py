"""The one exception for mistakes that the user can mend, and what she may have meant."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

__all__ = ["FEW", "CaveatError", "CaveatWarning", "Mistakes", "about", "commands_in", "hint"]

FEW = 20  # so many choices are listed in a message
LONG = 400  # characters of a part that a message repeats: what a user wrote may have millions
LISTS = 2000  # and of what it advises, which may list names


class CaveatError(Exception):
    """A mistake in the input, said in three parts.

    Parameters
    ----------
    what
        What is wrong. Never holds a confidential value.
    where
        What the message is about: a file, a part of the work.
    do
        What the user can do about it.
    column, row
        The column and the row in it, from 1, that the message is about.
    entry
        The entry of a specification that it is about, as far as the place knows it that raises the
        error: the end of its path, such as ``("rules", 0)``.
    code
        What is wrong, for programs: subject, thing and problem, as in ``data.file.unreadable``. The
        words of a message may change, its code does not.

    Examples
    --------
    >>> error = CaveatError(
    ...     "a value is infinite",
    ...     where="survey.csv",
    ...     column="income",
    ...     row=1200,
    ...     do="declare it as missing",
    ...     code="data.value.infinite",
    ... )
    >>> print(error)
    survey.csv, column income, row 1,200: a value is infinite; declare it as missing.
    >>> error.code
    'data.value.infinite'
    """

    def __init__(
        self,
        what: str,
        *,
        where: str | None = None,
        do: str | None = None,
        column: str | None = None,
        row: int | None = None,
        entry: Iterable[str | int] = (),
        code: str,
    ) -> None:
        self.code = code
        self.what = what
        self.where = where
        self.do = do
        self.column = column
        self.row = row
        self.entry = tuple(entry)
        self.others: tuple[CaveatError, ...] = ()
        place = f"{_shown(self.place)}: " if self.place else ""
        advice = f"; {_shown(do, LISTS)}" if do else ""
        super().__init__(f"{place}{_shown(what)}{advice}.")

    def __str__(self) -> str:
        return "\n".join([str(self.args[0]), *map(str, self.others)])

    @property
    def with_codes(self) -> str:
        """The message for a terminal: each mistake with its code, which can be searched for."""
        return "\n".join(f"{error.args[0]} [{error.code}]" for error in (self, *self.others))

    def replaced(self, **parts: Any) -> CaveatError:
        """Return the same error with other parts: who catches it may know the place better.

        Parameters
        ----------
        parts
            As for the class; the others stay.

        Examples
        --------
        >>> error = CaveatError("a value is infinite", column="income", code="data.value.infinite")
        >>> print(error.replaced(where="survey.csv"))
        survey.csv, column income: a value is infinite.
        """
        return CaveatError(**self.parts | parts)

    @property
    def parts(self) -> dict[str, Any]:
        """What the class takes, to make the error again elsewhere."""
        names = ("what", "where", "do", "column", "row", "entry", "code")
        return {name: getattr(self, name) for name in names}

    @property
    def place(self) -> str:
        """What it is about in words, with column and row; empty if nothing is named."""
        parts = (
            self.where,
            self.column and f"column {self.column}",
            self.row and f"row {self.row:,}",
        )
        return ", ".join(part for part in parts if part)


@contextmanager
def about(*entry: str | int) -> Iterator[None]:
    """Say of errors that are raised inside which entry they are about, if they do not themselves.

    Parameters
    ----------
    entry
        As for :class:`CaveatError`.
    """
    try:
        yield
    except CaveatError as error:
        error.entry = error.entry or entry
        raise


class Mistakes:
    """All mistakes of several checks in one error, so that nobody mends them one by one.

    Examples
    --------
    >>> try:
    ...     with Mistakes() as mistakes:
    ...         for name in ("sex", "age"):
    ...             with mistakes.caught():
    ...                 raise CaveatError(f"there is no column {name}", code="data.column.unknown")
    ... except CaveatError as error:
    ...     print(error)
    there is no column sex.
    there is no column age.
    """

    def __init__(self) -> None:
        self.errors: list[CaveatError] = []

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Keep an error for the end; the same one is said once."""
        try:
            yield
        except CaveatError as error:
            every, error.others = (error, *error.others), ()
            said = {str(each) for each in self.errors}
            self.errors += [each for each in every if str(each) not in said]

    def __enter__(self) -> Mistakes:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is None and self.errors:
            first, *others = self.errors
            first.others = tuple(others)
            raise first


def _shown(text: str, longest: int = LONG) -> str:
    """Return what any terminal can print in one line: others name the files and the columns."""
    if len(text) > longest:
        text = f"{text[:longest]} …"
    return text.translate({ord(c): repr(c)[1:-1] for c in commands_in(text)})


def commands_in(text: str) -> set[str]:
    """Return the characters that no terminal shows: it may obey them, or turn the text around."""
    if text.isprintable():
        return set()
    return {c for c in set(text) if not c.isprintable() and unicodedata.category(c) != "Zs"}


class CaveatWarning(UserWarning):
    """Something that was decided for the user and that she should know."""


def hint(name: str, known: Sequence[str], many: str = "") -> str:
    """Return what was perhaps meant, and what is allowed."""
    lower = {other.lower(): other for other in known}
    close = difflib.get_close_matches(name.lower(), list(lower), 1)
    near = f"perhaps {lower[close[0]]}" if close else ""
    if many and len(known) > FEW:
        return f"{near}; see {many}" if near else f"see {many}"
    plain = all(name.strip(".,") for name in known)
    allowed = ", ".join(known if plain else [f'"{name}"' for name in known])
    return f"{near} (allowed: {allowed})" if near else f"use {allowed}"
