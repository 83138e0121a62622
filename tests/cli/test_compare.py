"""``caveat compare`` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.errors import CaveatError
from caveat.table import Table, write

SECRET = "Zebediah"


@pytest.fixture
def files(tmp_path: Path, people: Table) -> Path:
    rng = np.random.default_rng(1)
    for name in ("original", "first", "second", "control"):
        table = people if name == "original" else people.take(rng.integers(0, 400, 400))
        if name == "original":
            codes = np.zeros(len(people), np.uint8)
            codes[0] = 1
            column = Table.from_frame({"n": ["x", SECRET]})["n"].with_codes(1 - codes)
            table = table.with_columns({"name": column})
        else:
            column = Table.from_frame({"n": ["x"]})["n"].with_codes(np.zeros(400, np.uint8))
            table = table.with_columns({"name": column})
        write(table, tmp_path / f"{name}.csv")
    return tmp_path


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    if isinstance(result.exception, CaveatError):
        return 2, str(result.exception)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def test_summary_json_and_charts(files: Path) -> None:
    code, text = run(
        files / "original.csv", files / "first.csv", files / "second.csv",
        "--control", files / "control.csv", "--model", "height ~ age + sex",
        "--json", files / "out.json", "--charts", files / "charts",
    )  # fmt: skip
    assert code == 0
    for word in ("2nd copy", "control", "S_pMSE two-way", "height ~ age + sex", "fare worst"):
        assert word in text
    content = json.loads((files / "out.json").read_text())
    assert content["n_synthetic"] == [400, 400]
    entry = content["measures"]["S_pMSE two-way"]
    assert entry["value"] == pytest.approx(
        (entry["details"]["copy 1"] + entry["details"]["copy 2"]) / 2
    )
    assert entry["details"]["control"] is not None
    assert entry["details"]["second copy"] is not None
    names = {path.name for path in (files / "charts").iterdir()}
    assert {"distributions.png", "two-way.svg", "associations.html", "model-1.png"} <= names
    assert len(names) == 15


def test_models_on_some_of_the_rows(files: Path) -> None:
    code, text = run(files / "original.csv", files / "first.csv", "--model-rows", 100)
    assert code == 0
    plain = " ".join(text.split())
    assert "pMSE: on 100 of 400 original and 100 of 400 synthetic rows, drawn at random" in plain
    assert run(files / "original.csv", files / "first.csv", "--model-rows", 99)[0] == 2


def test_json_to_the_screen_is_nothing_but_json(files: Path) -> None:
    code, text = run(files / "original.csv", files / "first.csv", "--json", "-")
    assert code == 0
    start, stop = text.index("{\n"), text.rindex("}") + 1
    content = json.loads(text[start:stop])
    assert content["format"] == 1
    assert not re.search(r"\bNaN\b", text)


def test_no_value_of_the_data_is_printed(files: Path) -> None:
    code, text = run(files / "original.csv", files / "first.csv", "--json", files / "out.json")
    assert code == 0
    assert SECRET not in text
    assert SECRET not in (files / "out.json").read_text()


def test_mistakes(files: Path) -> None:
    code, text = run(files / "original.csv", files / "none.csv")
    assert (code, "no such file" in text) == (2, True)
    (files / "out.json").write_text("{}")
    code, text = run(files / "original.csv", files / "first.csv", "--json", files / "out.json")
    assert (code, "exists already" in text) == (2, True)
    assert (files / "out.json").read_text() == "{}"
    code, text = run(files / "original.csv", files / "first.csv", "--model", "height")
    assert (code, "a model is a formula" in text) == (2, True)
