"""``caveat synth`` on groups and linked tables: what comes out, and what is said if it is wrong."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from caveat.cli import app
from caveat.datasets import households, patients
from caveat.errors import CaveatError
from caveat.table import Table, read, write
from caveat.table.frames import write_several

TABLES = """\
[tables.patients]
file = "patients.csv"
key = "patient"
[tables.visits]
file = "visits.csv"
key = "visit"
links = { patient = "patients" }
order = "date"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(households(number=150), tmp_path / "people.csv")
    for name, table in patients(number=150).items():
        write(table, tmp_path / f"{name}.csv")
    Path("tables.toml").write_text(TABLES)
    return tmp_path


def invoke(*arguments: str) -> Result:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str) -> str:
    before = sorted(str(path) for path in Path().rglob("*"))
    error = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(error, CaveatError), error
    assert sorted(str(path) for path in Path().rglob("*")) == before
    message = str(error)
    assert "\n" not in message
    return message


def frame(path: str) -> pd.DataFrame:
    return read(path).to_frame("pandas")


def test_whole_groups_with_fresh_keys(folder: Path) -> None:
    result = invoke("synth", "people.csv", "--groups", "household", "-o", "syn.csv", "--seed", "1")
    assert "1 x 150 groups" in result.output
    original, made = frame("people.csv"), frame("syn.csv")
    homes = made.groupby("household")
    assert homes.ngroups == 150
    assert not set(made["household"]) & set(original["household"])
    assert (homes["hhsize"].first() == homes.size()).all()
    assert (homes[["region", "tenure"]].nunique(dropna=False) == 1).all().all()
    assert homes["age"].max().min() >= 18


def test_a_specification_says_it_too_and_names_the_data(folder: Path) -> None:
    Path("h.toml").write_text(
        '[data]\npath = "people.csv"\n[columns.income]\nmissing = [-8]\n'
        '[groups]\nkey = "household"\nrole = "role"\n'
        '[synthesis]\nweights = "weight"\nderived = { hhincome = "sum(income)" }\n'
    )
    invoke("synth", "h.toml", "-o", "a.csv", "--seed", "1", "--rows", "80")
    invoke("synth", "people.csv", "--spec", "h.toml", "-o", "b.csv", "--seed", "1", "--rows", "80")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    made = frame("a.csv")
    assert "weight" not in made
    income = made["income"].where(made["income"] != -8, 0).fillna(0)
    total = income.groupby(made["household"]).sum()
    assert len(total) == 80
    assert (total == made.groupby("household")["hhincome"].first()).all()


def test_copies_and_the_starter(folder: Path) -> None:
    invoke("look", "people.csv", "--out", "starter.toml")
    arguments = ["synth", "starter.toml", "-o", "s.csv", "--copies", "2", "--seed", "3"]
    invoke(*arguments)
    first, second = frame("s-1.csv"), frame("s-2.csv")
    assert not first.equals(second)
    assert first["household"].nunique() == second["household"].nunique() == 150


def test_linked_tables_are_written_under_their_names(folder: Path) -> None:
    result = invoke("synth", "tables.toml", "-o", "out", "--seed", "1")
    assert "1 x 2 tables with fresh patient, visit" in result.output
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "manifest.json", "patients.csv", "visits.csv",
    ]  # fmt: skip
    people, visits = frame("out/patients.csv"), frame("out/visits.csv")
    assert list(people) == list(frame("patients.csv"))
    assert list(visits) == list(frame("visits.csv"))
    assert len(people) == 150
    assert people["patient"].is_unique
    assert visits["visit"].is_unique
    assert set(visits["patient"]) < set(people["patient"])
    assert not set(people["patient"]) & set(frame("patients.csv")["patient"])
    assert not set(visits["visit"]) & set(frame("visits.csv")["visit"])
    days = pd.to_datetime(visits["date"]).groupby(visits["patient"]).diff().dropna()
    assert (days >= pd.Timedelta(0)).all()


