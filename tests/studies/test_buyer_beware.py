"""The study prints the papers' numbers beside ours and saves pictures that can be opened."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack.worlds import Worlds, plan_of
from caveat.cli import app
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError
from caveat.studies import STUDIES
from caveat.studies import buyer_beware as study
from caveat.studies import study as pictures
from caveat.studies.study import CELLS, Output
from caveat.table import read


def test_tables_1_and_a2_agree_with_the_printed_ones():
    grid = study.strong_attacker(buyer_beware(), [buyer_beware(r) for r in range(1, 11)])
    assert len(grid.rows) == 12
    for row in grid.rows[:-1]:
        assert row[1] == row[2]  # repU to the printed digit
        assert row[3] == row[4]  # DiSCO to the printed digit
        assert float(row[5]) == pytest.approx(float(row[6]), abs=0.007)  # 0.03 is a misprint
    assert grid.rows[-1][3] == grid.rows[-1][4] == "1.32"


def test_a_tree_can_give_a_record_away_by_its_shape(monkeypatch):
    monkeypatch.setattr(study, "MINBUCKETS", (75,))
    monkeypatch.setattr(study, "COMPLEXITIES", (0.02, 0.05))
    by_name = {(name, value): rest for name, value, *rest in study.sweep(buyer_beware())}
    often, mean, _ = by_name["cp", 0.02]
    # no split at all in var4: 1111 is as frequent as independence makes it, and yet certain
    worlds = Worlds(buyer_beware(), plan_of({"method": "cart", "cp": 0.02}, buyer_beware()), [])
    leaves = []
    for cell in CELLS:
        codes = {f"var{j + 1}": int(value) for j, value in enumerate(cell)}
        fitted = worlds.model(worlds.changed(study.UNIQUE, codes)).columns["var4"].values
        leaves.append(fitted.tree.n_leaves)
    assert leaves[15] == 1
    assert min(leaves[:15]) > 1
    assert often > 30
    assert mean > 0.999
    assert by_name["minbucket", 75.0][2] < 0.12
    assert by_name["cp", 0.05][2] < 0.12


def test_sd2011_averages_agree_with_synthpop(shared):
    table = read(shared / "data" / "sd2011.csv").select(study.SD2011_COLUMNS)
    grid = study.sd2011(table)
    assert grid.rows[0][1:5] == ("48.38", "48.38", "53.30", "53.30")
    average = [float(grid.rows[-1][i]) for i in (1, 3)]
    # 200 syntheses in R: repU 14.08 (sd 0.43), DiSCO 9.28 (sd 0.44); a mean of five has sd/sqrt(5)
    for ours, mean, sd in zip(average, (14.0794, 9.2791), (0.429, 0.440), strict=True):
        assert abs(ours - mean) < 4 * sd / np.sqrt(5)


def test_figure_1a_by_hand():
    """Counts 69 60 79 62 68 64 60 75 | 74 63 54 69 77 59 66 1: the second half has var1 = 1."""
    grid = study._figure_1a(buyer_beware())
    assert grid.header == ("value", "var1", "var2", "var3", "var4")
    first = 69 + 60 + 79 + 62 + 68 + 64 + 60 + 75
    even = 69 + 79 + 68 + 60 + 74 + 54 + 77 + 66
    assert (grid.rows[0][1], grid.rows[1][1]) == (str(first), str(1000 - first))
    assert (grid.rows[0][4], grid.rows[1][4]) == (str(even), str(1000 - even))


def test_figure_a1_shows_the_record_below_the_papers_settings(monkeypatch):
    monkeypatch.setattr(study, "MINBUCKETS", (5, 75))
    monkeypatch.setattr(study, "COMPLEXITIES", (0.05,))
    tried = study.sensitivity(buyer_beware())
    assert list(tried) == ["minbucket 5", "minbucket 75", "cp 0.05"]
    unique = {name: [counts[15] for counts in copies] for name, copies in tried.items()}
    assert max(unique["minbucket 5"]) <= 5  # about Poisson with mean 1
    assert min(unique["minbucket 75"]) > 5
    assert min(unique["cp 0.05"]) > 5
    grid = study._figure_a1(buyer_beware(), tried)
    costs = [float(row[3]) for row in grid.rows]
    assert costs[0] < costs[1]  # the others pay for it
    assert grid.rows[0][1] == f"{min(unique['minbucket 5'])}-{max(unique['minbucket 5'])}"


def test_the_two_remedies_of_figure_4():
    """Plain trees with larger leaves or less depth: the record 1111 is hidden among others."""
    found = study._remedies(buyer_beware())
    assert {name: len(releases) for name, releases in found.items()} == {
        "minbucket 75": 10, "cp 0.05": 10,
    }  # fmt: skip
    for releases in found.values():
        assert [int(counts.sum()) for counts in releases] == [1000] * 10
        assert min(int(counts[-1]) for counts in releases) > 3


def test_the_two_new_pictures(tmp_path):
    counts = np.array([60] * 15 + [1])
    output = Output(tmp_path / "new")
    output.check(["margins", "sensitivity"])
    output.save(pictures.margins(counts), "margins")
    output.save(pictures.sensitivity({"minbucket 5": [counts, counts]}), "sensitivity")
    assert len(output.saved) == 6
    assert "1111 in 1 to 1 records" in (tmp_path / "new" / "sensitivity.html").read_text()


def test_pictures_are_whole_and_not_overwritten(tmp_path):
    output = Output(tmp_path / "new")
    output.check(["chart"])
    counts = np.array([[[60] * 15 + [1]] * 3] * 16)
    output.save(pictures.worlds(counts, list(counts[0])), "chart")
    assert [path.suffix for path in output.saved] == [".html", ".svg", ".png"]
    assert (tmp_path / "new" / "chart.png").read_bytes()[:4] == b"\x89PNG"
    text = (tmp_path / "new" / "chart.html").read_text()
    assert "last record 1111" in text
    assert "cdn" not in text.split("</script>")[-1]
    with refused("command.output.exists"):
        output.check(["chart"])


def test_the_command_lists_and_refuses(capsys):
    from typer.testing import CliRunner

    runner = CliRunner()
    result = runner.invoke(app, ["study", "--list"])
    assert "buyer-beware" in result.output
    assert set(STUDIES) <= {*result.output.splitlines()}
    result = runner.invoke(app, ["study", "nothing"])
    assert isinstance(result.exception, CaveatError)
