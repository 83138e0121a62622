"""What a manifest says of the files beside it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from caveat.evidence.manifest import MANIFEST, is_listed, list_again, listed


def folder(tmp_path):
    for name, text in (("a.txt", "one"), ("b.txt", "two")):
        (tmp_path / name).write_text(text)
    files = [
        {"name": name, "sha256": sha256(text).hexdigest(), "bytes": 3, "confidential": secret}
        for name, text, secret in (("a.txt", b"one", True), ("b.txt", b"two", False))
    ]
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "files": files}))
    return tmp_path


def test_a_file_is_listed_as_it_is(tmp_path):
    here = folder(tmp_path)
    assert list(listed(here)) == ["a.txt", "b.txt"]
    assert is_listed(here / "a.txt")
    (here / "a.txt").write_text("ONE")
    assert not is_listed(here / "a.txt")
    assert not is_listed(here / "c.txt")


def test_without_a_manifest_nothing_is_listed(tmp_path):
    (tmp_path / "a.txt").write_text("one")
    assert listed(tmp_path) == {}
    assert not is_listed(tmp_path / "a.txt")
    (tmp_path / MANIFEST).write_text("{")
    assert listed(tmp_path) == {}


def test_only_the_file_that_was_written_is_listed_again(tmp_path):
    here = folder(tmp_path)
    (here / "a.txt").write_text("longer")
    (here / "b.txt").write_text("changed by hand")
    list_again(here / "a.txt")
    assert is_listed(here / "a.txt")
    assert not is_listed(here / "b.txt")
    assert listed(here)["a.txt"] == {
        "name": "a.txt", "sha256": sha256(b"longer").hexdigest(), "bytes": 6, "confidential": True,
    }  # fmt: skip
    before = (here / MANIFEST).read_bytes()
    (here / "c.txt").write_text("new")
    list_again(here / "c.txt")
    assert (here / MANIFEST).read_bytes() == before


@pytest.mark.parametrize(
    "entry",
    [{"name": "../x"}, {"name": "/x"}, {"name": 3}, {"name": "x", "sha256": 3}, {}, [], "x",
     {"name": "x", "confidential": "no"}],
)  # fmt: skip
def test_a_manifest_that_no_run_has_written_lists_nothing(entry: object, tmp_path: Path) -> None:
    good = {"name": "a", "sha256": "0" * 64, "bytes": 1, "confidential": True}
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "files": [good]}))
    assert list(listed(tmp_path)) == ["a"]
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "files": [good, entry]}))
    assert listed(tmp_path) == {}


def test_a_manifest_that_is_a_link_lists_nothing(tmp_path: Path) -> None:
    (tmp_path / "other").write_text('{"files": [{"name": "a"}]}')
    (tmp_path / MANIFEST).symlink_to("other")
    assert listed(tmp_path) == {}
