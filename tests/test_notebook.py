"""The notebook in the documentation shows what its cells give."""

from __future__ import annotations

import ast
import json
import warnings
from pathlib import Path
from typing import Any

import altair as alt
import pytest

NOTEBOOK = Path(__file__).parent.parent / "docs" / "example.ipynb"


def shown(cell: dict[str, Any], names: dict[str, Any]) -> Any:
    """Run a cell and return what its last line gives."""
    tree = ast.parse("".join(cell["source"]))
    last = tree.body.pop()
    assert isinstance(last, ast.Expr)
    exec(compile(tree, "cell", "exec"), names)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)


def test_every_cell_gives_what_the_notebook_shows() -> None:
    cells = [
        c for c in json.loads(NOTEBOOK.read_text("utf-8"))["cells"] if c["cell_type"] == "code"
    ]
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        for cell in cells:
            result = shown(cell, names)
            (output,) = cell["outputs"]
            data = output["data"]
            if isinstance(result, alt.TopLevelMixin):
                assert data["image/png"]  # what is drawn is tested where it is drawn
                continue
            assert "".join(data["text/plain"]) == repr(result)
            assert "".join(data["text/html"]) == result._repr_html_()
    alt.renderers.enable("default")


def test_the_notebook_is_one() -> None:
    nbformat = pytest.importorskip("nbformat", reason="only who writes the documentation needs it")
    nbformat.validate(nbformat.read(NOTEBOOK, as_version=4))
