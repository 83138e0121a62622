"""TOML files as they are given."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.spec.document import read_toml


def test_bytes_text_and_content(tmp_path):
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    raw, text, content = read_toml(path)
    assert (raw[:3], text, content) == (b"\xef\xbb\xbf", "a = 1\n", {"a": 1})


@pytest.mark.parametrize(
    ("content", "where", "do"),
    [
        (b"a = 1\nb = x\n", "a.toml, line 2", "text stands in quotation marks, lists stand in [ ]"),
        (b"a = 1\na = 2\n", "a.toml, line 2", "it stands there twice: remove one"),
        (b"a = 1\nb = '\xff'\n", "a.toml, line 2", "save it as UTF-8"),
    ],
)
def test_what_is_no_toml_is_said_with_its_line(tmp_path, content, where, do):
    path = tmp_path / "a.toml"
    path.write_bytes(content)
    with pytest.raises(CaveatError) as error:
        read_toml(path)
    assert (error.value.where, error.value.do) == (where, do)


def test_no_file(tmp_path):
    with refused("spec.file.absent"):
        read_toml(tmp_path / "a.toml")
