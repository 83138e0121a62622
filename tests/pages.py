"""What the pages of the documentation show as code."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
EXAMPLE = re.compile(r"```python\n(.*?)```", re.DOTALL)


def examples(page: str) -> list[str]:
    """Return the Python of a page, block by block."""
    return EXAMPLE.findall((DOCS / page).read_text("utf-8"))
