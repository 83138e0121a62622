"""Damaged model files: refused when they are loaded, or as good as any other when drawn from."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from tests.fuzz.harness import FACTOR, failures, run_cases
from tests.fuzz.models import damaged_models, seed_models
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError
from caveat.synthesis import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def use(content: bytes) -> None:
    """Load a model and do everything with it that can be done."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.caveat"
        path.write_bytes(content)
        model = load(path)
        try:
            assert len(str(model.plan)) < 10**7
            assert len(repr(model)) < 2000
            copied = any(m.entry.settings.method == "copy" for m in model.columns.values())
            rows = None if copied else 50
            assert len(model.sample(rows=rows, copies=2, threads=1)) == 2
            assert sum(block.n_rows for block in model.blocks(rows)) == (rows or model.n_rows)
            model.log_prob(model.tables(rows)[0])
            shown = CliRunner().invoke(app, ["model", "show", str(path)])
            assert shown.exit_code == 0, shown.exception
        except CaveatError as error:
            raise AssertionError("it was loaded, and then refused") from error


def test_models_as_they_are_can_be_used_and_damaged_ones_are_refused_or_usable():
    seeds = seed_models()
    found = run_cases(use, damaged_models(seeds, int(83 * FACTOR)))
    assert not failures(found), failures(found)
    assert [o.verdict for o in found[: len(seeds)]] == ["accepted"] * len(seeds)
    counts = Counter(o.verdict for o in found)
    assert counts["refused"] > counts["accepted"]
