"""The pictures of the gallery, from the files of the tutorial: python docs/make_gallery.py.

The report is photographed in Chromium; without it its two pictures stay as they are.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from typer.testing import CliRunner

import caveat
from caveat.cli import app
from caveat.utility import charts

DOCS = Path(__file__).resolve().parent
IMG = DOCS / "img"
SCREENS = {"report": (1280, 1260), "report-phone": (390, 700)}


def main() -> None:
    """Walk through the tutorial in a folder of its own, and draw on the way."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        _files()
        for command in ("run release.toml", "tune tune.toml --chart map.svg"):
            done = CliRunner().invoke(app, command.split())
            if done.exit_code:
                raise SystemExit(done.output)
        shutil.copy("map.svg", IMG / "gallery-map.svg")
        _compared()
        _photographed(Path("first/inside/report.html").resolve())
        os.chdir(DOCS)


def _files() -> None:
    """Write the data and the specifications of the tutorial."""
    caveat.write(caveat.datasets.survey(rows=1500), "survey.csv")
    text = (DOCS / "tutorial.md").read_text("utf-8")
    for name, body in re.findall(r"```toml\n# (\S+)\n(.*?)```", text, re.DOTALL):
        Path(name).write_text(body, "utf-8")


def _compared() -> None:
    """Draw the release beside the original, as `caveat compare --charts` does."""
    schema = caveat.Schema.from_mapping({"income": {"missing": [-8]}, "friends": {"missing": [-8]}})
    original = caveat.read("survey.csv", schema=schema)
    release = caveat.read("first/inside/synthetic-1.csv", schema=schema)
    found = caveat.compare(original, release, models=["income ~ age + sex"])
    shown = ["age", "income", "education", "satisfied"]
    drawn = {
        "distributions": charts.distributions(found.first, shown, columns=2),
        "two-way": charts.two_way(found.tables(2), found.tables(1)),
        "model": charts.coefficient_forest(found.models[0]),
    }
    for name, chart in drawn.items():
        charts.save(chart, IMG / f"gallery-{name}.svg", force=True)


def _photographed(report: Path) -> None:
    """Take the first page of the report, on a screen and on a telephone."""
    if shutil.which("chromium") is None or shutil.which("chromedriver") is None:
        print("no chromium: the pictures of the report stay as they are")  # noqa: T201
        return
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars"):
        options.add_argument(argument)
    service = webdriver.ChromeService(shutil.which("chromedriver"))
    with webdriver.Chrome(options, service) as browser:
        for name, (width, height) in SCREENS.items():
            screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            browser.get(report.as_uri())
            browser.save_screenshot(str(IMG / f"gallery-{name}.png"))


if __name__ == "__main__":
    main()
