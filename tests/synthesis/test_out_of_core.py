"""Models and drawn columns in a working folder: the same copies, byte for byte."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.synthesis import Model, Synthesizer, model
from caveat.synthesis.model import Store
from caveat.table import ColumnSchema, Schema, Table, concat

TABLE = Schema({"income": ColumnSchema(missing={-8: "not asked"})}).apply(
    survey(rows=600).drop(["person"])
)
OPTIONS = {
    "rules": ["if age < 18 then marital = 'single'"],
    "derived": {"bmi": "round(weight / (height / 100) ** 2, 1)"},
    "keep": ["sex"],
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks, and a file for every array."""
    monkeypatch.setattr(model, "BLOCK", 130)
    monkeypatch.setattr(model, "BLOCK", 130)
    monkeypatch.setattr(model, "SMALL", 1)


def fitted(store: Store | None = None, **options: object) -> Model:
    def done(_: str, column: model.ColumnModel) -> model.ColumnModel | None:
        return None if store is None else store.put_away(column)

    found = Synthesizer(seed=3, threads=2, **options).fit(TABLE, done=done)
    assert isinstance(found, Model)
    return found


def whole(blocks: object) -> Table:
    return concat(list(blocks))  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "options",
    [
        {"method": "guarded", **OPTIONS},
        {"method": "cart", **OPTIONS},
        {"method": "cart", "strata": "sex", "smoothing": "density"},
        {"method": "forest", "columns": {"age": {"method": "normal"}, "sex": {"method": "sample"}}},
    ],
)
def test_the_same_copies(tmp_path: Path, options: dict[str, object]) -> None:
    store = Store(tmp_path)
    usual, away = fitted(**options), fitted(store, **options)
    for copy in (0, 1):
        assert whole(store.blocks(away, copy=copy)) == whole(usual.blocks(copy=copy))
    if "keep" not in options:
        assert whole(store.blocks(away, rows=140)) == whole(usual.blocks(rows=140))
        assert whole(store.blocks(away, rows=0)).n_rows == 0
    ours, theirs = away.log_prob(TABLE).columns, usual.log_prob(TABLE).columns
    assert ours.keys() == theirs.keys()
    for name, logs in ours.items():
        np.testing.assert_array_equal(logs, theirs[name])


def test_large_arrays_are_mapped_and_small_ones_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "SMALL", 500)
    tree = fitted(Store(tmp_path), method="cart").columns["age"].values.tree  # type: ignore[union-attr]
    assert len(tree.rows) == 600
    assert isinstance(tree.rows.base, np.memmap)
    assert type(tree.rows) is np.ndarray
    assert tree.rows.flags.writeable  # in memory: the file stays as it is
    assert tree.n_levels.base is None or not isinstance(tree.n_levels.base, np.memmap)
    assert list(tmp_path.glob("store-*.npy"))


def test_a_full_disk_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(model, "write_array", full)
    with refused("command.output.not-writable"):
        fitted(Store(tmp_path), method="cart")
