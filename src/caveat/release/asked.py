"""``python -m caveat.release.asked KIND …``: short work in a process of its own, answered as JSON.

What such work needs in memory is gone with its process.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError

__all__ = ["main"]


def scripts() -> str:
    """Return the scripts that draw charts."""
    from caveat import charts

    return charts.scripts()


def explain(spec: str, row: str, values: str) -> dict[str, Any]:
    """Return what a release gives away about one row, its values too for "yes"."""
    from caveat.release import ReleaseSpec, explain_row

    number = row.replace(",", "")
    if not (number.isascii() and number.isdigit() and len(number) < 12 and int(number)):
        raise CaveatError(
            "a row is a whole number from 1",
            do="count the rows of the data file",
            code="app.value.type",
        )
    told = ReleaseSpec.from_toml(Path(spec))
    return explain_row(told, int(number), folder=told.output.folder, values=values == "yes")


def preview(spec: str) -> list[Any]:
    """Return the first rows of the original and of the release."""
    from caveat.release import ReleaseSpec
    from caveat.release.opening import preview as rows_of

    told = ReleaseSpec.from_toml(Path(spec))
    return rows_of(Path(spec), told.output.folder)


def settings(spec: str) -> list[Any]:
    """Return what would have to be written for each setting on the map of a release."""
    from caveat.release import ReleaseSpec
    from caveat.release.review import changes_tried

    return changes_tried(ReleaseSpec.from_toml(Path(spec)))


def reports(folder: str) -> list[str]:
    """Write the reports of a release again, with the decision; return which."""
    from caveat.release.review import print_again

    return print_again(Path(folder))


KINDS: dict[str, Callable[..., Any]] = {
    "scripts": scripts,
    "explain": explain,
    "preview": preview,
    "settings": settings,
    "reports": reports,
}


def main(kind: str, *asked: str) -> None:
    """Print what the work comes to; a mistake of the user's is an answer too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {"answer": KINDS[kind](*asked)}
    except CaveatError as error:
        found = {"mistake": str(error), "code": error.code}
    print(json.dumps(found))  # noqa: T201 (the pipe)


if __name__ == "__main__":
    main(*sys.argv[1:])
