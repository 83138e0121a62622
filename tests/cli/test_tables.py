"""``caveat tables`` as it is met at the terminal."""

from __future__ import annotations

import csv
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import datasets, write
from caveat.cli import app
from caveat.errors import CaveatError
from caveat.release.folder import write_manifest
from caveat.seeds import TRIAL
from caveat.table.identifying import Output

SPEC = """
[data]
path = "survey.csv"
[columns]
income.missing = [-8]
[publication]
least = 5
[hierarchies]
region = { north = "coast", west = "coast", islands = "coast" }
[[table]]
name = "Region and marital status"
by = ["region", "marital"]
[[table]]
name = "Education"
by = ["education", "marital", "region"]
depth = { region = 1 }
"""
FILES = {"region-and-marital-status.csv", "education.csv", "tables.html", "manifest.json"}
WHY = "CONFIDENTIAL-why-hidden.csv"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(datasets.survey(rows=600), tmp_path / "survey.csv")
    (tmp_path / "tables.toml").write_text(SPEC)
    return tmp_path


def call(*more: str) -> str:
    result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "out", *more])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_tables_are_written_with_hidden_cells_and_why_for_the_office(here: Path) -> None:
    said = call()
    assert "cells hidden by the rules that follow from others: none" in said
    # Why cells are hidden lies beside what is published, not in it.
    assert {path.name for path in (here / "out").iterdir()} == {*FILES}
    shown = rows(here / "out/region-and-marital-status.csv")
    total = next(row for row in shown if row["region"] == row["marital"] == "Total")
    assert total["count"] == "600"
    coast = {r["marital"]: r for r in shown if r["region"] == "coast"}
    assert coast["Total"]["status"] == "shown"
    hidden = [row for row in shown if row["status"] == "hidden"]
    assert hidden
    assert all(row["count"] == "" for row in hidden)
    assert all(int(row["count"]) >= 5 for row in shown if row["status"] == "shown")
    why = rows(here / f"out-{WHY}")
    assert {row["hidden"] for row in why} == {"primary", "secondary"}
    assert all(int(float(row["value"])) < 5 for row in why if row["hidden"] == "primary")
    html = (here / "out/tables.html").read_text("utf-8")
    assert "× hidden" in html
    assert "<h2>Education, by education, marital, region</h2>" in html


def test_magnitudes_with_contributors(here: Path) -> None:
    rules = 'value = "income"\np_percent = 10\ndominance = [2, 0.9]\ncontributor = "person"\n'
    (here / "tables.toml").write_text(SPEC.replace("least = 5\n", rules))
    assert "cells hidden by the rules that follow from others: none" in call()
    assert any(row["why"] == "single contributor" for row in rows(here / f"out-{WHY}"))


@pytest.mark.parametrize("method", ["stochastic rounding", "controlled rounding", "cell keys"])
def test_rounding_hides_nothing(here: Path, method: str) -> None:
    text = SPEC.replace("least = 5", f'method = "{method}"\nbase = 3\nseed = 4')
    (here / "tables.toml").write_text(text[: text.index('[[table]]\nname = "Edu')])
    assert method in call()
    shown = rows(here / "out/region-and-marital-status.csv")
    assert all(row["status"] == "shown" for row in shown)
    numbers = [int(row["count"]) for row in shown]
    assert not {1, 2} & set(numbers)
    if method == "controlled rounding":
        assert all(number % 3 == 0 for number in numbers)
    assert not (here / f"out-{WHY}").exists()


def test_cell_keys_give_a_table_the_same_noise_beside_others(here: Path) -> None:
    """As the page says, which has rounded tables made in one run."""
    text = SPEC.replace("least = 5", 'method = "cell keys"\nbase = 3\nseed = 4')
    (here / "tables.toml").write_text(text[: text.index('[[table]]\nname = "Edu')])
    call()
    alone = rows(here / "out/region-and-marital-status.csv")
    (here / "tables.toml").write_text(text)
    call("--force")
    assert rows(here / "out/region-and-marital-status.csv") == alone


def test_rounding_is_for_counts(here: Path) -> None:
    rules = 'value = "income"\nmethod = "cell keys"\n'
    (here / "tables.toml").write_text(SPEC.replace("least = 5\n", rules))
    with refused("outputs.method.unsupported", where="tables.toml, line 8"):
        call()


