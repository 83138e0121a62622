"""A filter that looks at real records: where it helps, and where it gives away what was hidden."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.attack import posterior
from caveat.attack.simulated import posterior_by_runs
from caveat.attack.strong import filtered_posterior
from caveat.datasets import RELEASES, buyer_beware
from caveat.generators import Setting
from caveat.protect import distance_filter
from caveat.synthesis import Synthesizer
from caveat.table import Table


def test_on_buyer_beware_the_filter_hides_the_unique_record():
    original, release = buyer_beware(), buyer_beware(1)
    assert posterior(original, release, 999).probability > 0.9999
    filtered = distance_filter(original, release, metric="euclidean").table
    assert filtered.n_rows == 999  # 1111 goes; all other combinations have twins
    found = filtered_posterior(original, filtered, 999, prior="uniform", metric="euclidean")
    # In the truth 1111 is filtered: cells have n_k / 999. Elsewhere they have (n_k + d_k) / 1000,
    # and 1111 cannot be drawn.
    n, z = np.array(RELEASES[0][:15]), np.array(RELEASES[1][:15])
    ratios = (1 + 1 / n) ** z * (999 / 1000) ** 999
    assert found.probability == pytest.approx(1 / (1 + ratios.sum()), rel=1e-9)
    assert found.probability < 0.08
    # By default she counts the others: 1111 has 1/16 of a record among 1,000, a cell n_k more.
    counted = filtered_posterior(original, filtered, 999, metric="euclidean")
    prior = np.r_[n + 1 / 16, 1 / 16] / 1000
    assert counted.prior == pytest.approx(prior, rel=1e-12)
    expected = prior[15] / (prior[15] + prior[:15] @ ratios)
    assert counted.probability == pytest.approx(expected, rel=1e-9)


def test_a_filter_can_show_what_the_generator_hides():
    # Nine cells of 20 records, but one: the record in question is alone in it.
    cells = [(a, b) for a in range(3) for b in range(3) for _ in range(1 if a == b == 2 else 20)]
    original = Table.from_frame({"a": [a for a, _ in cells], "b": [b for _, b in cells]})
    record = original.n_rows - 1
    options = {"method": "sample"}  # the two columns independently of each other
    model = Synthesizer(seed=4, **options).fit(original)
    release = model.tables()[0]
    before = posterior(original, release, record, generator=model, prior="uniform")
    assert before.probability < 0.25  # 1/9 and what the margins tell
    protected = distance_filter(
        original,
        release,
        metric="euclidean",
        refill=lambda n, k: Synthesizer(seed=4 + k, **options).fit(original).tables(n)[0],
    )
    assert protected.table.n_rows == release.n_rows
    after = filtered_posterior(
        original, protected.table, record, prior="uniform", options=options, metric="euclidean"
    )
    # About 161 (41/161)^2 = 10 records of the release should be in that cell, and none is: only
    # a record that is alone there keeps it empty.
    assert after.probability > 0.99
    assert after.correct
    # The same by simulation: the filter is run again in every world.
    step = {"name": "distance_filter", "metric": "euclidean"}
    found = posterior_by_runs(
        original,
        protected.table,
        record,
        Setting(options, (step,)).again,
        simulations=60,
        prior="uniform",
        seed=3,
    )
    assert found.probability == pytest.approx(after.probability, abs=0.02 + 3 * found.error.max())
