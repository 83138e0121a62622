"""``caveat synth`` from margins: tables beside the data, whole or not at all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.table import Table, read, write

SPEC = """
[data]
path = "survey.csv"
[synthesis]
method = "margins"
drop = ["person"]
margins = [["sex", "marital"], ["marital", "age"]]
clearing = { threshold = 10, dominance = [1, 0.85], multiple = 5 }
[synthesis.columns.age]
bins = [16, 25, 45, 65, 120]
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    table = Table.from_frame(survey(rows=800)).select(["person", "sex", "age", "marital"])
    write(table, "survey.csv")
    Path("release.toml").write_text(SPEC)
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["synth", "release.toml", "--seed", "1", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def test_the_tables_stand_beside_the_data_with_a_manifest(here: Path) -> None:
    assert "2 cleared tables, the only source of the data: x-margins" in run("--out", "x.csv")
    assert sorted(path.name for path in Path("x-margins").iterdir()) == [
        "01-sex-marital.csv", "02-marital-age.csv", "manifest.csv", "manifest.json",
    ]  # fmt: skip
    with Path("x-margins/02-marital-age.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert {line["age"] for line in lines} <= {"16 to 24", "25 to 44", "45 to 64", "65 to 100"}
    assert all(int(line["count"]) % 5 == 0 and int(line["count"]) >= 10 for line in lines)
    with Path("x.csv").open(newline="") as file:
        drawn = {(row["marital"], row["sex"]) for row in csv.DictReader(file)}
    with Path("x-margins/01-sex-marital.csv").open(newline="") as file:
        published = {(row["marital"], row["sex"]) for row in csv.DictReader(file)}
    assert drawn <= published


def test_several_copies_have_the_same_tables(here: Path) -> None:
    run("--out", "x.csv", "--copies", "2")
    assert Path("x-margins").is_dir()
    assert Path("x-2.csv").is_file()


def test_a_folder_that_exists_is_replaced_only_with_force_and_only_if_it_is_ours(
    here: Path,
) -> None:
    run("--out", "x.csv")
    before = Path("x-margins/manifest.csv").read_bytes()
    Path("x.csv").unlink()
    with refused("release.folder.exists", where="x-margins"):
        run("--out", "x.csv")
    assert not Path("x.csv").exists()
    run("--out", "x.csv", "--force")
    assert Path("x-margins/manifest.csv").read_bytes() == before
    Path("x-margins/notes.txt").write_text("mine")
    with refused("release.folder.refused", where="x-margins"):
        run("--out", "x.csv", "--force")
    assert Path("x-margins/notes.txt").read_text() == "mine"


def test_no_tables_without_clearing_and_none_of_a_failed_run(here: Path) -> None:
    text = Path("release.toml").read_text()
    Path("release.toml").write_text(text.replace("threshold = 10", "threshold = 9999"))
    with refused("synthesis.table.empty", where="synthesis, clearing"):
        run("--out", "x.csv")
    Path("release.toml").write_text("\n".join(x for x in text.splitlines() if "clearing" not in x))
    run("--out", "x.csv")
    assert sorted(p.name for p in Path().iterdir()) == ["release.toml", "survey.csv", "x.csv"]


def test_an_input_in_the_folder_is_never_replaced(here: Path) -> None:
    Path("x-margins").mkdir()
    Path("survey.csv").rename("x-margins/survey.csv")
    Path("release.toml").write_text(SPEC.replace("survey.csv", "x-margins/survey.csv"))
    with refused("release.folder.refused", where="x-margins"):
        run("--out", "x.csv", "--force")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("threshold = 10", "treshold = 10", "spec.entry.unknown"),
        ("threshold = 10", "threshold = -3", "spec.entry.range"),
        ("multiple = 5", "multiple = 0", "spec.entry.range"),
        ("[1, 0.85]", "[1, 2, 3]", "spec.entry.range"),
        ("[1, 0.85]", "[1, 85]", "synthesis.setting.range"),
        ("[16, 25, 45, 65, 120]", "1", "spec.entry.range"),
        ('["marital", "age"]', '["marital", "colour"]', "synthesis.margins.mismatch"),
    ],
)
def test_mistakes_are_said_in_one_sentence(here: Path, old: str, new: str, message: str) -> None:
    Path("release.toml").write_text(SPEC.replace(old, new))
    with refused(message):
        run("--out", "x.csv")
    assert not Path("x.csv").exists()
    assert not Path("x-margins").exists()