def test_negative_magnitudes_are_refused_and_nothing_is_written(here: Path) -> None:
    (here / "survey.csv").write_text("region,profit\n" + "north,5\nwest,-2\n" * 30)
    text = '[data]\npath = "survey.csv"\n[publication]\nvalue = "profit"\np_percent = 5\n'
    (here / "tables.toml").write_text(text + '[[table]]\nname = "t"\nby = ["region"]\n')
    with refused("outputs.rule.unsupported", where="tables.toml, line 3") as error:
        call()
    assert "tables.toml, line 3" in str(error.value)
    assert not (here / "out").exists()


def test_nothing_is_written_while_somebody_learns_a_cell(here: Path, monkeypatch) -> None:
    from caveat.outputs import publication

    leak = publication.Leak(0, 1, np.zeros(1, np.int64))
    monkeypatch.setattr(publication, "insiders", lambda *_: [leak])
    monkeypatch.setattr(publication, "ROUNDS", 1)
    (here / "tables.toml").write_text(SPEC.replace("least = 5", 'value = "income"'))
    with refused("outputs.cell.confidential", where="tables.toml"):
        call()
    assert not (here / "out").exists()


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["region", "marital"]', '["regoin"]', "line 12: table.by: there is no column 'regoin'"),
        ("least = 5", 'weight = "w"', "line 7: publication.weight: there is no column 'w'"),
        ('islands = "coast"', 'coast = "north"', "line 9: hierarchies.region: the codes stand "
         "above each other in a circle: north → coast → north"),
        ('islands = "coast"', 'east = "south"', "line 9: hierarchies.region: a code of the data "
         "stands for others"),
        ("least = 5", 'value = "marital"', "values must be numbers"),
    ],
)  # fmt: skip
def test_mistakes_have_their_line(here: Path, old: str, new: str, said: str) -> None:
    (here / "tables.toml").write_text(SPEC.replace(old, new))
    with pytest.raises(CaveatError) as error:
        call()
    assert said in str(error.value)
    assert not (here / "out").exists()


def test_tables_are_replaced_as_a_whole_with_force_only(here: Path) -> None:
    call()
    with refused("command.output.exists", where="out-CONFIDENTIAL-why-hidden.csv"):
        call()
    (here / f"out-{WHY}").rename("aside")
    with refused("release.folder.exists", where="out"):
        call()
    # A table that is no more is not left beside the new ones.
    (here / "tables.toml").write_text(SPEC.replace('name = "Education"', 'name = "School"'))
    call("--force")
    assert {path.name for path in (here / "out").iterdir()} == FILES - {"education.csv"} | {
        "school.csv"
    }


def test_nothing_but_earlier_tables_is_replaced(here: Path) -> None:
    call()
    (here / "out/notes.csv").write_text("mine")
    with refused("release.folder.refused", where="out"):
        call("--force")
    (here / "out/notes.csv").unlink()
    # The folder of another command, which has a list of its files as well.
    (here / "out/evidence.json").write_text("{}")
    write_manifest(here / "out", map(Output, [*FILES - {"manifest.json"}, "evidence.json"]))
    before = {path.name: path.read_bytes() for path in (here / "out").iterdir()}
    with refused("outputs.folder.refused", where="out"):
        call("--force")
    assert {path.name: path.read_bytes() for path in (here / "out").iterdir()} == before


def test_names_that_make_the_same_file(here: Path) -> None:
    (here / "tables.toml").write_text(
        SPEC.replace('name = "Education"', 'name = "Region, and marital-status"')
    )
    with refused("spec.entry.duplicate", where="tables.toml, line 14"):
        call()


def test_folders_around_are_made(here: Path) -> None:
    arguments = ["tables", "tables.toml", "--folder", "a/b/c"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert (here / "a/b/c/education.csv").exists()
    assert (here / f"a/b/c-{WHY}").exists()


def test_everything_primary_is_said(here: Path) -> None:
    (here / "tables.toml").write_text(SPEC.replace("least = 5", "least = 5000"))
    result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "out"])
    assert "every cell is hidden by the rules" in result.output
    assert " 0 shown" in result.output


