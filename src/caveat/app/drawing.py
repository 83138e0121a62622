"""Charts on pages: their specifications, and the scripts that draw them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from caveat.app import aside

__all__ = ["ROUTES", "specs_of"]

MAKING = asyncio.Lock()


def specs_of(blocks: Iterable[Any]) -> list[str]:
    """Return the charts of figures as JSON, each with the style of all."""
    from caveat.charts import CONFIG, on_page

    return [
        json.dumps({**on_page(chart), "config": CONFIG}, sort_keys=True)
        for block in blocks
        if block.kind == "figure"
        for _, chart in block.charts
    ]


async def scripts(request: Request) -> Response:
    """Return the scripts that draw charts; the first who asks waits for them."""
    state = request.app.state
    async with MAKING:
        if not hasattr(state, "scripts"):
            state.scripts = await aside.answer("scripts")
    return Response(state.scripts, media_type="text/javascript")


ROUTES = [Route("/static/vega.js", scripts)]
