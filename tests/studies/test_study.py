"""What every study says of itself, and the page of their numbers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from caveat.studies import STUDIES, Grid, Number, Study, StudyResult

ROOT = Path(__file__).parents[2]
OWN = {"guarded", "promise"}  # experiments of our own, beside which nothing is printed


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("study", STUDIES.values(), ids=lambda study: study.name)
def test_a_study_says_whose_it_is_and_how_long_it_takes(study):
    assert re.search(r"\(20\d\d\)|arXiv|our own", study.paper), study.paper
    assert re.fullmatch(r"(about )?\d+ (s|minutes?|hours?)( .*)?", study.takes), study.takes
    assert not study.says.endswith(".")


def test_the_page_has_every_study_and_nothing_else(maker):
    text = (ROOT / "docs" / "papers.md").read_text("utf-8")
    known = maker.sections(text)
    assert maker.page(known) == text
    assert [name for name in known if name in STUDIES] == [n for n in STUDIES if n not in OWN]
    for test in re.findall(r"`(tests/[^`]*)`", text):
        assert (ROOT / test).exists(), test


def test_a_row_by_hand(maker):
    grid = Grid(
        "Table 1: ages",
        ("who", "mean", "printed", "sd", "off"),
        (("men", "40.5±1.0", "40.0", "0.4", "−1.2"), ("women", "", "41.0", "", "")),
        "means over five",
        "not public",
    )
    result = StudyResult((grid,), remarks=("a < b",))
    study = Study("ages", "ages of people", lambda *_: result, paper="Us (2024)", takes="2 s")
    assert maker.section(study, result).splitlines() == [
        "## ages",
        "",
        "Us (2024): ages of people. `caveat study ages`, 2 s.",
        "",
        "| what | where | printed | ours | difference | why |",
        "| --- | --- | ---: | ---: | ---: | --- |",
        "| men, mean | Table 1 | 40 | 40.5 | 0.5 | sd over releases 0.4, −1.2 sd off |",
        "| women, mean | Table 1 | 41 |  |  | not public |",
        "",
        "- Table 1: means over five",
        "- a &lt; b",
    ]


def test_numbers_named_one_by_one_stand_for_those_of_the_tables(maker):
    grid = Grid("Table 1", ("who", "mean", "printed"), (("men", "40.5", "40.0"),))
    number = Number("guesses", "Sect. 2", 19.496, None, "not public")
    assert StudyResult((grid,), numbers=(number,)).beside == (number,)
    assert StudyResult((grid,)).beside == (Number("men, mean", "Table 1", 40.0, 40.5),)
    same = Grid("Table 1", ("who", "mean", "printed"), (("men", "40.0", "40.0"),), why="other data")
    assert same.numbers == (Number("men, mean", "Table 1", 40.0, 40.0, "as printed"),)
    assert maker._row(number) == "| guesses | Sect. 2 | 19.496 |  |  | not public |"
