"""Each mistake in a specification gives one line: the file, the line, the entry, what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused
from tests.spec.broken import BROKEN, GOOD, LISTS

from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.release import ReleaseSpec
from caveat.table import Table, write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("broken")
    write(survey(rows=200), folder / "survey.csv")
    return folder


def read(folder: Path, text: str) -> tuple[ReleaseSpec, Table]:
    path = folder / "release.toml"
    path.write_text(text, encoding="utf-8")
    spec = ReleaseSpec.from_toml(path)
    table = spec.read_data()
    spec.check(table)
    return spec, table


def test_without_a_mistake_there_is_none(folder: Path) -> None:
    spec, table = read(folder, GOOD)
    assert table.n_rows == 200
    assert spec.line("scenario", 1, "targets", 0) == 38
    assert spec.line("scenario", 1, "keys") == 35  # not there: the scenario itself
    assert spec.text == GOOD.encode()


@pytest.mark.parametrize("name", BROKEN)
def test_a_mistake_is_named_with_its_line(folder: Path, name: str) -> None:
    old, new, line, message = BROKEN[name]
    assert GOOD.count(old) == 1, "the variant must change one place"
    with pytest.raises(CaveatError) as caught:
        read(folder, GOOD.replace(old, new))
    text = str(caught.value)
    assert "\n" not in text
    for short, full in LISTS.items():
        message = message.replace(short, full)
    assert text == f"release.toml, line {line}: {message}."


def message(folder: Path, text: str | bytes) -> str:
    path = folder / "release.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CaveatError) as caught:
        ReleaseSpec.from_toml(path)
    return str(caught.value)


def test_a_file_without_scenarios(folder: Path) -> None:
    text = '[data]\npath = "survey.csv"\n'
    expected = "release.toml, line 1: the section [[scenario]] is missing; add [[scenario]]."
    assert message(folder, text) == expected
    expected = (
        "release.toml, line 1: scenario must be a list of tables [[scenario]] that is not empty."
    )
    assert message(folder, f"scenario = []\n{text}") == expected
    expected = (
        "release.toml, line 3: scenario must be a list of tables [[scenario]] that is not empty."
    )
    assert message(folder, f"{text}[scenario]\nname = 'x'") == expected


def test_files_that_are_no_text(folder: Path) -> None:
    text = GOOD.replace("Living", "M\u00fcller").encode("latin-1")
    expected = "release.toml, line 2: this is not UTF-8; save it as UTF-8."
    assert message(folder, text) == expected
    (folder / "release.toml").unlink()
    with refused("spec.file.absent"):
        ReleaseSpec.from_toml(folder / "release.toml")


def test_an_end_that_is_missing(folder: Path) -> None:
    text = message(folder, GOOD + "reports = [\n'internal',\n")
    assert text.startswith("release.toml, line 64: this is not valid TOML (")


def test_marks_and_line_ends_of_windows_do_no_harm(folder: Path) -> None:
    path = folder / "release.toml"
    raw = b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode()
    path.write_bytes(raw)
    spec = ReleaseSpec.from_toml(path)
    assert spec.text == raw
    assert spec.line("output") == 61


def test_of_many_columns_only_the_nearest_is_named(tmp_path: Path) -> None:
    write(Table.from_frame({f"v{i}": [1, 2] for i in range(99)}), tmp_path / "wide.csv")
    text = "[data]\npath = 'wide.csv'\n[[scenario]]\nname = 'x'\nkeys = ['v1', 'v111']\n"
    with pytest.raises(CaveatError) as caught:
        read(tmp_path, text)
    assert str(caught.value) == (
        "release.toml, line 5: scenario.keys: the data have no column 'v111'; perhaps v11; "
        "see caveat look FILE."
    )


def test_tables_from_elsewhere(folder: Path) -> None:
    path = folder / "release.toml"
    path.write_text(GOOD, encoding="utf-8")
    spec = ReleaseSpec.from_toml(path)
    table = spec.read_data()
    with refused("spec.entry.absent", where="release.toml, line 8"):
        spec.read_synthetic()
    with refused("release.column.absent", where="release.toml, line 31"):
        spec.check(table, released=["sex", "age", "marital", "income"])
    path.write_text(GOOD.replace('decimal = "."', "synthetic = ['a.csv']"), encoding="utf-8")
    with refused("data.file.absent", where="release.toml, line 10"):
        ReleaseSpec.from_toml(path).read_synthetic()


HEAD = '[data]\npath = "survey.csv"\n'
SCENARIO = '[[scenario]]\nname = "a neighbour"\nkeys = ["sex"]\n'


def test_all_mistakes_of_form_are_named_at_once(folder: Path) -> None:
    text = HEAD + '[release]\ncopies = 0\nsead = 1\n[synthesis]\nmethod = "guardd"\n' + SCENARIO
    with pytest.raises(CaveatError) as caught:
        read(folder, text + 'limits = { DiSCO = "5" }\n')
    lines = [line.split(":")[0] for line in str(caught.value).splitlines()]
    assert lines == [f"release.toml, line {n}" for n in (4, 5, 7, 11)]


def test_all_mistakes_about_the_data_are_named_at_once(folder: Path) -> None:
    text = HEAD + '[synthesis]\norder = ["sexx", "agee"]\n[[protect]]\nname = "round_numbers"\n'
    text += 'base = { incom = 10 }\n[[scenario]]\nname = "a"\nkeys = ["sex", "towm"]\n'
    with pytest.raises(CaveatError) as caught:
        read(folder, text + 'targets = ["incme"]\n[utility]\ntargets = ["bmmi"]\n')
    lines = str(caught.value).splitlines()
    named = ("sexx", "agee", "incom", "towm", "incme", "bmmi")
    assert len(lines) == len(named)
    for line, name in zip(lines, named, strict=True):
        assert repr(name) in line
