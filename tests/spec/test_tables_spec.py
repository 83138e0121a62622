"""The specification of ``caveat tables``: what it says, and mistakes with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.outputs.tables import Layout
from caveat.spec.document import Document
from caveat.spec.tables_spec import TablesSpec

SPEC = """\
[data]
path = "survey.csv"
[publication]
least = 4
dominance = [2, 0.9]
zeros = "hidden"
[hierarchies]
region = "regions.csv"
sex = { f = "all" }
[[table]]
name = "one"
by = ["region", "sex"]
depth = { region = 1 }
"""


def read(folder: Path, text: str) -> TablesSpec:
    (folder / "tables.toml").write_text(text, encoding="utf-8")
    (folder / "regions.csv").write_text("code,above\n1,9\n2,9\n3,8\n")
    return TablesSpec.from_document(Document.read(folder / "tables.toml"))


def test_everything_is_read(tmp_path: Path) -> None:
    spec = read(tmp_path, SPEC)
    assert spec.path == tmp_path / "survey.csv"
    assert spec.layouts == (Layout("one", ("region", "sex"), {"region": 1}),)
    assert spec.parents == {"region": {"1": "9", "2": "9", "3": "8"}, "sex": {"f": "all"}}
    assert (spec.rules.least, spec.rules.dominance, spec.rules.zeros) == (4, (2, 0.9), True)
    assert spec.files == (tmp_path / "regions.csv",)


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("least = 4", "least = 0", 4, "must be a whole number, 1 or more"),
        ("dominance = [2, 0.9]", "dominance = [2, 1.9]", 5, "share between 0 and 1"),
        ("dominance = [2, 0.9]", "dominance = [2.7, 0.9]", 5, "a whole number of contributors"),
        ('zeros = "hidden"', 'zeroes = "hidden"', 6, "there is no key 'zeroes'"),
        ('"regions.csv"', '"nowhere.csv"', 8, "no such file"),
        ("sex = {", "age = {", 9, "no table has the column 'age'"),
        ('by = ["region", "sex"]', "by = []", 12, "not empty"),
        ('name = "one"', "", 10, "table.name is missing"),
    ],
)
def test_mistakes_have_their_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    with pytest.raises(CaveatError) as error:
        read(tmp_path, SPEC.replace(old, new))
    assert f"tables.toml, line {line}: " in str(error.value)
    assert what in str(error.value)


def test_two_tables_have_two_names_and_a_code_one_above_it(tmp_path: Path) -> None:
    for name in ("one", "ONE"):
        with refused("spec.entry.duplicate", where="tables.toml, line 14"):
            read(tmp_path, SPEC + f'[[table]]\nname = "{name}"\nby = ["sex"]\n')
    (tmp_path / "twice.csv").write_text("code,above\n1,9\n1,8\n")
    with refused("outputs.hierarchy.conflict", where="tables.toml, line 8"):
        read(tmp_path, SPEC.replace("regions.csv", "twice.csv"))
