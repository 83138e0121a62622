"""Which tables there are and who follows whom, by hand; and margins that are none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.synthesis import make_plan
from caveat.synthesis.margins.plan import MarginsPlan, components, is_tree, maximal
from caveat.synthesis.margins.tables import Clearing
from caveat.synthesis.plan import check_plan
from caveat.table import Table


def people(n: int = 200) -> Table:
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, n)
    return Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": age,
            "job": np.where(age > 60, "none", rng.choice(["baker", "smith"], n)),
            "income": [None if rng.random() < 0.1 else int(10 * a) for a in age],
            "region": rng.choice(list("abc"), n),
        }
    )


def plan_of(**options):
    return make_plan(people(), {"method": "margins", **options})


def test_a_tree_is_chosen_and_parents_come_first():
    plan = plan_of()
    assert plan.margins.chosen
    assert ("age", "income") in plan.margins.margins
    assert ("age", "job") in plan.margins.margins
    assert len(plan.margins.margins) == 4
    seen: list[str] = []
    for name, entry in plan.columns.items():
        assert set(entry.predictors) <= set(seen)
        assert len(entry.predictors) == (1 if seen else 0)
        seen.append(name)
    assert "margins: " in str(plan)
    assert "(a tree chosen by mutual information)" in str(plan)
    assert plan.columns["age"].grid.n_cells == 16


def test_given_pairs_make_a_chain_from_the_first_column():
    margins = [["job", "income"], ["sex", "income"], ["age", "job"], ["region"]]
    plan = plan_of(margins=margins)
    assert {n: e.predictors for n, e in plan.columns.items()} == {
        "sex": (), "income": ("sex",), "job": ("income",), "age": ("job",), "region": (),
    }  # fmt: skip
    assert list(plan.columns) == ["sex", "income", "job", "age", "region"]
    first = plan_of(margins=margins, order=["age"])
    assert first.columns["job"].predictors == ("age",)
    assert first.columns["sex"].predictors == ("income",)


def test_a_circle_is_drawn_from_all_columns_before():
    circle = [["sex", "job"], ["job", "region"], ["sex", "region"], ["age"], ["income"]]
    plan = plan_of(margins=circle)
    parents = {n: plan.columns[n].predictors for n in ("sex", "job", "region", "age")}
    assert parents == {"sex": (), "job": ("sex",), "region": ("sex", "job"), "age": ()}


def test_a_block_beside_other_methods_keeps_the_places_of_the_others():
    columns = {n: {"method": "margins"} for n in ("sex", "job", "income")}
    given = {"columns": columns, "margins": [["sex", "income"], ["income", "job"]]}
    plan = make_plan(people(), {"method": "cart", **given})
    assert list(plan.columns) == ["sex", "age", "income", "job", "region"]
    assert plan.columns["age"].predictors == ("sex",)
    assert plan.columns["age"].grid is None
    assert plan.columns["region"].predictors == ("sex", "age", "income", "job")


def test_bins_are_a_number_or_edges():
    columns = {"age": {"bins": [0, 30, 65, 120]}, "income": {"bins": 4}}
    plan = plan_of(columns=columns)
    assert plan.columns["age"].grid.edges.tolist() == [20, 30, 65, 81]
    assert plan.columns["income"].grid.n_cells == 4
    assert "3 declared cells" in str(plan)
    assert "4 even cells" in str(plan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margins": [["sex", "age"], ["sex", "colour"]]}, "'colour' is in a margin and is not"),
        ({"margins": [["sex", "age"]]}, "'job' is in no margin"),
        ({"margins": [["sex", "age", "sex"]]}, "a margin is empty, or has a column twice"),
        ({"margins": [[]]}, "a margin is empty, or has a column twice"),
        ({"columns": {"age": {"bins": 1}}}, "bins must be a whole number from 2 to 10,000, or two"),
        ({"columns": {"age": {"bins": [3, 2]}}}, "bins must be a whole number from 2"),
        ({"columns": {"age": {"bins": [3]}}}, "bins must be a whole number from 2"),
        ({"columns": {"age": {"bins": "many"}}}, "bins must be a whole number from 2"),
        ({"columns": {"sex": {"bins": 4}}}, "column sex: bins is for numbers"),
        (
            {"columns": {"sex": {"method": "sample", "bins": 4}}},
            "bins are for columns that are made",
        ),
        ({"strata": "sex"}, "the method margins cannot be fitted within strata"),
        ({"proper": True}, "proper is not for columns that are made from margins"),
        ({"smoothing": "kernel"}, "smoothing is not for columns that are made from margins"),
        ({"predictors": {"age": ["sex"]}}, "predictors is not for columns that are made from"),
        ({"clearing": {"threshold": 0}}, "threshold must be a whole number, 1 or more"),
        ({"clearing": {}, "rules": ["if age < 30 then job = 'smith'"]}, "rules do not go with cle"),
        (
            {"clearing": {}, "columns": {"sex": {"method": "sample"}}},
            "sex is made by sample beside",
        ),
    ],
)
def test_what_has_no_meaning_is_refused_in_one_sentence(options, message):
    with pytest.raises(CaveatError, match=message):
        plan_of(**options)


def test_clearing_needs_margins():
    with refused("synthesis.setting.unused", where="synthesis, clearing"):
        make_plan(people(), {"clearing": {"threshold": 5}})


def test_tables_that_are_too_large_are_refused_and_left_out_of_the_tree():
    n = 5000
    codes = [f"c{i}" for i in range(n)]
    wide = Table.from_frame({"a": codes, "b": codes[::-1], "c": ["x", "y"] * (n // 2)})
    options = {"method": "margins", "keep": ["a", "b"]}
    with refused("synthesis.table.too-large", where="synthesis, margins"):
        make_plan(wide, {**options, "margins": [["a", "b"], ["c"]]})
    plan = make_plan(wide, options)
    assert plan.margins.margins == (("a", "c"), ("b", "c"))
    circle = [["a", "c"], ["b", "c"], ["a", "d"], ["b", "d"]]
    four = wide.with_columns({"d": wide["c"]})
    with refused("synthesis.table.too-large", where="synthesis, margins"):
        make_plan(four, {**options, "margins": circle})


def test_groups_have_no_margins():
    from caveat.datasets import households
    from caveat.synthesis import Synthesizer

    with refused("synthesis.method.conflict", column="role", where="synthesis"):
        Synthesizer(method="margins", groups="household").plan(households())


def test_margins_within_others_and_those_that_hang_together():
    assert maximal([["a"], ["a", "b"], ["b", "a"], ["c"]]) == (("a", "b"), ("c",))
    margins = (("a", "b"), ("c",), ("b", "d"))
    assert components(margins) == [[("c",)], [("a", "b"), ("b", "d")]]
    assert is_tree([("a", "b"), ("b", "d")])
    assert is_tree([("c",)])
    assert not is_tree([("a", "b"), ("b", "c"), ("a", "c")])
    assert not is_tree([("a", "b", "c")])


@given(st.integers(0, 9999))
def test_any_tree_can_be_arranged_from_any_first_column(seed):
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(7)]
    pairs = tuple((names[int(rng.integers(0, i))], names[i]) for i in range(1, 7))
    order = [names[i] for i in rng.permutation(7)]
    arranged = MarginsPlan(pairs).arranged(order)
    assert next(iter(arranged)) == order[0]
    assert {frozenset((n, *p)) for n, p in arranged.items() if p} == {frozenset(p) for p in pairs}
    seen: set[str] = set()
    for name, parents in arranged.items():
        assert set(parents) <= seen
        seen.add(name)


def test_a_plan_goes_through_a_file_and_a_damaged_one_does_not():
    plan = MarginsPlan((("a", "b"), ("c",)), True, Clearing(3, (1, 0.5), 2))
    state = plan.state()
    assert MarginsPlan.from_state(state) == plan
    for wrong in (
        {"margins": [["a", "b"], ["a"]]},
        {"margins": [["a", "a"]]},
        {"chosen": 1},
        {"clearing": {"threshold": 0, "dominance": None, "multiple": 1}},
    ):
        with pytest.raises((ValueError, CaveatError)):
            MarginsPlan.from_state({**state, **wrong})


def test_the_survey_has_a_sensible_tree():
    plan = make_plan(Table.from_frame(survey()), {"method": "margins"})
    pairs = {frozenset(margin) for margin in plan.margins.margins}
    for pair in (("weight", "bmi"), ("height", "weight"), ("sex", "height"), ("age", "marital")):
        assert frozenset(pair) in pairs


def test_a_plan_from_a_file_must_fit_its_tables():
    table = people()
    plan = make_plan(table, {"method": "margins"})
    check_plan(plan, table)
    pairs = plan.margins.margins
    for margins in (pairs[1:], (*pairs, ("age", "colour")), (("sex", "age"), *pairs), ((),)):
        wrong = replace(plan, margins=replace(plan.margins, margins=margins))
        with refused("model.file.damaged"):
            check_plan(wrong, table)
    with refused("model.file.damaged"):
        check_plan(replace(plan, margins=None), table)


def test_a_declaration_without_records_has_a_plan():
    table = people().take([])
    plan = make_plan(table, {"method": "margins", "judged": {}})
    assert len(plan.margins.margins) == 4
    assert plan.margins.margins[0] == ("sex", "age")