def test_a_folder_is_replaced_only_if_it_was_written_so(folder: Path) -> None:
    arguments = ["synth", "tables.toml", "-o", "out", "--seed", "1", "--rows", "60"]
    invoke(*arguments)
    before = {path.name: path.read_bytes() for path in Path("out").iterdir()}
    assert len(frame("out/patients.csv")) == 60
    assert "the folder exists already" in refused(*arguments)
    invoke(*arguments, "--force")
    assert {path.name: path.read_bytes() for path in Path("out").iterdir()} == before
    Path("out/mine.txt").write_text("x")
    assert "something that no run has written: mine.txt" in refused(*arguments, "--force")


def test_a_folder_with_an_input_is_never_replaced(folder: Path) -> None:
    Path("in").mkdir()
    for name in ("patients.csv", "visits.csv"):
        os.link(name, Path("in") / name)
    assert "a file that this run reads" in refused("synth", "tables.toml", "-o", "in", "--force")


def test_copies_of_tables_are_folders(folder: Path) -> None:
    invoke("synth", "tables.toml", "-o", "out", "--seed", "1", "--copies", "2")
    assert Path("out-1/visits.csv").read_bytes() != Path("out-2/visits.csv").read_bytes()


def _rewritten(name: str, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    write(Table.from_frame(change(frame(name))), name, force=True)


def test_bad_keys_of_groups(folder: Path) -> None:
    synth = ["synth", "people.csv", "-o", "x.csv", "--groups"]
    assert "there is no column 'houshold'; perhaps household" in refused(*synth, "houshold")
    people = frame("people.csv")
    _rewritten("people.csv", lambda d: d.assign(household=d["household"].where(d.index > 2)))
    assert "column household: 3 rows belong to no group" in refused(*synth, "household")
    write(Table.from_frame(people.assign(household=1)), "people.csv", force=True)
    assert "column household: all rows belong to one group" in refused(*synth, "household")
    many = pd.DataFrame({"hh": np.repeat([1, 2], [5000, 40]), "x": np.arange(5040) % 7})
    write(Table.from_frame(many), "people.csv", force=True)
    assert "a group has 5,000 members, more than 1,000" in refused(*synth, "hh")


def test_a_constant_column_that_is_not(folder: Path) -> None:
    Path("h.toml").write_text(
        '[data]\npath = "people.csv"\n[groups]\nkey = "household"\nconstant = ["region"]\n'
    )

    def moved(d: pd.DataFrame) -> pd.DataFrame:
        second = d.groupby("household").cumcount() == 1
        change = second & (d["household"].isin(d["household"][second].iloc[:4]))
        return d.assign(region=d["region"].astype(str).where(~change, "elsewhere"))

    _rewritten("people.csv", moved)
    said = refused("synth", "h.toml", "-o", "x.csv")
    assert "it is not constant in 4 of 150 groups" in said
    assert "region" in said


def test_children_without_a_parent_and_cycles(folder: Path) -> None:
    synth = ["synth", "tables.toml", "-o", "out"]
    _rewritten("patients.csv", lambda d: d.iloc[2:])
    assert "rows of visits have no parent in patients" in refused(*synth)
    Path("tables.toml").write_text(TABLES.replace('file = "visits.csv"', 'file = "no.csv"'))
    assert refused(*synth).startswith("tables.toml, line 5: tables.visits.file: no.csv: there is ")
    rows = pd.DataFrame({"a": np.arange(20), "b": np.arange(20)})
    for name in "ab":
        write(Table.from_frame(rows), f"{name}.csv")
    Path("tables.toml").write_text(
        '[tables.a]\nfile = "a.csv"\nkey = "a"\nlinks = { b = "b" }\n'
        '[tables.b]\nfile = "b.csv"\nkey = "b"\nlinks = { a = "a" }\n'
    )
    assert "a and b are parents of each other" in refused(*synth)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["tables.toml", "--spec", "tables.toml", "-o", "x"], "two specifications are named"),
        (["people.csv", "--spec", "tables.toml", "-o", "x.csv"], "names several tables; use"),
        (["empty.toml", "-o", "x.csv"], "empty.toml: the specification names no data"),
        (["tables.toml", "-o", "x", "--groups", "a"], "--groups does not go with [tables]"),
        (["tables.toml", "-o", "x", "--model", "m"], "--model does not go with [tables]"),
        (["people.csv", "-o", "x.csv", "--groups", "household", "--model", "m.caveat", "--seed",
          "1", "--resume"], "--resume does not go with [groups]"),
        (["tables.toml", "-o", "people.csv"], "people.csv: the output is a file, not a folder"),
        (["people.csv", "--spec", "g.toml", "--groups", "person", "-o", "x.csv"],
         "--groups person: the specification names another key in [groups]; leave --groups out"),
    ],
)  # fmt: skip
def test_calls_that_make_no_sense(folder: Path, arguments: list[str], message: str) -> None:
    Path("empty.toml").write_text("[synthesis]\n")
    Path("g.toml").write_text('[groups]\nkey = "household"\n')
    assert message in refused("synth", *arguments)


