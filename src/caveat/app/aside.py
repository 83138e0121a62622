"""``python -m caveat.app.aside KIND …``: short work in a process of its own, answered over a pipe.

The server stays small, since what such work needs is gone with its process; and nothing of it is
written to a file.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError

__all__ = ["answer"]


async def answer(kind: str, *asked: str, limit: float = 60.0) -> Any:
    """Return what the work of a kind comes to.

    Parameters
    ----------
    kind, asked
        A function of this module, and what it is told.
    limit
        Seconds after which the process is ended.
    """
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "caveat.app.aside", kind, *asked,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        text, _ = await asyncio.wait_for(process.communicate(), limit)
    except TimeoutError:
        do = "use the command line, which has no limit"
        raise CaveatError(f"this takes longer than {limit:g} seconds", do=do) from None
    finally:  # nobody waits any more, whatever has happened
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the work called {kind} has failed")
    found = json.loads(text)
    if "mistake" in found:
        raise CaveatError(found["mistake"])
    return found["answer"]


def scripts() -> str:
    """Return the scripts that draw charts."""
    from caveat import charts

    return charts.scripts()


def explain(spec: str, row: str, values: str) -> dict[str, Any]:
    """Return what a release gives away about one row."""
    from caveat.release import ReleaseSpec, explain_row

    told = ReleaseSpec.from_toml(Path(spec))
    return explain_row(told, int(row), folder=told.output.folder, values=values == "yes")


def settings(spec: str) -> dict[str, Any]:
    """Return what would have to be written for each setting on the map of a release."""
    from caveat.release import ReleaseSpec
    from caveat.release.tried import changes_tried

    return changes_tried(ReleaseSpec.from_toml(Path(spec)))


KINDS: dict[str, Any] = {"scripts": scripts, "explain": explain, "settings": settings}


def main(kind: str, *asked: str) -> None:
    """Print what the work comes to."""
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = {"answer": KINDS[kind](*asked)}
    except CaveatError as error:
        found = {"mistake": str(error)}
    print(json.dumps(found))  # noqa: T201 (the pipe)


if __name__ == "__main__":
    main(*sys.argv[1:])
