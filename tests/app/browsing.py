"""A real browser that reaches this machine and nothing else, for the tests of the app."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.report.browser import FLAGS, Browser

SECONDS = 300
FURTHEST = 500  # presses of Tab to a place on a page
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

    def key(self, key: str) -> None:
        """Press a key, wherever the focus is."""
        from selenium.webdriver import ActionChains

        ActionChains(self.driver).send_keys(key).perform()

    def reach(self, element: Any) -> None:
        """Go to an element by the Tab key alone."""
        from selenium.webdriver.common.keys import Keys

        for _ in range(FURTHEST):
            if self.driver.switch_to.active_element == element:
                return
            self.key(Keys.TAB)
        raise AssertionError(f"no way by the keyboard to {element.get_attribute('outerHTML')}")

    def fill(self, selector: str, text: str) -> None:
        """Write into a field instead of what is there, or choose by the first letters."""
        from selenium.webdriver.common.keys import Keys

        element = self.find(selector)
        self.reach(element)
        if element.tag_name == "textarea" or element.get_attribute("type") in ("text", "number"):
            element.send_keys(Keys.CONTROL, "a")
        self.key(text)

    def tick(self, selector: str) -> None:
        """Tick a box."""
        self.reach(self.find(selector))
        self.key(" ")

    def press(self, text: str, place: int = 1, *, leaves: bool = True) -> None:
        """Press a button or a link by the keyboard; of several that say the same, one of them.

        Wait for the next page, unless the page stays.
        """
        from selenium.webdriver.common.by import By
        from selenium.webdriver.common.keys import Keys

        path = f"//main//*[self::button or self::a][starts-with(normalize-space(), '{text}')]"
        element = self.driver.find_element(By.XPATH, f"({path})[{place}]")
        old = self.find("html")
        self.reach(element)
        self.key(Keys.ENTER)
        end = time.monotonic() + SECONDS
        while leaves and time.monotonic() < end:
            try:
                old.is_enabled()
            except Exception:  # the page has changed
                return
            time.sleep(0.05)
        assert not leaves, f"nothing came of {text}"

    def until(self, script: str, seconds: float = SECONDS) -> Any:
        """Wait until a script returns something; return it."""
        end = time.monotonic() + seconds
        while not (found := self.run(script)):
            assert time.monotonic() < end, self.run("return document.body.innerText")
            time.sleep(0.2)
        return found

    def wait(self, text: str, seconds: float = SECONDS) -> str:
        """Wait until the page says something; return all that it says."""
        said = "const said = document.body ? document.body.innerText : '';"
        return str(self.until(f"{said} return said.includes({json.dumps(text)}) && said", seconds))


def served(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """Start the app; return its process and its address."""
    command = [sys.executable, "-m", "caveat", "app", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().removeprefix("open ").strip()
