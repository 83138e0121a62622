"""Values, keys and comments as they are written in TOML."""

from __future__ import annotations

import json
import re
from typing import Any

__all__ = ["comment", "toml_key", "toml_value"]


def toml_key(name: str) -> str:
    """Return a column name as a TOML key, quoted where needed."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Return a plain value or a list of them in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    # A JSON string is a TOML string but for one character.
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def comment(text: str) -> str:
    """Return a comment line; line breaks and other control characters become spaces."""
    return "# " + re.sub(r"[\x00-\x1f\x7f\x85\u2028\u2029]+", " ", text)
