"""Linked tables: integrity is exact, dates stay in order, nothing real is a key."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from tests.refusals import refused
from tests.synthesis.linked.people import patients

from caveat.synthesis import Synthesizer
from caveat.table import Table
from caveat.table.linked import Link, Linked

PATIENTS = patients()


@pytest.fixture(scope="module", params=["cart", "guarded"])
def release(request) -> tuple:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Synthesizer(seed=5, method=request.param).fit(PATIENTS)
    return model, model.tables()[0]


def test_the_same_files_come_out(release):
    _, made = release
    for name, table in PATIENTS.tables.items():
        assert made.tables[name].names == table.names
        assert [c.kind for c in made.tables[name].columns.values()] == [
            c.kind for c in table.columns.values()
        ]
    assert made.tables["patients"].n_rows == 200


def test_keys_are_fresh_and_belong_together(release):
    _, made = release  # a Linked checks that every child has its parent
    for table, key in PATIENTS.keys.items():
        assert not set(made.tables[table][key].values) & set(PATIENTS.tables[table][key].values)
    counts = np.bincount(made.parent_rows("visits"), minlength=200)
    assert counts.min() == 0
    assert counts.max() <= 4


def test_dates_stay_in_order_and_the_previous_visit_is_known(release):
    _, made = release
    rows, places = made.arranged("visits")
    assert (rows == np.arange(len(rows))).all()
    visits = made.tables["visits"]
    days = visits["day"].cell_numbers
    later = np.flatnonzero(places > 0)
    assert (days[later] >= days[later - 1]).all()
    ill = visits["ill"].values
    assert (ill[later] == ill[later - 1]).mean() > 0.75  # 0.9 in the original, 0.58 by chance


def test_every_cell_has_a_probability(release):
    model, made = release
    assert all(np.isfinite(stage.total) for stage in model.log_prob(made).values())


def schema(seed: int) -> Linked:
    """Return random linked tables to a depth of up to three, some rows without children."""
    rng = np.random.default_rng(seed)
    tables: dict[str, Table] = {}
    links, keys = [], {}
    for number in range(int(rng.integers(2, 5))):
        name, n = f"t{number}", int(rng.integers(20, 60))
        words = bool(rng.integers(2))
        columns = {
            "id": [f"x{i}" for i in range(n)] if words else list(range(n)),
            "a": rng.choice(["u", "v", "w"], n).tolist(),
            "b": rng.integers(0, 9, n).tolist(),
        }
        if number:
            parent = f"t{rng.integers(number)}"
            held = tables[parent]["id"].values
            columns["up"] = held[rng.integers(0, len(held), n)].tolist()
            links.append(Link(name, "up", parent))
        tables[name], keys[name] = Table.from_frame(columns), "id"
    return Linked(tables, keys, tuple(links))


@pytest.mark.parametrize("start", range(0, 200, 20))
def test_integrity_is_exact_in_random_schemas(start):
    for seed in range(start, start + 20):
        linked = schema(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = Synthesizer(seed=seed, method="cart" if seed % 4 else "guarded", anyway=True)
            made = model.fit(linked).tables()[0]
        for link in linked.links:
            keys = set(made.tables[link.parent]["id"].values)
            assert set(made.tables[link.child]["up"].values) <= keys
            assert not keys & set(linked.tables[link.parent]["id"].values)


def test_a_list_of_codes_is_kept_as_it_is():
    codes = Table.from_frame({"code": ["yes", "no"], "says": ["ill", "well"]})
    linked = Linked(
        {**PATIENTS.tables, "codes": codes},
        {**PATIENTS.keys, "codes": "code"},
        (*PATIENTS.links, Link("visits", "ill", "codes")),
        frozenset({"codes"}),
        PATIENTS.order,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Synthesizer(seed=5, method="cart").fit(linked).tables()[0]
    assert made.tables["codes"] == codes
    assert set(made.tables["visits"]["ill"].values) == {"yes", "no"}


def test_a_table_of_nothing_but_keys_gets_fresh_ones():
    alone = Linked({"a": Table.from_frame({"k": list(range(20))})}, {"a": "k"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = Synthesizer(seed=1, anyway=True).fit(alone).tables({"a": 30})[0]
    assert made.tables["a"].n_rows == 30
    assert not set(made.tables["a"]["k"].values) & set(range(20))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (({"patients": 2.5},), "synthesis.setting.type"),
        (({"patients": -1},), "synthesis.setting.range"),
        (({"visits": 3},), "data.table.unknown"),
        ((None, 0), "synthesis.setting.range"),
    ],
)
def test_wrong_numbers_are_one_sentence(release, arguments, says):
    with refused(says):
        release[0].tables(*arguments)
