"""The page about ordinary attackers: its examples run and say what it says."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[3] / "docs" / "ordinary-attackers.md"


def test_examples_run():
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.S)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), names)
    assert names["copied"].value == 100
    low, high = names["fresh"].interval
    assert low <= names["fresh"].control <= high
    assert names["block"].unique
    assert names["block"].certain[("White", "NH")] == 43
    assert names["random_matches"](names["block"].records()) == 0.08
