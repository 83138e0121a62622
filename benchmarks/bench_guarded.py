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
from caveat.studies.guarded import SD2011, SURVEY
from caveat.synthesis import Synthesizer
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


def main() -> None:
    for name, (table, target) in tables().items():
        print(f"{name}: {table.n_rows:,} records, {len(table.names)} columns")
        seconds, models = {}, {}
        for method in ("cart", "guarded"):
            synthesizer = Synthesizer(seed=1, method=method, order=table.names)
            synthesizer.fit(table).tables()  # compile

            def work(synthesizer: Synthesizer = synthesizer, method: str = method) -> None:
                models[method] = synthesizer.fit(table)
                models[method].tables()

            seconds[method] = cpu(work, 3)
        ratio = seconds["guarded"] / seconds["cart"]
        print(f"  fit and sample   plain {seconds['cart']:.2f} s, guarded "
              f"{seconds['guarded']:.2f} s: {ratio:.2f}x")  # fmt: skip
        few = np.random.default_rng(0).permutation(table.n_rows)[:SOME].tolist()
        release = {m: model.tables()[0] for m, model in models.items()}
        for what in ("membership", target):

            def attack(method: str, records: list[int] | None, what: str = what) -> None:
                known = {"generator": models[method].plan, "records": records}
                if what == "membership":
                    membership(table, release[method], **known)
                else:
                    attributes(table, release[method], what, **known)

            for method in ("cart", "guarded"):
                attack(method, few[:1])  # compile
            slow = cpu(lambda: attack("cart", few)) * table.n_rows / SOME  # noqa: B023
            fast = cpu(lambda: attack("guarded", None))
            print(f"  {what} of all   guarded {fast:.1f} s, plain {slow:.0f} s (from {SOME} "
                  f"records): {slow / fast:.0f}x")  # fmt: skip


if __name__ == "__main__":
    main()
