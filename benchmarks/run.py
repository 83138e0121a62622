"""Run every benchmark in this folder, one after the other, each in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    """Run the benchmarks named on the command line, or all."""
    folder = Path(__file__).parent
    scripts = sorted(folder.glob("bench_*.py"))
    chosen = [
        s for s in scripts if not sys.argv[1:] or s.stem.removeprefix("bench_") in sys.argv[1:]
    ]
    for script in chosen:
        print(f"\n# {script.stem.removeprefix('bench_')}", flush=True)
        subprocess.run([sys.executable, str(script)], check=True)


if __name__ == "__main__":
    main()
