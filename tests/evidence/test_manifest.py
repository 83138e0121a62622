"""What a manifest says of the files beside it."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.evidence.file import (
    EVIDENCE,
    MANIFEST,
    is_listed,
    list_again,
    listed,
    name_in,
    place_in,
    release_of,
)


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


def release(tmp_path: Path) -> Path:
    """Return a release with linked tables and evidence, and its manifest."""
    names = ("public/synthetic-1/visits.csv", "public/report-external.html", EVIDENCE)
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    files = [{"name": n, "sha256": sha256(n.encode()).hexdigest(), "bytes": len(n),
              "confidential": n == EVIDENCE} for n in names]  # fmt: skip
    (tmp_path / MANIFEST).write_text(json.dumps({"format": 1, "files": files}))
    return tmp_path


def test_a_file_belongs_to_the_release_around_its_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = release(tmp_path / "release")
    for name in listed(here):
        assert release_of(here / name) == here
        assert name_in(here, here / name) == name
        assert is_listed(here / name)
    monkeypatch.chdir(here / "public/synthetic-1")
    assert release_of(Path("visits.csv")) == here
    assert is_listed(Path("visits.csv"))
    (here / "public/synthetic-1/visits.csv").write_text("other")
    assert not is_listed(Path("visits.csv"))
    list_again(Path("visits.csv"))
    assert is_listed(here / "public/synthetic-1/visits.csv")
    assert not (here / "public/synthetic-1" / MANIFEST).exists()


def test_a_folder_with_its_own_manifest_is_a_release_of_its_own(tmp_path: Path) -> None:
    outer = release(tmp_path / "outer")
    inner = release(outer / "trial")
    assert release_of(inner / EVIDENCE) == inner
    deep = outer / "public/a/b"
    deep.mkdir(parents=True)
    assert release_of(deep / "x.csv") == deep  # no part of a release is that deep
    (tmp_path / "x.csv").write_text("x")
    assert release_of(tmp_path / "x.csv") == tmp_path


def test_a_file_of_a_release_is_looked_for_in_both_parts(tmp_path: Path) -> None:
    here = release(tmp_path)
    assert place_in(here, "report-external.html") == here / "public/report-external.html"
    assert place_in(here, "evidence.json") == here / EVIDENCE
    assert place_in(here, "absent.html") == here / "inside/absent.html"
    with refused("release.name.refused"):
        place_in(here, "../evidence.json")
    (here / "inside/report.html").symlink_to(here / EVIDENCE)
    with refused("release.file.refused"):
        place_in(here, "report.html")
