"""``caveat draft``: it reads published numbers only, and says how near it came."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

import caveat.table.files
from caveat.cli import app
from caveat.errors import CaveatError
from caveat.table import read

SPEC = """\
rows = 600
[columns.age]
mean = 50
sd = 15
least = 18
most = 90
[columns.sex]
shares = "sex.csv"
[columns.region]
shares = { north = 0.5, south = 0.5 }
[columns.car]
shares = { no = 0.5, yes = 0.5 }
[[model]]
formula = "car ~ sex + region"
coefficients = { "sex[T.m]" = 0.5, "region[T.south]" = -0.7 }
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("draft.toml").write_text(SPEC)
    Path("sex.csv").write_text("sex,share\nf,0.6\nm,0.4\n")
    return tmp_path


def call(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["draft", "draft.toml", *arguments])
    if done.exception:
        raise done.exception
    return done.output


def write_original() -> None:
    rng = np.random.default_rng(1)
    lines = zip(
        rng.integers(18, 90, 300), rng.choice(["f", "m"], 300),
        rng.choice(["north", "south"], 300), rng.choice(["no", "yes"], 300), strict=True
    )  # fmt: skip
    text = "\n".join(",".join(map(str, line)) for line in lines)
    Path("original.csv").write_text(f"age,sex,region,car\n{text}\n")


def test_a_draft_has_the_numbers_and_says_so(here: Path) -> None:
    said = call("--out", "made.csv", "--json", "near.json")
    assert "read: draft.toml, sex.csv; no microdata" in said
    table = read("made.csv")
    assert table.names == ("age", "sex", "region", "car")
    assert table["age"].cell_numbers.mean() == pytest.approx(50, abs=1e-6)
    assert table["age"].cell_numbers.std(ddof=1) == pytest.approx(15, abs=1e-4)
    content = json.loads(Path("near.json").read_text("utf-8"))
    assert (content["format"], content["rows"], content["seed"]) == ("caveat draft", 600, 1)
    kinds = [one["kind"] for one in content["targets"]]
    assert kinds.count("coefficient") == 2
    assert kinds.count("share") == 6
    assert "tcap" not in content
    assert sum(content["summary"].values()) == len(kinds)
    assert set(content["summary"]) <= {"met", "very near", "near"}


def test_the_same_seed_gives_the_same_bytes_whatever_lies_beside(here: Path) -> None:
    call("--out", "one.csv")
    write_original()
    call("--out", "two.csv")
    call("--out", "three.csv", "--original", "original.csv")
    call("--out", "other.csv", "--seed", "2")
    assert len({Path(name).read_bytes() for name in ("one.csv", "two.csv", "three.csv")}) == 1
    assert Path("other.csv").read_bytes() != Path("one.csv").read_bytes()
    call("--out", "few.parquet", "--rows", "100")
    assert read("few.parquet").n_rows == 100


def test_it_never_reads_microdata(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No reader of tables is called; and of all files beside it two are opened."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("microdata were read")

    for reader in ("caveat.table.files.read", "caveat.table.read", "caveat.table.files.read_into"):
        monkeypatch.setattr(reader, refuse)
    call("--out", "made.csv")
    write_original()
    watch = (
        "import sys, os\n"
        "here, seen = os.getcwd(), set()\n"
        "def note(event, given):\n"
        "    if event == 'open' and isinstance(given[0], (str, bytes)):\n"
        "        name = os.path.abspath(os.fsdecode(given[0]))\n"
        "        if name.startswith(here + os.sep) and 'caveat-draft' not in name:\n"
        "            seen.add(os.path.basename(name))\n"
        "sys.addaudithook(note)\n"
        "from caveat.cli import app\n"
        "app(['draft', 'draft.toml', '--out', 'new.csv'], standalone_mode=False)\n"
        "print(sorted(seen - {os.path.basename(here)}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", watch], capture_output=True, text=True, check=True, cwd=here
    )
    assert done.stdout.splitlines()[-1] == "['draft.toml', 'sex.csv']"


def test_the_original_is_read_after_the_draft_is_written(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_original()
    real, there = caveat.table.files.read, []

    def watched(path: Path, **more: object) -> object:
        there.append((Path(path).name, Path("made.csv").is_file()))
        return real(path, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("caveat.table.read", watched)
    said = call("--out", "made.csv", "--original", "original.csv", "--json", "-")
    assert there == [("original.csv", True)]
    tcap = json.loads(said[said.index("{") : said.rindex("}") + 1])["tcap"]
    assert [(one["target"], one["keys"], one["of"]) for one in tcap] == [
        ("car", ["sex", "region"], 300)
    ]


def test_tcap_in_words(here: Path) -> None:
    write_original()
    Path("draft.toml").write_text(SPEC.replace("rows = 600", "rows = 6"))
    said = " ".join(call("--out", "made.csv", "--original", "original.csv").split())
    assert "TCAP of car from sex, region: 0." in said
    assert "of 300 people" in said


def test_files_that_exist_stay(here: Path) -> None:
    call("--out", "made.csv")
    with refused("command.output.exists", where="made.csv"):
        call("--out", "made.csv")
    call("--out", "made.csv", "--force")
    with refused("command.output.conflict", where="sex.csv"):
        call("--out", "sex.csv", "--force")


def test_contradictions_name_file_and_line(here: Path) -> None:
    table = '[[table]]\nby = ["sex", "car"]\n'
    cells = 'cells = [["f", "no", 3], ["f", "yes", 3], ["m", "no", 2], ["m", "yes", 6]]\n'
    Path("draft.toml").write_text(SPEC + table + cells)
    with pytest.raises(CaveatError) as error:
        call("--out", "made.csv")
    assert "draft.toml, line " in str(error.value)
    assert "the nearest feasible shares are" in str(error.value)
    assert not Path("made.csv").exists()


def test_levels_that_look_like_no_numbers(here: Path) -> None:
    Path("draft.toml").write_text(
        "rows = 100\n[columns.s]\nshares = { nan = 0.5, inf = 0.5 }\n"
        "[columns.x]\nmean = 0\nsd = 1\n"
        '[[correlation]]\ncolumns = ["s", "x"]\nmatrix = [[1, 0.1], [0.1, 1]]\n'
    )
    call("--out", "made.csv", "--json", "near.json")
    found = json.loads(Path("near.json").read_text("utf-8"))["targets"][-1]
    assert (found["kind"], found["wanted"], found["words"]) == ("correlation", 0.1, "met")
    assert found["got"] == pytest.approx(0.1, abs=1e-6)
