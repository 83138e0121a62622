"""What the commands print: to terminals that obey, that are full, and that are gone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.text import Text

from caveat.cli import console

COMMANDS = "\x1b[2J\x9b31m\x07\u202e"
OBEYED = set("\x1b\x9b\x07\u202e")
posix = pytest.mark.skipif(os.name == "nt", reason="devices and folders of Unix")


def caveat(*arguments: object, **options) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", "from caveat.cli import main; main()"]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([*program, *map(str, arguments)], text=True, **streams)


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    path = tmp_path / "hostile.csv"
    rows = f'"a{COMMANDS}",1\n"b\x1b]0;title\x07",2\n' * 40
    path.write_text(f'"sex{COMMANDS}",age\n{rows}', encoding="utf-8")
    return path


def test_a_file_does_not_command_the_terminal(hostile: Path) -> None:
    done = caveat("look", hostile)
    assert done.returncode == 0
    assert "sex\\x1b[2J\\x9b31m" in done.stdout.replace("\n", "")
    assert not OBEYED & set(done.stdout + done.stderr)


def test_neither_does_json_which_says_the_same(hostile: Path) -> None:
    done = caveat("look", hostile, "--json", "-")
    assert not OBEYED & set(done.stdout)
    assert json.loads(done.stdout)["columns"][0]["name"] == f"sex{COMMANDS}"


def test_notes_do_not_either_and_plain_names_stay(capsys) -> None:
    console.remark("caf\xe9\xa0\u4e2d \x1b]52;c;eA==\x07 end")
    console.out.print(Text("two\nlines\x9b", style="bold"))
    said = capsys.readouterr()
    assert said.err == "caf\xe9\xa0\u4e2d \\x1b]52;c;eA== end\n"  # rich drops the bell itself
    assert said.out == "two\nlines\\x9b\n"


@posix
@pytest.mark.parametrize("arguments", [["--version"], ["look", "data.csv"], ["measures"]])
def test_a_full_disk_behind_the_screen_is_one_sentence(arguments, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a,b\n" + "1,2\n2,3\n" * 30)
    with Path("/dev/full").open("w") as full:
        done = caveat(*arguments, stdout=full, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("caveat: the output cannot be written (No space left")
    assert done.stderr.count("\n") == 1


@posix
def test_a_mistake_that_nobody_hears_is_still_a_mistake(tmp_path: Path) -> None:
    with Path("/dev/full").open("w") as full:
        assert caveat("look", tmp_path / "none.csv", stderr=full).returncode == 2


@posix
def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    inside = f"import os; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r})"
    program = f"{inside}; from caveat.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "init", "--schema"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith("[command.folder.absent]\n")
