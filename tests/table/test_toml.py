"""TOML that is too deep or too large is refused as other mistakes in it are."""

from __future__ import annotations

import time
import tomllib

import pytest

from caveat.table.files import loads


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = " + "[" * 5000, "more than 50 brackets"),
        ("a = " + "{b = " * 5000, "more than 50 brackets"),
        ("a." * 200_000 + "a = 1", "more than 50 brackets or parts of a key"),
        ("x = {" + "a." * 200_000 + "a = 1}", "more than 50 brackets or parts of a key"),
        ("a = " + "9" * 5000, "out of range"),
        ("a = 1979-05-99", "at line 1"),
        ("a = 'x", "at end of document|at line 1"),
    ],
)
def test_it_is_refused_at_once(text: str, message: str) -> None:
    start = time.process_time()
    with pytest.raises(tomllib.TOMLDecodeError, match=message):
        loads(text)
    assert time.process_time() - start < 20


def test_brackets_in_texts_and_comments_do_not_count() -> None:
    deep = "[" * 100
    text = f'a = "{deep}"\nb = \'{deep}\' # {deep}\nc = """\n{deep}\n"""\nd = [[1.5, 2.5]]\n'
    assert loads(text) == {"a": deep, "b": deep, "c": deep + "\n", "d": [[1.5, 2.5]]}
    many = "\n".join(f"[x{i}]\na.b = [1.5]" for i in range(200))
    assert len(loads(many)) == 200
