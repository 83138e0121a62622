"""Files of arrays: NumPy's format, opened in any thread."""

from __future__ import annotations

import ast
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from caveat.table.code_files import open_array, write_array

ARRAYS = {
    "codes": np.array([2, 0, 1], np.uint8),
    "no rows": np.zeros(0, np.uint32),
    "numbers": np.array([[1.5, np.nan], [-0.0, np.inf]]),
    "columns first": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "dates": np.array(["1960-01-02", "NaT"], "M8[D]"),
    "truth": np.array([True, False]),
    "one number": np.array(7, np.int16),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
@pytest.mark.parametrize("mode", [None, "r", "c"])
def test_an_array_comes_back(tmp_path: Path, array: np.ndarray, mode: str) -> None:
    write_array(tmp_path / "ours.npy", array)
    np.save(tmp_path / "theirs.npy", array)
    for name in ("ours.npy", "theirs.npy"):
        found = open_array(tmp_path / name, mode)  # type: ignore[arg-type]
        assert (found.dtype, found.shape) == (array.dtype, np.load(tmp_path / name).shape)
        np.testing.assert_array_equal(found.reshape(-1), array.reshape(-1))
        assert found.flags.writeable == (mode != "r")


@pytest.mark.parametrize(
    "content", [b"", b"text", b"\x93NUMPY\x02\x00\x00\x00", b"\x93NUMPY\x01\x00\xff\xff{"]
)
def test_what_is_no_array_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match="no file of a plain array"):
        open_array(tmp_path / "a.npy")


@pytest.mark.parametrize("mode", [None, "r"])
def test_a_part_of_an_array_and_objects_are_refused(tmp_path: Path, mode: str) -> None:
    write_array(tmp_path / "a.npy", np.arange(5))
    (tmp_path / "part.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-8])
    np.save(tmp_path / "objects.npy", np.array(["a"], object), allow_pickle=True)
    for name in ("part.npy", "objects.npy"):
        with pytest.raises(ValueError):
            open_array(tmp_path / name, mode)  # type: ignore[arg-type]


def test_no_header_is_evaluated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.11 fails if several threads evaluate literals at the same time."""
    arrays = [np.arange(n) for n in range(1, 41)]
    monkeypatch.setattr(ast, "literal_eval", None)

    def back(n: int) -> bool:
        write_array(tmp_path / f"{n}.npy", arrays[n])
        return all(
            np.array_equal(open_array(tmp_path / f"{n}.npy", mode), arrays[n])
            for mode in (None, "r", "c")
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(back, range(40)))
