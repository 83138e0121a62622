"""Short work in a process of its own, answered over a pipe: the server stays small."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from caveat.errors import CaveatError

__all__ = ["answer"]


async def answer(kind: str, *asked: str, limit: float = 60.0) -> Any:
    """Return what the work of a kind comes to in ``limit`` seconds: :mod:`caveat.release.asked`."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "caveat.release.asked", kind, *asked,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        text, _ = await asyncio.wait_for(process.communicate(), limit)
    except TimeoutError:
        do, code = "use the command line, which has no limit", "app.work.timeout"
        raise CaveatError(f"this takes longer than {limit:g} seconds", do=do, code=code) from None
    finally:  # nobody waits any more, whatever has happened
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise RuntimeError(f"the work called {kind} has failed")
    found = json.loads(text)
    if "mistake" in found:
        raise CaveatError(found["mistake"].removesuffix("."), code=found["code"])  # it puts its own
    return found["answer"]
