"""Posterior probabilities are calibrated: of the values held for 30 % likely, 30 % are true."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack import posterior
from caveat.synthesis import Synthesizer
from caveat.table import Table

# What is tested here does not depend on the number of records.
pytestmark = pytest.mark.filterwarnings("ignore:the table has:caveat.errors.CaveatWarning")

TRIALS = 250
PLAIN = {"method": "cart", "minbucket": 2, "rare_below": 1}
PRIOR = np.array([0.5, 0.3, 0.2])


def test_reliability_when_the_truth_is_drawn_from_the_prior():
    rng = np.random.default_rng(17)
    levels = np.array(["a", "b", "c"])
    stated, true = [], []
    for trial in range(TRIALS):
        n = 24
        x = rng.integers(0, 3, n)
        t = np.where(rng.random(n) < 0.7, x, rng.integers(0, 3, n))
        t[:3] = [0, 1, 2]  # every level has another record that holds it
        t[-1] = rng.choice(3, p=PRIOR)
        table = Table.from_frame({"x": x, "t": levels[t]})
        release = Synthesizer(seed=trial, threads=1, **PLAIN).fit(table).tables()[0]
        result = posterior(
            table, release, n - 1, unknown=["t"], generator=PLAIN, prior=PRIOR,
            threads=1,
        )  # fmt: skip
        stated.append(result.probabilities)
        true.append(np.arange(3) == result.truth)
    p, hit = np.concatenate(stated), np.concatenate(true)
    assert ((p > 0.05) & (p < 0.95)).sum() > TRIALS  # there is something to be calibrated
    for low, high in ((0, 0.1), (0.1, 0.3), (0.3, 0.5), (0.5, 0.8), (0.8, 1.01)):
        here = (p >= low) & (p < high)
        error = np.sqrt((p[here] * (1 - p[here])).sum()) / here.sum()
        assert abs(hit[here].mean() - p[here].mean()) < 4 * error + 1e-12
    # a proper score: the mean probability of the truth equals the mean sum of squares
    score = np.mean([s[t].sum() for s, t in zip(stated, true, strict=True)])
    expected = np.mean([(s**2).sum() for s in stated])
    spread = np.std([s[t].sum() - (s**2).sum() for s, t in zip(stated, true, strict=True)])
    assert abs(score - expected) < 4 * spread / np.sqrt(TRIALS)
