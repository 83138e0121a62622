"""A private release: planned from the declaration alone, measured once, paid for once."""

from __future__ import annotations

import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused
from tests.synthesis.test_store import changed

from caveat.attack import membership
from caveat.datasets import survey
from caveat.privacy import Budget, Ledger, Limit, rho_of
from caveat.synthesis import Synthesizer, load, save
from caveat.synthesis.margins import guaranteed
from caveat.synthesis.margins.guaranteed import declared_codings, plan_private
from caveat.synthesis.margins.promise import cells_in
from caveat.table import Table, write

pytestmark = pytest.mark.filterwarnings("ignore::caveat.errors.CaveatWarning")

DECLARED: dict[str, dict[str, Any]] = {
    "sex": {"levels": ["female", "male"]},
    "age": {"range": [16, 99, 1], "bins": 8},
    "marital": {"levels": ["single", "married", "divorced", "widowed"]},
    "height": {"range": [100, 230, 1], "bins": 8},
    "weight": {"range": [30, 200, 1], "bins": 8},
}
TABLE = survey(rows=400).select([*DECLARED])
OPTIONS: dict[str, Any] = {"method": "margins", "epsilon": 1.0, "columns": DECLARED}


def fitted(table: Table = TABLE, seed: int = 1, **options: Any) -> Any:
    return Synthesizer(seed=seed, **{**OPTIONS, **options}).fit(table)


def test_the_python_api_with_a_budget(tmp_path: Path):
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    model = Synthesizer(epsilon=1, delta=1e-9, columns=DECLARED, budget=budget).fit(TABLE)
    release = model.tables()[0]
    assert release.names == TABLE.names
    assert abs(release.n_rows - TABLE.n_rows) < 200  # noisy, of the tables
    (entry,) = Ledger(tmp_path / "ledger.jsonl").entries("survey")
    assert entry["rho"] == rho_of(1, 1e-9)
    assert model.plan.margins.promise.measured.rho == pytest.approx(entry["rho"], rel=1e-12)


def test_a_second_release_beyond_the_limit_is_refused_and_nothing_is_drawn(tmp_path, monkeypatch):
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    fitted(budget=budget)

    def never(*_: Any) -> None:
        raise AssertionError("noise was drawn")

    with monkeypatch.context() as patched:
        patched.setattr(guaranteed, "measured_by", never)
        with refused("privacy.budget.refused"):
            fitted(budget=budget)
    assert len(Ledger(tmp_path / "ledger.jsonl").entries()) == 1
    other = Budget(tmp_path / "ledger.jsonl", "another survey")
    fitted(budget=other)
    wider = Budget(tmp_path / "ledger.jsonl", "survey", Limit(3.0, 1e-6))
    fitted(budget=wider)
    assert len(Ledger(tmp_path / "ledger.jsonl").entries("survey")) == 2


