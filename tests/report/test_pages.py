"""Short pages in their three forms."""

from __future__ import annotations

from pathlib import Path

from tests.refusals import refused

from caveat.report.blocks import Field, Grid, Items, Section, Text, cell
from caveat.report.pages import Page, as_html, as_markdown, as_text, written

PAGE = Page(
    "INTERNAL.",
    "A <title>",
    [
        Section("one", "First", [Text("Words.", "Lead."), Items([("Why?", "so"), ("", "plain")])]),
        Section(
            "two",
            "Second",
            [Grid("A table", [Field("name"), Field("value", numeric=True), Field("asked?")],
                  [[cell("a|b"), cell("1"), cell("yes")], [cell("c"), cell(""), cell("no")]])],
        ),
    ],
)  # fmt: skip


def test_the_first_line_says_how_to_keep_it() -> None:
    assert as_text(PAGE).startswith("INTERNAL.\n\nA <title>\n")
    assert as_markdown(PAGE).startswith("**INTERNAL.**\n\n# A \\<title\\>\n")
    body = as_html(PAGE).partition("<body>")[2]
    assert body.split("\n")[2] == '<p class="notice">INTERNAL.</p>'


def test_text_has_a_line_for_each_cell_that_says_something() -> None:
    assert as_text(PAGE).splitlines()[3:] == [
        "", "FIRST", "Lead. Words.", "- Why? so", "- plain", "", "SECOND", "A table:", "  a|b",
        "      value: 1", "      asked? yes", "  c", "      asked? no",
    ]  # fmt: skip


def test_markdown_and_html_have_tables() -> None:
    assert "| name | value | asked? |\n| --- | ---: | --- |\n| a\\|b | 1 | yes |" in as_markdown(
        PAGE
    )
    html = as_html(PAGE)
    assert "<h1>A &lt;title&gt;</h1>" in html
    assert '<tr><th scope=row>a|b</th><td class="n">1</td><td>yes</td></tr>' in html
    assert "<strong>Why?</strong> so" in html
    assert "http" not in html  # it needs nothing else


def test_the_ending_of_a_name_says_the_form() -> None:
    assert written(Path("x.HTML")) is as_html
    assert written(Path("x.md")) is as_markdown
    assert written(Path("x.txt")) is as_text
    with refused("release.format.unknown", where="x.pdf"):
        written(Path("x.pdf"))
