"""The pages about risk: their examples run, and the table of measures is up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_examples_run():
    page = (DOCS / "risk.md").read_text("utf-8")
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    assert blocks
    for block in blocks:
        exec(compile(block, "risk.md", "exec"), names)
    assert names["found"]["DiSCO", "ill"].value == 50


def test_measures_page_is_up_to_date():
    """If this fails: python docs/make_measures.py."""
    spec = importlib.util.spec_from_file_location("make_measures", DOCS / "make_measures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (DOCS / "measures.md").read_text("utf-8") == module.page()
