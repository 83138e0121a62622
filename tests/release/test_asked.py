"""Short work, answered as JSON."""

from __future__ import annotations

import json

import pytest

from caveat.release import asked


def test_what_the_work_comes_to_is_printed(capsys, monkeypatch):
    monkeypatch.setitem(asked.KINDS, "double", lambda text: 2 * text)
    asked.main("double", "ab")
    assert json.loads(capsys.readouterr().out) == {"answer": "abab"}


def test_a_mistake_is_an_answer(capsys, specification):
    path = specification()
    asked.main("settings", str(path))
    assert json.loads(capsys.readouterr().out) == {"answer": []}
    path.write_text("[release]\ntitle = 1\n")
    asked.main("settings", str(path))
    assert "release.toml, line 2" in json.loads(capsys.readouterr().out)["mistake"]


def test_a_row_of_a_release_is_explained(capsys, monkeypatch, specification):
    heard = []

    def explain_row(spec, row, **told):
        heard.append((spec.release.title, row, told["values"], told["folder"].name))
        return {"row": row}

    monkeypatch.setattr("caveat.release.again.explain_row", explain_row)
    asked.main("explain", str(specification()), "17", "yes")
    assert json.loads(capsys.readouterr().out) == {"answer": {"row": 17}}
    assert heard == [("A survey", 17, True, "release")]
    asked.main("explain", str(specification()), "1,234", "no")
    assert json.loads(capsys.readouterr().out) == {"answer": {"row": 1234}}


@pytest.mark.parametrize("row", ["0", "-1", "--help", "", "1" * 30, "٣", "1.5"])
def test_a_row_is_a_number(capsys, tmp_path, row):
    asked.main("explain", str(tmp_path / "nothing.toml"), row, "no")
    assert "a row is a whole number from 1" in json.loads(capsys.readouterr().out)["mistake"]
