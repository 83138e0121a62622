"""The model that is asked about records it was not fitted to, by hand and by leaving out."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.risk import Scenario, pair
from caveat.risk.identity import PENALTY, held_out_precision, leave_one_out


def test_the_majority_without_the_record_itself():
    """One key with one level: 3 of a, 2 of b. Without an a it is even: half right; no b is named.

    Without one of the three a's there are two of each, so every a counts for a half.
    """
    key = np.zeros(1, np.int64)
    found = leave_one_out([key], np.zeros(2, np.int64), np.array([0, 1]), np.array([3, 2]))
    assert found == pytest.approx(3 / 2)


def test_nobody_learns_a_target_that_one_record_has():
    key = np.arange(3)
    found = leave_one_out([key], np.arange(3), np.arange(3), np.ones(3, np.int64))
    assert found == 0
    assert leave_one_out([key[:1]], key[:1], key[:1], np.ones(1, np.int64)) is None


def test_it_is_what_refitting_without_each_record_gives():
    """60 records, two keys with levels that repeat: sixty fits against one."""
    rng = np.random.default_rng(4)
    n = 60
    sex, town = rng.integers(0, 2, n), rng.integers(0, 4, n)
    job = (town + (rng.random(n) < 0.3)) % 3
    x = np.column_stack([np.ones(n), sex[:, None] == np.arange(2), town[:, None] == np.arange(4)])
    y = (job[:, None] == np.arange(3)).astype(float)
    right = 0.0
    for i in range(n):
        others = np.arange(n) != i
        a = x[others]
        b = np.linalg.solve(a.T @ a + PENALTY * np.eye(x.shape[1]), a.T @ y[others])
        fitted = x[i] @ b
        best = fitted >= fitted.max() - 1e-9
        right += best[job[i]] / best.sum()
    frame = {"sex": sex, "town": town, "job": job}
    found = pair(frame, frame, Scenario(("sex", "town"), "job"))
    assert held_out_precision(found) * n == pytest.approx(right)
