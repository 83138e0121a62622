"""Lines are added whole, after what is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from caveat.privacy.ledger import append


def test_lines_follow_what_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    append(path, 0, ["a", "b"])
    assert path.read_bytes() == b"a\nb\n"
    path.write_bytes(b"a\nb\ntorn")
    append(path, 4, ["c"])
    assert path.read_bytes() == b"a\nb\nc\n"
    path.write_bytes(b"a")  # an editor has left the end out
    append(path, 1, ["b"])
    assert path.read_bytes() == b"a\nb\n"


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.jsonl"
    append(path, 0, ["a"])
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, text: write(file, text[:1]))
    with pytest.raises(OSError, match="No space"):
        append(path, 2, ["long"])
    assert path.read_bytes() == b"a\n"
