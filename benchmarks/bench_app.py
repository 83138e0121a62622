"""The app beside the same release on the command line: what the pages cost, and how fast they are.

The slowest answer of each page while a run takes all cores, the time from a file to its report, and
the memory of the server that waits.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from urllib.parse import urlencode

from rich.console import Console
from rich.table import Table as Grid

from caveat.datasets import survey
from caveat.table import write

ROWS = 5_000
PAGES = (
    "p/survey/look", "p/survey/plan", "p/survey/attackers", "p/survey/spec", "p/survey/run",
    "p/survey/job/run", "p/survey/report", "p/survey/report/page?version=internal", "p/survey/map",
    "p/survey/map?one=0&two=1", "p/survey/record", "", "review", "review/release?at=survey/release",
)  # fmt: skip
MAP = """
[map]
scenario = "someone who knows a few facts"
settings = { guard = ["light", "standard"] }
"""
DIAL = ("light", "strong")


class Visitor:
    """Asks a server for pages, as a browser does, and remembers how long each took."""

    def __init__(self, address: str) -> None:
        self.here = address.partition("/?")[0]
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        self.slowest: dict[str, float] = {}
        self.csrf = ""
        text = self.ask(address.removeprefix(self.here), "the first page")
        self.csrf = text.split('name="csrf" content="')[1].split('"')[0]

    def ask(self, path: str, name: str, **fields: str) -> str:
        """Ask for a page, or send a form; return what is shown in the end."""
        body = urlencode({"csrf": self.csrf, **fields}).encode() if fields else None
        request = urllib.request.Request(self.here + path, body, {"Origin": self.here})
        begin = time.perf_counter()
        with self.browser.open(request) as answer:
            text: str = answer.read().decode()
        taken = time.perf_counter() - begin
        self.slowest[name] = max(self.slowest.get(name, 0.0), taken)
        return text


def was_in(text: str) -> str:
    """Return from which specification the forms of a page were made."""
    found = re.search(r'name="was" value="([0-9a-f]+)"', text)
    assert found is not None, text
    return found[1]


def until(visitor: Visitor, page: str, *words: str) -> str:
    """Load a page again and again until it says one of these words."""
    while not any(word in (text := visitor.ask(f"/p/survey/{page}", "waiting")) for word in words):
        time.sleep(0.1)
    return text


def run(visitor: Visitor) -> None:
    """Make the release."""
    was = was_in(until(visitor, "run", "It fits the data"))
    visitor.ask("/p/survey/run", "start a run", was=was)
    until(visitor, "run", "The last run is done")


def visit(visitor: Visitor) -> int:
    """Visit every page in turn and turn the dial while a run goes on; return how often."""
    number = 0
    while True:
        for page in PAGES:
            text = visitor.ask(f"/{page}", page or "the first page")
            if "job/run" in page and "Starting" not in text and "At work" not in text:
                return number
        was = was_in(visitor.ask("/p/survey/map", "p/survey/map"))
        number += 1
        visitor.ask("/p/survey/map/choose", "a form", was=was, guard=DIAL[number % 2])


def memory(process: subprocess.Popen[str]) -> float:
    """Return the MB that a process holds."""
    text = Path(f"/proc/{process.pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Measure one release of the built-in survey, in the app and on the command line."""
    grid = Grid("what", "measured")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(survey(rows=ROWS), folder / "survey.csv")
        command = [sys.executable, "-m", "caveat", "app", name]
        begin = time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            visitor = Visitor(server.stdout.readline().removeprefix("open ").strip())
            start = time.perf_counter() - begin
            grid.add_row("start, until the first page is there", f"{start:.2f} s")
            first = visitor.slowest.pop("the first page")
            grid.add_row("of it the first page", f"{1000 * first:.0f} ms")
            begin = time.perf_counter()
            visitor.ask("/open", "open", file="survey.csv")
            until(visitor, "look", f"{ROWS:,} rows")
            run(visitor)
            whole = time.perf_counter() - begin
            grid.add_row(f"from a file of {ROWS:,} rows to its report", f"{whole:.1f} s")
            shutil.copy(folder / "survey" / "release.toml", folder / "again.toml")
            text = (folder / "survey" / "release.toml").read_text() + MAP
            was = was_in(visitor.ask("/p/survey/spec", "spec"))
            visitor.ask("/p/survey/spec", "spec", was=was, text=text)
            run(visitor)  # now there are all pages to look at
            was = was_in(until(visitor, "run", "It fits the data"))
            visitor.slowest = {}
            visitor.ask("/p/survey/run", "start a run", was=was)
            times = visit(visitor)
            for page, taken in sorted(visitor.slowest.items(), key=lambda one: -one[1]):
                grid.add_row(f"slowest of {times} during a run: {page}", f"{1000 * taken:.0f} ms")
            grid.add_row("memory of the server", f"{memory(server):.0f} MB")
        finally:
            server.kill()
            server.wait()
        begin = time.perf_counter()
        text = (folder / "again.toml").read_text().replace('"../survey.csv"', '"survey.csv"')
        (folder / "again.toml").write_text(text)
        subprocess.run(
            [sys.executable, "-m", "caveat", "run", str(folder / "again.toml")],
            check=True, capture_output=True,
        )  # fmt: skip
        again = time.perf_counter() - begin
        grid.add_row("caveat run of the same specification", f"{again:.1f} s")
        grid.add_row("the app, by hand of a program / caveat run", f"{whole / again:.1f}")
    Console().print(grid)


if __name__ == "__main__":
    main()
