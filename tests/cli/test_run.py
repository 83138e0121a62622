"""What ``caveat run`` says when it is done; the run itself is tried in tests/release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.report.sample import small

from caveat.cli.run import _print
from caveat.errors import FEW
from caveat.release.folder import Outcome


def said(content: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> str:
    _print(Outcome(Path("release"), content))
    return capsys.readouterr().out


def test_what_was_withheld_from_the_external_report_is_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    content = small()
    assert "not in the external report" not in said(content, capsys)
    content["scenarios"][0]["measurements"][0]["n"] = 9
    content["scenarios"][1]["measurements"][0]["n"] = 1
    assert (
        "not in the external report, fewer than 10 records behind it: a neighbour: repU; "
        "who knows everything else: strongShare of marital\n"
    ) in said(content, capsys)
    content["scenarios"][0]["measurements"][1] |= {"n": 2, "value": 0.5, "target": None}
    name = content["scenarios"][0]["measurements"][1]["measure"]
    assert f"behind it: a neighbour: repU, {name}; who" in said(content, capsys)


def test_a_wide_table_does_not_bury_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    content = small()
    first, second = content["scenarios"][:2]
    first["remarks"] = [f"v{i}: a value does not occur in the original" for i in range(500)]
    second["remarks"] = ["membership: left out"]
    one = first["measurements"][0]
    first["measurements"] = [one | {"n": 2, "target": f"v{i}"} for i in range(500)]
    _print(Outcome(Path("release"), content))
    out, err = capsys.readouterr()
    notes = [line for line in err.splitlines() if line.startswith("note: ")]
    assert len([line for line in notes if line.startswith("note: v")]) == FEW
    assert "note: membership: left out" in notes
    assert any(f"{500 - FEW} more remarks" in line for line in notes)
    (withheld,) = (line for line in out.splitlines() if line.startswith("not in the external"))
    assert withheld.count(one["measure"]) == FEW
    assert f"and {500 - FEW} more" in withheld


@pytest.mark.parametrize(
    ("files", "what"),
    [
        ([("synthetic-1.csv", 1, ""), ("synthetic-1.csv.gz", 1, "")], "1 synthetic table"),
        ([("synthetic-1.csv", 1, ""), ("synthetic-2.csv", 2, "")], "2 synthetic tables"),
        ([("synthetic-1/a.xlsx", 1, "a"), ("synthetic-1/a.xlsx", 1, "b")], "2 synthetic tables"),
        (
            [(f"synthetic-{copy}/{name}.csv", copy, name) for copy in (1, 2) for name in "ab"],
            "4 synthetic tables",
        ),
        ([("theirs.csv", 1, ""), ("theirs.csv", 2, "")], "2 synthetic tables"),
    ],
)
def test_tables_are_counted(
    files: list[tuple[str, int, str]], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    content = small()
    content["release"]["files"] = [
        {"name": name, "copy": copy, **({"table": table} if table else {})}
        for name, copy, table in files
    ]
    assert f"release: {what}, evidence and reports\n" in said(content, capsys)


def test_the_last_line_names_the_folder_that_may_leave(capsys: pytest.CaptureFixture[str]) -> None:
    content = small()
    content["trial"] = False
    assert "what may leave lies in release/public" in said(content, capsys)
    content["trial"] = True
    assert "public" not in said(content, capsys)
