"""Tables of studies on a narrow terminal: in pieces, and no number cut."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from caveat import studies
from caveat.cli import app, console
from caveat.studies.study import Grid, Study, StudyResult

CAP = Grid(
    "Table 1: cmc, contraceptive from 4 of 6 keys",
    ("", "0CAP", "printed", "ICAP", "printed", "GCAP", "printed", "sd", "off", "no match",
     "printed"),
    (
        ("Original", "54.4±6.1", "54.4±6.2", "54.5±6.0", "54.6±6.1", "44.1±3.2", "44.2±3.3",
         "", "", "123", ""),
        ("DS 0.1", "21.7±4.4", "22.8±5.5", "23.9±6.6", "24.1±7.7", "35.2±8.8", "36.3±9.9",
         "1.4", "−0.8", "1045", "1051"),
    ),
    "R in %, mean ± sd over the sets of keys [of 4], a mean over releases; no match as in Table 5",
)  # fmt: skip
STEPS = tuple(f"noise of {at} %" for at in range(10))
SURVEY = Grid(
    "GTCAP by target",
    ("target", "without", *STEPS),
    tuple((t, f"0.{i}99", *(f"0.{i}{at}7" for at in range(10))) for i, t in enumerate(("a", "b"))),
)


def shown(monkeypatch: pytest.MonkeyPatch, width: int, *grids: Grid) -> list[str]:
    study = Study("wide", "tables", lambda *_: StudyResult(grids))
    monkeypatch.setattr(studies, "STUDIES", {"wide": study})
    monkeypatch.setattr(console.out, "width", width)
    result = CliRunner().invoke(app, ["study", "wide"])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace("┃", "│").split("│")[1:-1]]


def test_a_wide_table_comes_in_pieces_with_every_number(monkeypatch):
    """A printed number never stands in another piece than ours."""
    lines = shown(monkeypatch, 80, CAP)
    assert max(map(len, lines)) <= 80
    assert "".join(lines).count("…") == 0
    assert lines[0] == CAP.title
    assert [cells(line) for line in lines if "┃" in line] == [
        ["", "0CAP", "printed", "ICAP", "printed"],
        ["", "GCAP", "printed", "sd", "off", "no match", "printed"],
    ]
    assert [cells(line) for line in lines if "DS 0.1" in line] == [
        ["DS 0.1", *CAP.rows[1][1:5]],
        ["DS 0.1", *CAP.rows[1][5:]],
    ]
    assert " ".join(line.strip() for line in lines[-3:-1]) == CAP.note


@pytest.mark.parametrize(("width", "pieces"), [(20, 11), (80, 3), (300, 1)])
def test_every_target_after_every_step_on_any_terminal(monkeypatch, width, pieces):
    """On a very narrow one the terminal breaks the lines."""
    lines = shown(monkeypatch, width, SURVEY)
    for row in SURVEY.rows:
        found = [cells(line) for line in lines if line.startswith(f"│ {row[0]} ")]
        assert len(found) == pieces
        assert tuple(value for piece in found for value in piece[1:]) == row[1:]


@pytest.mark.parametrize(("width", "pieces"), [(16, 2), (80, 1)])
def test_a_single_row_has_no_name_to_repeat(monkeypatch, width, pieces):
    lines = shown(monkeypatch, width, Grid("one", ("mean", "largest"), (("0.9970", "1.0000"),)))
    found = [cells(line) for line in lines if line.startswith("│")]
    assert len(found) == pieces
    assert [value for piece in found for value in piece] == ["0.9970", "1.0000"]


@pytest.mark.parametrize("words", [["--list"], []])
def test_the_list_says_paper_time_and_data(monkeypatch, words):
    study = Study(
        "wide",
        "tables",
        lambda *_: StudyResult(()),
        paper="Us (2024)",
        takes="2 s",
        needs="caveat[dp]",
    )
    monkeypatch.setattr(studies, "STUDIES", {"wide": study})
    result = CliRunner().invoke(app, ["study", *words])
    assert [line.strip() for line in result.stdout.splitlines()] == [
        "wide",
        "tables",
        "Us (2024); takes 2 s; needs caveat[dp]",
    ]