def test_no_output_is_an_input(here: Path) -> None:
    (here / "out").mkdir()
    os.link("survey.csv", "out/tables.html")
    with refused("release.folder.refused", where="out"):
        call("--force")
    (here / "out/tables.html").unlink()
    (here / f"out-{WHY}").write_text("code,above\nnorth,coast\n")
    text = SPEC.replace(SPEC[SPEC.index("region = {") : SPEC.index("[[table]]")],
                        f'region = "out-{WHY}"\n')  # fmt: skip
    (here / "tables.toml").write_text(text)
    with refused("command.output.conflict", where="out-CONFIDENTIAL-why-hidden.csv"):
        call("--force")


def test_a_published_table_that_does_not_add_up_names_the_cell(here: Path) -> None:
    (here / "survey.csv").write_text("sex\n" + "f\n" * 6 + "m\n" * 9)
    text = '[data]\npath = "survey.csv"\n[[table]]\nname = "t"\nby = ["sex"]\n'
    (here / "tables.toml").write_text(text + 'published = "old.csv"\n')
    (here / "old.csv").write_text("sex,value\nTotal,16\nf,6\nm,9\n")
    with refused("outputs.total.mismatch", where="tables.toml, line 6") as error:
        call()
    assert "tables.toml, line 6: table.published" in str(error.value)
    (here / "old.csv").write_text("sex,value\nTotal,15\nf,6\nm,9\n")
    assert "3 shown" in call()
    (here / "old.csv").write_text("age,value\nTotal,15\n")
    with refused("outputs.column.mismatch", where="tables.toml, line 6"):
        call("--force")


def test_rounding_shows_every_combination(here: Path) -> None:
    """A 0 that was somebody must look like one that was nobody."""
    (here / "survey.csv").write_text("a,b\n" + "x,p\n" * 9 + "x,q\ny,q\n" + "y,q\n" * 8)
    text = '[data]\npath = "survey.csv"\n[publication]\nmethod = "controlled rounding"\n'
    (here / "tables.toml").write_text(text + '[[table]]\nname = "t"\nby = ["a", "b"]\n')
    call()
    assert len(rows(here / "out/t.csv")) == 9


@pytest.mark.parametrize("method", ["stochastic rounding", "cell keys"])
def test_the_draws_come_from_a_key_and_a_seed_without_one_is_a_trial(
    here: Path, method: str
) -> None:
    def published(folder: str) -> tuple[str, list[bytes]]:
        result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", folder])
        assert result.exit_code == 0
        files = sorted(path for path in (here / folder).rglob("*.csv"))
        return result.output.replace("\n", " "), [path.read_bytes() for path in files]

    text = SPEC.replace("least = 5", f'method = "{method}"')
    (here / "tables.toml").write_text(text.replace("method", "seed = 1\nmethod"))
    said, trial = published("trial")
    assert TRIAL in said
    (here / "tables.toml").write_text(text)
    said, keyed = published("keyed")
    assert TRIAL not in said
    assert (here / "tables.key").stat().st_mode & 0o777 == 0o600
    assert published("again")[1] == keyed != trial


def two_publications(here: Path, published: str) -> None:
    """Publish a table, and write the specification of a later run with one more."""
    first = SPEC[: SPEC.index('[[table]]\nname = "Edu')]
    (here / "tables.toml").write_text(first)
    result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "first"])
    assert result.exit_code == 0
    text = SPEC.replace('by = ["region", "marital"]', f'by = ["region", "marital"]\n{published}')
    (here / "tables.toml").write_text(text)


@pytest.mark.parametrize("name", ["first", "first/region-and-marital-status.csv"])
def test_a_later_run_stands_beside_an_earlier_one(here: Path, name: str) -> None:
    two_publications(here, f'published = "{name}"')
    before = (here / "first/region-and-marital-status.csv").read_bytes()
    said = call()
    old = rows(here / "first/region-and-marital-status.csv")
    n = sum(row["status"] == "shown" for row in old)
    assert f"known from what is published already: {n} cells" in said
    # What was hidden only to protect others stays hidden, and is not one of the rules' cells.
    assert " as they were earlier, " in said
    assert "not tried" not in said
    # The earlier table is not written again, and what it hides is not shown by the new one.
    assert {path.name for path in (here / "out").iterdir()} == FILES - {
        "region-and-marital-status.csv"
    }
    assert (here / "first/region-and-marital-status.csv").read_bytes() == before
    new = {(r["marital"], r["region"]): r for r in rows(here / "out/education.csv")
           if r["education"] == "Total"}  # fmt: skip
    shared = [(row, new[row["marital"], row["region"]]) for row in old
              if (row["marital"], row["region"]) in new]  # fmt: skip
    assert len(shared) > 10
    assert all(a["status"] == b["status"] for a, b in shared if a["status"] == "hidden")
    assert {row["table"] for row in rows(here / f"out-{WHY}")} == {"Education"}


