"""What work takes."""

from __future__ import annotations

import time

import numpy as np

from caveat.benchmark.run import measured


def test_memory_and_time_of_some_work() -> None:
    def work() -> int:
        taken = np.ones(20_000_000)  # 160 MB
        time.sleep(0.1)
        return int(taken[0])

    result, cost = measured(work)
    assert result == 1
    assert cost.wall >= 0.1
    assert cost.cpu < cost.wall * 8
    assert cost.megabytes is None or 150 < cost.megabytes < 400
