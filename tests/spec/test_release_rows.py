"""How many rows a release has."""

from __future__ import annotations

from pathlib import Path

from tests.refusals import refused

from caveat.spec.data_entries import population_of, read_rows
from caveat.spec.document import Document
from caveat.table import Table


def document(folder: Path, text: str) -> Document:
    (folder / "release.toml").write_text(text)
    return Document.read(folder / "release.toml")


def test_rows_are_a_number_or_the_population(tmp_path: Path) -> None:
    assert read_rows(document(tmp_path, "")) is None
    assert read_rows(document(tmp_path, "[release]\nrows = 7\n")) == 7
    weighted = '[release]\nrows = "population"\n[synthesis]\nweights = "w"\n'
    assert read_rows(document(tmp_path, weighted)) == "population"
    with refused("spec.entry.absent", where="release.toml, line 2"):
        read_rows(document(tmp_path, '[release]\nrows = "population"\n'))


def test_a_population_is_the_sum_of_the_weights() -> None:
    assert population_of(Table.from_frame({"w": [1.5, 2.25, 10.0]}), "w") == 14
