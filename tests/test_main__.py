"""The program by its module."""

from __future__ import annotations

import subprocess
import sys

import caveat


def test_the_module_is_the_command_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "caveat", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"caveat {caveat.__version__}\n"
    wrong = subprocess.run([sys.executable, "-m", "caveat", "look", "nowhere.csv"],
                           capture_output=True, text=True, check=False)  # fmt: skip
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("caveat: nowhere.csv: ")
