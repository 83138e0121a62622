"""Model files."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.errors import CaveatError, CaveatWarning
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
    "method": "cart",
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


GUARDED = {
    **OPTIONS,
    "method": "guarded",
    "columns": {
        "region": {"guard": "light", "temperature": 0.3, "depth": 3},
        "height": {"range": [100, 220, 1], "scale": "even"},
        "satisfied": {"method": "lookup", "predictors": ["education"]},
    },
}


@pytest.mark.parametrize("strata", ["", "sex"])
def test_a_loaded_guarded_model_draws_the_same_data(tmp_path: Path, strata: str) -> None:
    model = Synthesizer(seed=3, strata=strata, **GUARDED).fit(TABLE)
    for name in ("model.caveat", "again.caveat"):
        save(model, tmp_path / name)
    again = load(tmp_path / "model.caveat")
    assert again.plan == model.plan
    assert again.plan.structure_seed == 3
    assert again.plan.columns["height"].grid == model.plan.columns["height"].grid
    assert again.tables(copies=2) == model.tables(copies=2)
    a, b = model.log_prob(TABLE), again.log_prob(TABLE)
    for name, values in a.columns.items():
        np.testing.assert_array_equal(values, b.columns[name])
    save(again, tmp_path / "third.caveat")
    files = ("again.caveat", "third.caveat")
    assert len({(tmp_path / name).read_bytes() for name in files}) == 1


def test_a_model_file_knows_which_trees_were_not_pruned(tmp_path: Path) -> None:
    options = {"method": "cart", "columns": {"marital": {"prune": False}}, "drop": ["bmi"]}
    model = Synthesizer(seed=3, **options).fit(TABLE)
    save(model, tmp_path / "model.caveat")
    again = load(tmp_path / "model.caveat")
    assert again.plan == model.plan
    assert not again.plan.columns["marital"].settings.prune
    assert again.plan.columns["age"].settings.prune
    assert again.tables() == model.tables()


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
    with refused("model.file.absent"):
        load(tmp_path / "none.caveat")
    model = Synthesizer(seed=3).fit(TABLE.select(["sex"]))
    save(model, tmp_path / "m.caveat")
    with refused("command.output.exists"):
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


def test_a_guarded_fit_goes_on_from_finished_columns(tmp_path: Path) -> None:
    synthesizer, plan = Synthesizer(seed=3, **GUARDED), make_plan(TABLE, GUARDED)
    key = fingerprint(TABLE, plan, 3)
    whole = synthesizer.fit(TABLE, done=lambda n, m: save_column(tmp_path, key, n, m))
    finished = load_columns(tmp_path, key, plan)
    assert sorted(finished) == sorted(plan.columns)
    del finished["income"]
    fitted: list[str] = []
    resumed = synthesizer.fit(TABLE, done=lambda n, _: fitted.append(n), finished=finished)
    assert fitted == ["income"]
    assert resumed.tables() == whole.tables()
    warmer = make_plan(TABLE, {**GUARDED, "temperature": 2})
    assert load_columns(tmp_path, fingerprint(TABLE, warmer, 3), warmer) == {}


def test_columns_of_other_data_plans_or_seeds_are_not_used(tmp_path: Path) -> None:
    plan = make_plan(TABLE)
    key = fingerprint(TABLE, plan, 3)
    model = Synthesizer(seed=3).fit(TABLE)
    save_column(tmp_path, key, "sex", model.columns["sex"])
    others = [
        fingerprint(TABLE.take(slice(0, 299)), plan, 3),
        fingerprint(TABLE, make_plan(TABLE, {"guard": "light"}), 3),
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


def changed(path: Path, change) -> None:
    """Change document and arrays of a model file, with checksums that are right."""
    with zipfile.ZipFile(path) as archive:
        document = json.loads(archive.read("model.json"))
        members = {n: archive.read(n) for n in archive.namelist() if n != "model.json"}
    change(document, members)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", json.dumps(document))
        for name, member in members.items():
            archive.writestr(name, member)


def header(descr: str, shape: str) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


def claims_8_tb(document, members) -> None:
    members["0.npy"] = header("<f8", "(1000000000000,)")


def holds_objects(document, members) -> None:
    members["0.npy"] = header("|O", "(1,)") + b"cos\nabort\n(tR."


def grows_when_read(document, members) -> None:
    members["0.npy"] = header("|i1", "(300000000,)") + bytes(300_000_000)


def has_a_huge_number(document, members) -> None:
    document["plan"]["columns"]["age"]["settings"]["minbucket"] = 10**400


def has_other_rows(document, members) -> None:
    document["n_rows"] = 10**12


def has_other_levels(document, members) -> None:
    document["columns"]["sex"]["dictionary"]["levels"].append("x")


def has_a_level_twice(document, members) -> None:
    document["columns"]["sex"]["dictionary"]["levels"] = ["female", "female"]


def shares_an_array(document, members) -> None:
    for part in document["columns"]["age"]["values"].values():
        part["$array"] = 0


def has_half_a_character(document, members) -> None:
    document["columns"]["sex"]["dictionary"]["levels"][0] = "\ud800"


def names_a_function(document, members) -> None:
    document["backend"] = "polars"
    document["columns"]["age"]["dictionary"]["storage"] = "read_csv(source='x')"


def is_nested(document, members) -> None:
    value: list = []
    for _ in range(500):
        value = [value]
    document["plan"]["remarks"] = value


def has_more_members(document, members) -> None:
    members["../x.npy"] = members["0.npy"]


@pytest.mark.parametrize(
    "change",
    [
        claims_8_tb,
        holds_objects,
        grows_when_read,
        has_a_huge_number,
        has_other_rows,
        has_other_levels,
        has_a_level_twice,
        shares_an_array,
        has_half_a_character,
        names_a_function,
        is_nested,
        has_more_members,
    ],
)
def test_a_file_whose_parts_contradict_each_other_is_refused(tmp_path: Path, change) -> None:
    path = tmp_path / "model.caveat"
    save(Synthesizer(seed=3, method="cart").fit(TABLE.select(["sex", "age"])), path)
    changed(path, change)
    with refused("model.file.damaged"):
        load(path)


def is_cold(tree) -> None:
    tree["guard"][0] = 0.0


def is_very_deep(tree) -> None:
    tree["guard"][4] = float("inf")


def has_more_codes(tree) -> None:
    tree["response"][0] += 1


def has_no_probability(tree) -> None:
    tree["log_structure"] = 0.5


def has_no_order(tree) -> None:
    tree["response"][2] = 1


@pytest.mark.parametrize(
    "change", [is_cold, is_very_deep, has_more_codes, has_no_probability, has_no_order]
)
def test_a_guarded_tree_that_is_none_is_refused(tmp_path: Path, change) -> None:
    path = tmp_path / "model.caveat"
    save(Synthesizer(seed=3, method="guarded").fit(TABLE.select(["sex", "age"])), path)
    changed(path, lambda document, _: change(document["columns"]["age"]["values"]["tree"]))
    with refused("model.file.damaged"):
        load(path)


@pytest.mark.parametrize(
    ("part", "value"),
    [("step", 0), ("low", 1e300), ("high", -1), ("scale", "log"), ("special", [1.5]),
     ("declared", 1), ("heap", None)],
)  # fmt: skip
def test_a_range_that_is_none_is_refused(tmp_path: Path, part: str, value: object) -> None:
    path = tmp_path / "model.caveat"
    save(Synthesizer(seed=3, method="guarded").fit(TABLE.select(["sex", "age"])), path)

    def change(document, _) -> None:
        document["plan"]["columns"]["age"]["grid"][part] = value

    changed(path, change)
    with refused("model.file.damaged"):
        load(path)


def test_a_pipe_is_no_model_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("pipe", "not a model file"), ("x" * 300, "cannot be read")):
        with pytest.raises(CaveatError, match=message):
            load(tmp_path / name)


def test_a_large_seed_and_names_with_spaces_come_back(tmp_path: Path) -> None:
    table = TABLE.select(["height", "weight"])
    table = Table({"the weight": table["weight"], "the height": table["height"]})
    rule = "`the weight` <= `the height`"
    model = Synthesizer(seed=2**200, rules=[rule]).fit(table)
    save(model, tmp_path / "m.caveat")
    again = load(tmp_path / "m.caveat")
    assert again.seed == 2**200
    assert again.tables() == model.tables()


def test_a_damaged_column_of_an_interrupted_fit_is_fitted_again(tmp_path: Path) -> None:
    table = TABLE.select(["sex", "age", "region"])
    synthesizer, plan = Synthesizer(seed=3), make_plan(table)
    key = fingerprint(table, plan, 3)
    whole = synthesizer.fit(table, done=lambda n, m: save_column(tmp_path, key, n, m))
    kept = min(tmp_path.glob("*"))
    kept.write_bytes(kept.read_bytes()[:100])
    with pytest.warns(CaveatWarning, match="damaged: its column is fitted again"):
        finished = load_columns(tmp_path, key, plan)
    assert len(finished) == 2
    name = "age" if "age" in finished else "region"
    other = Synthesizer(seed=3).fit(TABLE.select(["age", "region"])).columns[name]
    fitted: list[str] = []
    with pytest.warns(CaveatWarning, match=f"{name}: .* is damaged"):
        resumed = synthesizer.fit(
            table, done=lambda n, _: fitted.append(n), finished={**finished, name: other}
        )
    assert name in fitted
    assert len(fitted) == 2
    assert resumed.tables() == whole.tables()
