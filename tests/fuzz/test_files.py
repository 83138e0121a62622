"""Damaged, forged and hostile files: each is a table or one sentence, never more than that."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.fuzz import files, harness

from caveat.errors import CaveatWarning
from caveat.findings import look
from caveat.table import read, write

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def use(case: tuple[str, bytes, dict[str, str]]) -> None:
    """Read a file and do with the table what users do."""
    suffix, content, options = case
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning of a library's is no sentence of ours
        warnings.simplefilter("ignore", CaveatWarning)
        path = Path(folder) / f"x{suffix}"
        path.write_bytes(content)
        table = read(path, **options)
        for name in table.names:
            table[name].counts.sum()
            table[name].levels.tolist()
        repr(table)
        if len(content) % 10 == 0 and len(table.names) < 100:
            look(table)
        compact = table.compact()
        if len(table.names) < 10_000:  # what follows is about reading: writing takes longer
            write(compact, Path(folder) / "out.csv")


def test_damaged_files():
    found = harness.run_cases(use, files.cases(int(250 * harness.FACTOR), seed=18))
    assert not harness.failures(found)
