"""Documents of others: numbers that are none, names that lead out, links and pipes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.documents import Shape, parse, path_below, read_bytes
from caveat.errors import CaveatError

LIST = Shape({"type": "array", "items": {"type": "integer"}}, "this is no list", "write one")
OUT = ["../x", "..", ".", "", " ", "/etc/passwd", "a/../b", "a//b", "c:x", "\\\\server\\x", "a\\b",
       "a\0b", "a\nb", "\u202ex", "a" * 300, "a" * 2000, None, 3, ["x"], {"x": 1}]  # fmt: skip


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[1e999]", "[" * 100_000, '["\\ud800"]'])
def test_what_cannot_be_computed_with_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        parse(text.encode())


@pytest.mark.parametrize("name", OUT)
def test_names_that_lead_out_of_a_folder_are_refused(name: object, tmp_path: Path) -> None:
    for plain in (True, False):
        with pytest.raises(CaveatError):
            path_below(tmp_path, name, plain=plain)


def test_names_in_a_folder_are_accepted(tmp_path: Path) -> None:
    assert path_below(tmp_path, "Bücher 1.csv") == tmp_path / "Bücher 1.csv"
    assert path_below(tmp_path, "x.y/z", plain=False) == tmp_path / "x.y" / "z"
    with pytest.raises(CaveatError):
        path_below(tmp_path, "x.y/z")


def test_links_on_the_way_are_refused_but_the_folder_may_be_one(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (inside / "file").write_text("x")
    (inside / "away").symlink_to(tmp_path)
    (inside / "nowhere").symlink_to(tmp_path / "nothing")
    for name in ("away", "nowhere", "away/x"):
        with refused("release.file.refused"):
            path_below(inside, name, plain=False)
    (tmp_path / "link").symlink_to(inside)
    assert path_below(tmp_path / "link", "file").read_text() == "x"


def test_a_document_follows_its_schema(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text("[1, 2]")
    assert LIST.read(path) == [1, 2]
    path.write_text('[1, "a secret"]')
    with pytest.raises(CaveatError) as caught:
        LIST.read(path)
    assert caught.value.where == f"{path}, 2"
    assert "secret" not in str(caught.value)
    path.write_text("[1")
    with refused("release.file.damaged"):
        LIST.read(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", ".", "nothing"):
        with pytest.raises(CaveatError):
            read_bytes(tmp_path / name)
