"""Ask for known vulnerabilities of the pinned versions; no answer is no failure.

pip-audit ends alike for a vulnerability and for a broken connection, and with success if the
service knows none of the packages. So its report is read: what it found fails, what it could not
ask is said.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SECONDS = 90
COMMAND = [
    sys.executable, "-m", "pip_audit", "--requirement", "constraints.txt", "--no-deps",
    "--disable-pip", "--timeout", "10", "--progress-spinner", "off", "--format", "json",
]  # fmt: skip


def judge(report: str) -> tuple[int, str]:
    """Return the exit code and what to print for the report of pip-audit."""
    try:
        packages: list[dict[str, Any]] = json.loads(report)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, "not audited: the vulnerability service does not answer"
    known = [package for package in packages if "vulns" in package]
    if not known:
        return 0, "not audited: the vulnerability service knows none of the pinned packages"
    found = [
        f"{package['name']} {package['version']}: {flaw['id']}, "
        f"mended in {', '.join(flaw['fix_versions']) or 'no version yet'}"
        for package in known
        for flaw in package["vulns"]
    ]
    if found:
        return 1, "\n".join(["known vulnerabilities:", *found])
    unknown = [package["name"] for package in packages if "vulns" not in package]
    rest = f"; not known there: {', '.join(unknown)}" if unknown else ""
    return 0, f"{len(known)} pinned packages without known vulnerabilities{rest}"


def ask(command: list[str], seconds: float = SECONDS) -> str:
    """Return what the command writes; nothing if it takes too long."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout


if __name__ == "__main__":
    code, words = judge(ask(COMMAND))
    print(words)
    sys.exit(code)
