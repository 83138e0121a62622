"""The harness itself: every way to fail is told apart from a refusal."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np
import pytest
from tests.fuzz import harness

from caveat.errors import CaveatError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")


def ends(how: str) -> None:
    match how:
        case "refused":
            raise CaveatError("it is wrong", do="mend it", code="test.thing.failed")
        case "traceback":
            raise ValueError(how)
        case "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case "hang":
            time.sleep(600)
        case "busy":
            while True:
                pass
        case "pause":
            time.sleep(1.5)
        case "memory":
            bytearray(harness.GUARD)
        case "in use":
            bytearray(b"x") * (300 << 20)


def test_every_end_is_told_apart(monkeypatch):
    monkeypatch.setattr(harness, "SECONDS", 15.0)
    monkeypatch.setattr(harness, "PATIENCE", 1)
    wanted = ["accepted", "refused", "crash", "accepted", "traceback", "hang", "memory", "refused"]
    found = harness.run_cases(ends, [(how, how) for how in wanted])
    assert [outcome.verdict for outcome in found] == wanted
    assert "-11" in found[2].detail
    assert harness.failures(found).count("\n") >= 4


def test_a_hang_is_time_of_the_processor(monkeypatch):
    monkeypatch.setattr(harness, "SECONDS", 1.0)
    monkeypatch.setattr(harness, "PATIENCE", 1_000)
    found = harness.run_cases(ends, [("busy", "busy"), ("pause", "pause"), ("refused", "refused")])
    assert [outcome.verdict for outcome in found] == ["hang", "accepted", "refused"]


def test_memory_in_use_is_measured_case_by_case(monkeypatch):
    monkeypatch.setattr(harness, "BYTES", 256 << 20)
    found = harness.run_cases(ends, [(how, how) for how in ("accepted", "in use", "accepted")])
    assert [outcome.verdict for outcome in found] == ["accepted", "memory", "accepted"]


def test_the_same_seed_damages_the_same_bytes():
    content = bytes(range(256)) * 4
    made = [harness.flipped(content, np.random.default_rng(7)) for _ in range(2)]
    assert made[0] == made[1] != content