def test_the_key_of_the_specification_may_be_named_again(folder: Path) -> None:
    Path("g.toml").write_text('[groups]\nkey = "household"\nconstant = ["region"]\n')
    synth = ["synth", "people.csv", "--spec", "g.toml", "--seed", "1", "-o"]
    invoke(*synth, "a.csv")
    invoke(*synth, "b.csv", "--groups", "household")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()


@pytest.mark.parametrize("section", ["", '[groups]\nkey = "household"\n'])
def test_a_population_is_made_as_a_run_makes_it(folder: Path, section: str) -> None:
    text = f'[release]\nrows = "population"\n[data]\npath = "people.csv"\n{section}'
    Path("p.toml").write_text(f'{text}[synthesis]\nweights = "weight"\n')
    invoke("synth", "p.toml", "-o", "a.csv", "--seed", "1")
    people, made = frame("people.csv"), frame("a.csv")
    if section:
        expected = people.groupby("household")["weight"].first().sum()
        assert made["household"].nunique() == round(expected)
    else:
        assert len(made) == round(people["weight"].sum())
    invoke("synth", "p.toml", "-o", "b.csv", "--seed", "1", "--rows", "30")
    assert (frame("b.csv")["household"].nunique() if section else len(frame("b.csv"))) == 30
    Path("p.toml").write_text(text)
    assert 'line 2: release.rows: "population" needs weights' in refused(
        "synth", "p.toml", "-o", "x.csv"
    )


def test_the_population_of_linked_tables(folder: Path) -> None:
    _rewritten("patients.csv", lambda d: d.assign(stands=2.5))
    head = '[release]\nrows = "population"\n[synthesis]\nweights = "stands"\n'
    Path("tables.toml").write_text(head + TABLES)
    invoke("synth", "tables.toml", "-o", "out", "--seed", "1")
    assert len(frame("out/patients.csv")) == 375
    assert "stands" not in frame("out/patients.csv")


def test_linked_tables_too_say_which_numbers_are_those_of_one_person(folder: Path) -> None:
    rng = np.random.default_rng(1)
    _rewritten("visits.csv", lambda d: d.assign(cost=rng.random(len(d)).round(6)))
    said = invoke("synth", "tables.toml", "-o", "out", "--seed", "1").output
    assert "exactly one" not in said
    Path("tables.toml").write_text(f'[synthesis]\nmethod = "cart"\n{TABLES}')
    said = invoke("synth", "tables.toml", "-o", "plain", "--seed", "1").output.replace("\n", " ")
    assert "note: visits: " in said
    assert "cost" in said