def test_a_fit_that_fails_has_spent_nothing(tmp_path, monkeypatch):
    budget = Budget(tmp_path / "ledger.jsonl", "survey")

    def fails(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(guaranteed, "measured_by", fails)
    with pytest.raises(KeyboardInterrupt):
        fitted(budget=budget)
    assert Ledger(tmp_path / "ledger.jsonl").entries() == []


def test_poisson_counts_are_paid_for_with_epsilon_and_delta(tmp_path):
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    two = TABLE.select(["sex", "marital"])
    columns = {name: DECLARED[name] for name in two}
    Synthesizer(seed=1, poisson=1.0, epsilon=2.0, columns=columns, budget=budget).fit(two)
    (entry,) = Ledger(tmp_path / "ledger.jsonl").entries("survey")
    assert entry["epsilon"] == 2.0
    assert entry["delta"] == pytest.approx(0.0256, abs=5e-5)


values = st.one_of(
    st.integers(-10, 300), st.sampled_from(["female", "male", "x", "", "7", "0x1"]), st.none()
)


@settings(max_examples=40)
@given(st.lists(st.tuples(values, values), min_size=1, max_size=6), st.tuples(values, values))
def test_the_plan_and_everybody_elses_cells_come_from_the_declaration_alone(rows, stranger):
    """One record more, whatever it says, moves neither the plan nor anybody's cell."""

    def table(records: list[Any]) -> Table:
        texts = [
            ["" if v is None else str(v) for v in column] for column in zip(*records, strict=True)
        ]
        return Table.from_frame({"sex": texts[0], "age": texts[1]})

    columns = {name: DECLARED[name] for name in ("sex", "age")}
    options = {**OPTIONS, "columns": columns}
    found = []
    for data in (table(rows), table([*rows, stranger])):
        _, plan = plan_private(data.names, options)
        found.append((plan, cells_in(declared_codings(plan), data)))
    (one, before), (other, after) = found
    assert str(one) == str(other)
    assert one == other
    for name, cells in before.items():
        assert np.array_equal(cells, after[name][:-1])


def test_the_plan_never_sees_the_table():
    one = Synthesizer(seed=1, **OPTIONS).plan(TABLE)
    other = Synthesizer(seed=1, **OPTIONS).plan(
        Table.from_frame(
            {"sex": ["f"], "age": [900], "marital": ["?"], "height": [1], "weight": [0]}
        )
    )
    assert one == other


def test_an_undeclared_column_is_refused():
    columns = {name: given for name, given in DECLARED.items() if name != "age"}
    with refused("synthesis.column.undeclared", column="age", where="synthesis"):
        fitted(columns=columns)
    assert "age" not in fitted(columns=columns, drop=["age"]).tables()[0]
    left_out = {**columns, "age": {"method": "drop"}}
    assert "age" not in fitted(columns=left_out).tables()[0]


def test_a_value_outside_is_counted_at_the_end_and_said():
    frame = TABLE.to_frame()
    frame.loc[0, "age"] = 140
    frame.loc[1:2, "sex"] = "unknown"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = fitted(Table.from_frame(frame))
    words = [str(one.message) for one in said if "not publish" in str(one.message)]
    assert [w.split(" values")[0] for w in words[:2]] == ["sex: 2", "age: 1"]
    assert words[-1].startswith("11 records")  # nine have no weight
    assert model.tables()[0]["age"].levels.max() <= 99


@pytest.mark.parametrize("missing", [None, []])
def test_a_release_holds_declared_cells_only(missing):
    """Noise puts counts into every cell: one that nobody declared must not be there."""
    declared = {n: {k: v for k, v in e.items() if k != "missing"} for n, e in DECLARED.items()}
    if missing is not None:
        declared = {n: {**e, "missing": missing} for n, e in declared.items()}
    release = fitted(columns=declared).tables(rows=2_000)[0]
    assert all(not column.missing for column in release.columns.values())


def test_most_records_with_undeclared_values_are_refused():
    frame = TABLE.to_frame()
    third = len(frame) // 3
    frame.loc[:third, "sex"] = None
    frame.loc[third : 2 * third, "marital"] = None
    with refused("data.value.undeclared", where="synthesis"):
        fitted(Table.from_frame(frame))


@pytest.mark.parametrize(("delta", "warned"), [(1 / 400, True), (0.5, True), (1e-3, False)])
def test_a_delta_that_is_not_below_one_in_n_is_said(delta, warned):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fitted(delta=delta)
    assert any("not below one in the number of records" in str(o.message) for o in said) is warned


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epsilon": 0}, "synthesis.setting.range"),
        ({"weights": "weight"}, "synthesis.setting.conflict"),
        ({"strata": "sex"}, "synthesis.setting.conflict"),
        ({"clearing": {"threshold": 10}}, "synthesis.setting.conflict"),
        ({"method": "cart"}, "synthesis.method.conflict"),
        ({"columns": {**DECLARED, "sex": {**DECLARED["sex"], "method": "sample"}}},
         "synthesis.method.conflict"),
        ({"margins": [["sex", "age", "marital"]]}, "synthesis.margins.unsupported"),
        ({"margins": [["sex", "age"], ["age", "marital"], ["sex", "marital"]]},
         "synthesis.margins.unsupported"),
        ({"margins": [["sex", "nobody"]]}, "synthesis.margins.mismatch"),
        ({"poisson": 1.0, "margins": [["sex", "age"]]}, "synthesis.margins.conflict"),
        ({"poisson": 1.0, "columns": {**DECLARED, "age": {"range": [0, 10**6, 1], "bins": 10**4},
                                      "height": DECLARED["height"] | {"bins": 64}}},
         "synthesis.table.too-large"),
        ({"groups": "sex"}, "synthesis.setting.conflict"),
        ({"derived": {"sex": {"lookup": "marital"}}}, "synthesis.method.conflict"),
        ({"drop": ["nobody"]}, "data.column.unknown"),
        ({"proper": True}, "synthesis.setting.conflict"),
        ({"method": "copy"}, "synthesis.method.conflict"),
    ],
)  # fmt: skip
def test_what_does_not_go_with_a_guarantee_is_refused_before_anything_is_spent(
    options, says, tmp_path
):
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    with refused(says):
        fitted(budget=budget, **options)
    assert Ledger(tmp_path / "ledger.jsonl").entries() == []


def test_given_pairs_are_measured_and_all_others_are_alone():
    model = fitted(margins=[["age", "marital"]])
    measured = model.plan.margins.promise.measured
    assert [names for names in measured.tables if len(names) == 2] == [("age", "marital")]
    assert measured.choices == ()
    assert not model.plan.margins.chosen


def test_a_computed_column_is_computed_and_needs_no_declaration():
    frame = TABLE.to_frame()
    frame["bmi"] = (frame["weight"] / (frame["height"] / 100) ** 2).round(2)
    model = fitted(Table.from_frame(frame), derived={"bmi": "weight / (height / 100) ** 2"})
    release = model.tables()[0].to_frame().dropna()
    assert list(release) == [*TABLE.names, "bmi"]
    by_hand = release["weight"] / (release["height"] / 100) ** 2
    assert np.abs(release["bmi"] - by_hand).max() <= 0.00501
    assert "bmi" not in model.plan.margins.promise.declared


