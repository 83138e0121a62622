"""What a command reads it never writes, by whatever path it is named, with --force or without."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.attack.registry import ATTACKS
from caveat.cli import app
from caveat.cli.attack import OUTPUTS, STRONG_FILES
from caveat.cli.commands import COMMANDS, command_of
from caveat.errors import CaveatError
from caveat.release.folder import write_manifest
from caveat.studies.study import Output as Written
from caveat.table.identifying import Output

SPEC = """
[data]
path = "named.csv"
synthetic = ["theirs.csv"]
[[scenario]]
name = "a neighbour"
keys = ["a"]
[tune]
objective = "S_pMSE one-way"
limits = { repU = 5 }
settings = { smallest = [50] }
[[generator]]
name = "copy"
"""
# Arguments of each command; all of these files are inputs. None is read before the check.
INPUTS = {
    "attack strong": ["data.csv", "other.csv", "--model", "model.caveat", "--spec", "release.toml",
                      "--membership"],
    "attack membership": ["data.csv", "other.csv", "--control", "control.csv",
                          "--spec", "release.toml"],
    "audit": ["data.csv", "other.csv", "--keys", "a", "--control", "control.csv",
              "--schema", "release.toml"],
    "benchmark": ["release.toml"],
    "check": ["data.csv", "other.csv", "--rules", "control.csv", "--dataset", "x"],
    "compare": ["data.csv", "other.csv", "--control", "control.csv", "--schema", "release.toml"],
    "diff": ["evidence.json", "other.csv"],
    "draft": ["control.csv", "--original", "data.csv"],
    "explain": ["release.toml", "--record", "1", "--release", "folder"],
    "init": ["data.csv"],
    "look": ["data.csv", "--schema", "release.toml", "--codebook", "other.csv"],
    "places": ["data.csv", "--move", "1", "2", "--target", "a=b", "--zone", "c",
               "--population", "other.csv", "--zones", "control.csv", "--inside", "evidence.json",
               "--schema", "release.toml"],
    "replication": ["data.csv", "other.csv", "control.csv", "--by", "a",
                    "--schema", "release.toml"],
    "report": ["evidence.json"],
    "run": ["release.toml", "--only", "audit", "--synthetic", "other.csv",
            "--key", "secret.key"],
    "safepub": ["data.csv", "--spec", "release.toml"],
    "study": ["buyer-beware", "--data", "folder"],
    "synth": ["data.csv", "--spec", "release.toml"],
    "tables": ["release.toml"],
    "tune": ["release.toml", "--data", "data.csv"],
}  # fmt: skip
FILES = {
    "attack strong": ("--json", "--records"),
    "attack membership": ("--json",),
    "audit": ("--json", "--records"),
    "check": ("--ledger",),
    "compare": ("--json",),
    "diff": ("--out", "--json"),
    "draft": ("--out", "--json"),
    "explain": ("--out", "--json"),
    "init": ("--out",),
    "look": ("--json", "--out"),
    "places": ("--out", "--json"),
    "replication": ("--json",),
    "report": ("--out",),
    "safepub": ("--out",),
    "synth": ("--out", "--model", "--dictionary"),
    "tune": ("--json", "--chart", "--state"),
}
FOLDERS = {
    "benchmark": ("--folder",),
    "check": ("--results",),
    "compare": ("--charts",),
    "run": ("--folder",),
    "study": ("--out",),
    "tables": ("--folder",),
}
NAMED = ("named.csv", "theirs.csv")  # by the specification
EVERY = ("data.csv", "other.csv", "control.csv", "model.caveat", "evidence.json", *NAMED)


def test_every_option_that_names_a_file_is_tried_here() -> None:
    """A command or an option that is new has to be entered above."""
    for name in COMMANDS:
        # The app writes nothing itself; the others are groups, whose attacks are tried below.
        if name in ("app", "attack", "generator", "model"):
            continue
        callback = command_of(name)
        given = {*INPUTS.get(name, ()), *FILES.get(name, ()), *FOLDERS.get(name, ())}
        for parameter in inspect.signature(callback).parameters.values():
            shape = str(parameter.annotation)
            if ("Path" in shape or "json" in parameter.name) and "typer.Option" in shape:
                option = re.search(r"--[a-z]+(?=['\"])", shape.partition("help")[0])
                assert (option[0] if option else f"--{parameter.name}") in given, (name, parameter)
    # All attacks share these options; two of them name every file that any does.
    attacks = [name for name in INPUTS if name.startswith("attack ")]
    given = {option for name in attacks for option in (*INPUTS[name], *FILES[name])}
    assert {f"--{name}" for name in {**STRONG_FILES, **OUTPUTS}} - {
        "--force",
        "--cluster",
        "--work",
    } <= given
    tables = {o.name for a in ATTACKS.values() for o in a.options if o.kind == "table"}
    assert tables == {"control"}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in EVERY:
        Path(name).write_text("confidential")
    Path("release.toml").write_text(SPEC)
    monkeypatch.setattr("caveat.cli.look._is_terminal", lambda: True)
    monkeypatch.setattr("caveat.cli.look._may_replace", lambda out: True)
    return tmp_path


def refusal(*arguments: str) -> str:
    """Call a command and return why it was refused."""
    before = {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    error = CliRunner().invoke(app, list(arguments)).exception
    assert isinstance(error, CaveatError), error
    assert {path: path.read_bytes() for path in Path().iterdir() if path.is_file()} == before
    return str(error)


def other_ways(file: str) -> list[str]:
    """Return other names of a file."""
    Path("folder").mkdir(exist_ok=True)
    hard, link, round_about = "hard.csv", "link.csv", f"folder/../{file}"
    os.link(file, hard)
    Path(link).symlink_to(file)
    Path("chain.csv").symlink_to(link)
    return [file, f"./{file}", round_about, str(Path(file).resolve()), hard, link, "chain.csv"]


@pytest.mark.parametrize(
    ("command", "option"), [(name, option) for name in FILES for option in FILES[name]]
)
def test_no_output_is_an_input(here: Path, command: str, option: str) -> None:
    read = [name for name in INPUTS[command] if Path(name).is_file()]
    if "release.toml" in read:
        read += NAMED
    beside = ("synth", "--model"), ("synth", "--dictionary")
    more = ["--out", "new.csv"] if (command, option) in beside else []
    for file in read:
        # A table goes by its extension; whatever else is read has none that a table could have.
        if command in ("safepub", "synth") and option == "--out" and not file.endswith(".csv"):
            continue
        arguments = [*command.split(), *INPUTS[command], *more, "--force", option]
        assert "this command reads it; choose another name" in refusal(*arguments, file)
    for way in other_ways(read[0]):
        for force in ([], ["--force"]):
            arguments = [*command.split(), *INPUTS[command], *more, *force, option, way]
            assert "this command reads it" in refusal(*arguments), way


def test_a_copy_that_gets_its_name_is_no_input(here: Path) -> None:
    Path("out-2.csv").symlink_to("data.csv")
    for arguments in (["--copies", "3", "--out", "out.csv"], ["--out", "out-2.csv"]):
        assert "reads" in refusal("synth", "data.csv", "--force", *arguments)
    Path("x-1.csv").write_text("confidential")
    assert "reads" in refusal("synth", "x-1.csv", "--copies", "2", "--out", "x.csv", "--force")


def test_names_that_nobody_gave_are_no_inputs(here: Path) -> None:
    os.link("data.csv", "release.tune.json")  # the state of a search
    assert "reads" in refusal("tune", "release.toml", "--data", "data.csv")
    os.link("data.csv", "release.schema.json")
    assert "reads" in refusal("init", "data.csv", "--schema", "--force")
    Path("report.html").write_text("{}")
    assert "reads" in refusal("report", "report.html", "--force")
    Path("charts").mkdir()
    os.link("data.csv", "charts/two-way.svg")
    for given in INPUTS["compare"], ["other.csv", "data.csv"]:
        assert "reads" in refusal("compare", *given, "--charts", "charts", "--force")


def test_two_outputs_are_two_files(here: Path) -> None:
    audit = ["audit", "data.csv", "other.csv", "--keys", "a", "--force"]
    assert "two outputs" in refusal(*audit, "--json", "x.csv", "--records", "./x.csv")
    assert "two outputs" in refusal(
        "synth", "data.csv", "--out", "x-1.csv", "--model", "x-1.csv", "--force"
    )


@pytest.mark.parametrize("sort", ["spec", "data", "made elsewhere", "below", "hard link"])
def test_a_release_replaces_no_folder_with_an_input(here: Path, sort: str) -> None:
    release = here / "release"
    (release / "inside").mkdir(parents=True)
    (release / "inside/evidence.json").write_text("old")
    arguments = ["run", "release.toml", "--only", "audit", "--force"]
    if sort == "spec":
        (release / "inside/release.toml").write_text(SPEC)
        arguments[1] = "release/inside/release.toml"
    elif sort == "data":
        (release / "named.csv").write_text("old")
        Path("release.toml").write_text(SPEC.replace("named.csv", "release/named.csv"))
    elif sort == "made elsewhere":
        (release / "inside/synthetic-1.csv").write_text("old")
        arguments += ["--synthetic", "release/inside/synthetic-1.csv"]
    elif sort == "below":
        (release / "x").mkdir()
        (release / "x" / "y.csv").write_text("old")
        arguments += ["--synthetic", "release/x/y.csv"]
    else:
        os.link("named.csv", release / "inside/synthetic-1.csv")
    files = [path for folder in (release, release / "inside") for path in folder.glob("*.*")]
    names = [path.relative_to(release).as_posix() for path in files]
    write_manifest(release, map(Output, names))
    before = sorted(release.rglob("*"))
    Path("link").symlink_to("release")
    for folder in ("release", "link"):
        assert "a file that this run reads" in refusal(*arguments, "--folder", folder)
    assert sorted(release.rglob("*")) == before


def test_a_study_replaces_none_of_its_data(tmp_path: Path) -> None:
    (tmp_path / "sd2011.csv").write_text("x")
    (tmp_path / "a.svg").symlink_to(tmp_path / "sd2011.csv")
    with refused("command.output.conflict"):
        Written(tmp_path, force=True, read=tmp_path).check(["a"])


def test_only_kept_columns_are_removed_after_a_fit(tmp_path: Path, monkeypatch) -> None:
    """The folder beside a model may hold the data."""
    monkeypatch.chdir(tmp_path)
    Path("m.caveat.partial").mkdir()
    data = Path("m.caveat.partial/data.csv")
    data.write_text("a,b\n" + "1,2\n3,4\n" * 100)
    arguments = ["--out", "x.csv", "--seed", "1", "--model", "m.caveat", "--resume"]
    result = CliRunner().invoke(app, ["synth", str(data), *arguments])
    assert result.exit_code == 0, result.exception
    assert [path.name for path in data.parent.iterdir()] == ["data.csv"]


def main(*arguments: str | bytes, **more: object) -> subprocess.CompletedProcess[bytes]:
    code = "from caveat.cli import main; main()"
    return subprocess.run(  # type: ignore[call-overload]
        [sys.executable, "-c", code, *arguments], capture_output=True, check=False, **more
    )


@pytest.mark.skipif(sys.platform != "linux", reason="names are any bytes there")
def test_names_that_are_not_utf8_are_refused_in_a_sentence(tmp_path: Path) -> None:
    odd = os.fsencode(tmp_path) + b"/\xff.csv"
    try:
        Path(os.fsdecode(odd)).write_text("a,b\n1,2\n")
    except OSError:
        pytest.skip("the file system allows UTF-8 only")
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n3,4\n" * 100)
    for arguments in (["look", odd], ["synth", str(tmp_path / "data.csv"), "--out", odd]):
        done = main(*arguments)
        assert done.returncode == 2, done.stderr
        assert done.stderr.count(b"\n") == 1, done.stderr
        assert b"not UTF-8; rename" in done.stderr
        assert b"\\udcff" in done.stderr
