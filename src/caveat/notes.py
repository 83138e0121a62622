"""Notes on results: how a number was found, what puts it in doubt, or why there is none.

A note is decided where it is written: it has a code, the parameters that its text holds, and says
whether it may be published. Nobody has to read the text to know.
"""

from __future__ import annotations

from typing import Any

__all__ = ["Note"]


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
