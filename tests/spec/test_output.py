"""The ``[output]`` part."""

from __future__ import annotations

from pathlib import Path

import pytest

from caveat.errors import CaveatError
from caveat.spec.data_entries import OutputSpec, folder_to_write, read_output
from caveat.spec.document import Document


def test_output_is_read_and_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text('[output]\nas_read = true\nformats = ["csv", "sav", "csv"]\n')
    assert read_output(Document.read(path)) == OutputSpec(
        tmp_path / "release", ("csv", "sav"), as_read=True
    )
    path.write_text("")
    assert read_output(Document.read(path)) == OutputSpec(tmp_path / "release")


@pytest.mark.parametrize("folder", ["../out", "/tmp/out", "a/../../out", "link/out"])
def test_a_folder_elsewhere_is_named_by_the_user_only(tmp_path: Path, folder: str) -> None:
    place = tmp_path / "project"
    place.mkdir()
    (place / "link").symlink_to(tmp_path)
    path = place / "release.toml"
    path.write_text(f'[output]\nfolder = "{folder}"\n')
    document = Document.read(path)
    with pytest.raises(CaveatError) as error:
        folder_to_write(document, read_output(document), None)
    assert error.value.where == document.where("output", "folder")
    assert folder_to_write(document, read_output(document), folder) == Path(folder)


def test_a_folder_below_that_of_the_specification_is_written(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text('[output]\nfolder = "a/b"\n')
    document = Document.read(path)
    assert folder_to_write(document, read_output(document), None) == tmp_path / "a" / "b"
