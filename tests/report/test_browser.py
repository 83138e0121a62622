"""The report in a real browser: from disk, without a network, on screens and on paper.

Pictures of the pages are saved where CAVEAT_PICTURES says, if it says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.report.browser import Browser, why_not
from tests.report.sample import large, small

from caveat.report import render

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(bool(why_not()), reason=f"no browser to look at the report: {why_not()}"),
]
VERSIONS = ("internal", "external")
# A4 less the margins of the style sheet, at 96 pixels per inch.
PAPER = ((210 - 28) / 25.4 * 96, (297 - 29) / 25.4 * 96)

CONTRAST = r"""
const numbers = (colour) => colour.match(/[\d.]+/g).map(Number);
const light = ([r, g, b]) => {
  const c = [r, g, b].map((v) => v / 255)
    .map((v) => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * c[0] + .7152 * c[1] + .0722 * c[2];
};
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const c = numbers(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c;
  }
  return [255, 255, 255];
};
const poor = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.getClientRects().length) continue;
  if (["SCRIPT", "STYLE", "NOSCRIPT"].includes(element.tagName)) continue;
  const svg = element.closest("svg");
  const style = getComputedStyle(element);
  const colour = svg ? style.fill : style.color;
  if (svg && (colour === "none" || element.closest(".role-legend, .layer_1_marks"))) continue;
  if (svg && colour === "rgb(255, 255, 255)") continue;
  const [a, b] = [light(numbers(colour)), light(behind(element))].sort((x, y) => y - x);
  const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
  const least = size >= 24 || (bold && size >= 18.66) ? 3 : 4.5;
  seen += 1;
  const ratio = (a + .05) / (b + .05);
  if (ratio < least) poor.push([walker.currentNode.textContent, colour, ratio]);
}
return [seen, poor];
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for version in VERSIONS:
        page = render(large(), version=version, date="2026-11-16")
        (folder / f"{version}.html").write_text(page, encoding="utf-8")
    (folder / "small.html").write_text(render(small()), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = Browser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    chosen = os.environ.get("CAVEAT_PICTURES")
    folder = Path(chosen) if chosen else tmp_path_factory.mktemp("pictures")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.parametrize("version", VERSIONS)
def test_it_opens_from_disk_without_a_network_and_without_errors(browser, pages, version):
    browser.errors(), browser.requests()
    browser.open(pages / f"{version}.html")
    assert browser.errors() == []
    asked = browser.requests()
    assert asked
    assert all(address.startswith(("file:", "data:", "blob:")) for address in asked)


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("version", VERSIONS)
def test_all_charts_are_drawn(browser, pages, version, width):
    browser.open(pages / f"{version}.html", width)
    charts = browser.run(
        """return Array.from(document.querySelectorAll(".chart"), (chart) => {
          const svg = chart.querySelector("svg");
          const box = svg ? svg.getBoundingClientRect() : {width: 0, height: 0};
          const marks = svg ? svg.querySelectorAll(
            ".mark-rect path, .mark-rule line, .mark-symbol path, .mark-text text").length : 0;
          return [chart.id, marks, box.width, box.height];
        })"""
    )
    # One for each attacker, the pairs, the map; inside 35 variables and two models, outside scores.
    assert len(charts) == (41 if version == "internal" else 5)
    for name, marks, width_of, height in charts:
        assert marks >= 4, name
        assert width_of > 100, name
        assert height > 40, name


def test_hovering_shows_the_setting(browser, pages):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browser.open(pages / "small.html")
    dot = browser.driver.find_elements(By.CSS_SELECTOR, "#chart-map-1 .mark-symbol path")[-1]
    browser.run("arguments[0].scrollIntoView({block: 'center'})", dot)
    ActionChains(browser.driver).move_to_element(dot).perform()
    shown = browser.run("return document.getElementById('vg-tooltip-element').textContent")
    assert "minbucket 20" in shown


def column(browser, place):
    return browser.run(
        """const table = document.querySelector("#records details table");
        const cells = Array.from(table.tBodies[0].rows, (row) => row.cells[arguments[0]]);
        return cells.map((cell) => Number(cell.dataset.sort))""",
        place,
    )


def test_tables_are_sorted_by_click_and_by_keyboard(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.open(pages / "internal.html")
    folded = browser.driver.find_element(By.CSS_SELECTOR, "#records details")
    folded.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    first, second = folded.find_elements(By.CSS_SELECTOR, "thead button")[:2]
    headings = folded.find_elements(By.CSS_SELECTOR, "thead th")
    before = column(browser, 0)
    assert before == sorted(before)
    second.click()
    assert column(browser, 1) == sorted(column(browser, 1))
    assert headings[1].get_attribute("aria-sort") == "ascending"
    assert column(browser, 0) != before
    second.send_keys(Keys.ENTER)
    assert column(browser, 1) == sorted(column(browser, 1), reverse=True)
    assert headings[1].get_attribute("aria-sort") == "descending"
    first.send_keys(Keys.SPACE)
    assert column(browser, 0) == before
    assert headings[1].get_attribute("aria-sort") == "none"
    # Where the keyboard is can be seen.
    outline = browser.run("return getComputedStyle(document.activeElement).outlineWidth")
    assert outline == "3px"


def test_rows_are_filtered_by_words_and_all_come_back(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.open(pages / "internal.html")
    folded = browser.driver.find_element(By.CSS_SELECTOR, "#records details")
    folded.find_element(By.TAG_NAME, "summary").send_keys(Keys.ENTER)
    field = folded.find_element(By.CSS_SELECTOR, "input[type=search]")
    said = folded.find_element(By.CSS_SELECTOR, "[role=status]")
    rows = folded.find_elements(By.CSS_SELECTOR, "tbody tr")
    assert field.get_attribute("aria-label").startswith("Show only rows with these words: The rows")
    # Every second record is the only donor of something; all are unique.
    field.send_keys("DONOR unique")
    assert sum(row.is_displayed() for row in rows) == 25
    assert said.text == "25 of 50 rows"
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(Keys.DELETE)
    assert sum(row.is_displayed() for row in rows) == 50
    assert said.text == ""
    # A table that is taken in at a glance has no such field.
    assert not browser.driver.find_elements(By.CSS_SELECTOR, "#decision input")


def test_without_scripts_nothing_is_asked_for(pages):
    text = (pages / "internal.html").read_text("utf-8").split("<script")[0]
    assert "<input" not in text
    assert text.count("<table") > 5


def test_the_first_page_is_one_sheet_and_the_annex_begins_a_new_one(browser, pages, pictures):
    browser.open(pages / "small.html")
    browser.command("Emulation.setEmulatedMedia", {"media": "print"})
    browser.size(*PAPER)
    try:
        bottom, breaks = browser.run(
            """const box = document.querySelector(".box").getBoundingClientRect();
            const annex = document.querySelector("section.annex");
            return [box.bottom + scrollY, getComputedStyle(annex).breakBefore]"""
        )
    finally:
        browser.command("Emulation.setEmulatedMedia", {"media": ""})
    assert bottom <= PAPER[1]
    assert breaks == "page"


def test_what_has_no_value_is_sorted_last(browser, pages):
    from selenium.webdriver.common.by import By

    browser.open(pages / "internal.html")
    folded = browser.driver.find_elements(By.CSS_SELECTOR, "#attacker details.fold")[0]
    folded.find_element(By.TAG_NAME, "summary").click()
    button = folded.find_elements(By.CSS_SELECTOR, "thead button")[3]
    for _ in range(2):
        button.click()
        texts = browser.run(
            "return Array.from(arguments[0].querySelectorAll('tbody tr'), "
            "(row) => row.cells[3].firstChild.textContent)",
            folded,
        )
        assert "–" in texts
        assert texts.index("–") >= len(texts) - texts.count("–")


@pytest.mark.parametrize("width", [1280, 390])
def test_the_contents_lead_to_the_headings(browser, pages, width):
    browser.open(pages / "internal.html", width)
    links = browser.run(
        """return Array.from(document.querySelectorAll("nav a"))
             .filter((a) => a.offsetParent).map((a) => a.getAttribute("href"))"""
    )
    assert len(links) >= 7
    for link in links:
        browser.run(f"document.querySelector('nav a[href=\"{link}\"]').click()")
        top, bottom, height = browser.run(
            """const at = document.querySelector(arguments[0]).getBoundingClientRect();
            const below = document.documentElement.scrollHeight - innerHeight - scrollY;
            return [at.top, below, innerHeight]""",
            link,
        )
        # At the top of the window, or in it where the page ends before.
        assert -1 <= top <= 40 or (bottom < 2 and top < height), link


def test_the_first_link_skips_to_the_report(browser, pages):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    browser.open(pages / "internal.html")
    browser.driver.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    text = browser.run("return document.activeElement.textContent")
    assert text == "Skip to the report"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.run("return document.activeElement.id") == "main"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_wider_than_the_window(browser, pages, pictures, version, width):
    browser.open(pages / f"{version}.html", width)
    assert browser.run("return document.documentElement.scrollWidth") <= width
    picture = pictures / f"report-{version}-{width}.png"
    browser.picture(picture)
    assert picture.stat().st_size > 50_000


@pytest.mark.parametrize("version", VERSIONS)
def test_text_stands_out_from_its_background(browser, pages, version):
    browser.open(pages / f"{version}.html")
    browser.run("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    seen, poor = browser.run(CONTRAST)
    assert seen > 500
    assert poor == []


@pytest.mark.parametrize("version", VERSIONS)
def test_no_chart_is_cut_on_paper(browser, pages, pictures, version):
    browser.open(pages / f"{version}.html")
    paper = pictures / f"report-{version}.pdf"
    browser.pdf(paper)
    browser.command("Emulation.setEmulatedMedia", {"media": "print"})
    browser.size(*PAPER)
    try:
        blocks = browser.run(
            """const kept = document.querySelectorAll("figure.one, figure.scroll, .panel");
            return Array.from(kept, (e) => {
              const box = e.getBoundingClientRect();
              const svg = e.querySelector("svg").getBoundingClientRect();
              return [getComputedStyle(e).breakInside, box.height, Math.max(box.width, svg.width)];
            })"""
        )
        assert browser.run("return document.documentElement.scrollWidth") <= PAPER[0]
    finally:
        browser.command("Emulation.setEmulatedMedia", {"media": ""})
    for kept, height, width in blocks:
        assert kept == "avoid"
        assert height <= PAPER[1]
        assert width <= PAPER[0] + 1
    assert len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) >= 4


@pytest.mark.skipif(shutil.which("pdftoppm") is None, reason="pdftoppm (poppler) is not installed")
def test_the_printed_pages_are_a4_and_not_empty(browser, pages, pictures):
    browser.open(pages / "internal.html")
    browser.pdf(pictures / "report.pdf")
    info = subprocess.run(
        ["pdfinfo", pictures / "report.pdf"], capture_output=True, text=True, check=True
    ).stdout
    assert re.search(r"Page size: +59[45].*x 84[12].*\(A4\)", info)
    count = int(re.search(r"Pages: +(\d+)", info).group(1))
    subprocess.run(
        ["pdftoppm", "-r", "50", "-png", pictures / "report.pdf", pictures / "page"], check=True
    )
    sizes = [page.stat().st_size for page in pictures.glob("page-*.png")]
    assert len(sizes) == count
    assert min(sizes) > 3_000
