"""Budgets of size. They only go down: who needs more room finds what can go."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "caveat"
MOST_LINES, LONGEST_FUNCTION = 800, 60  # a file is a subject, 200 to 800 lines
LONGER = {
    "tree/_growing.py:grow_nodes",  # one loop whose state changes in nearly every line: see there
}
# Python files and code lines (no blank lines, comments or docstrings) of each room.
BUDGETS = {
    ".": (9, 727),
    "app": (7, 969),
    "attack": (23, 7317),
    "benchmark": (2, 479),
    "charts": (4, 686),
    "cli": (15, 4385),
    "cluster": (3, 435),
    "compiling": (3, 389),
    "datasets": (2, 369),
    "evidence": (4, 1059),
    "expressions": (3, 922),
    "findings": (7, 2843),
    "generators": (14, 1572),
    "nearest": (3, 614),
    "outputs": (17, 5648),
    "privacy": (3, 681),
    "protect": (8, 2204),
    "release": (16, 4767),
    "report": (12, 4302),
    "risk": (11, 3022),
    "spec": (14, 4936),
    "studies": (13, 5662),
    "synthesis": (37, 11439),
    "table": (27, 9144),
    "tree": (18, 4416),
    "tuning": (3, 737),
    "utility": (17, 5143),
}
SAME_NAMES = 63  # classes that have the name of another one
# Modules of Caveat that a command loads.
CLOSURES = {"audit": 50, "compare": 80}
WORDS = {tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP}


def modules() -> dict[str, str]:
    files = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in files}


def code_lines(text: str) -> int:
    """Return the lines that hold code: a docstring is none."""
    held: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in WORDS:
            held |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            held -= set(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(held)


def room_of(name: str) -> str:
    return name.split("/")[0] if "/" in name else "."


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
    assert {name: n for name, n in found.items() if n > MOST_LINES} == {}


def test_no_function_is_longer_than_a_screen() -> None:
    found: dict[str, int] = {}
    for name, text in modules().items():
        found |= lengths(name, text)
    assert {name for name, n in found.items() if n > LONGEST_FUNCTION} - LONGER == set()


def test_lines_are_counted() -> None:
    text = "def one(\n    x: int,\n) -> int:\n    '''Say one.'''\n\n    return x  # it\n# end\n"
    assert lengths("risk/a.py", text) == {"risk/a.py:one": 6}
    assert lengths("cli/a.py", text) == {"cli/a.py:one": 3}
    assert code_lines(text) == 4


def test_every_room_keeps_its_budget() -> None:
    files, lines = Counter[str](), Counter[str]()
    for name, text in modules().items():
        files[room_of(name)] += 1
        lines[room_of(name)] += code_lines(text)
    assert set(files) == set(BUDGETS)
    over = {
        room: (files[room], lines[room])
        for room, (most_files, most_lines) in BUDGETS.items()
        if files[room] > most_files or lines[room] > most_lines
    }
    assert over == {}


def test_few_classes_have_the_name_of_another() -> None:
    names = Counter(
        node.name
        for text in modules().values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ClassDef)
    )
    assert sum(n - 1 for n in names.values()) <= SAME_NAMES


@pytest.mark.parametrize("command", CLOSURES)
def test_a_command_loads_few_modules(command: str, tmp_path: Path) -> None:
    rows = "".join(f"{i % 2},{i % 3},{i % 5}\n" for i in range(60))
    (tmp_path / "a.csv").write_text(f"sex,age,income\n{rows}")
    arguments = [command, str(tmp_path / "a.csv"), str(tmp_path / "a.csv")]
    arguments += ["--keys", "sex,age", "--target", "income"] if command == "audit" else []
    program = (
        "import json, sys\n"
        "from caveat.cli import main\n"
        f"sys.argv[1:] = ['-q', *{arguments!r}]\n"
        "try:\n    main()\n"
        "finally:\n    print(json.dumps([m for m in sys.modules if m.startswith('caveat')]))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = json.loads(done.stdout.splitlines()[-1])
    assert len(loaded) > 10
    assert len(loaded) <= CLOSURES[command]