@pytest.mark.parametrize("name", ["first", "first/region-and-marital-status.csv"])
def test_a_table_that_the_earlier_publication_has_is_not_forgotten(here: Path, name: str) -> None:
    two_publications(here, f'published = "{name}"')
    (here / "first/other.csv").write_text("region,value\nTotal,600\n")
    with refused("outputs.table.undeclared", where="tables.toml, line 13"):
        call()
    if name != "first":  # a folder that no run has written may hold anything
        (here / "first/manifest.json").unlink()
        call()
        return
    (here / "first/region-and-marital-status.csv").unlink()
    with refused("outputs.file.absent", where="tables.toml, line 13"):
        call()


OLD_AND_NEW = """
[data]
path = "survey.csv"
[[table]]
name = "old"
by = ["place", "job"]
published = "old.csv"
"""


def test_what_an_earlier_publication_tells_is_refused_or_named(here: Path) -> None:
    (here / "survey.csv").write_text("place,job,sex\n" + "n,x,f\nn,x,m\nn,y,f\nn,y,m\n" * 3 +
                                     "s,x,f\ns,x,f\ns,x,f\ns,y,m\n")  # fmt: skip
    (here / "old.csv").write_text(
        "place,job,value\nTotal,Total,16\nn,Total,12\ns,Total,4\nTotal,x,9\nTotal,y,7\n"
        "n,x,6\nn,y,6\ns,x,3\ns,y,\n"
    )
    (here / "tables.toml").write_text(
        OLD_AND_NEW + '[[table]]\nname = "new"\nby = ["job", "place"]\n'
    )
    with pytest.raises(CaveatError) as error:
        call()
    assert "the earlier publication tells cells that the rules hide (1): place s, job y" in str(
        error.value
    )
    assert not (here / "out").exists()
    (here / "tables.toml").write_text(OLD_AND_NEW + '[[table]]\nname = "new"\nby = ["sex"]\n')
    result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "out"])
    assert result.exit_code == 0
    told = "cells that the rules hide are told by the earlier publication (1): place s, job y"
    assert told in " ".join(result.output.split())
    assert [(row["cell"], row["hidden"]) for row in rows(here / f"out-{WHY}")] == [
        ("place s, job y", "no, published earlier")
    ]
    (here / "tables.toml").write_text(OLD_AND_NEW)
    result = CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "again"])
    assert "every table is published already" in " ".join(result.output.split())
    assert not (here / "again").exists()


# Nobody is in a and y; in b and x two.
SPARSE = {"ax": 20, "az": 30, "bx": 2, "by": 14, "bz": 25, "cx": 40, "cy": 15, "cz": 22}


@pytest.mark.parametrize(
    ("first", "then", "said"),
    [
        ("hidden", "public", "row 7: no record is in this cell, and it hides that"),
        ("public", "hidden", "it tells which cells are empty (1), such as r a, s y"),
    ],
)
def test_empty_cells_are_public_in_both_runs_or_in_none(
    here: Path, first: str, then: str, said: str
) -> None:
    lines = [f"{k[0]},{k[1]},g{i % 2}" for k, n in SPARSE.items() for i in range(n)]
    (here / "survey.csv").write_text("\n".join(["r,s,g", *lines]))
    text = '[data]\npath = "survey.csv"\n[publication]\nzeros = "{}"\n'
    old, new = '[[table]]\nname = "R"\nby = ["r", "s"]\n', '[[table]]\nname = "N"\nby = {}\n'
    (here / "tables.toml").write_text(text.format(first) + old)
    CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "first"])
    for by in ('["r", "s", "g"]', '["s", "g"]'):
        later = old + 'published = "first"\n' + new.format(by)
        (here / "tables.toml").write_text(text.format(then) + later)
        with pytest.raises(CaveatError) as error:
            call()
        assert said in str(error.value)
        assert f'zeros = "{first}"' in str(error.value)
        assert not (here / "out").exists()
        (here / "tables.toml").write_text(text.format(first) + later)
        call()
        assert {path.name for path in (here / "out").iterdir()} >= {"n.csv"}
        shutil.rmtree(here / "out")
        (here / f"out-{WHY}").unlink()


