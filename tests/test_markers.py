"""Markers planted in a table: none of them leaves, and what is kept on purpose is announced.

They stand in identifiers, e-mail addresses, remarks, value labels and labels of columns that are
left out, in the names of the file and of its folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from caveat.errors import CaveatError
from caveat.evidence.file import place_in
from caveat.synthesis import Synthesizer
from caveat.table import read

N = 240
MARK = "QXMARK"
FORMATS = ("csv", "parquet", "sav", "dta", "feather")

SPEC = """
[release]
seed = 5
control = 0.2
unit = "person"

[data]
path = "QXMARKfile.sav"
{columns}
[synthesis]
method = "cart"
minbucket = 10
{synthesis}
[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["region"]

[utility]
measures = ["total variation"]

[output]
formats = ["csv", "parquet", "sav", "dta"]
"""


def people() -> tuple[pd.DataFrame, dict[str, str], dict[str, dict[int, str]]]:
    """A table with its labels of columns and of values."""
    rng = np.random.default_rng(4)
    mail = [f"{MARK}{i}@example.org" for i in range(N)]
    mail[7] = ""
    words = ["came", "back", "with", "pain", "after", "work", "and", "was", "sent", "home"]
    frame = pd.DataFrame(
        {
            "pid": rng.choice(900, N, replace=False),
            "mail": mail,
            "remark": [f"{MARK} " + " ".join(rng.choice(words, 6)) for _ in range(N)],
            "name": [f"{MARK} {chr(65 + i % 26)}{i}" for i in range(N)],
            "sex": rng.choice(["f", "m"], N),
            "age": rng.integers(18, 80, N),
            "region": rng.choice(["north", "south", "west"], N),
            "pay": rng.lognormal(8, 0.5, N).round(2),
        }
    )
    labels = {n: f"{MARK}label of {n}" for n in ("pid", "mail", "remark", "name")}
    values = {"pid": {int(v): f"{MARK}value{v}" for v in frame["pid"]}}
    return frame, labels, values


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / f"{MARK}folder"
    folder.mkdir()
    frame, labels, values = people()
    pyreadstat.write_sav(
        frame,
        folder / f"{MARK}file.sav",
        column_labels=labels,
        variable_value_labels=values,
        file_label=f"{MARK}title",
    )
    return folder


def caveat(folder: Path, *arguments: str, code: int = 0) -> str:
    """Run the command in a folder and return all that it prints but the names it was told."""
    done = subprocess.run(
        [sys.executable, "-c", "from caveat.cli import main; main()", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200"},
    )
    printed = done.stdout + done.stderr
    assert done.returncode == code, printed
    return printed


def without_names(text: str) -> str:
    """Return a text without the file and the folder, which whoever typed them may see again."""
    return text.replace(f"{MARK}file", "").replace(f"{MARK}folder", "")


def clean(path: Path) -> bool:
    """Whether no marker is in a file, in any of the encodings that formats use."""
    content = path.read_bytes()
    return not any(MARK.encode(how) in content for how in ("utf-8", "utf-16-le"))


@pytest.mark.parametrize("form", FORMATS)
def test_no_marker_leaves_by_synth(folder: Path, tmp_path: Path, form: str) -> None:
    out = tmp_path / f"out.{form}"
    spec = tmp_path / "cart.toml"  # plain trees release the numbers of single people
    spec.write_text('[synthesis]\nmethod = "cart"\n', "utf-8")
    told = ("--spec", str(spec), "--seed", "1")
    printed = caveat(folder, "synth", f"{MARK}file.sav", "-o", str(out), *told)
    assert clean(out)
    assert MARK not in without_names(printed)
    for name in ("pid", "mail", "remark", "name"):
        assert f"note: {name} is left out" in printed
    assert re.search(r"exactly one original record has.*: pay", printed)


def release(folder: Path, tmp_path: Path, synthesis: str = "", columns: str = "") -> str:
    spec = folder / "release.toml"
    spec.write_text(SPEC.format(synthesis=synthesis, columns=columns), "utf-8")
    made = ("--folder", str(tmp_path / "release"), "--key", str(tmp_path / "release.key"))
    return caveat(folder, "run", "release.toml", *made)


def leaving(folder: Path) -> list[Path]:
    """The files of a release that may leave, and the manifest that says so."""
    manifest = folder / "manifest.json"
    files = json.loads(manifest.read_text("utf-8"))["files"]
    return [manifest, *(folder / file["name"] for file in files if not file["confidential"])]


def test_no_marker_leaves_by_run(folder: Path, tmp_path: Path) -> None:
    printed = release(folder, tmp_path)
    files = leaving(tmp_path / "release")
    assert {file.suffix for file in files} == {
        ".json", ".csv", ".parquet", ".sav", ".dta", ".html", ".md", ".xml",
    }  # fmt: skip
    assert [file.name for file in files if not clean(file)] == []
    assert MARK not in without_names(printed)
    external = place_in(tmp_path / "release", "report-external.md").read_text("utf-8")
    assert external.startswith("# Synthetic data\n")
    assert "Values of single people" in external
    evidence = json.loads((tmp_path / "release" / "inside/evidence.json").read_text("utf-8"))
    assert evidence["release"]["identifying"] == []
    # The whole table was judged: of the records that were fitted, a fifth of the numbers is gone.
    assert evidence["release"]["not_released"] == ["pid", "mail", "remark", "name"]
    (pay,) = [p for p in evidence["release"]["private_numbers"] if p["column"] == "pay"]
    assert min(pay["original"], pay["released"]) > 0.9


def test_what_is_kept_is_announced_first(folder: Path, tmp_path: Path) -> None:
    copied = '[synthesis.columns.region]\nmethod = "copy"\n'
    printed = release(folder, tmp_path, f'keep = ["pid", "mail"]\n{copied}')
    for name in ("pid", "mail"):
        assert f"note: {name} is kept, and real values of it leave with the release" in printed
    assert "note: remark is left out" in printed
    evidence = json.loads((tmp_path / "release" / "inside/evidence.json").read_text("utf-8"))
    kept = {found["column"]: found["code"] for found in evidence["release"]["identifying"]}
    assert kept == {"pid": "identifier", "mail": "identifier"}
    for name in ("report.md", "report-external.md", "report.html", "report-external.html"):
        text = place_in(tmp_path / "release", name).read_text("utf-8")
        if name.endswith("html"):
            text = text[text.index("<main") :]
        places = [text.index(line) for line in ("Real identifying values leave", "Copied columns",
                                                "What is released")]  # fmt: skip
        assert places == sorted(places)
        # Inside with the label of a column before its name.
        assert re.search(r"pid\)? \(identifiers of single records\) and .*mail\)? \(ident", text)
        assert MARK not in text or name.startswith("report.")


BAD = {
    "a column of the rules": "rules = [\"if QXMARKname == 1 then sex = 'f'\"]",
    "strata": 'strata = "pid"',
    "kept and dropped": 'keep = ["pid"]\ndrop = ["pid"]',
    "predictors": 'predictors = { pay = ["mail"] }',
    "special": 'special = { pay = ["nothing"] }',
    "a rule about a column that is left out": "rules = [\"if pid > 100 then sex = 'f'\"]",
}


@pytest.mark.filterwarnings("ignore:.* is left out:caveat.errors.CaveatWarning")
@pytest.mark.parametrize("case", BAD)
def test_messages_hold_no_value(folder: Path, case: str) -> None:
    options = tomllib.loads(BAD[case])
    with pytest.raises(CaveatError) as error:
        Synthesizer(**options).fit(read(folder / f"{MARK}file.sav"))
    assert MARK not in str(error.value).replace("QXMARKname", "")


def test_files_that_cannot_be_read_are_named_without_their_content(tmp_path: Path) -> None:
    cases = {
        "ragged.csv": f"a,b\n1,2\n{MARK},2,3,{MARK}\n",
        "quote.csv": f'a,b\n"{MARK},2\n3,4\n',
        "twice.csv": f"a,a\n{MARK},{MARK}\n",
        "broken.parquet": f"PAR1{MARK}",
        "broken.sav": f"$FL2{MARK}",
    }
    for name, content in cases.items():
        (tmp_path / name).write_text(content, "utf-8")
        said = caveat(tmp_path, "synth", name, "-o", "out.csv", code=2)
        assert MARK not in said, name


def test_a_small_table_is_refused_and_does_not_come_back(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text(f"name,age\n{MARK},31\n", "utf-8")
    said = caveat(tmp_path, "synth", "one.csv", "-o", "out.csv", code=2)
    assert "the table has 1 rows" in said
    assert "--anyway" in said
    assert MARK not in said
    assert not (tmp_path / "out.csv").exists()
    rows = "".join(f"{'fm'[i % 2]},{i % 7}\n" for i in range(30))
    (tmp_path / "few.csv").write_text(f"sex,n\n{rows}", "utf-8")
    said = caveat(tmp_path, "synth", "few.csv", "-o", "out.csv")
    assert "note: the table has 30 rows" in said
    said = caveat(tmp_path, "synth", "one.csv", "-o", "anyway.csv", "--anyway")
    assert "note: the table has 1 rows" in said


def test_the_usual_method_releases_hardly_a_number_of_single_people(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.csv"
    printed = caveat(folder, "synth", f"{MARK}file.sav", "-o", str(out), "--seed", "1")
    assert clean(out)
    assert MARK not in without_names(printed)
    assert "exactly one original record" not in printed