def test_a_search_works_row_by_row_and_says_so(folder: Path) -> None:
    Path("t.toml").write_text(
        '[data]\npath = "people.csv"\n[groups]\nkey = "household"\n[tune]\n'
        'objective = "S_pMSE one-way"\nlimits = { repU = 5 }\nkeys = ["sex"]\n'
        "settings = { smallest = [50] }\n"
    )
    tables = Path("t.toml").read_text().partition("[groups]")[2].partition("\n")[2]
    Path("l.toml").write_text(TABLES + tables.partition("\n")[2])
    assert refused("tune", "l.toml").startswith("l.toml, line 1: tables: the search compares")
    assert refused("tune", "t.toml") == (
        "t.toml, line 3: groups: the search compares settings row by row, on one table; search "
        "without it, on one table; or try settings of [synthesis] with caveat run."
    )


def test_the_key_is_no_data_where_a_release_is_measured(folder: Path) -> None:
    invoke("synth", "people.csv", "--groups", "household", "-o", "syn.csv", "--seed", "1")
    Path("g.toml").write_text('[groups]\nkey = "household"\n')
    both = ["people.csv", "syn.csv"]
    shown = invoke("compare", *both, "--groups", "household").output
    assert "size column" in shown
    assert invoke("compare", *both, "--schema", "g.toml").output == shown
    asked = ["audit", *both, "--keys", "sex,age", "--target", "marital", "--measure", "repU"]
    shown = invoke(*asked, "--group-key", "household").output
    assert "repU" in shown
    assert invoke(*asked, "--schema", "g.toml").output == shown
    assert "household: table 1" in refused("audit", *both, "--keys", "sex", "--measure", "repU")
    invoke("attack", "singling-out", *both, "--spec", "g.toml", "--n-attacks", "20")


@pytest.mark.parametrize("attack", [["strong", "--membership"], ["simulated"]])
def test_attacks_on_single_rows_say_so(folder: Path, attack: list[str]) -> None:
    Path("g.toml").write_text('[groups]\nkey = "household"\n')
    said = refused("attack", attack[0], "people.csv", "people.csv", "--spec", "g.toml", *attack[1:])
    assert said.startswith("g.toml, line 1: groups: whole groups are synthesised, and this attack ")


def test_a_kept_model_of_groups_is_attacked_group_by_group(folder: Path) -> None:
    made = ["--groups", "household", "-o", "kept.csv", "--seed", "1", "--model", "kept.caveat"]
    assert "CONFIDENTIAL" in invoke("synth", "people.csv", *made).output
    shown = invoke("model", "show", "kept.caveat").output
    assert "groups:" in shown
    assert "members, later:" in shown
    both = ["people.csv", "kept.csv", "--model", "kept.caveat", "--threads", "1"]
    found = invoke("attack", "strong", *both, "--membership", "--records", "who.csv").output
    assert "group most exposed" in found
    assert read("who.csv").names[0] == "group"
    found = invoke("attack", "strong", *both, "--target", "tenure").output
    assert "groups " in found
    assert "cannot be attacked alone" in refused("attack", "strong", *both, "--record", "3")


def test_sheets_of_a_workbook_are_linked_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastexcel")
    monkeypatch.chdir(tmp_path)
    tables = {f"clinic.xlsx#{name}": table for name, table in patients(120, seed=3).items()}
    write_several(tables, tmp_path)
    done = CliRunner().invoke(app, ["look", "clinic.xlsx", "--out", "release.toml"])
    assert done.exit_code == 0, done.output
    assert 'file = "clinic.xlsx#visits"' in (tmp_path / "release.toml").read_text()
    done = CliRunner().invoke(app, ["synth", "release.toml", "-o", "out", "--seed", "1"])
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "clinic.xlsx",
        "manifest.json",
    ]
    parents = read("out/clinic.xlsx#patients")
    children = read("out/clinic.xlsx#visits")
    assert set(children["patient"].values) <= set(parents["patient"].values)
