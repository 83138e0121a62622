"""What a specification says about the folder that is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from caveat.spec.document import Document

__all__ = ["OutputSpec", "folder_to_write", "read_output"]


@dataclass(frozen=True)
class OutputSpec:
    """The ``[output]`` part: what is written.

    Parameters
    ----------
    folder
        The folder of the release.
    formats
        File formats of the synthetic tables: extensions without the dot.
    reports
        Which reports are written.
    escape_formulas
        Whether text that a spreadsheet would compute gets an apostrophe before it.
    as_read
        Whether text files are written in the form of the original.
    """

    folder: Path
    formats: tuple[str, ...] = ("csv",)
    reports: tuple[str, ...] = ("internal", "external")
    escape_formulas: bool = False
    as_read: bool = False


def read_output(document: Document) -> OutputSpec:
    """Return what ``[output]`` says."""
    given = dict(document.content.get("output", {}))
    folder = document.path.parent / given.pop("folder", "release")
    escape, as_read = given.pop("escape_formulas", False), given.pop("as_read", False)
    lists = {key: tuple(dict.fromkeys(names)) for key, names in given.items()}
    return OutputSpec(folder, **lists, escape_formulas=escape, as_read=as_read)


def folder_to_write(document: Document, output: OutputSpec, named: str | Path | None) -> Path:
    """Return the folder that is written: the one that the user names, or that of ``[output]``.

    The specification may have been received, so that its own folder must lie below it.

    Parameters
    ----------
    document
        The specification.
    output
        Its ``[output]``.
    named
        What the user names on the command line or in Python; None otherwise.
    """
    if named is not None:
        return Path(named)
    if not output.folder.resolve().is_relative_to(document.path.parent.resolve()):
        document.fail(
            ("output", "folder"),
            "output.folder: this folder does not lie below that of the specification",
            "name another, or name this one yourself (--folder)",
            code="release.folder.refused",
        )
    return output.folder
