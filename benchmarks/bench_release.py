"""Where the time of ``caveat run`` goes: SD2011 with all 35 columns, three attackers, utility.

The specification is the starter that ``caveat look`` writes, with a control, three targets for the
strong attacker and an ordinary one added (``--map``: a risk-utility map besides). Without the data,
the simulated survey. CPU seconds of this process over all threads, and seconds on the wall, which
depend on who else uses the machine: the goal of three minutes on two cores is about 360 CPU s.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from caveat.datasets import survey
from caveat.findings import look
from caveat.release import Release
from caveat.spec.starter import starter
from caveat.table import read, write

SHARED = Path(__file__).resolve().parents[2] / "shared"

STRONG = 'attacker = "strong"'
ORDINARY = """
[[scenario]]
name = "someone with ordinary means"
attacker = "ordinary"
keys = {keys}
targets = {targets}
"""
MAP = """
[map]
settings = { minbucket = [5, 20, 50, 100] }
seeds = 2
"""


def prepare(folder: Path, with_map: bool) -> Path:
    """Write data and specification."""
    source = SHARED / "data" / "sd2011.csv"
    keys, targets = '["sex", "age", "placesize"]', '["marital", "depress", "income"]'
    data = folder / "data.csv"
    if source.exists():
        data.write_bytes(source.read_bytes())
    else:
        write(survey(rows=5000), data)
        keys, targets = '["sex", "age", "region"]', '["marital", "income"]'
    text = starter(look(read(data)), "data.csv")
    text = text.replace("# control = 0.2", "control = 0.2").replace("# seed = 1", "seed = 1")
    wants = f"keys = {keys}\ntargets = {targets}\nlimits = {{ strongWorst = 99 }}"
    text = text.replace(STRONG, f"{STRONG}\n{wants}")
    text += ORDINARY.format(keys=keys, targets=targets) + (MAP if with_map else "")
    (folder / "release.toml").write_text(text, encoding="utf-8")
    return folder / "release.toml"


class Clock:
    """CPU and wall seconds of each step."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.step = ""
        self.at = (time.process_time(), time.perf_counter())

    def __call__(self, step: str, _: float) -> None:
        now = (time.process_time(), time.perf_counter())
        if self.step:
            own = self.spent.setdefault(self.step, [0.0, 0.0])
            own[0] += now[0] - self.at[0]
            own[1] += now[1] - self.at[1]
        self.step, self.at = step, now


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        spec = prepare(Path(name), "--map" in sys.argv)
        if "--compiled" not in sys.argv:
            # The kernels are compiled once for an installation; that is not what is measured.
            warm = spec.with_name("warm.toml")
            small = read(spec.with_name("data.csv")).take(range(300))
            write(small, spec.with_name("small.csv"))
            warm.write_text(spec.read_text("utf-8").replace('"data.csv"', '"small.csv"'), "utf-8")
            Release.from_toml(warm).run(Path(name) / "warm")
        clock = Clock()
        outcome = Release.from_toml(spec).run(Path(name) / "release", progress=clock)
        clock("", 0.0)
        data = outcome.evidence["inputs"]["data"]
        print(f"{data['rows']:,} records, {data['columns']} columns")
        print(f"{'step':<48} {'CPU s':>8} {'wall s':>8}")
        for step, (cpu, wall) in clock.spent.items():
            print(f"{step:<48} {cpu:>8.1f} {wall:>8.1f}")
        total = [sum(part) for part in zip(*clock.spent.values(), strict=True)]
        print(f"{'together':<48} {total[0]:>8.1f} {total[1]:>8.1f}")
        for scenario in outcome.evidence["scenarios"]:
            for remark in scenario["remarks"]:
                print(f"  {remark}")


if __name__ == "__main__":
    main()
