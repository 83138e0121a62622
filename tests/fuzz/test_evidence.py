"""Damaged evidence: refused, or a report can be written from it."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.fuzz.harness import FACTOR, failures, flipped, run_cases
from tests.fuzz.models import change_values

from caveat.evidence import read
from caveat.report import markdown, render

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")

SAMPLE = (Path(__file__).parents[1] / "evidence-sample.json").read_bytes()


def report(content: bytes) -> None:
    """Write both versions, one in each form."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "evidence.json"
        path.write_bytes(content)
        evidence = read(path)
        texts = (render(evidence), markdown(evidence, version="external"))
        (Path(folder) / "report").write_text("\n".join(texts), "utf-8")


def damaged(count: int) -> Iterator[tuple[str, bytes]]:
    yield "as it is", SAMPLE
    yield "nested deeply", SAMPLE.replace(b"[", b"[" * 90_000, 1)
    yield "a number without end", SAMPLE.replace(b'"format": 1', b'"format": ' + b"1" * 9000)
    yield "spaces", b" " * 50_000_000 + SAMPLE
    for number in range(count - 4):
        rng = np.random.default_rng([19, number])
        if number % 3 == 0:
            yield f"{number} bytes", flipped(SAMPLE, rng, most=2)
            continue
        document = json.loads(SAMPLE)
        change_values(document, rng)
        yield f"{number} values", json.dumps(document).encode()


def test_evidence_as_it_is_is_reported_and_damaged_evidence_is_refused_or_reported():
    found = run_cases(report, damaged(int(100 * FACTOR)))
    assert not failures(found), failures(found)
    assert found[0].verdict == "accepted"
