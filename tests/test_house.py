"""Limits on size: no module over 800 lines, no function longer than a screen."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "caveat"
MOST_LINES, LONGEST_FUNCTION = 800, 60  # a file is a subject, 200 to 800 lines
MOST_OF_APP = 1500  # routes and templates: what needs more lines belongs in a room
LONGER = {
    "tree/_growing.py:grow_nodes",  # one loop whose state changes in nearly every line: see there
}


def modules() -> dict[str, str]:
    files = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): path.read_text() for path in files}


def lengths(name: str, text: str) -> dict[str, int]:
    """Return the lines of each function; those of a command without its list of options."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0] if name.startswith("cli/") else node
            found[f"{name}:{node.name}"] = (node.end_lineno or 0) - first.lineno + 1
    return found


def test_no_module_is_longer_than_can_be_read() -> None:
    found = {name: len(text.splitlines()) for name, text in modules().items()}
    assert len(found) > 100
    assert {name: n for name, n in found.items() if n > MOST_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    found: dict[str, int] = {}
    for name, text in modules().items():
        found |= lengths(name, text)
    assert {name for name, n in found.items() if n > LONGEST_FUNCTION} - LONGER == set()


def test_lines_are_counted() -> None:
    text = "def one(\n    x: int,\n) -> int:\n    '''Say one.'''\n    return x\n"
    assert lengths("risk/a.py", text) == {"risk/a.py:one": 5}
    assert lengths("cli/a.py", text) == {"cli/a.py:one": 2}


def test_the_app_is_a_thin_layer() -> None:
    found = [len(text.splitlines()) for name, text in modules().items() if name.startswith("app/")]
    assert len(found) > 5
    assert sum(found) <= MOST_OF_APP
