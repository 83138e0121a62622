"""The ``[output]`` part."""

from __future__ import annotations

from pathlib import Path

from caveat.spec.document import Document
from caveat.spec.output import OutputSpec, read_output


def test_output_is_read_and_has_defaults(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text('[output]\nas_read = true\nformats = ["csv", "sav", "csv"]\n')
    assert read_output(Document.read(path)) == OutputSpec(
        tmp_path / "release", ("csv", "sav"), as_read=True
    )
    path.write_text("")
    assert read_output(Document.read(path)) == OutputSpec(tmp_path / "release")
