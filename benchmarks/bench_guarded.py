"""Guarded trees against plain ones: fit and sample, and the strong attacker on all records.

Twelve columns of SD2011, 5,000 records, and thirteen of Adult, 32,561; without the data, the
simulated survey. CPU seconds of this process over all threads, all in one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from caveat.attack import attributes, membership
from caveat.datasets import survey
from caveat.studies.promise import SD2011, SURVEY
from caveat.synthesis import Model, Synthesizer
from caveat.table import Table, read

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
ADULT = ("age", "sex", "race", "native_country", "education", "marital_status", "relationship",
         "workclass", "hours_per_week", "capital_gain", "capital_loss", "income",
         "occupation")  # fmt: skip
SOME = 50


def tables() -> dict[str, tuple[Table, str]]:
    if not (SHARED / "sd2011.csv").exists():
        return {"survey": (survey().select(SURVEY), "marital")}
    return {
        "SD2011": (read(SHARED / "sd2011.csv").select(SD2011), "depress"),
        "Adult": (read(SHARED / "adult.csv").select(ADULT), "occupation"),
    }


def cpu(work: Callable[[], object], times: int = 1) -> float:
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def made(table: Table, method: str) -> tuple[float, Model]:
    """Return the CPU time of fitting and sampling, and the model."""
    synthesizer = Synthesizer(seed=1, method=method, order=table.names)
    synthesizer.fit(table).tables()  # compile
    return cpu(lambda: synthesizer.fit(table).tables(), 3), synthesizer.fit(table)


def attacked(table: Table, model: Model, target: str, records: list[int] | None) -> float:
    """Return the CPU time of an attack; an empty target asks for membership."""
    release = model.tables()[0]

    def attack(whom: list[int] | None) -> None:
        if target:
            attributes(table, release, target, generator=model.plan, records=whom)
        else:
            membership(table, release, generator=model.plan, records=whom)

    attack([0])  # compile
    return cpu(lambda: attack(records))


def main() -> None:
    for name, (table, target) in tables().items():
        print(f"{name}: {table.n_rows:,} records, {len(table.names)} columns")
        (plain, cart), (new, guarded) = made(table, "cart"), made(table, "guarded")
        print(f"  fit and sample: plain {plain:.2f} s, guarded {new:.2f} s: {new / plain:.2f}x")
        few = np.random.default_rng(0).permutation(table.n_rows)[:SOME].tolist()
        for what in ("", target):
            slow = attacked(table, cart, what, few) * table.n_rows / SOME
            fast = attacked(table, guarded, what, None)
            print(f"  {what or 'membership'} of all: guarded {fast:.1f} s, plain {slow:.0f} s "
                  f"(from {SOME} records): {slow / fast:.0f}x")  # fmt: skip


if __name__ == "__main__":
    main()
