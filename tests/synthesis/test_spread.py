"""Fitting and drawing on workers: the same bytes as on one machine, and nothing left behind."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.clusters import Loopback, loopback
from tests.refusals import refused

from caveat import Synthesizer, Table, read, save
from caveat.cluster import running_on, threads
from caveat.cluster.scheduler import DaskWorkers
from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatError
from caveat.synthesis import synthesizer
from caveat.synthesis.model import BLOCK
from caveat.synthesis.synthesizer import blocks_of, blocks_on
from caveat.table.code_files import CodeFiles
from caveat.table.frames import write_parts
from caveat.table.table import concat

distributed = pytest.importorskip("distributed")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []  # nothing confidential stays
    assert synthesizer._FITS.kept == {}
    assert synthesizer._MODEL.kept == {}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loopback]:
    with loopback(tmp_path_factory.mktemp("cluster"), 3) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=3, dashboard_address=None,
        set_as_default=False,
    ) as client:  # fmt: skip
        yield client


def bytes_of(model: Any, folder: Path) -> bytes:
    path = folder / "model.caveat"
    save(model, path, force=True)
    return path.read_bytes()


TABLES = {
    "survey": lambda shared: Table.from_frame(survey()),
    "sd2011": lambda shared: read(shared / "data" / "sd2011.csv"),
    "adult": lambda shared: read(shared / "data" / "adult.csv").take(slice(0, 3000)),
}


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
@pytest.mark.parametrize("method", ["guarded", "cart"])
@pytest.mark.parametrize("name", TABLES)
def test_the_model_is_the_same_for_any_number_of_workers(
    name: str, method: str, shared: Path, tmp_path: Path, client: Any
) -> None:
    table = TABLES[name](shared)
    synthesizer = Synthesizer(seed=5, method=method)
    alone = bytes_of(synthesizer.fit(table), tmp_path)
    with threads(1) as one, threads(2) as two:
        assert bytes_of(synthesizer.fit(table, cluster=one), tmp_path) == alone
        assert bytes_of(synthesizer.fit(table, cluster=two), tmp_path) == alone
    assert bytes_of(synthesizer.fit(table, cluster=client), tmp_path) == alone


@pytest.mark.filterwarnings("ignore::caveat.CaveatWarning")
@pytest.mark.parametrize(
    "options",
    [
        {"method": "cart", "columns": {"var4": {"method": "normrank"}}, "keep": ["var1"]},
        {"method": "cart", "strata": "var1"},
        {"method": "cart", "proper": True},
        {"method": "ipf", "margins": [["var1", "var2"], ["var3", "var4"]]},
        {"method": "forest"},
    ],
)
def test_other_methods_are_the_same_too(
    options: dict[str, Any], tmp_path: Path, client: Any
) -> None:
    table, synthesizer = Table.from_frame(buyer_beware()), Synthesizer(seed=2**100, **options)
    alone, spread_out = synthesizer.fit(table), synthesizer.fit(table, cluster=client)
    assert bytes_of(spread_out, tmp_path) == bytes_of(alone, tmp_path)
    with threads(2) as workers:
        drawn = concat(list(blocks_on(workers, spread_out, None, copy=1)))
    assert drawn == concat(list(alone.blocks(None, copy=1)))


def test_rows_are_the_same_wherever_they_are_drawn(client: Any) -> None:
    model = Synthesizer(seed=1).fit(Table.from_frame(buyer_beware()))
    rows = 2 * BLOCK + 7
    alone = list(model.blocks(rows))
    with running_on(DaskWorkers(client)):
        blocks = list(blocks_of(model, rows))
    assert [block.n_rows for block in blocks] == [BLOCK, BLOCK, 7]
    assert blocks == alone
    assert list(blocks_of(model, 5)) == list(model.blocks(5))
    with threads(2) as workers:
        assert [block.n_rows for block in blocks_on(workers, model, 0)] == [0]


@pytest.mark.parametrize("cuts", [1, 3, 7])
def test_parts_are_fitted_as_the_whole_and_need_not_fit_into_memory(
    cuts: int, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame, options = buyer_beware().to_frame("pandas"), {"method": "cart", "proper": True}
    in_dask = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=cuts)
    whole = bytes_of(Synthesizer(seed=3, **options).fit(frame), tmp_path)
    kept: list[str] = []
    keep = CodeFiles.keep

    def heard(self: CodeFiles, name: str, column: Any) -> Any:
        kept.append(name)
        return keep(self, name, column)

    monkeypatch.setattr(CodeFiles, "keep", heard)
    fitted = Synthesizer(seed=3, **options).fit(in_dask, cluster=client)
    assert kept[:4] == list(frame.columns)
    assert not isinstance(fitted.source["var1"].codes.base, np.memmap)
    assert bytes_of(fitted, tmp_path) == whole
    frame.to_parquet(tmp_path / "whole.parquet", index=False)
    (tmp_path / "parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(len(frame)), cuts)):
        frame.iloc[part].to_parquet(tmp_path / "parts" / f"part.{2 * number}.parquet", index=False)
    whole = bytes_of(Synthesizer(seed=3).fit(read(tmp_path / "whole.parquet")), tmp_path)
    assert bytes_of(Synthesizer(seed=3).fit(tmp_path / "parts"), tmp_path) == whole
    with threads(2) as workers:
        fitted = Synthesizer(seed=3).fit(str(tmp_path / "parts"), cluster=workers)
    assert bytes_of(fitted, tmp_path) == whole


def test_what_is_finished_is_not_fitted_again_and_progress_shows(client: Any) -> None:
    table, synthesizer = Table.from_frame(buyer_beware()), Synthesizer(seed=1)
    whole = synthesizer.fit(table)
    heard: list[str] = []
    synthesizer.fit(
        table,
        done=lambda name, model: heard.append(name),
        finished={"var1": whole.columns["var1"]},
        cluster=client,
    )
    assert sorted(heard) == ["var2", "var3", "var4"]


def test_a_refusal_of_a_worker_is_the_one_of_this_process(client: Any) -> None:
    table = Table.from_frame({"a": [0, 1] * 40, "b": [1, 2, 3, 4] * 20})
    options: dict[str, Any] = {"method": "cart", "columns": {"b": {"method": "logistic"}}}
    with pytest.raises(CaveatError) as here:
        Synthesizer(seed=1, **options).fit(table)
    with pytest.raises(CaveatError) as there:
        Synthesizer(seed=1, **options).fit(table, cluster=client)
    assert str(there.value) == str(here.value)


def test_a_folder_that_is_not_there_is_refused(client: Any, tmp_path: Path) -> None:
    table = Table.from_frame(buyer_beware())
    with refused("command.folder.absent"):
        Synthesizer(seed=1).fit(table, cluster=client, work=tmp_path / "elsewhere")


def test_workers_that_are_killed_change_nothing(cluster: Loopback, tmp_path: Path) -> None:
    table, synthesizer = Table.from_frame(buyer_beware()), Synthesizer(seed=1)
    alone = synthesizer.fit(table)
    rows = 4 * BLOCK

    def end_first(name: str, model: Any) -> None:
        cluster.workers[0].kill()

    fitted = synthesizer.fit(table, done=end_first, cluster=cluster.address, work=tmp_path)
    assert bytes_of(fitted, tmp_path) == bytes_of(alone, tmp_path)
    with distributed.Client(cluster.address, set_as_default=False) as client:
        blocks = []
        parts, here = tmp_path / "parts", tmp_path / "here"
        parts.mkdir()
        for block in blocks_on(DaskWorkers(client, tmp_path), fitted, rows, parts=parts):
            blocks.append(block)
            cluster.workers[1].kill()
    assert blocks == list(alone.blocks(rows))
    here.mkdir()
    write_parts(blocks, here)
    assert len(blocks) == len(list(here.iterdir())) == 4
    for path in here.iterdir():
        assert (parts / path.name).read_bytes() == path.read_bytes()
    assert [process.poll() is None for process in cluster.workers] == [False, False, True]
