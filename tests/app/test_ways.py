"""Whole ways in a real browser, by keyboard: a messy file, two linked tables, and what comes after.

What comes after a run is the map as a tool, one record, and the reviewer with a decision.
"""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from tests.app.files import homes, messy
from tests.report.browser import why_not
from tests.report.test_browser import CONTRAST

from caveat.evidence.file import place_in
from caveat.table import read

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(why_not()), reason=f"no browser to look at the app: {why_not()}"),
]


@pytest.fixture(scope="module")
def way(browser, address, folder):
    """Begin with an empty log of the browser, and the files in the folder."""
    messy(folder / "messy.csv")
    homes(folder)
    browser.errors(), browser.requests()
    browser.go(address)
    return browser


@pytest.fixture(autouse=True)
def clean(way, here):
    """Nothing leaves this machine, and nothing goes wrong on a page."""
    yield
    left = [a for a in way.requests() if not a.startswith((f"{here}/", "data:", "blob:"))]
    assert left == []
    assert way.errors() == []


def seen(browser, pictures, name):
    """Look at a page wide and narrow: it fits, and can be read."""
    for width in (390, 1280):
        browser.size(width, 900)
        assert browser.run("return document.documentElement.scrollWidth") <= width
        browser.picture(pictures / f"{name}-{width}.png")
        browser.size(width, 900)
    enough, poor = browser.run(CONTRAST)
    assert enough > 10
    assert poor == []


def run(browser):
    browser.press("Go on: run")
    browser.wait("It fits the data")
    browser.press("Make the release")
    return browser.wait("The last run is done")


@pytest.fixture(scope="module")
def of_messy(way, here, folder):
    """From a messy file to its release."""
    way.go(here)
    way.tick("input[value='messy.csv']")
    way.press("Look at it")
    said = way.wait("The data cannot be read so")
    assert "messy.csv: byte" in said
    way.fill("input[name=encoding]", "mac_roman")
    way.press("Read it so")
    assert "Einkommen Jahr = 12 * Einkommen €" in way.wait("900 rows, 9 columns")
    way.press("Accept: leave it out")
    way.press("Accept: make them one level")
    way.press("Go on: plan")
    way.fill("input[name=title]", "A messy file")
    way.fill("input[name=seed]", "1")
    way.fill("select[name=guard]", "strong")
    way.press("Save")
    way.press("Go on: attackers")
    way.tick("form input[name=keys][value=Alter]")
    way.fill('input[name="limit-repU"]', "20")
    way.press("Save")
    assert "3 limits" in run(way)  # this one, and two of the starter
    return folder / "messy"


def test_a_messy_file_becomes_a_release(of_messy, way, pictures):
    content = tomllib.loads((of_messy / "release.toml").read_text())
    assert content["data"] == {"path": "../messy.csv", "encoding": "mac_roman"}
    assert content["columns"]["<i>Region</i>"]["recode"] == {"nord": "Nord"}
    assert "leer" in content["synthesis"]["drop"]
    assert content["synthesis"]["guard"] == "strong"
    assert content["scenario"][0]["limits"] == {"DiSCO": {"above": 2}, "repU": 20}
    made = read(place_in(of_messy / "release", "synthetic-1.csv"))
    assert made.n_rows == 720
    assert content["synthesis"]["replace"] == {"Lfd Nr": "id"}
    assert not set(made["Lfd Nr"].levels.tolist()) & set(range(1, 901))
    assert "leer" not in made
    assert "nord" not in made["<i>Region</i>"].levels.tolist()
    way.press("Read the report")
    seen(way, pictures, "messy-report")
    way.driver.switch_to.frame(way.find("iframe"))
    way.wait("A messy file")
    assert way.run("return document.querySelectorAll('main i, main b, script[src]').length") == 0
    way.driver.switch_to.default_content()


