"""A real browser that reaches this machine and nothing else, for the tests of the app."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.report.browser import FLAGS, Browser

SECONDS = 300
# No name is resolved, and of all addresses only that of this machine is reached.
REACHED = tuple(f"{f} , EXCLUDE 127.0.0.1" if "resolver" in f else f for f in FLAGS)


class AppBrowser(Browser):
    """Chromium with the pages of an app in a folder."""

    def __init__(self, profile: Path) -> None:
        super().__init__(profile, REACHED)
        online = {"offline": False, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.command("Network.emulateNetworkConditions", online)

    def go(self, address: str, width: int = 1280) -> None:
        """Open an address."""
        self.size(width, 900)
        self.driver.get(address)

    def find(self, selector: str) -> Any:
        """Return the first element that fits."""
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def press(self, text: str, place: int = 1) -> None:
        """Press a button or a link by the keyboard; of several that say the same, one of them."""
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        path = f"//main//*[self::button or self::a][starts-with(normalize-space(), '{text}')]"
        element = self.driver.find_element(By.XPATH, f"({path})[{place}]")
        old = self.find("html")
        element.send_keys(Keys.ENTER)
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                old.is_enabled()
            except Exception:  # the page has changed
                return
            time.sleep(0.05)
        raise AssertionError(f"nothing came of {text}")

    def wait(self, text: str, seconds: float = SECONDS) -> str:
        """Wait until the page says something; return all that it says."""
        end = time.monotonic() + seconds
        while True:
            said = str(self.run("return document.body ? document.body.innerText : ''"))
            if text in said:
                return said
            assert time.monotonic() < end, said
            time.sleep(0.2)


def served(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the app; return its process and its address."""
    command = [sys.executable, "-m", "caveat", "app", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().removeprefix("open ").strip()
