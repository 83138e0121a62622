"""Model files."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.synthesis import Synthesizer, load, make_plan, save
from caveat.synthesis.store import (
    NOTICE,
    fingerprint,
    forget_columns,
    load_columns,
    save_column,
)
from caveat.table import Schema, Table

TABLE = Schema.from_mapping({"income": {"missing": {"-8": "not asked"}}}).apply(
    survey(rows=300).drop(["person"])
)
OPTIONS = {
    "rules": ["if age < 18 then marital = 'single'"],
    "derived": {"bmi": "round(weight / (height / 100) ** 2, 1)"},
    "special": {"friends": [0]},
    "columns": {
        "region": {"method": "sample"},
        "height": {"smoothing": "density", "minsplit": 40},
        "satisfied": {"method": "lookup", "predictors": ["education"]},
    },
}


@pytest.mark.parametrize(("strata", "proper"), [("", False), ("sex", False), ("", True)])
def test_a_loaded_model_draws_the_same_data(tmp_path: Path, strata: str, proper: bool) -> None:
    model = Synthesizer(seed=3, strata=strata, proper=proper, **OPTIONS).fit(TABLE)
    path = tmp_path / "model.caveat"
    save(model, path)
    again = load(path)
    assert str(again.plan) == str(model.plan)
    ours, theirs = model.tables(copies=2), again.tables(copies=2)
    assert ours == theirs
    assert theirs[0]["income"].missing[1].label == "not asked"
    a, b = model.log_prob(TABLE), again.log_prob(TABLE)
    assert a.unknown == b.unknown
    for name, values in a.columns.items():
        np.testing.assert_array_equal(values, b.columns[name])


def test_the_same_model_gives_the_same_bytes_and_says_it_is_confidential(tmp_path: Path) -> None:
    for name in ("a.caveat", "b.caveat"):
        save(Synthesizer(seed=3, **OPTIONS).fit(TABLE), tmp_path / name)
    first = (tmp_path / "a.caveat").read_bytes()
    assert first == (tmp_path / "b.caveat").read_bytes()
    assert NOTICE.encode() in first
    with zipfile.ZipFile(tmp_path / "a.caveat") as archive:
        assert json.loads(archive.read("model.json"))["notice"].startswith("CONFIDENTIAL")


def damage(path: Path, how: str) -> None:
    content = path.read_bytes()
    if how == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif how == "text":
        path.write_text("age,sex\n1,f\n")
    elif how == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("readme.txt", "hello")
    else:
        with zipfile.ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        document = json.loads(parts["model.json"])
        if how == "version":
            document["version"] = 99
        elif how == "column":
            del document["columns"]["age"]["dictionary"]["kind"]
        parts["model.json"] = json.dumps(document).encode()
        with zipfile.ZipFile(path, "w") as archive:
            for name, part in parts.items():
                archive.writestr(name, part)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", "the model file is damaged; fit the model again"),
        ("column", "the model file is damaged; fit the model again"),
        ("text", "not a model file; name a file that caveat synth --model wrote"),
        ("zip", "not a model file; name a file that caveat synth --model wrote"),
        ("version", "a model file of version 99; this program reads 1"),
    ],
)
def test_damaged_and_foreign_files_are_refused(tmp_path: Path, how: str, message: str) -> None:
    path = tmp_path / "model.caveat"
    save(Synthesizer(seed=3).fit(TABLE.select(["sex", "age"])), path)
    damage(path, how)
    with pytest.raises(CaveatError) as caught:
        load(path)
    assert message in str(caught.value)
    assert "model.caveat" in str(caught.value)


def test_a_changed_byte_is_found_or_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "model.caveat"
    model = Synthesizer(seed=3).fit(TABLE.select(["sex", "age"]))
    save(model, path)
    content = path.read_bytes()
    refused = 0
    for place in range(0, len(content), 41):
        changed = bytes([content[place] ^ 255])
        path.write_bytes(content[:place] + changed + content[place + 1 :])
        try:
            assert load(path).tables() == model.tables()
        except CaveatError:
            refused += 1
    assert refused > len(range(0, len(content), 41)) / 2


def test_missing_and_existing_files(tmp_path: Path) -> None:
    with pytest.raises(CaveatError, match="there is no such file"):
        load(tmp_path / "none.caveat")
    model = Synthesizer(seed=3).fit(TABLE.select(["sex"]))
    save(model, tmp_path / "m.caveat")
    with pytest.raises(CaveatError, match="the output exists already"):
        save(model, tmp_path / "m.caveat")
    save(model, tmp_path / "m.caveat", force=True)


def test_a_fit_goes_on_from_finished_columns(tmp_path: Path) -> None:
    synthesizer = Synthesizer(seed=3)
    plan = make_plan(TABLE)
    key = fingerprint(TABLE, plan, 3)
    kept = ["sex", "income"]

    def keep(name, model) -> None:
        if name in kept:
            save_column(tmp_path, key, name, model)

    whole = synthesizer.fit(TABLE, done=keep)
    finished = load_columns(tmp_path, key, plan)
    assert sorted(finished) == sorted(kept)
    fitted_again: list[str] = []
    resumed = synthesizer.fit(TABLE, done=lambda n, _: fitted_again.append(n), finished=finished)
    assert set(fitted_again) == set(plan.columns) - set(kept)
    assert resumed.tables()[0] == whole.tables()[0]


def test_columns_of_other_data_plans_or_seeds_are_not_used(tmp_path: Path) -> None:
    plan = make_plan(TABLE)
    key = fingerprint(TABLE, plan, 3)
    model = Synthesizer(seed=3).fit(TABLE)
    save_column(tmp_path, key, "sex", model.columns["sex"])
    others = [
        fingerprint(TABLE.take(slice(0, 299)), plan, 3),
        fingerprint(TABLE, make_plan(TABLE, {"minbucket": 6}), 3),
        fingerprint(TABLE, plan, 4),
    ]
    assert all(load_columns(tmp_path, other, plan) == {} for other in others)


def test_half_a_kept_column_is_no_column(tmp_path) -> None:
    """A process that was killed while it kept a column leaves a draft: the next goes on."""
    table = Table.from_frame({"a": ["x", "y"] * 30})
    model = Synthesizer(seed=1).fit(table)
    save_column(tmp_path, "key", "a", model.columns["a"])
    (tmp_path / ".caveat-draft-confidential-0123456789ab-b.column").write_bytes(b"PK half")
    assert list(load_columns(tmp_path, "key", model.plan)) == ["a"]
    assert "CONFIDENTIAL" in (tmp_path / "CONFIDENTIAL.txt").read_text()
    forget_columns(tmp_path)
    assert not tmp_path.exists()