PROMISED = """
[data]
path = "survey.csv"
[synthesis]
method = "margins"
{rules}
drop = ["person", "age", "region", "education", "occupation", "income", "friends", "height",
        "weight", "bmi", "interviewed", "satisfied"]
[synthesis.columns]
sex = {{ levels = ["female", "male"] }}
marital = {{ levels = ["divorced", "married", "single", "widowed"] }}
"""


def specification(folder: Path, rules: str, more: str = "") -> Path:
    write(survey(rows=400), folder / "survey.csv")
    text = PROMISED.format(rules=rules)
    if "epsilon" not in rules:
        text = text.partition("[synthesis.columns]")[0]
    (folder / "release.toml").write_text(text + more)
    return folder / "release.toml"


def synth(spec: Path, *more: str) -> object:
    out = ["--out", str(spec.parent / "out.csv"), "--seed", "1"]
    return CliRunner().invoke(app, ["synth", str(spec), *out, *more])


def test_noisy_tables_lie_beside_a_private_release(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    result = synth(specification(tmp_path, "epsilon = 1.0"))
    assert result.exit_code == 0, result.output
    assert "3 noisy tables, the only source of the data" in " ".join(result.output.split())
    folder = tmp_path / "out-margins"
    assert read(folder / "manifest.csv")["columns"].values.tolist() == [
        "sex", "marital", "sex × marital",
    ]  # fmt: skip
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    assert len(listed) == 4
    assert not any(file["confidential"] for file in listed)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1
    # What is there already is refused before anything is spent.
    again = synth(tmp_path / "release.toml")
    assert isinstance(again.exception, CaveatError)
    assert len((tmp_path / "ledger.jsonl").read_text().splitlines()) == 1


def test_a_folder_of_something_else_costs_nothing(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    (tmp_path / "out-margins").mkdir()
    (tmp_path / "out-margins" / "notes.txt").write_text("mine")
    result = synth(spec, "--force")
    assert isinstance(result.exception, CaveatError)
    assert "something that no run has written" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_noise_is_not_drawn_again(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    result = synth(spec, "--resume", "--model", str(tmp_path / "m.caveat"))
    assert isinstance(result.exception, CaveatError)
    assert "--resume does not go with a guarantee" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_cleared_tables_lie_beside_their_release(tmp_path: Path) -> None:
    result = synth(specification(tmp_path, "clearing = { threshold = 10 }"))
    assert result.exit_code == 0, result.output
    assert "1 cleared table, the only source of the data" in " ".join(result.output.split())
    manifest = read(tmp_path / "out-margins" / "manifest.csv")
    assert manifest["records"].values.tolist() == [396]


def test_attacks_that_make_releases_do_not_spend(tmp_path: Path) -> None:
    spec = specification(tmp_path, "epsilon = 1.0")
    told = ["attack", "simulated", str(tmp_path / "survey.csv"), "--spec", str(spec)]
    result = CliRunner().invoke(app, told)
    assert isinstance(result.exception, CaveatError)
    assert "spends budget of the guarantee" in str(result.exception)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_nothing_takes_the_place_of_the_ledger(tmp_path: Path) -> None:
    ledger = '[privacy]\nledger = "out.csv"\n'
    spec = specification(tmp_path, "epsilon = 1.0", ledger)
    result = synth(spec, "--force")
    assert isinstance(result.exception, CaveatError)
    assert not (tmp_path / "out.csv").exists()
    (tmp_path / "out.csv").write_text("")
    assert isinstance(synth(spec, "--force").exception, CaveatError)
    assert (tmp_path / "out.csv").read_text() == ""
