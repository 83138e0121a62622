"""The first rows of the original and of its release, side by side, for those who may see both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from caveat.errors import CaveatError
from caveat.evidence.file import read as read_evidence
from caveat.evidence.manifest import MANIFEST, place_in
from caveat.release.opening import tables_by_spec
from caveat.table import Table
from caveat.table.files import read_into

__all__ = ["ROWS", "preview"]

ROWS = 10


def preview(spec: Path, folder: Path, rows: int = ROWS) -> list[dict[str, Any]]:
    """Return the first rows of every table on both sides, as text.

    The rows of the original are confidential: they are shown, and written nowhere.

    Parameters
    ----------
    spec
        The file of the specification.
    folder
        Where the release is.
    rows
        How many rows are shown of each.
    """
    if not (folder / MANIFEST).is_file():
        raise CaveatError(
            "there is no release yet", do="run it first", code="release.folder.absent"
        )
    released = read_evidence(place_in(folder, "evidence.json"))["release"]["files"]
    originals, _ = tables_by_spec(spec)
    shown = []
    for name, original in originals.items():
        files = [f for f in released if f["copy"] == 1 and f.get("table", name) == name]
        if not files:
            continue
        synthetic = read_into(None, place_in(folder, files[0]["name"]))
        names = [n for n in synthetic if n in original]
        shown.append(
            {
                "name": name,
                "columns": names,
                "original": _first(original.select(names), rows),
                "release": _first(synthetic.select(names), rows),
            }
        )
    return shown


def _first(table: Table, rows: int) -> list[list[str]]:
    """Return the first rows of a table as text; empty cells are empty."""
    columns = [table[name].take(slice(0, rows)).values.tolist() for name in table]
    return [
        ["" if v is None or v != v else str(v) for v in row] for row in zip(*columns, strict=True)
    ]
