"""The main job on built-in data: simulate, look, synthesise, attack, tune and report.

Runs the commands that a user would type, in the folder `demo`, and leaves reports to open.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
import time
from pathlib import Path

from rich.console import Console

import caveat
from caveat.cli import app
from caveat.datasets import buyer_beware, survey

FOLDER = Path(__file__).resolve().parents[1] / "demo"
out = Console(width=100, highlight=False)

UNIQUE = """
[release]
title = "One unique record among 1,000"
unit = "person"
purpose = "the example of the Buyer Beware papers"
recipients = "readers of the papers"
access = "public"
seed = 1

[data]
path = "buyer-beware.csv"

[synthesis]
{synthesis}

[[scenario]]
name = "someone who knows everybody else"
attacker = "strong"
targets = ["var4"]
records = "all"
prior = "uniform"
limits = {{ strongWorst = 75 }}

[[scenario]]
name = "someone who knows three variables"
attacker = "release"
keys = ["var1", "var2", "var3"]
targets = ["var4"]
limits = {{ repU = 5, DiSCO = 5 }}

[utility]
measures = ["S_pMSE two-way", "S_pMSE three-way"]

[map]
settings = {{ method = ["cart", "guarded"], minbucket = [5, 100], guard = ["standard", "strong"] }}
scenario = "someone who knows everybody else"
risk = "posterior"
utility = "S_pMSE three-way"
seeds = 3

[tune]
limits = {{ posterior = 0.2 }}
objective = "S_pMSE three-way"
seed = 1

[tune.settings]
method = ["cart", "guarded"]
minbucket = [5, 50, 100]
guard = ["standard", "strong"]

[tune.attacker]
records = [999]
prior = "uniform"  # that of the papers

[output]
folder = "{folder}"
"""

# What a person would write into the starter after reading it.
DECISIONS = {
    'title = "Synthetic data"': 'title = "A survey of persons"',
    'unit = "record"': 'unit = "person"',
    'purpose = ""': 'purpose = "teaching"',
    'recipients = ""': 'recipients = "students of a statistics course"',
    'replace = { person = "id" }': 'drop = ["person", "interviewed"]',
    '  "interviewed",\n': "",
    '# targets = ["…"]  # what': 'targets = ["income", "satisfied"]  # what',
    '# targets = ["…"]  # by default': 'targets = ["satisfied"]  # by default also',
    "limits = { membershipShare = 20 }": (
        "limits = { membershipShare = 20, strongShare = { above = 2 } }"
    ),
    "# models = [": "models = [",
}
MAP = """
[map]
settings = { method = ["cart", "guarded"], minbucket = [5, 50], guard = ["light", "standard"] }
scenario = "someone who knows a few facts"
risk = "DiSCO"
utility = "S_pMSE"
seeds = 2
"""


def main() -> None:
    began = time.monotonic()
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    os.chdir(FOLDER)
    unique_record()
    survey_release()
    out.rule("Reports to open")
    for folder in ("unique-synthpop", "unique-tuned", "survey"):
        out.print(f"{FOLDER.name}/{folder}/inside/report.html")
    out.print(f"in the browser: {Path(sys.executable).parent / 'caveat'} app {FOLDER}")
    out.print(f"done in {time.monotonic() - began:.0f} seconds")


def unique_record() -> None:
    """What the usual measures do not see, and what a tuned setting does about it."""
    out.rule("1. One unique record among 1,000")
    out.print("Four binary variables; the last record, 1111, occurs once.\n")
    caveat.write(buyer_beware(), "buyer-beware.csv")
    specify("synthpop.toml", {"method": "cart", "minbucket": 5}, "unique-synthpop")
    command("run synthpop.toml")
    out.print("repU and DiSCO find little, the strong attacker is certain. Search a safer setting:")
    command("tune synthpop.toml --json tuned.json --chart map.html")
    chosen = json.loads(Path("tuned.json").read_text("utf-8"))["chosen"]["options"]
    specify("tuned.toml", chosen, "unique-tuned")
    command("run tuned.toml")


def specify(file: str, synthesis: dict[str, str | int], folder: str) -> None:
    """Write the specification of the first part with these settings."""
    lines = "\n".join(f"{name} = {json.dumps(value)}" for name, value in synthesis.items())
    Path(file).write_text(UNIQUE.format(synthesis=lines, folder=folder), "utf-8")


def survey_release() -> None:
    """From a file to a release: look, decide, run."""
    out.rule("2. A survey, from the file to the release")
    caveat.write(survey(), "survey.csv")
    command("look survey.csv --out release.toml")
    spec = (
        Path("release.toml").read_text("utf-8").replace('folder = "release"', 'folder = "survey"')
    )
    for written, decided in DECISIONS.items():
        if written not in spec:
            raise SystemExit(f"the starter has no line {written!r}")
        spec = spec.replace(written, decided, 1)
    Path("release.toml").write_text(spec + MAP, "utf-8")
    command("run release.toml")


def command(line: str) -> None:
    """Run a command as the terminal would; exit code 3 says that a limit is not met."""
    out.print(f"\n$ caveat {line}", style="bold")
    code = app(shlex.split(line), standalone_mode=False)
    if code not in (None, 0, 3):
        raise SystemExit(code)


if __name__ == "__main__":
    main()
