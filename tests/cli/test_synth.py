"""``caveat synth`` and ``caveat model show`` as a user meets them."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.cli import app, main
from caveat.datasets import survey
from caveat.synthesis.model import BLOCK
from caveat.table import Column, Kind, Missing, Table, files, read, write

SPEC = """
[columns.income]
missing = { "-8" = "not asked" }

[synthesis]
guard = "light"
rules = ["if age < 18 then marital = 'single'"]

[synthesis.columns.person]
method = "drop"

[synthesis.columns.bmi]
method = "derived"
formula = "round(weight / (height / 100) ** 2, 1)"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(survey(rows=400), tmp_path / "survey.csv")
    (tmp_path / "release.toml").write_text(SPEC)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    """Run the command as the console script does; return its exit code and all it printed."""
    done = subprocess.run(
        [sys.executable, "-c", "from caveat.cli import main; main()", *arguments],
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def invoke(*arguments: str) -> None:
    result = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output


def test_copies_a_model_and_a_specification(folder: Path) -> None:
    arguments = ["synth", "survey.csv", "-o", "syn.parquet", "--spec", "release.toml"]
    invoke(*arguments, "--copies", "2", "--seed", "4", "--model", "m.caveat")
    first, second = (read(f"syn-{k}.parquet") for k in (1, 2))
    assert first != second
    assert "person" not in first
    assert first["income"].missing[-1].label == "not asked"
    frame = first.to_frame("pandas")
    assert (frame["marital"][frame["age"] < 18] == "single").all()
    code, printed = run("model", "show", "m.caveat")
    assert code == 0
    assert "CONFIDENTIAL" in printed
    assert "bmi          derived: round(weight / (height / 100) ** 2, 1)" in printed


def test_the_same_seed_gives_the_same_file_whatever_the_threads(folder: Path) -> None:
    for threads in ("1", "2"):
        invoke("synth", "survey.csv", "-o", f"{threads}.csv", "--seed", "4", "--threads", threads)
    assert Path("1.csv").read_bytes() == Path("2.csv").read_bytes()


def test_large_output_is_streamed_and_equals_the_whole(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = str(2 * BLOCK + 10)
    with monkeypatch.context() as patch:
        patch.setattr(files, "ROWS_IN_MEMORY", BLOCK)
        for name in ("a.csv", "a.parquet"):
            invoke("synth", "survey.csv", "-o", name, "--seed", "4", "--rows", rows)
    invoke("synth", "survey.csv", "-o", str(folder / "b.csv"), "--seed", "4", "--rows", rows)
    assert (folder / "a.csv").read_bytes() == (folder / "b.csv").read_bytes()
    streamed, whole = read(folder / "a.parquet"), read(folder / "b.csv")
    for name in whole:
        assert (streamed[name].values == whole[name].values).all(), name


def test_a_resumed_fit_ends_with_the_same_model(folder: Path) -> None:
    invoke("synth", "survey.csv", "-o", "a.csv", "--seed", "4", "--model", "a.caveat")
    invoke("synth", "survey.csv", "-o", "b.csv", "--seed", "4", "--model", "b.caveat", "--resume")
    assert Path("a.caveat").read_bytes() == Path("b.caveat").read_bytes()
    assert sorted(p.name for p in folder.iterdir()) == [
        "a.caveat", "a.csv", "b.caveat", "b.csv", "release.toml", "survey.csv",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.csv", "-o", "x.csv"], "nowhere.csv: there is no such file"),
        (["survey.csv", "-o", "survey.csv"], "survey.csv: the output exists already"),
        (["survey.csv", "-o", "no/x.csv"], "no: there is no such folder"),
        (["survey.csv", "-o", "x.docx"], "x.docx: the extension is not known"),
        (["survey.csv", "-o", "x.csv", "--resume"], "--resume needs a place to keep columns"),
        (["survey.csv", "-o", "x.csv", "--resume", "--model", "m"], "--resume needs the key"),
        (["survey.csv", "-o", "x.csv", "--spec", "no.toml"], "no.toml: there is no such file"),
        (["survey.csv", "-o", "x.csv", "--copies", "0"], "Invalid value for '--copies'"),
    ],
)
def test_bad_calls_exit_2_with_one_sentence_and_write_nothing(
    folder: Path, arguments: list[str], message: str
) -> None:
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    code, printed = run("synth", *arguments)
    assert code == 2
    assert message in printed
    assert "Traceback" not in printed
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_a_specification_with_a_mistake_names_the_column(folder: Path) -> None:
    Path("bad.toml").write_text("[synthesis.columns.agee]\nmethod = 'sample'\n")
    code, printed = run("synth", "survey.csv", "-o", "x.csv", "--spec", "bad.toml")
    assert code == 2
    assert "synthesis, columns: there is no column 'agee'" in printed


@pytest.mark.skipif(os.name != "posix", reason="signals as on Unix")
def test_an_interrupted_run_leaves_nothing_behind(folder: Path) -> None:
    rows = str(60 * BLOCK)
    process = subprocess.Popen(
        [sys.executable, "-c", "from caveat.cli import main; main()",
         "synth", "survey.csv", "-o", "big.csv", "--seed", "1", "--rows", rows],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 300
    while not list(folder.glob(".*big.csv")) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(folder.glob(".*big.csv")), "the draft never appeared"
    process.send_signal(signal.SIGINT)
    assert process.wait(300) != 0
    assert sorted(p.name for p in folder.iterdir()) == ["release.toml", "survey.csv"]


def test_a_defect_exits_1_with_a_traceback(monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    monkeypatch.setattr("caveat.cli.app", lambda: 1 / 0)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 1
    assert "this is a defect in Caveat" in capsys.readouterr().err


def test_a_decimal_comma_goes_from_the_look_into_the_specification(folder: Path) -> None:
    rows = "\n".join(f"{i % 7},{i % 10};{i % 3}" for i in range(60))
    Path("comma.csv").write_text(f"x;y\n{rows}\n")
    invoke("look", "comma.csv", "--decimal", ",", "--out", "comma.toml")
    assert 'decimal = ","' in Path("comma.toml").read_text()
    invoke("synth", "comma.csv", "-o", "out.parquet", "--spec", "comma.toml", "--seed", "1")
    assert read("out.parquet")["x"].kind == "numeric"


def test_a_specification_may_declare_columns_that_the_release_lacks(folder: Path) -> None:
    Path("id.toml").write_text('[columns.person]\nkind = "id"\n')
    invoke("synth", "survey.csv", "-o", "out.csv", "--spec", "id.toml", "--seed", "1")
    arguments = [
        "--keys",
        "sex,age",
        "--target",
        "region",
        "--schema",
        "id.toml",
        "--json",
        "a.json",
    ]
    invoke("audit", "survey.csv", "out.csv", *arguments)
    assert Path("a.json").exists()


def test_an_unknown_property_of_the_data_is_refused(folder: Path) -> None:
    Path("bad.toml").write_text("[data]\ndecimals = 3\n")
    code, printed = run("look", "survey.csv", "--schema", "bad.toml")
    assert code == 2
    assert "bad.toml, line 2: there is no key 'decimals' in [data]; perhaps decimal" in printed


def test_formulas_are_noted_and_escaped(folder: Path) -> None:
    rows = "".join(f"{'=1+1' if i % 2 else 'plain'},{-i % 7}\n" for i in range(100))
    Path("sums.csv").write_text(f"text,number\n{rows}")
    code, said = run("synth", "sums.csv", "-o", "out.csv", "--seed", "1")
    assert code == 0
    assert said.count("begin like a formula (= + - @)") == 1
    assert "in column text;" in said
    assert "=1+1" not in said
    code, said = run("synth", "sums.csv", "-o", "safe.csv", "--seed", "1", "--escape-formulas")
    assert code == 0
    assert "formula" not in said
    plain, safe = (Path(name).read_text() for name in ("out.csv", "safe.csv"))
    assert plain.count("=1+1") > 20
    assert safe == plain.replace("=1+1", "'=1+1")


@pytest.mark.parametrize("source", ["survey.csv", "survey.parquet"])
def test_a_working_folder_changes_nothing_and_is_empty_afterwards(
    folder: Path, source: str
) -> None:
    write(read(folder / "survey.csv"), folder / "survey.parquet")
    place = folder / "work"
    place.mkdir()
    call = ["synth", source, "--spec", "release.toml", "--seed", "7", "--out"]
    invoke(*call, "in memory.csv")
    invoke(*call, "out of it.csv", "--work", "work")
    assert (folder / "in memory.csv").read_bytes() == (folder / "out of it.csv").read_bytes()
    assert list(place.iterdir()) == []


def test_a_full_working_folder_is_one_sentence_and_nothing_is_left(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (folder / "work").mkdir()
    monkeypatch.setattr("caveat.table.code_files.write_array", full)
    call = ["caveat", "synth", "survey.csv", "--out", "out.csv", "--work", "work"]
    monkeypatch.setattr(sys, "argv", call)
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "cannot be written (No space left on device)" in said
    assert "survey.csv" not in said
    assert list((folder / "work").iterdir()) == []
    assert not (folder / "out.csv").exists()


def test_a_working_folder_must_be_there(folder: Path) -> None:
    code, said = run("synth", "survey.csv", "--out", "out.csv", "--work", "nowhere")
    assert code == 2
    assert "there is no such folder" in said


GERMAN = """[data]
path = "de.csv"
encoding = "latin-1"
[columns.sex]
label = "Geschlecht"
recode = { "M" = "m", "m " = "m" }
"""


@pytest.fixture
def german(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file as it leaves a German office."""
    lines = ["sex;gehalt;seit;ort"]
    for i in range(240):
        amount = f"{800 + i * 13.5:,.2f}".translate(str.maketrans(",.", ".,"))
        day = f"{i % 5 + 13}.01.20{i % 4:02d}"
        lines.append(f"{('m', 'w', 'M', 'm ')[i % 4]};{amount};{day};{('Köln', 'Bonn')[i % 2]}")
    (tmp_path / "de.csv").write_bytes(("\n".join(lines) + "\n").encode("latin-1"))
    (tmp_path / "de.toml").write_text(GERMAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_text_is_written_as_it_came_in_and_described(german: Path) -> None:
    invoke("synth", "de.toml", "-o", "out.csv", "--as-read", "--seed", "1",
           "--dictionary", "columns.csv")  # fmt: skip
    lines = (german / "out.csv").read_bytes().decode("latin-1").splitlines()
    assert lines[0] == "sex;gehalt;seit;ort"
    sexes, amounts, days, towns = zip(*(line.split(";") for line in lines[1:]), strict=True)
    assert set(sexes) == {"m", "w"}
    assert all(re.fullmatch(r"\d{1,3}(\.\d{3})?,\d\d", amount) for amount in amounts)
    assert any("." in amount for amount in amounts)
    assert all(re.fullmatch(r"\d\d\.\d\d\.20\d\d", day) for day in days)
    assert set(towns) == {"Köln", "Bonn"}
    told = read(german / "columns.csv")
    assert told["column"].values.tolist() == ["sex"] * 3 + ["gehalt", "seit"] + ["ort"] * 3
    assert told["label"].values[0] == "Geschlecht"
    assert told["kind"].values[[0, 3, 4]].tolist() == ["category", "numeric", "date"]
    invoke("synth", "de.toml", "-o", "plain.csv", "--seed", "1")
    plain = (german / "plain.csv").read_text("utf-8").splitlines()
    assert plain[0] == "sex,gehalt,seit,ort"
    assert re.fullmatch(r"[mw],\d+\.\d\d,20\d\d-\d\d-\d\d,(Köln|Bonn)", plain[1])


@pytest.mark.parametrize("out", ["out.csv", "out.parquet", "out.sav", "out/"])
def test_labels_and_missing_codes_are_described_whatever_is_written(
    out: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = np.random.default_rng(1).integers(0, 3, 300)
    educ = Column(
        np.where(np.arange(300) % 7 == 0, 4, codes),
        np.array([1.0, 2.0, 3.0, 9.0]),
        Kind.CATEGORY,
        (Missing(-9.0, "refused"), Missing(-8.0, "not asked")),
        label="Education",
        value_labels={1.0: "none", 2.0: "school", 3.0: "degree", 9.0: "nobody"},
    )  # two of them in no cell
    write(Table({"educ": educ, **Table.from_frame({"n": codes + 1.5}).columns}), "a.sav")
    invoke("synth", "a.sav", "-o", out, "--seed", "1", "--dictionary", "d.csv")
    told = read("d.csv")
    rows = [
        [told[name].values[i] for name in ("label", "kind", "value", "missing", "value_label")]
        for i in range(5)
    ]
    assert rows == [
        ["Education", "category", None, None, None],
        [None, None, "1", "no", "none"],
        [None, None, "2", "no", "school"],
        [None, None, "3", "no", "degree"],
        [None, None, "-9", "yes", "refused"],
    ]
    assert told["lowest"].values[0] is None


def test_a_table_of_a_database_goes_in_and_out(folder: Path) -> None:
    write(read("survey.csv"), "survey.sqlite#people")
    invoke("synth", "survey.sqlite#people", "-o", "survey.sqlite#synthetic", "--copies", "2",
           "--seed", "1")  # fmt: skip
    assert read("survey.sqlite#synthetic_2").n_rows == 400
    assert read("survey.sqlite#people") == read("survey.csv").compact()
    code, printed = run("synth", "survey.sqlite#people", "-o", "survey.sqlite#people", "--force")
    assert (code, "a table that this command reads" in printed) == (2, True)
    code, printed = run("synth", "survey.csv", "-o", "survey.sqlite#people")
    assert (code, "the table exists already" in printed) == (2, True)


def test_a_password_in_an_address_is_never_printed(folder: Path) -> None:
    address = "postgresql://ann:geheim@localhost:1/survey#people"
    for arguments in (
        ("look", address),
        ("synth", address, "-o", "x.csv"),
        ("synth", "survey.csv", f"--out={address}"),
    ):
        code, printed = run(*arguments)
        assert code == 2
        assert "geheim" not in printed
        assert "postgresql://ann@localhost:1/survey" in printed
    for odd in (
        "postgresql://ann:ge/geheim@localhost:1/survey#people",
        "mysql://ann:geheim@localhost:1/survey",
        "host=localhost password=geheim",
    ):
        for given in (("look", odd), ("synth", "survey.csv", "-o", odd)):
            code, printed = run(*given)
            assert (code, "geheim" in printed) == (2, False)
    (folder / "bad.toml").write_text(f'[data]\npath = "{address}"\n')
    code, printed = run("synth", "bad.toml", "-o", "x.csv")
    assert (code, "bad.toml, line 2: data.path: the address holds a password" in printed) == (
        2,
        True,
    )
    assert "geheim" not in printed


def test_rare_levels_and_ranges_are_said_without_a_value(folder: Path) -> None:
    rows, rng = 300, np.random.default_rng(1)
    towns = [*(f"Hamlet{i}" for i in range(9)), *rng.choice(["Ulm", "Bonn"], rows - 9)]
    lines = [",".join(("town", "pat_vorname", "age"))]
    names = rng.choice(["Anna", "Bernd", "Carla", "Zaneta"], rows)
    ages = rng.integers(18, 80, rows)
    lines += [",".join(map(str, row)) for row in zip(towns, names, ages, strict=True)]
    (folder / "towns.csv").write_text("\n".join(lines))
    for method in ("guarded", "cart"):
        (folder / "m.toml").write_text(f'[synthesis]\nmethod = "{method}"\n')
        code, text = run("synth", "towns.csv", "--spec", "m.toml", "--out", f"{method}.csv")
        assert code == 0
        flat = " ".join(text.split())
        assert "town: 9 rare levels" in flat
        assert "pat_vorname is left out: it looks like names of people" in flat
        assert ("age: the range was read off the data" in flat) == (method == "guarded")
        assert "Hamlet" not in text
        assert "Zaneta" not in text
        released = (folder / f"{method}.csv").read_text()
        assert "Hamlet" not in released
        assert "Zaneta" not in released


def test_a_specification_brings_its_seed_and_no_protection_is_forgotten(folder: Path) -> None:
    plain = '[data]\npath = "survey.csv"\n[release]\nseed = 5\n'
    (folder / "seed.toml").write_text(plain)
    for name in ("a.csv", "b.csv"):
        invoke("synth", "seed.toml", "-o", name)
    invoke("synth", "survey.csv", "-o", "c.csv", "--seed", "5")
    one, *others = ((folder / name).read_bytes() for name in ("a.csv", "b.csv", "c.csv"))
    assert others == [one, one]
    steps = '[[protect]]\nname = "round_numbers"\nbase = { income = 100 }\n'
    (folder / "protected.toml").write_text(plain + steps)
    with refused("spec.entry.unsupported", where="protected.toml, line 5"):
        invoke("synth", "protected.toml", "-o", "d.csv")
    assert not (folder / "d.csv").exists()
