"""Commands with limits; what exceeding them says is in test_process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from caveat.generators.process import Limits, _from_ps, _session, run


def test_cpu_time_is_that_of_the_command(tmp_path: Path) -> None:
    work = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    ended = run([sys.executable, "-c", work], tmp_path, tmp_path / "log", os.environ, Limits())
    assert ended.reason == ""
    assert ended.usage.cpu_seconds is not None
    assert 0.5 <= ended.usage.cpu_seconds < 60
    assert ended.usage.wall_seconds >= 0.5


def test_a_session_is_found_in_two_ways() -> None:
    found = dict(_session(os.getsid(0)))
    assert found
    assert all(size >= 0 for size in found.values())
    # A process that has ended and was not waited for has no memory left.
    assert any(size > 0 for _, size in _from_ps(os.getpgid(0)))
