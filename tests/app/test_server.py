"""What the app says when something is wrong."""

from __future__ import annotations

import pytest
from tests.app.client import client

from caveat.app import steps
from caveat.errors import CaveatError


@pytest.fixture
def broken(tmp_path, monkeypatch):
    def let(error):
        def fail(_):
            raise error

        monkeypatch.setattr(steps, "projects_in", fail)
        return client(tmp_path).get("/")

    return let


def test_a_mistake_is_a_sentence(broken):
    answer = broken(
        CaveatError("<b> is wrong", where="x.csv", do="mend it", code="test.thing.failed")
    )
    assert answer.status_code == 400
    assert "x.csv: &lt;b&gt; is wrong; mend it." in answer.text


def test_a_defect_tells_nothing(broken):
    answer = broken(RuntimeError("the income of Anna is 7"))
    assert answer.status_code == 500
    assert "This is a defect in Caveat" in answer.text
    assert "Anna" not in answer.text
    assert answer.headers["cache-control"] == "no-store"


def test_what_is_not_there_is_said_so(tmp_path):
    answer = client(tmp_path).get("/nothing")
    assert (answer.status_code, "Not here" in answer.text) == (404, True)
    for address in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fguard.py"):
        assert client(tmp_path).get(address).status_code == 404


def test_the_words_of_an_address_are_not_printed(tmp_path):
    text = client(tmp_path).get("/?said=<script>&chosen=<script>").text
    assert "<script>" not in text
