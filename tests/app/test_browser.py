"""The app in a real browser: from the built-in survey to its report, by keyboard, wide and narrow.

Pictures of the pages are saved where CAVEAT_PICTURES says, if it says so.
"""

from __future__ import annotations

import tomllib

import pytest
from tests.report.browser import why_not
from tests.report.test_browser import CONTRAST

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(why_not()), reason=f"no browser to look at the app: {why_not()}"),
]
STEPS = ("look", "plan", "attackers", "spec", "run", "report")


@pytest.fixture(scope="module")
def way(browser, address):
    """Go the whole way once, by keyboard; the tests look at what is there afterwards."""
    browser.errors(), browser.requests()
    browser.go(address)
    assert "token" not in browser.driver.current_url
    browser.press("Try it with the built-in survey")
    browser.wait("2,000 rows, 14 columns")
    browser.press("Accept: make it a rule")
    browser.wait("in force: make it a rule")
    browser.press("Go on: plan")
    browser.fill("input[name=title]", "A survey that never took place")
    browser.press("Save")
    browser.wait("Saved in release.toml.")
    browser.press("Go on: attackers")
    browser.fill('input[name="limit-repU"]', "5")
    browser.press("Save")
    browser.wait("repU at most 5 %")
    browser.wait("It fits the data")
    browser.press("Go on: run")
    browser.wait("It fits the data")
    browser.press("Make the release")
    browser.wait("s so far")
    browser.run("location.reload()")  # nothing is lost by it
    browser.wait("The last run is done")
    browser.press("Read the report")
    return {"errors": browser.errors(), "requests": browser.requests()}


def test_every_step_is_in_the_specification(way, folder):
    text = (folder / "survey" / "release.toml").read_text()
    content = tomllib.loads(text)
    assert content["release"]["title"] == "A survey that never took place"
    assert content["synthesis"]["rules"] == ["if age >= 67 then occupation = missing"]
    assert (folder / "survey" / "release" / "inside/release.toml").read_text() == text
    assert (folder / "survey" / "release" / "inside/report.html").is_file()


def test_nothing_is_asked_of_another_machine_and_nothing_goes_wrong(way, here):
    assert len(way["requests"]) > 20
    assert [a for a in way["requests"] if not a.startswith((f"{here}/", "data:", "blob:"))] == []
    assert way["errors"] == []


def test_the_report_is_shown_in_a_frame_that_reaches_nothing(way, browser, here):
    browser.go(f"{here}/p/survey/report")
    frame = browser.find("iframe")
    assert frame.get_attribute("sandbox") == "allow-scripts"
    browser.driver.switch_to.frame(frame)
    browser.wait("A survey that never took place")
    drawn = "return document.querySelectorAll('.chart svg').length"
    assert browser.run(drawn) > 2
    assert browser.run("try { return parent.document.title } catch (e) { return e.name }") == (
        "SecurityError"
    )
    assert browser.run("try { return document.cookie } catch (e) { return e.name }") == (
        "SecurityError"
    )
    browser.driver.switch_to.default_content()
    assert browser.errors() == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("step", ["", *STEPS])
def test_nothing_is_wider_than_the_window(way, browser, here, pictures, step, width):
    browser.go(f"{here}/p/survey/{step}" if step else here, width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.picture(pictures / f"app-{step or 'projects'}-{width}.png")
    seen, poor = browser.run(CONTRAST)
    assert seen > 10
    assert poor == []


@pytest.mark.parametrize("step", ["", *STEPS])
def test_every_field_has_a_name_and_the_keyboard_is_seen(way, browser, here, step):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.go(f"{here}/p/survey/{step}" if step else here)
    nameless = browser.run(
        """return Array.from(document.querySelectorAll(
             "input:not([type=hidden]), select, textarea, button, iframe"))
           .filter((e) => !(e.labels && e.labels.length) && !e.getAttribute("aria-label")
             && !e.getAttribute("aria-labelledby") && !e.textContent.trim() && !e.title)
           .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    browser.find("body").send_keys(Keys.TAB)
    assert browser.run("return document.activeElement.textContent") == "Skip to the page"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"
    browser.driver.switch_to.active_element.send_keys(Keys.TAB)
    active = browser.driver.switch_to.active_element
    assert active.tag_name in ("a", "button", "input", "select", "summary", "textarea", "div")
    outline = "return getComputedStyle(document.activeElement).outlineWidth"
    assert browser.run(outline) == "3px"
    headings = browser.driver.find_elements(By.TAG_NAME, "h1")
    assert len(headings) == 1


def test_a_file_is_uploaded_and_opened(way, browser, here, folder, tmp_path):
    file = tmp_path / "messy file.csv"
    rows = "".join(f'{i};"<b>{"nf"[i % 2]}</b>";{i % 7},5\n' for i in range(300))
    file.write_text(f"id;<i>sex</i>;amount\n{rows}", encoding="utf-8")
    browser.go(here)
    browser.find("input[type=file]").send_keys(str(file))
    browser.press("Upload")
    browser.wait("The file is in the folder.")
    assert (folder / "messy file.csv").read_bytes() == file.read_bytes()
    browser.press("Look at it")
    browser.wait("300 rows, 3 columns")
    browser.press("Go on: plan")
    assert "<i>sex</i>" in browser.wait("Columns")
    assert browser.run("return document.querySelectorAll('main i, main b').length") == 0
    assert browser.errors() == []


def test_an_upload_that_is_refused_says_why(way, browser, here, tmp_path):
    file = tmp_path / "program.exe"
    file.write_bytes(b"MZ")
    browser.go(here)
    browser.find("input[type=file]").send_keys(str(file))
    from selenium.webdriver.common.keys import Keys

    browser.find("#upload button").send_keys(Keys.ENTER)
    said = browser.wait("the name ends in one of")
    assert "<!doctype" not in said
    assert "403" not in said
