"""What a number carries: its unit, its interval, and notes on how it was found."""

from __future__ import annotations

from typing import Any, Literal


class Note(str):
    """A text with a code.

    Parameters
    ----------
    code
        What it says, in one word for programs.
    text
        What it says, in words; parameters stand in it by their names in braces.
    public
        Whether it may leave: neither the text nor a parameter holds anything of the original
        but numbers of records, nor a word that somebody else wrote.
    parameters
        Numbers and words in the text. Without any, braces are what they are.

    Examples
    --------
    >>> note = Note("random-sample", "of {n:,} records drawn at random", public=True, n=1200)
    >>> print(note)
    of 1,200 records drawn at random
    >>> note.code, note.parameters
    ('random-sample', {'n': 1200})
    """

    code: str
    public: bool
    parameters: dict[str, float | str]

    def __new__(
        cls, code: str, text: str, *, public: bool = False, **parameters: float | str
    ) -> Note:
        """Write the text."""
        note = super().__new__(cls, text.format(**parameters) if parameters else text)
        note.code, note.public, note.parameters = code, public, parameters
        return note

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # for pickle
        return self.code, str(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the note as the evidence holds it."""
        return {
            "code": self.code,
            "text": str(self),
            "public": self.public,
            "parameters": dict(self.parameters),
        }


# -------------------------------------------------------------------------------------------------
# Units of measures: shares are 0 to 1 everywhere, and per cent only where they are printed.


Unit = Literal["share", "ratio", "score"]
"""A part of a whole, where 1 is all of it; how many times as much; a number on its own scale."""

SIGNS: dict[str, str] = {"share": "%", "ratio": "×", "score": ""}
"""What is printed after a value."""


def printed(value: float, unit: str) -> float:
    """Return the number that people read: a share in per cent, anything else as it is.

    Examples
    --------
    >>> printed(0.07, "share"), printed(0.07, "ratio")
    (7.0, 0.07)
    """
    # Without the rounding error of the product: 0.07 is 7 and not 7.000000000000001.
    return float(f"{100 * value:.15g}") if unit == "share" else value


# -------------------------------------------------------------------------------------------------
# What all 95 % intervals share.


Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution."""