def test_columns_with_the_names_of_what_is_written_are_read_again(here: Path) -> None:
    (here / "survey.csv").write_text("count,status\n" + "n,x\ns,y\nn,y\n" * 5)
    text = '[data]\npath = "survey.csv"\n[[table]]\nname = "t"\nby = ["count", "status"]\n'
    (here / "tables.toml").write_text(text)
    CliRunner().invoke(app, ["tables", "tables.toml", "--folder", "first"])
    head = (here / "first/t.csv").read_text().splitlines()[0]
    assert head == "count,status,cell count,cell status"
    new = '[[table]]\nname = "new"\nby = ["count"]\n'
    (here / "tables.toml").write_text(text + 'published = "first"\n' + new)
    assert "known from what is published already: 8 cells" in call()


def test_wrong_files_of_an_earlier_publication(here: Path) -> None:
    (here / "survey.csv").write_text("place,job\n" + "n,x\ns,y\n" * 5)
    (here / "tables.toml").write_text(OLD_AND_NEW + '[[table]]\nname = "new"\nby = ["job"]\n')
    for text, said in (
        ("place,job,value\nn,x,5\nn,x,5\n", "a cell stands there twice"),
        (
            "place,job,value,more\nn,x,5,1\n",
            "its columns are not those of the table and one of values",
        ),
        ("place,job,value\ns,y,5\nn,x,many\n", "row 2: a cell is neither a number nor hidden"),
        ("place,job,value\nn,x,4\n", "the value of place n, job x is not that of the data"),
    ):
        (here / "old.csv").write_text(text)
        with pytest.raises(CaveatError, match=said):
            call()
    (here / "old.csv").write_text("place,job,value\nn,x,\n")  # all of it hidden
    assert "known from what is published already: 0 cells" in call()
    for sign in ("×", "–", "*", "c"):
        (here / "old.csv").write_text(
            f"place,job,value\nTotal,Total,10\nn,Total,{sign}\ns,Total,{sign}\n", "utf-8"
        )
        assert "known from what is published already: 1 cells" in call("--force")
    text = (here / "tables.toml").read_text()
    rounding = '[publication]\nmethod = "controlled rounding"\n[[table]]'
    (here / "tables.toml").write_text(text.replace("[[table]]", rounding, 1))
    with refused("spec.entry.conflict", where="tables.toml, line 9"):
        call("--force")


def test_a_workbook_is_written_beside_the_other_files_when_asked(here: Path) -> None:
    call("--excel")
    assert {path.name for path in (here / "out").iterdir()} == {*FILES, "tables.xlsx"}
    assert "tables.xlsx" in (here / "out/manifest.json").read_text()
    call("--excel", "--force")
    call("--force")
    assert {path.name for path in (here / "out").iterdir()} == FILES


def test_a_workbook_without_its_package_is_refused_before_anything_else(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with refused("command.package.not-installed"):
        call("--excel")
    assert not (here / "out").exists()


def test_columns_that_nest_are_named_and_no_town_follows_from_its_county(here: Path) -> None:
    """Shown county c1/yes = 13 and town t2/yes = 12 would be the hidden t1/yes = 1."""
    counts = {("c1", "t1"): (1, 9), ("c1", "t2"): (12, 20), ("c2", "t3"): (15, 30),
              ("c2", "t4"): (11, 25)}  # fmt: skip
    lines = [
        f"{county},{town},{ill}"
        for (county, town), numbers in counts.items()
        for ill, many in zip(("yes", "no"), numbers, strict=True)
        for _ in range(many)
    ]
    (here / "towns.csv").write_text("\n".join(["county,town,ill", *lines]) + "\n")
    spec = '[data]\npath = "towns.csv"\n[publication]\nleast = 3\nzeros = "hidden"\n'
    for name in ("county", "town"):
        spec += f'[[table]]\nname = "{name}"\nby = ["{name}", "ill"]\n'
    (here / "tables.toml").write_text(spec)
    said = call()
    assert "town determines county" in said
    assert "follow from others: none" in said
    county = {(r["county"], r["ill"]): r["count"] for r in rows(here / "out/county.csv")}
    town = {(r["town"], r["ill"]): r["count"] for r in rows(here / "out/town.csv")}
    assert town["t1", "yes"] == ""
    assert "" in (county["c1", "yes"], town["t2", "yes"])
    assert "" in (town["t1", "no"], town["t1", "Total"])
