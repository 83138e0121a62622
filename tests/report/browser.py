"""A real browser without a network, for the tests of the report."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
SECONDS = 300


def why_not() -> str:
    """Say why no browser can be driven here; nothing if one can."""
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    return ""


class Browser:
    """Chromium with a page of a given width."""

    def __init__(self, profile: Path, flags: Sequence[str] = FLAGS) -> None:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service

        options = ChromeOptions()
        options.binary_location = str(shutil.which("chromium"))
        for flag in (*flags, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = Chrome(options=options, service=Service(str(shutil.which("chromedriver"))))
        self.command("Network.enable", {})
        offline = {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0}
        self.command("Network.emulateNetworkConditions", offline)

    def command(self, name: str, arguments: dict[str, Any]) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def size(self, width: float, height: float) -> None:
        """Make the window this large."""
        size = {"width": int(width), "height": int(height), "deviceScaleFactor": 1}
        self.command("Emulation.setDeviceMetricsOverride", {**size, "mobile": width < 500})

    def open(self, path: Path, width: int = 1280) -> None:
        """Open a file and wait until its charts are drawn."""
        self.size(width, 900)
        self.driver.get(path.as_uri())
        end = time.monotonic() + SECONDS
        while self.run("return document.documentElement.dataset.charts") is None:
            if time.monotonic() > end:
                pytest.fail(f"the charts are not drawn: {self.errors()}")
            time.sleep(0.05)

    def errors(self) -> list[str]:
        """Return what the page wrote to the console since the last time."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Return the addresses that were asked for since the last time."""
        messages = [
            json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")
        ]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def picture(self, path: Path) -> None:
        """Save the whole page as a picture."""
        width, height = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        # A window as high as the page: pictures from beyond a window can hang on a busy machine.
        self.size(width, min(height, 16_000))
        found = self.command("Page.captureScreenshot", {"format": "png"})
        path.write_bytes(base64.b64decode(found["data"]))

    def pdf(self, path: Path) -> None:
        """Print the page as its style sheet says."""
        options = {"preferCSSPageSize": True, "printBackground": True}
        found = self.command("Page.printToPDF", options)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self.driver.quit()
