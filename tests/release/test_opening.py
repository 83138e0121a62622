"""The beginning of a release: files looked at, a first specification, held against the data."""

from __future__ import annotations

import json
import tomllib

import numpy as np
import pandas as pd
import pytest
from tests.app.files import homes, messy
from tests.refusals import refused

from caveat.datasets import patients
from caveat.errors import CaveatError
from caveat.release.opening import example, held_against_data, opened
from caveat.table import write


def nothing(step, share):
    assert 0 <= share <= 1


def test_the_built_in_survey_is_looked_at_and_has_a_specification_that_fits(tmp_path):
    file = example(tmp_path, "survey")
    told = opened(tmp_path, [file], nothing)
    (table,) = told["tables"].values()
    assert table["rows"] == 2000
    assert [c["name"] for c in table["columns"]][:3] == ["person", "interviewed", "sex"]
    assert told["known"][:3] == ["sex", "age", "region"]
    assert {"repU", "DiSCO"} == set(told["limits"]["release"])
    assert set(told["limits"]["strong"]) >= {"strongWorst"}
    assert 'path = "survey.csv"' in (tmp_path / "release.toml").read_text()
    held = held_against_data(tmp_path / "release.toml")
    assert [row[0] for row in held["plan"]][-2:] == ["person", "bmi"]
    assert held["steps"][0] == "read"
    # No value that may be that of few people.
    text = json.dumps([told, held])
    assert "energy worker" not in text
    assert "96" not in json.dumps(held)


def test_a_specification_that_is_there_stays(tmp_path):
    example(tmp_path, "survey")
    text = '[data]\npath = "survey.csv"\n[columns.age]\nkind = "category"\n'
    (tmp_path / "release.toml").write_text(text)
    told = opened(tmp_path, [], nothing)
    kinds = {c["name"]: c["kind"] for c in told["tables"]["survey"]["columns"]}
    assert kinds["age"] == "category"
    assert (tmp_path / "release.toml").read_text() == text


def test_two_tables_that_belong_together(tmp_path):
    for name, table in patients(80).items():
        write(table, tmp_path / f"{name}.csv")
    files = sorted(path.name for path in tmp_path.glob("*.csv"))
    told = opened(tmp_path, files, nothing)
    assert len(told["tables"]) == len(files) > 1
    assert told["links"]
    assert "[tables." in (tmp_path / "release.toml").read_text()
    assert len(opened(tmp_path, [], nothing)["tables"]) == len(files)


def test_households_and_persons_are_ready_to_run(tmp_path):
    homes(tmp_path, 120)
    told = opened(tmp_path, ["households.csv", "persons.csv"], nothing)
    assert told["links"] == ["persons: household refers to household of households."]
    assert told["known"] == ["sex", "age", "region", "marital", "education", "hhsize"]
    persons = told["tables"]["persons"]
    # Keys are made afresh: they are not asked about.
    assert persons["keys"] == ["household", "person"]
    assert {f["columns"][0] for f in persons["findings"]} & {"household", "person"} == set()
    assert [c["called"] for c in persons["columns"]][:2] == ["role", "age"]
    assert {f["table"] for f in persons["findings"]} == {"persons"}
    held = held_against_data(tmp_path / "release.toml")
    assert "scenario: someone who knows everybody else" in held["steps"]
    made = {row[0]: row[1] for row in held["plan"]}
    assert (made["income"], made["weight"]) == ("guarded", "drop")
    assert "household" not in made
    spec = tmp_path / "release.toml"
    text = spec.read_text()
    spec.write_text(text.replace('keys = ["sex"', 'keys = ["sexe"'))
    with refused("data.column.unknown", where="release.toml, line 63"):
        held_against_data(spec)
    spec.write_text(text)
    # As the specification has it, and not as the values suggest.
    spec.write_text(spec.read_text().replace('key = "person"', ""))
    assert opened(tmp_path, [], nothing)["tables"]["persons"]["keys"] == ["household"]


def test_a_column_of_two_tables_is_called_by_both_names(tmp_path):
    homes(tmp_path, 120)
    for name in ("households", "persons"):
        file = tmp_path / f"{name}.csv"
        frame = pd.read_csv(file)
        frame["wave"] = np.arange(len(frame)) % 3
        frame.to_csv(file, index=False)
    told = opened(tmp_path, ["households.csv", "persons.csv"], nothing)
    called = [c["called"] for table in told["tables"].values() for c in table["columns"]]
    assert [name for name in called if "wave" in name] == ["households.wave", "persons.wave"]
    assert held_against_data(tmp_path / "release.toml")["steps"][0] == "read"


def test_how_a_text_file_is_read_stands_in_the_specification(tmp_path):
    messy(tmp_path / "x.csv", 60)
    with refused("data.encoding.mismatch"):
        opened(tmp_path, ["x.csv"], nothing)
    assert not (tmp_path / "release.toml").exists()
    told = opened(tmp_path, ["x.csv"], nothing, {"encoding": "mac_roman"})
    assert "Einkommen €" in [c["name"] for c in told["tables"]["x"]["columns"]]
    data = tomllib.loads((tmp_path / "release.toml").read_text())["data"]
    assert data == {"path": "x.csv", "encoding": "mac_roman"}
    assert opened(tmp_path, [], nothing)["tables"]["x"]["rows"] == 60


@pytest.mark.parametrize("content", [b"", b"\x00\xff\xfe\x01" * 99, b"a,b\n1\n1,2,3\n"])
def test_garbage_is_a_sentence(tmp_path, content):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(CaveatError):
        opened(tmp_path, ["x.csv"], nothing)
    assert not (tmp_path / "release.toml").exists()


def test_what_is_not_named_is_not_looked_at(tmp_path):
    with refused("app.file.absent"):
        opened(tmp_path, [], nothing)
    with refused("data.example.unknown"):
        example(tmp_path, "../x")


def test_values_of_few_people_are_not_told(tmp_path):
    rows = [f"{800 + 13 * i % 5000},{('Berlin', 'berlin')[i % 2]}" for i in range(400)]
    rows += ["99999,Oberammergau", "900,OBERAMMERGAU"]
    (tmp_path / "x.csv").write_text("income,town\n" + "\n".join(rows) + "\n")
    told = opened(tmp_path, ["x.csv"], nothing)
    says = [f["message"] for f in told["tables"]["x"]["findings"]]
    assert "99999" not in " ".join(says)
    assert "berammergau" not in " ".join(says).lower()
    codes = {f["code"]: f for f in told["tables"]["x"]["findings"]}
    assert codes["missing-code"]["message"] == (
        "a value may be a code for missing, in 1 row; caveat look says which values."
    )
    assert codes["missing-code"]["suggestion"]["missing"] == [99999]  # it can be accepted
    (tmp_path / "y.csv").write_text("income,town\n" + "\n".join(rows[:-2]) + "\n")
    (tmp_path / "release.toml").unlink()
    told = opened(tmp_path, ["y.csv"], nothing)
    assert "Berlin" in json.dumps([f["message"] for f in told["tables"]["y"]["findings"]])