def test_nothing_that_somebody_types_is_lost_by_a_check(of_messy, way, here):
    way.go(f"{here}/p/messy/spec")
    text = way.run("return document.querySelector('textarea').value")
    way.fill("textarea", "[")
    way.press("Save")
    way.wait("The specification has mistakes")
    way.run("document.querySelector('textarea').value = arguments[0]", text)
    way.press("Save")
    way.go(f"{here}/p/messy/plan")
    way.fill("input[name=purpose]", "to try it")  # while the check goes on, or has ended
    way.wait("It fits the data")
    assert way.find("input[name=purpose]").get_attribute("value") == "to try it"
    assert way.driver.switch_to.active_element == way.find("input[name=purpose]")
    way.press("Save")
    way.wait("Saved in release.toml.")


@pytest.fixture(scope="module")
def of_homes(way, here, folder):
    """From two linked tables to their release."""
    way.go(here)
    for name in ("households", "persons"):
        way.tick(f"input[value='{name}.csv']")
    way.fill("input[name=name]", "homes")
    way.press("Look at it")
    way.wait("persons: household refers to household of households")
    way.press("Accept: make it a rule")
    way.wait("in force: make it a rule")
    way.press("Ignore", 2)  # the weights
    way.wait("set aside")
    way.press("Accept: use it as weights")
    return folder / "homes"


def test_findings_of_two_tables_are_decided(of_homes, way, pictures):
    seen(way, pictures, "homes-look")
    content = tomllib.loads((of_homes / "release.toml").read_text())
    assert content["synthesis"]["rules"] == ["if age <= 15 then education = missing"]
    assert content["synthesis"]["weights"] == "weight"
    assert content["tables"]["persons"]["columns"]["income"]["missing"] == [-8]


def test_two_linked_tables_become_a_release(of_homes, way, pictures):
    way.press("Go on: plan")
    way.fill("select[aria-label='Kind of hhsize']", "ordered")
    way.press("Save")
    seen(way, pictures, "homes-plan")
    way.press("Go on: attackers")
    way.tick("form input[name=keys][value=marital]")
    way.press("Save")
    said = way.wait("knows region, age, sex, marital of a person")
    assert "weight" not in said  # what is not released is no key
    seen(way, pictures, "homes-attackers")
    run(way)
    content = tomllib.loads((of_homes / "release.toml").read_text())
    assert content["tables"]["households"]["columns"] == {"hhsize": {"kind": "ordered"}}
    made = {name: read(place_in(of_homes / "release", f"synthetic-1/{name}.csv")) for name in
            ("households", "persons")}  # fmt: skip
    assert made["households"].n_rows == 400
    assert "weight" not in made["households"]
    persons = made["persons"].to_frame()
    assert set(persons["household"]) <= set(made["households"].to_frame()["household"])
    assert persons.loc[persons["age"] <= 15, "education"].isna().all()
    way.press("Read the report")
    seen(way, pictures, "homes-report")


@pytest.fixture(scope="module")
def of_map(of_messy, way, here):
    """A release with a map."""
    way.go(f"{here}/p/messy/map")
    way.press("Try them in the next run")
    way.wait("as [map] in release.toml says")
    way.go(f"{here}/p/messy/attackers")
    run(way)
    return of_messy


def test_one_record_is_shown_to_who_may_see_it(of_map, way, here, pictures):
    way.go(f"{here}/p/messy/record")
    way.fill("input[name=row]", "7")
    way.press("Explain this row", leaves=False)  # the browser asks for the box
    assert "confidential" not in way.run("return document.querySelector('#found').innerText")
    way.tick("input[name=allowed]")
    way.press("Explain this row", leaves=False)
    said = way.wait("What would change it")
    assert "row 7" in said
    seen(way, pictures, "record")
    way.go(f"{here}/p/messy/record")  # it is kept nowhere
    assert way.run("return document.querySelector('#found').innerText").strip() == ""


