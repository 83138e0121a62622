"""Charts on pages."""

from __future__ import annotations

import json

from tests.app.client import client
from tests.report.sample import small

from caveat.app.drawing import specs_of


def test_a_figure_is_drawn_from_plain_numbers():
    from caveat.report.board import board_section

    section = board_section(small(), None, external=False)
    (text,) = specs_of(section.blocks)
    spec = json.loads(text)
    assert spec["width"] == "container"
    assert spec["config"]["axis"]["grid"] is False
    assert "url" not in text


def test_the_scripts_come_from_this_machine_and_are_made_once(tmp_path):
    found = client(tmp_path)
    answer = found.get("/static/vega.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "window.vegaEmbed" in answer.text
    assert found.app.state.scripts == answer.text
    assert found.get("/static/vega.js").text == answer.text


def test_without_a_token_there_are_no_scripts_either(tmp_path):
    assert client(tmp_path, let_in=False).get("/static/vega.js").status_code == 403
