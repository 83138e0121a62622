"""What changed, in words."""

from __future__ import annotations

from typing import Any

from tests.report.sample import small

from caveat.evidence.verdict import difference
from caveat.report.pages import as_text, difference_page


def said(before: dict[str, Any], after: dict[str, Any], *specs: dict[str, Any]) -> str:
    both = (specs[0], specs[1]) if specs else None
    content = {"names": ["one", "two"], **difference(before, after, both)}
    return " ".join(as_text(difference_page(content)).split())


def test_two_that_are_the_same() -> None:
    text = said(small(), small(), {}, {})
    assert text.startswith("INTERNAL. From the evidence of two releases")
    assert text.endswith("Nothing differs: specification, inputs, measurements and files are the "
                         "same.")  # fmt: skip


def test_limits_come_first_then_what_turned() -> None:
    before, after = small(), small()
    first = before["scenarios"][0]["measurements"][0]
    for content, value, excess in ((before, 0.02, 0.0), (after, 0.12, 1.4)):
        one = content["scenarios"][0]["measurements"][0]
        one |= {"limit": {"most": 0.05, "least": None}, "value": value, "excess": excess,
                "interval": [0.0, 0.2]}  # fmt: skip
    after["seed"] = "2"
    after["release"]["columns"] = [*after["release"]["columns"][1:], "new"]
    text = said(before, after, {"synthesis": {"guard": "light"}}, {"synthesis": {}})
    name = f"{before['scenarios'][0]['name']}: {first['measure']}"
    assert "IN SHORT - Limits: before, " in text
    assert f"Not met now only: {name}" in text
    assert "Specification: 1 entry differs." in text
    assert 'synthesis.guard before: "light" now: not there' in text
    assert "no longer" in text
    assert "now also new" in text
    assert "the seed is another one" in text
    assert "Risk: 0 values better, 1 worse" in text
    assert "2.0 % (at most 5.0 %: met) now: 12.0 % (at most 5.0 %: not met)" in text
    assert "turn: worse, within the interval" in text
    assert first["measure"] in text


def test_specifications_that_are_not_there_and_files() -> None:
    before, after = small(), small()
    after["release"]["files"] = []
    after["inputs"]["data"]["sha256"] = "0" * 64
    after["software"]["caveat"] = "9.9"
    text = said(before, after)
    assert "not compared: a release.toml is not there" in text
    assert "its checksum differs" in text
    assert "version of Caveat:" in text
    assert "now: not there" in text
    before["scenarios"], after["scenarios"] = [], []
    before["utility"]["measurements"] = after["utility"]["measurements"] = []
    assert "before, none is set; now, none is set." in said(before, after)


def test_of_other_data_nothing_is_called_better() -> None:
    before, after = small(), small()
    after["inputs"]["data"]["sha256"] = "0" * 64
    after["scenarios"][0]["measurements"][0]["value"] = 0.0
    text = said(before, after, {}, {})
    assert "Risk: 0 values better, 0 worse" in text
    assert "0 higher and 1 lower (data or keys are others, and so neither better" in text
    assert "turn: lower" in text