def test_the_map_is_a_tool(of_map, way, here, pictures):
    way.go(f"{here}/p/messy/map")
    way.until("return document.documentElement.dataset.charts")
    names = way.run("return Array.from(document.querySelectorAll('a[data-place]'), (a) => a.text)")
    assert names == [
        "cart", "guarded, guard light", "guarded, guard standard", "guarded, guard strong"
    ]  # fmt: skip
    light = names[1]
    seen(way, pictures, "map")
    # By the mouse on a point, then by the keyboard on the name of another.
    way.find(".chart [aria-roledescription='point']").click()
    way.wait("One setting")
    shown = way.find("#picked + .wrap thead").text
    assert shown in names
    way.press(light if light != shown else names[2])
    said = way.wait("Two settings compared")
    assert shown in said
    way.wait("synthesis.guard")
    seen(way, pictures, "map-two")
    heads = "return Array.from(document.querySelectorAll('thead th'), (t) => t.innerText)"
    columns = way.run(heads)
    way.press("Write it into release.toml", columns.index(light))
    way.wait("Saved in release.toml.")
    content = tomllib.loads((of_map / "release.toml").read_text())
    assert content["synthesis"]["guard"] == "light"
    way.press("Turn it to standard")
    way.wait("Saved in release.toml.")
    content = tomllib.loads((of_map / "release.toml").read_text())
    assert content["synthesis"]["guard"] == "standard"
    assert content["release"]["title"] == "A messy file"
    way.go(f"{here}/p/messy/record")
    way.wait("release.toml has changed since this release was made")


def test_a_reviewer_decides_and_the_report_says_so(of_messy, of_homes, way, here, pictures):
    way.go(f"{here}/review")
    way.press("messy/release")
    way.wait("The decision")
    from selenium.webdriver.common.keys import Keys

    way.tick("input[name=decision]")
    way.key(Keys.ARROW_DOWN)
    way.fill("textarea[name=names]", "A. Reviewer")
    way.fill("textarea[name=conditions]", "show the <b>map</b> too")
    way.press("Write the decision down")
    said = way.wait("The reports in the folder of this release, if there are any, print it too")
    assert "Change, and put before the board again" in said
    seen(way, pictures, "review")
    decision = json.loads((of_messy / "release" / "inside/decision.json").read_text())
    assert (decision["decision"], decision["names"]) == ("change", ["A. Reviewer"])
    for name in ("report.html", "report.md"):
        assert "A. Reviewer" in (of_messy / "release" / "inside" / name).read_text()
    way.go(f"{here}/p/messy/report")
    way.driver.switch_to.frame(way.find("iframe"))
    assert "show the <b>map</b> too" in way.wait("A. Reviewer")
    way.driver.switch_to.default_content()
    listed = json.loads((of_messy / "release" / "manifest.json").read_text())["files"]
    assert "inside/decision.json" not in [file["name"] for file in listed]


def test_a_decision_stays_when_the_release_is_made_again(of_messy, way, here):
    way.go(f"{here}/p/messy/map")
    way.press("run it")  # the dial was turned since
    way.wait("It fits the data")
    way.press("Make the release")
    way.wait("The last run is done")
    assert (of_messy / "release" / "inside/decision.json").is_file()
    way.go(f"{here}/review/release?at=messy/release")
    assert "There is a decision, but it was made on another evidence file" in way.wait(
        "A. Reviewer"
    )


def test_two_releases_stand_side_by_side(of_messy, of_homes, way, here, pictures):
    way.go(f"{here}/review")
    way.press("Compare")
    said = way.wait("Before")
    assert "Now" in said
    assert "A messy file" in said
    seen(way, pictures, "changes")
    # Nothing about single records is on a page for reviewers.
    for address in ("review", "review/release?at=messy/release", "review/release?at=homes/release"):
        way.go(f"{here}/{address}")
        said = way.run("return document.querySelector('main').innerText")
        assert not re.search(r"(row|record) \d", said)
