"""What is said about a specification of several tables that does not fit them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.release.tables import SMALL, TABLES

from caveat.datasets import patients
from caveat.errors import CaveatError
from caveat.release import Release
from caveat.table import write


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in patients(number=150).items():
        write(table, folder / f"{name}.csv")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[[scenario]]", '[[protect]]\nname = "code_extremes"\ntop = { born = 2000 }\n[[scenario]]',
         "line 14: protect: a protection changes one table, and [tables] names several"),
        ("[utility]", '[map]\nsettings = { guard = ["light"] }\n[utility]',
         "map: a map draws releases of one table, and [tables] names several; leave it out"),
        ("[tables.patients]", '[data]\nsynthetic = ["x.csv"]\n[tables.patients]',
         "line 5: data.synthetic: tables that were made elsewhere are measured one by one"),
        ('keys = ["sex"]', 'keys = ["sexx"]', "line 16: scenario.keys: no table has 'sexx'; "
         "perhaps sex"),
        ('keys = ["sex"]', 'table = "visit"\nkeys = ["sex"]', "line 16: scenario.table: there is "
         "no table 'visit'; perhaps visits"),
        ('keys = ["sex"]', 'table = "patients"\nkeys = ["diagnosis"]', "line 17: scenario.keys: "
         "rows of patients have no column 'diagnosis'; choose table = 'visits'"),
        ('keys = ["sex"]', 'unit = "group"\ntable = "patients"\nkeys = ["sex"]', "scenario.unit: a "
         "row of patients is a group by itself"),
        ("[utility]", '[synthesis]\ndrop = ["smoker"]\n[utility]', "line 17: scenario.targets: "
         "smoker is not released"),
        ("[utility]", '[[scenario]]\nname = "s"\nattacker = "strong"\ntargets = '
         '["number of visits"]\n[utility]', "number of visits is no column of a file"),
        ("[utility]", '[utility.rules.x]\nthen = "bornn > 3"\n[utility]', "utility.rules.x.then: "
         "no table has 'bornn'"),
        ("[utility]", '[utility.rules.x]\nthen = "born > 3"\ngroup = "sex"\n[utility]',
         "rows of several tables belong together by patient"),
        ("seed = 1", "seed = 1\ncontrol = 400", "release.control: 400 of 150 rows of patients "
         "would be held out"),
        ('links = { patient = "patients" }\norder = "date"\n', "", "patients and visits stand by "
         "themselves"),
        (TABLES, "[tables]\n", "[tables] names no file"),
    ],
)  # fmt: skip
def test_mistakes_have_their_line(folder: Path, old: str, new: str, message: str) -> None:
    assert SMALL.count(old) == 1
    path = folder / "broken.toml"
    path.write_text(SMALL.replace(old, new))
    with pytest.raises(CaveatError) as caught:
        Release.from_toml(path).run(folder / "nothing")
    assert message in str(caught.value)
    assert not (folder / "nothing").exists()
