"""Every way out of Caveat with columns of every origin: what the manifest and the terminal say."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import look, read, write
from caveat.benchmark import Benchmark
from caveat.cli import app
from caveat.outputs.checking import check_files
from caveat.outputs.statbarns import Verdict
from caveat.release.run import Release, rare_released
from caveat.table import Table

N = 200
RUN = """
[data]
path = "people.csv"
[release]
title = "People"
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["region"]
measures = ["repU"]
[utility]
measures = ["S_pMSE one-way"]
"""
COPIED = '[synthesis.columns.region]\nmethod = "copy"\n'
COPIED_AGE = '[synthesis.columns.age]\nmethod = "copy"\n'
LOOKED_UP = '[synthesis.derived]\ncounty = { lookup = "region" }\n'
COMPUTED = '[synthesis.derived]\ndouble = "2 * age"\n'
IDENTIFYING = '[synthesis]\nkeep = ["mail"]\n'
PUBLIC = "[columns.{}]\npublic = true\n"
# The specification, and the start of the reason why what it makes stays inside; "" if it may leave.
ORIGINS = {
    "drawn": ("", ""),
    "looked up": (LOOKED_UP, ""),
    "computed": (COMPUTED, ""),
    "copied": (COPIED, "region: copied"),
    "copied, declared": (COPIED + PUBLIC.format("region"), ""),
    "computed from what is copied": (COPIED_AGE + COMPUTED, "age, double: copied"),
    "computed from what is declared": (
        COPIED_AGE + COMPUTED + PUBLIC.format("age"), "",
    ),
    "identifying": (IDENTIFYING, "mail: looks like"),
    "identifying, declared": (IDENTIFYING + PUBLIC.format("mail"), ""),
    "levels declared, copied": (
        COPIED + '[columns.region]\nlevels = ["n", "e", "s", "w"]\n', "region: copied"
    ),
}  # fmt: skip


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(3)
    region, age = rng.integers(0, 4, N), rng.integers(20, 30, N)
    people = {
        "mail": [f"person{i}@example.org" for i in range(N)],
        "sex": rng.choice(["f", "m"], N),
        "region": np.array(list("nesw"))[region],
        "county": np.array(["A", "B"])[region // 2],
        "age": age,
        "double": 2 * age,
        "east": 350_000 + 1000 * rng.random(N),
        "north": 5_640_000 + 1000 * rng.random(N),
    }
    write(Table.from_frame(people), tmp_path / "people.csv")
    return tmp_path


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None:
        raise result.exception
    return " ".join(result.output.split())


def manifest(folder: str | Path) -> dict[str, dict[str, Any]]:
    content = json.loads((Path(folder) / "manifest.json").read_text("utf-8"))
    for entry in content["files"]:
        place, _, rest = entry["name"].partition("/")
        assert not rest or place == ("inside" if entry["confidential"] else "public")
    return {entry["name"].rpartition("/")[2]: entry for entry in content["files"]}


def is_private(path: str) -> bool:
    return Path(path).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("origin", ORIGINS)
def test_synth_and_its_dictionary(here: Path, origin: str) -> None:
    text, reason = ORIGINS[origin]
    Path("spec.toml").write_text(text)
    asked = ["--spec", "spec.toml", "--key", "a.key"]
    said = call("synth", "people.csv", "-o", "out.csv", "--dictionary", "dictionary.html", *asked)
    assert ("CONFIDENTIAL" in said) is bool(reason)
    assert f"is not for release: {reason}" in said or not reason
    assert [is_private(name) for name in ("out.csv", "dictionary.html")] == [bool(reason)] * 2
    if "mail" not in text:
        assert "@example.org" not in Path("out.csv").read_text()


@pytest.mark.parametrize("origin", ["drawn", "copied", "identifying"])
def test_synth_into_a_database_and_in_parts(here: Path, origin: str) -> None:
    text, reason = ORIGINS[origin]
    Path("spec.toml").write_text(text)
    asked = ["--spec", "spec.toml", "--key", "a.key"]
    for target in ("out.sqlite#people", "parts/"):
        said = call("synth", "people.csv", "-o", target, *asked)
        assert (f"is not for release: {reason}" in said) is bool(reason)
    with sqlite3.connect("out.sqlite") as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(people)")]
    assert ("mail" in columns) is (origin == "identifying")
    assert is_private("out.sqlite") is is_private("parts") is bool(reason)
    assert all(is_private(str(part)) is bool(reason) for part in Path("parts").iterdir())


@pytest.mark.parametrize("origin", ORIGINS)
def test_run(here: Path, origin: str) -> None:
    text, reason = ORIGINS[origin]
    Path("release.toml").write_text(RUN + text)
    outcome = Release.from_toml("release.toml").run("release", threads=1)
    listed = manifest(outcome.folder)
    tables = ("synthetic-1.csv", "dictionary.csv", "dictionary.html", "dictionary.xml")
    for name in tables:
        assert listed[name]["confidential"] is bool(reason)
        assert [one[: len(reason)] for one in listed[name].get("reasons", [])] == [reason][
            : bool(reason)
        ]
    # What describes the original stays inside, and the external report holds none of it.
    assert all(listed[name]["confidential"] for name in ("evidence.json", "release.toml"))
    assert not listed["report-external.html"]["confidential"]
    (checked,) = check_files([f"release/{listed['synthetic-1.csv']['name']}"])
    assert checked.verdict is (Verdict.REFUSE if reason else Verdict.REVIEW)


def test_a_run_says_at_the_terminal_what_stays_inside(here: Path) -> None:
    Path("release.toml").write_text(RUN + COPIED)
    said = call("run", "release.toml", "--folder", "release")
    assert "CONFIDENTIAL: synthetic-1.csv is not for release: region: copied" in said


def test_a_trial_stays_inside_whatever_its_columns_are(here: Path) -> None:
    call("synth", "people.csv", "-o", "trial.csv", "--seed", "1")
    assert is_private("trial.csv")
    Path("release.toml").write_text(RUN.replace("[release]", "[release]\nseed = 1"))
    Release.from_toml("release.toml").run("release", threads=1)
    assert all(entry["confidential"] for entry in manifest("release").values())


TABLES = """
[data]
path = "people.csv"
[publication]
least = 3
[[table]]
name = "by {0}"
by = ["{0}"]
"""


@pytest.mark.parametrize("method", ["suppress", "stochastic rounding", "cell keys"])
def test_tables_by_what_identifies_people_are_refused(here: Path, method: str) -> None:
    text = TABLES.format("mail").replace("least = 3", f'method = "{method}"')
    Path("tables.toml").write_text(text)
    with refused("outputs.level.confidential", where="tables.toml, line 8") as error:
        call("tables", "tables.toml", "--folder", "out")
    assert "tables.toml" in str(error.value.where)
    assert "@" not in str(error.value)
    assert not Path("out").exists()


def test_tables_by_a_column_that_was_declared_are_written(here: Path) -> None:
    Path("tables.toml").write_text(TABLES.format("mail") + PUBLIC.format("mail"))
    call("tables", "tables.toml", "--folder", "out")
    assert not any(entry["confidential"] for entry in manifest("out").values())


def test_tables_with_labels_of_few_people_stay_inside(here: Path) -> None:
    table = read("people.csv")
    town = np.array(["Bigtown"] * (N - 9) + ["Middleton"] * 7 + ["Smallham"] * 2)
    write(Table.from_frame({"town": town, "sex": table["sex"].values}), "people.csv", force=True)
    both = TABLES.format("town") + '[[table]]\nname = "by sex"\nby = ["sex"]\n'
    Path("tables.toml").write_text(both)
    said = call("tables", "tables.toml", "--folder", "out", "--excel")
    assert "CONFIDENTIAL: out is not for release: town: 1 value of fewer than 5 people" in said
    listed = {name: entry["confidential"] for name, entry in manifest("out").items()}
    assert listed == {
        "by-town.csv": True, "by-sex.csv": False, "tables.html": True, "tables.xlsx": True,
    }  # fmt: skip
    written = [f"out/{name}" for name in ("by-town.csv", "by-sex.csv", "tables.html")]
    verdicts = {one.name: one.verdict for one in check_files(written)}
    assert verdicts["by-town.csv"] is verdicts["tables.html"] is Verdict.REFUSE
    assert verdicts["by-sex.csv"] is Verdict.SAFE
    # Codes of a hierarchy, levels, and a column that is public are declared.
    levels = '[columns.town]\nlevels = ["Bigtown", "Middleton", "Smallham"]\n'
    parents = '[hierarchies]\ntown = { Bigtown = "A", Middleton = "A", Smallham = "A" }\n'
    for declared in (levels, parents, PUBLIC.format("town")):
        Path("tables.toml").write_text(both + declared)
        call("tables", "tables.toml", "--folder", "out", "--force")
        assert not any(entry["confidential"] for entry in manifest("out").values()), declared


def test_tables_rounded_by_a_seed_that_can_be_guessed_stay_inside(here: Path) -> None:
    rounded = 'method = "stochastic rounding"\nseed = 1'
    Path("tables.toml").write_text(TABLES.format("sex").replace("least = 3", rounded))
    said = call("tables", "tables.toml", "--folder", "out")
    assert "--key" not in said  # an option that this command does not have
    assert all(entry["confidential"] for entry in manifest("out").values())


def test_check_refuses_labels_that_lead_to_people(here: Path) -> None:
    count = [20] * 12
    mails = {"mail": [f"p{i}@example.org" for i in range(12)], "count": count}
    phones = {"contact": [f"0049 30 1234{i:03d}" for i in range(12)], "count": count}
    towns = {"town": [f"Town {chr(65 + i)}" for i in range(12)], "count": count}
    for name, frame in (("mails", mails), ("phones", phones), ("towns", towns)):
        write(Table.from_frame(frame), f"{name}.csv")
    header = {"sex": ["f", "m"], "ann@example.org": [20, 30], "bob@example.org": [30, 20]}
    write(Table.from_frame(header), "header.csv")
    names = ["mails.csv", "phones.csv", "header.csv", "towns.csv"]
    found = {one.name: {f.rule for f in one.findings} for one in check_files(names)}
    assert all("identifying" in found[name] for name in names[:3])
    assert "identifying" not in found["towns.csv"]
    assert all(one.verdict is Verdict.REFUSE for one in check_files(names[:3]))
    assert not any("@" in f.reason for one in check_files(names) for f in one.findings)


MOVE = ("--x", "east", "--y", "north", "--move", "100", "200", "--key", "a.key", "--force")


def test_places_copies_no_names_and_marks_what_it_copies(here: Path) -> None:
    said = call("places", "people.csv", *MOVE, "--out", "moved.csv")
    assert "note: mail is left out" in said
    assert "CONFIDENTIAL: moved.csv is not for release: sex, region, county, age" in said
    moved = read("moved.csv")
    assert "mail" not in moved
    assert {"east", "north", "sex"} <= {*moved.names}
    assert is_private("moved.csv")
    assert "@example.org" not in Path("moved.csv").read_text()
    said = call("places", "people.csv", *MOVE, "--out", "moved.csv", "--keep", "mail")
    assert "is not for release: mail: looks like" in said
    assert "mail" in read("moved.csv")
    with refused("data.column.unknown", where="--keep"):
        call("places", "people.csv", *MOVE, "--out", "moved.csv", "--keep", "male")


def test_places_of_public_records_may_leave(here: Path) -> None:
    names = ("sex", "region", "county", "age", "double")
    Path("schema.toml").write_text("".join(PUBLIC.format(name) for name in names))
    said = call("places", "people.csv", *MOVE, "--out", "moved.csv", "--schema", "schema.toml")
    assert "CONFIDENTIAL" not in said
    assert not is_private("moved.csv")
    said = call(
        "places", "people.csv", *MOVE[:-3], "--seed", "1", "--force", "--out", "moved.csv",
        "--schema", "schema.toml",
    )  # fmt: skip
    assert is_private("moved.csv")  # whoever finds the seed moves the places back


SAFEPUB = """
[columns]
age.kind = "integer"
sex.kind = "{}"
region.kind = "category"
[safepub]
epsilon = 2
delta = 1e-5
beta = 0.4
response = "region"
[safepub.levels.age]
widths = [10, 20]
[safepub.levels.sex]
"""


@pytest.mark.parametrize("declared", ["", 'sex.kind = "id"', "sex.public = true"])
def test_safepub_decides_by_what_is_declared(here: Path, declared: str) -> None:
    kind = "id" if declared else "category"
    text = SAFEPUB.format(kind)
    if "public" in declared:
        text = text.replace("[safepub]\n", f"{declared}\n[safepub]\n", 1)
    Path("safepub.toml").write_text(text)
    said = call("safepub", "people.csv", "--spec", "safepub.toml", "-o", "out.csv")
    held = declared == 'sex.kind = "id"'
    assert ("CONFIDENTIAL: out.csv is not for release: sex" in said) is held
    assert is_private("out.csv") is held


def test_a_benchmark_keeps_copied_records_inside(here: Path) -> None:
    generators = ("copy", "sample", "margins", "uniform")
    text = RUN.replace("[release]", "[release]\nseed = 1")
    text += "".join(f'[[generator]]\nname = "{name}"\n' for name in generators)
    Path("bench.toml").write_text(text + "[benchmark]\nseeds = 1\n")
    folder = Benchmark.from_toml("bench.toml").run("bench").folder
    for name in generators:
        listed = manifest(folder / f"{name}-1")
        entry = listed["synthetic-1.csv"]
        assert all(one["confidential"] for one in listed.values())  # drawn by a seed of few bits
        copied = any("copied from the original records" in one for one in entry["reasons"])
        assert copied is (name in ("copy", "sample"))
        assert {"trial.json", "evidence.json"} <= {*listed}


def test_rare_values_that_others_have_drawn_stay_inside(here: Path) -> None:
    town = np.array(["Bigtown"] * 60 + ["Smallham"] * 2, object)
    original = Table.from_frame({"town": town, "age": np.arange(62)})
    assert rare_released(original, [original.take(np.arange(50))]) == {}
    assert rare_released(original, [original.take(np.arange(30, 62))]) == {"town": 1}


def test_a_look_prints_no_value_of_few_people(here: Path) -> None:
    rng = np.random.default_rng(5)
    income = rng.integers(10, 60, 400) * 100
    income[7] = 987_654
    towns = np.array(["Bigtown"] * 396 + ["Quietham"] * 2 + ["quietham", "Loneley"])
    marital = np.array(["single", "married"])[rng.integers(0, 2, 400)]
    profile = look({"income": income, "town": towns, "marital": marital})
    # The look has found them: whoever asks for a finding has them.
    held = " ".join(finding.message for finding in profile.findings)
    assert "987654" in held
    assert "Loneley" in held
    printed = [str(profile), profile._repr_html_(), repr(profile), repr(profile.columns)]
    printed += [f(finding) for finding in profile.findings for f in (str, repr)]
    for text in printed:
        assert not any(value in text for value in ("987654", "Loneley", "Quietham", "quietham"))
    assert "rare-levels" in str(profile)


@pytest.mark.parametrize("command", ["run", "benchmark"])
def test_a_specification_writes_no_release_outside_of_its_folder(here: Path, command: str) -> None:
    project = here / "project"
    project.mkdir()
    text = RUN.replace("[release]", "[release]\nseed = 1").replace("people.csv", "../people.csv")
    text += '[output]\nfolder = "../elsewhere"\n'
    more = '[[generator]]\nname = "margins"\n[benchmark]\nseeds = 1\n'
    (project / "spec.toml").write_text(text + (more if command == "benchmark" else ""))
    with refused("release.folder.refused", where="spec.toml, line 15"):
        call(command, "project/spec.toml")
    assert not (here / "elsewhere").exists()
    call(command, "project/spec.toml", "--folder", "elsewhere")
    assert (here / "elsewhere").is_dir()
