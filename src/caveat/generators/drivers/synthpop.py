"""R's synthpop, through Rscript: this script writes CSV, synthpop.R reads and writes it.

Settings: ``method`` ("cart"), ``cart.minbucket`` and ``cart.cp``.
"""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).with_name("synthpop.R")


def generate(frame, schema, seed, rows, copies, settings):
    """Let R do it."""
    import pandas as pd

    kinds = [column["kind"] for column in schema]
    dates = [c["name"] for c in schema if c["kind"] in ("date", "datetime")]
    for name in dates:
        frame[name] = (frame[name] - pd.Timestamp(0)).dt.total_seconds()
    frame.to_csv("data.csv", index=False, na_rep="")
    known = [f"{name}={value}" for name, value in settings.items()]
    command = ["Rscript", "--vanilla", str(SCRIPT), str(seed), str(rows), str(copies)]
    subprocess.run([*command, ",".join(kinds), *known], check=True)
    made = []
    levels = {c["name"]: str for c in schema if "levels" in c}
    for copy in range(1, copies + 1):
        drawn = pd.read_csv(f"made-{copy}.csv", dtype=levels, keep_default_na=False, na_values=[""])
        for name in dates:
            drawn[name] = pd.to_datetime(drawn[name].round(), unit="s")
        made.append(drawn)
    return made
