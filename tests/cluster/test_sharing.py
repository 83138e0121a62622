"""What a worker keeps of a folder, and that it forgets it."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.cluster import threads
from caveat.cluster.workers import Kept, shared_folder


def test_one_folder_is_kept_at_a_time() -> None:
    made: list[str] = []
    kept = Kept(lambda folder: made.append(folder) or folder.upper())
    assert [kept.of("a"), kept.of("a"), kept.of("b"), kept.of("a")] == ["A", "A", "B", "A"]
    assert made == ["a", "b", "a"]
    kept.forget("a")
    kept.forget("c")
    assert kept.kept == {}


def test_a_shared_folder_is_gone_and_forgotten_afterwards(tmp_path: Path) -> None:
    forgotten: list[str] = []
    with threads(2, tmp_path) as workers:
        with shared_folder(workers, forgotten.append) as folder:
            assert folder.parent == tmp_path
        with pytest.raises(ZeroDivisionError), shared_folder(workers, forgotten.append) as other:
            raise ZeroDivisionError
    assert forgotten == [str(folder), str(other)]
    assert list(tmp_path.iterdir()) == []
