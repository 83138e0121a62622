"""Invented values: of the form of the original, drawn from the root, and of no record."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused
from tests.synthesis.linked.people import households, patients

from caveat.synthesis import Synthesizer, load, save
from caveat.synthesis.linked import GroupModel, LinkedModel
from caveat.synthesis.model import Store
from caveat.synthesis.replacing import Replacement
from caveat.table import Table
from caveat.table.linked import Linked
from caveat.table.table import Column

pytestmark = pytest.mark.filterwarnings("ignore")
N = 300
RNG = np.random.default_rng(7)
PATIENTS = {
    "number": RNG.permutation(np.arange(40_000, 40_000 + N)),
    "chart": [f"PAT-{i:05d}/{'ABC'[i % 3]}" for i in RNG.permutation(99_999)[:N]],
    "name": RNG.choice(["Fox, Mary", "Bird, John", "Hill, Ann", "Wood, Linda", "Day, Mark"], N),
    "ward": RNG.choice(["eye", "ear"], N),
    "nights": RNG.poisson(4, N),
}
REPLACE = {"number": "id", "chart": "code", "name": "name"}


def column(values: list) -> Column:
    return Table.from_frame({"x": values})["x"]


def made(how: str, values: list, n: int = 50, seed: int = 1) -> list:
    return Replacement.of(how, column(values)).make(n, seed, "x").values.tolist()


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([f"A{i:03d}" for i in range(30)], "A[0-9]{3}"),
        ([f"DE{i:02d}-x{'abcde'[i % 5]}" for i in range(30)], "DE[0-9]{2}-x[a-z]"),
        ([*(f"A{i:03d}" for i in range(30)), "another form 7"], "A[0-9]{3}"),
        ([f"{'QXZWV'[i % 5]}{i}" for i in range(10, 30)], "[A-Z][0-9]{2}"),
        ([f"{i * 7919 + 3:08x}" for i in range(60)], "[0-9a-f]{8}"),
    ],
)
def test_codes_have_the_commonest_form(values: list[str], form: str) -> None:
    codes = made("code", values)
    assert all(re.fullmatch(form, code) for code in codes)
    assert len(set(codes)) == 50


def test_codes_of_numbers_are_numbers_of_so_many_digits() -> None:
    codes = made("code", list(range(40_000, 40_300)), 2_000)
    assert len(set(codes)) == 2_000
    assert all(isinstance(code, int) and 10_000 <= code <= 99_999 for code in codes)


def test_codes_repeat_only_where_the_form_has_no_more() -> None:
    assert len(set(made("code", [f"A{i}" for i in range(10)], 25))) == 10


@pytest.mark.parametrize("how", ["name", "code", "id"])
def test_no_value_is_used_but_its_form(how: str) -> None:
    """Other values of the same form give the same invented ones."""
    ours = [f"{a}{b}rk" for a in "ABCDE" for b in "aeiou"]
    theirs = [f"{a}{b}nt" for a in "VWXYZ" for b in "aeiou"]
    if how == "code":
        ours, theirs = ([text.replace(ending, "") for text in texts]
                        for texts, ending in ((ours, "rk"), (theirs, "nt")))  # fmt: skip
    assert made(how, ours) == made(how, theirs)
    assert made(how, ours) != made(how, ours, seed=2) or how == "id"


@pytest.mark.parametrize(
    ("name", "form"),
    [("Anna", "{}"), ("MEYER", "{}"), ("von der Aue", "{} {} {}"), ("Fox, Mary", "{}, {}"),
     ("M. Fox", "[A-Z]. {}"), ("d'Arc", "[a-z]'{}")],
)  # fmt: skip
def test_names_are_written_as_the_commonest_are_and_nobody_has_them(name: str, form: str) -> None:
    words = ["Adam", "Berta", "Cosima", "Dora", "Emil", "Frieda"]
    texts = [re.sub(r"\w{3,}", lambda found, w=word: w.upper() if found[0].isupper() else w, name)
             for word in words]  # fmt: skip
    invented = made("name", texts)
    pattern = form.replace("{}", "[A-Za-z]{5}(?:oq|OQ)").replace("[a-z]'", "[A-Za-z]'")
    assert all(re.fullmatch(pattern, text) for text in invented), invented[:3]
    assert len(set(invented)) > 40


def test_a_single_value_is_never_a_form() -> None:
    with refused("data.value.too-few"):
        made("code", ["A-17"] * 20)


@pytest.mark.parametrize("how", ["name", "code"])
def test_what_has_no_such_form_is_one_sentence(how: str) -> None:
    with refused("synthesis.column.type"):
        made(how, [0.5, 1.25, 3.75])
    table = Table.from_frame({**PATIENTS, "bmi": RNG.normal(25, 4, N)})
    with refused("synthesis.column.type", column="bmi", where="synthesis, replace") as caught:
        Synthesizer(seed=1, replace={"bmi": how}).plan(table)
    assert caught.value.column == "bmi"


def test_a_release_has_the_columns_in_their_order_and_no_value_of_them() -> None:
    table = Table.from_frame(PATIENTS)
    model = Synthesizer(seed=1, replace=REPLACE).fit(table)
    release = Table.from_frame(model.sample())
    assert release.names == table.names
    for name in REPLACE:
        ours, theirs = set(table[name].values), set(release[name].values)
        assert not ours & theirs
    assert len(set(release["number"].values)) == len(set(release["chart"].values)) == N
    assert list(model.tables()[0]) == ["ward", "nights"]  # what is measured
    other = Synthesizer(seed=1, drop=list(REPLACE)).fit(table)
    assert release.select(["ward", "nights"]) == Table.from_frame(other.sample())


def test_every_copy_has_codes_of_its_own_and_the_same_root_the_same_ones() -> None:
    table = Table.from_frame(PATIENTS)
    first, second = Synthesizer(seed=1, replace=REPLACE).fit(table).sample(copies=2)
    assert list(first["chart"]) != list(second["chart"])
    again = Synthesizer(seed=1, replace=REPLACE).fit(table).sample()
    assert list(first["chart"]) == list(again["chart"])
    other = Synthesizer(seed=2, replace=REPLACE).fit(table).sample()
    assert list(first["name"]) != list(other["name"])


def test_a_model_file_and_blocks_give_the_same_values(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("caveat.synthesis.model.BLOCK", 128)
    monkeypatch.setattr("caveat.synthesis.model.BLOCK", 128)
    model = Synthesizer(seed=1, replace=REPLACE).fit(pd.DataFrame(PATIENTS))
    save(model, tmp_path / "m.caveat")
    loaded = load(tmp_path / "m.caveat")
    whole = model.sample()
    assert whole.equals(loaded.sample())
    for blocks in (loaded.blocks(), Store(tmp_path).blocks(model)):
        held = [block.to_frame("pandas") for block in blocks]
        assert len(held) == 3
        for name in whole:
            assert [value for block in held for value in block[name]] == list(whole[name])


def test_rows_of_a_group_share_what_they_shared(tmp_path) -> None:
    table = households(60)
    key = table["hh"].values
    table = pd.DataFrame(
        {
            **table.to_frame("pandas"),
            "family": [f"Fam{'abcdefghij'[k % 10]}{'abcdefghij'[k // 10 % 10]}" for k in key],
            "person": [f"P{i:04d}" for i in range(len(key))],
        }
    )
    replace = {"family": "name", "person": "code"}
    model = Synthesizer(seed=1, groups="hh", replace=replace).fit(table)
    assert isinstance(model, GroupModel)
    release = model.sample()
    assert (release.groupby("hh")["family"].nunique() == 1).all()
    assert release["family"].nunique() == release["hh"].nunique()
    assert release["person"].is_unique
    save(model, tmp_path / "m.caveat")
    assert release.equals(load(tmp_path / "m.caveat").sample())


def test_linked_tables_keep_what_a_child_has_of_its_parent(tmp_path) -> None:
    linked = patients()
    top, visits = linked.tables["patients"], linked.tables["visits"]
    names = np.array([f"Nam{a}{b}" for a in "abcdefghijklmnopqrst" for b in "abcdefghij"], object)
    top = Table({**top.columns, "name": column(names[: top.n_rows].tolist())})
    rows = linked.parent_rows("visits")
    visits = Table(
        {
            **visits.columns,
            "name": column(names[rows].tolist()),
            "slip": column([f"S{i:05d}" for i in range(visits.n_rows)]),
        }
    )
    both = Linked({"patients": top, "visits": visits}, linked.keys, linked.links,
                  order=linked.order)  # fmt: skip
    model = Synthesizer(seed=1, replace={"name": "name", "slip": "code"}).fit(both)
    assert isinstance(model, LinkedModel)
    save(model, tmp_path / "m.caveat")
    for one in (model, load(tmp_path / "m.caveat")):
        release = one.complete(one.tables()[0])
        theirs = release.tables["visits"]["name"].values
        assert (release.tables["patients"]["name"].values[release.parent_rows("visits")]
                == theirs).all()  # fmt: skip
        assert not set(theirs) & set(names)
        assert len(set(release.tables["visits"]["slip"].values)) == len(theirs)
        assert release.tables["visits"].names == visits.names
    with refused("synthesis.setting.unused", column="id", where="synthesis, replace"):
        Synthesizer(seed=1, replace={"id": "code"}).plan(both)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"keep": ["number"]}, "synthesis.column.conflict"),
        ({"drop": ["number"]}, "synthesis.column.conflict"),
        ({"columns": {"number": {"method": "copy"}}}, "synthesis.column.conflict"),
        ({"replace": {"number": "hash"}}, "synthesis.replacement.unknown"),
        ({"replace": {"nobody": "id"}}, "data.column.unknown"),
        ({"epsilon": 1.0}, "synthesis.setting.conflict"),
    ],
)
def test_what_contradicts_itself_is_refused(more: dict, says: str) -> None:
    with warnings.catch_warnings(), refused(says):
        Synthesizer(seed=1, **{"replace": {"number": "id"}, **more}).plan(
            Table.from_frame(PATIENTS)
        )