@pytest.mark.parametrize("epsilon", [0.01, 5.0])
def test_structural_zeros_by_rules_hold_whichever_pairs_are_chosen(epsilon, tmp_path):
    """With ε = 0.01 pairs are chosen nearly blindly: no tree may make a rule impossible."""
    young = "if age < 18 then marital = 'single'"
    for seed in range(12):
        budget = Budget(tmp_path / f"{seed}.jsonl", "survey")
        model = fitted(seed=seed, epsilon=epsilon, rules=[young], budget=budget, order=["marital"])
        release = model.tables(rows=2_000)[0].to_frame()
        assert set(release.loc[release["age"] < 18, "marital"]) <= {"single"}
        assert [*model.plan.columns][-1] == "marital"
        assert release.columns.tolist() == [*TABLE.names]


def test_the_attacker_knows_which_columns_come_last():
    """Choices that a rule has excluded are none for the attacker either."""
    model = fitted(epsilon=3.0, rules=["if age < 18 then marital = 'single'"])
    found = membership(TABLE, model.tables()[0], generator=model)
    assert np.isfinite(found.log_ratio).all()
    assert np.abs(found.log_ratio).max() < 3.0


def test_a_model_file_draws_the_same_bytes(tmp_path):
    for name, options in {"noisy": {}, "poisson": {"poisson": 1.0}}.items():
        three = TABLE.select(["sex", "age", "marital"])
        columns = {n: DECLARED[n] for n in three}
        model = fitted(three, columns=columns, **options)
        save(model, tmp_path / f"{name}.caveat")
        again = load(tmp_path / f"{name}.caveat")
        assert str(again.plan) == str(model.plan)
        files = [tmp_path / f"{name}-{place}.csv" for place in range(3)]
        for one, path in zip((model, again, load(tmp_path / f"{name}.caveat")), files, strict=True):
            write(one.tables(copies=2)[1], path)
        assert len({path.read_bytes() for path in files}) == 1


def test_a_model_file_holds_nothing_but_what_was_measured(tmp_path):
    """A word that is in the data and not declared is nowhere in the file."""
    frame = TABLE.to_frame()
    frame.loc[3, "marital"] = "zweiundvierzig"
    model = fitted(Table.from_frame(frame))
    path = tmp_path / "model.caveat"
    save(model, path)
    with zipfile.ZipFile(path) as archive:
        content = b"".join(archive.read(name) for name in archive.namelist())
    assert b"married" in content
    assert b"zweiundvierzig" not in content


def is_sure(promise: dict[str, Any]) -> None:
    promise["epsilon"] = 0


def has_no_noise(promise: dict[str, Any]) -> None:
    promise["measured"]["tables"][0]["sigma"] = 0.0


def has_another_tree(promise: dict[str, Any]) -> None:
    promise["measured"]["choices"] = [["sex", "marital"], ["sex", "nobody"]]


def has_no_choices(promise: dict[str, Any]) -> None:
    del promise["measured"]["choices"]


def has_other_cells(promise: dict[str, Any]) -> None:
    promise["measured"]["sizes"]["sex"] = 7


def has_nothing_measured(promise: dict[str, Any]) -> None:
    promise["measured"] = []


@pytest.mark.parametrize(
    "change",
    [is_sure, has_no_noise, has_another_tree, has_no_choices, has_other_cells,
     has_nothing_measured],
)  # fmt: skip
def test_a_promise_that_is_none_is_refused(tmp_path: Path, change) -> None:
    three = TABLE.select(["sex", "age", "marital"])
    path = tmp_path / "model.caveat"
    save(fitted(three, columns={n: DECLARED[n] for n in three}), path)
    changed(path, lambda document, _: change(document["plan"]["margins"]["promise"]))
    with refused("model.file.damaged"):
        load(path)


def test_noise_is_drawn_anew_whatever_the_seed():
    one, other = fitted(seed=1), fitted(seed=1)
    tables = [m.plan.margins.promise.measured.tables for m in (one, other)]
    assert not np.array_equal(tables[0]["age",], tables[1]["age",])


def test_special_values_can_stand_apart_from_the_columns():
    declared = {"x": {"range": [0, 9, 1], "bins": 3}}
    _, one = plan_private(["x"], {"epsilon": 1.0, "columns": declared, "special": {"x": [0]}})
    within = {"x": {**declared["x"], "special": [0]}}
    _, other = plan_private(["x"], {"epsilon": 1.0, "columns": within})
    assert one.columns["x"] == other.columns["x"]
    assert one.columns["x"].special == (0,)


def test_a_declaration_that_hardly_anybody_fits_costs_nothing(tmp_path):
    table = Table.from_frame({"x": ["a"] * 40 + ["b"] * 20})
    budget = Budget(tmp_path / "ledger.jsonl", "survey")
    wrong = Synthesizer(epsilon=1.0, columns={"x": {"levels": ["A", "b"]}}, budget=budget)
    with refused("data.value.undeclared", column="x", where="synthesis"):
        wrong.fit(table)
    assert not (tmp_path / "ledger.jsonl").exists()
