"""Write frozen.json anew and say what moved: ``python -m tests.frozen.freeze``.

What is printed belongs into the message of the commit, with the reason for it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from platform import machine
from typing import Any

from tests.frozen.cases import CASES, NEEDED
from tests.frozen.harness import collect, refusal
from tests.frozen.mistakes import GROUPS
from threadpoolctl import threadpool_info

__all__ = ["FROZEN", "is_here", "measured", "moved", "processor", "read"]

FROZEN = Path(__file__).with_name("frozen.json")


def processor() -> str:
    """Return what decides how linear algebra sums: the processor, and how it is made use of."""
    import numpy as np

    np.ones((2, 2)) @ np.ones((2, 2))
    kinds = {str(one.get("architecture")) for one in threadpool_info()} - {"None"}
    return " ".join([machine(), *sorted(kinds)])


def is_here(name: str) -> bool:
    """Return whether the optional library of a case is installed."""
    return name not in NEEDED or find_spec(NEEDED[name]) is not None


def measured() -> dict[str, Any]:
    """Run everything and return what is to be frozen."""
    return {
        "processor": processor(),
        "cases": {name: collect(case) for name, case in CASES.items() if is_here(name)},
        "mistakes": {
            name: {what: refusal(group.files | more, step) for what, (step, more) in group.items()}
            for name, group in GROUPS.items()
        },
    }


def read() -> dict[str, Any]:
    """Return what was frozen."""
    content: dict[str, Any] = json.loads(FROZEN.read_text("utf-8"))
    return content


def moved(before: Mapping[str, Any], after: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """Yield each item that was added, is gone or has changed.

    Examples
    --------
    >>> list(moved({"a": {"x": "1"}, "b": {"x": "1"}}, {"a": {"x": "2", "y": "1"}}))
    ['changed: a → x', 'added: a → y', 'gone: b']
    """
    for name in dict.fromkeys([*before, *after]):
        place = f"{at} → {name}" if at else name
        old, new = before.get(name), after.get(name)
        if name not in after:
            yield f"gone: {place}"
        elif name not in before:
            yield f"added: {place}"
        elif isinstance(old, dict) and isinstance(new, dict):
            yield from moved(old, new, place)
        elif old != new:
            yield f"changed: {place}"


def main() -> None:
    """Freeze what there is."""
    before = read() if FROZEN.exists() else {}
    after = measured()
    FROZEN.write_text(
        json.dumps(after, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8"
    )
    lines = list(moved(before, after))
    sys.stdout.write("\n".join(lines or ["nothing moved"]) + "\n")


if __name__ == "__main__":
    main()
