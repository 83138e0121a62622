"""How much of the exact attacker the simulated one finds: caveat.attack.strong comes from here.

    python benchmarks/bench_simulated.py FOLDER [TREES] [SIMULATIONS] [STRUCTURES]

FOLDER holds sd2011.csv; "survey" instead of it takes 1,000 records of the built-in survey. For the
20 most vulnerable records of twelve columns (eleven of the survey), plain and guarded trees: what
share of releases with the record is told from releases without it at 10 % false positives, by the
exact log-likelihood ratio and by scores that are learnt from simulations. All scores are judged on
the second half of the simulations, whatever number they learn from.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack import membership, vulnerable
from caveat.attack.paired import PairedMembership, found_at, simulated_membership
from caveat.datasets import survey
from caveat.generators import Setting
from caveat.seeds import child_seed
from caveat.studies.promise import SD2011
from caveat.table import Table, read

LEVEL, RECORDS = 0.1, 20
SURVEY = ("sex", "age", "region", "education", "marital", "occupation", "income", "friends",
          "height", "weight", "satisfied")  # fmt: skip
TREES: Mapping[str, Mapping[str, Any]] = {
    "plain": {"method": "cart"},
    "guarded": {"method": "guarded"},
}
EXACT = 100
"""Releases for the exact attacker."""


def exact_power(table: Table, setting: Setting, records: list[int], level: float) -> np.ndarray:
    """Return the power of the exact test for each record.

    The releases are those with the record. How often one without it exceeds a threshold follows
    from the ratios themselves: it is the mean of exp(-ratio) over the releases that exceed it.
    """
    fitted = setting.seed_by_seed(table)
    ratios = []
    for run in range(EXACT):
        one = fitted(child_seed(1, run))
        ratios.append(membership(
            table, one.sample()[0], generator=one.model.plan, records=records, threads=1
        ).log_ratio)  # fmt: skip
    power = []
    for ratio in np.array(ratios).T:
        ordered = np.sort(ratio)[::-1]
        false = np.cumsum(np.exp(-ordered)) / len(ordered)
        power.append((false <= level).mean())
    return np.array(power)


def power_after(found: PairedMembership, score: str, learn: int) -> np.ndarray:
    """Return the power of a score that learns from so many simulations, by record."""
    tests = [run.test(score, learn) for run in found.runs]
    hits = [found_at(test.inside, test.outside, LEVEL) for test in tests]
    return np.array([hit[0] / found.judged for hit in hits if hit is not None])


def main(
    folder: str, trees: str = "plain", simulations: str = "256", structures: str = "1"
) -> None:
    """Print what is found by each score after each number of simulations."""
    if folder == "survey":
        table = survey(rows=1000).select(SURVEY)
    else:
        table = read(Path(folder) / "sd2011.csv").select(SD2011)
    setting = Setting({"order": table.names, **TREES[trees]})
    records = vulnerable(table).first(RECORDS).tolist()
    start = time.perf_counter()
    exact = exact_power(table, setting, records, LEVEL)
    print(f"{trees}: exact {exact.mean():.3f} ({time.perf_counter() - start:.0f} s)", flush=True)
    found = simulated_membership(
        table,
        setting,
        records=records,
        simulations=int(simulations),
        structures=int(structures),
        seed=2,
    )
    print(f"simulated ({time.perf_counter() - start:.0f} s)")
    for n in (16, 32, 64, 128, 256):
        if n > int(simulations):
            break
        for score in found.scores:
            power = power_after(found, score, n // 2)
            above = exact.mean() - LEVEL
            share = (power.mean() - LEVEL) / above
            # Over the records, with the exact result's share of the same records.
            spread = (power - LEVEL - share * (exact - LEVEL)).std(ddof=1) / len(power) ** 0.5
            print(
                f"{n:4} {score:14} {power.mean():.3f} recovered {share:.3f} ± {spread / above:.3f}"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
