"""A run on workers: the same folder, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.refusals import refused

from caveat.cluster import threads
from caveat.datasets import buyer_beware
from caveat.release import Release
from caveat.table import Table, read, write

SPEC = """\
[release]
title = "Four answers"
unit = "person"
access = "public"
seed = 1

[data]
path = "answers.csv"

[[scenario]]
name = "everything else"
attacker = "strong"
keys = ["var1", "var2"]
targets = ["var4"]
measures = ["strongWorst", "strongShare", "membershipShare"]

[[scenario]]
name = "the table alone"
keys = ["var1", "var2"]

[utility]
measures = ["total variation"]
"""


@pytest.fixture
def release(tmp_path: Path) -> Release:
    write(Table.from_frame(buyer_beware()), tmp_path / "answers.csv")
    (tmp_path / "release.toml").write_text(SPEC, encoding="utf-8")
    return Release.from_toml(tmp_path / "release.toml")


def test_the_folder_is_the_same(release: Release, tmp_path: Path) -> None:
    release.run(tmp_path / "alone", date="2026-01-01")
    with threads(2) as workers:
        release.run(tmp_path / "spread", date="2026-01-01", cluster=workers)
    (tmp_path / "work").mkdir()
    release.run(tmp_path / "kept", date="2026-01-01", work=tmp_path / "work")
    assert list((tmp_path / "work").iterdir()) == []
    alone, spread, kept = (
        {path.name: path.read_bytes() for path in (tmp_path / name).rglob("*.*")}
        for name in ("alone", "spread", "kept")
    )
    assert "evidence.json" in alone
    assert alone == spread == kept


def test_data_in_parts_are_the_data(release: Release, tmp_path: Path) -> None:
    write(read(tmp_path / "answers.csv"), tmp_path / "answers.parquet")
    raw = pq.read_table(tmp_path / "answers.parquet").replace_schema_metadata()
    pq.write_table(raw, tmp_path / "answers.parquet")
    (tmp_path / "answers").mkdir()
    for number in range(4):
        pq.write_table(raw.slice(250 * number, 250), tmp_path / "answers" / f"{number}.parquet")
    found = {}
    for name in ("answers.parquet", "answers"):
        spec = tmp_path / "parts.toml"
        spec.write_text(SPEC.replace("answers.csv", name), encoding="utf-8")
        out = tmp_path / f"of-{name}"
        found[name] = dict(Release.from_toml(spec).run(out, date="2026-01-01").evidence)
    one, parts = (content.pop("inputs")["data"] for content in found.values())
    assert (parts["name"], parts["rows"]) == ("answers", one["rows"])
    assert parts["sha256"] != one["sha256"]
    assert found["answers"] == found["answers.parquet"]


def test_a_cluster_that_is_not_there_leaves_no_folder(release: Release, tmp_path: Path) -> None:
    with refused("cluster.address.malformed", where="cluster"):
        release.run(tmp_path / "out", cluster="nowhere")
    assert not (tmp_path / "out").exists()
