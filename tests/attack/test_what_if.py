"""Other ways to make a release, carried out and attacked."""

from __future__ import annotations

import pytest

from caveat.attack import explain, membership, posterior
from caveat.attack.explain import Way, other_ways, what_if
from caveat.datasets import survey
from caveat.seeds import Stream, child_seed
from caveat.synthesis import Synthesizer
from caveat.table import Table


@pytest.fixture(scope="module")
def people() -> Table:
    columns = ["sex", "age", "education", "marital"]
    return Table.from_frame(survey(rows=300)).select(columns)


def ways(people: Table, **options: object) -> list[Way]:
    model = Synthesizer(seed=4, **options).fit(people)  # type: ignore[arg-type]
    found = explain(people, model.tables(), 5, generator=model, targets=["marital"])
    return other_ways(model.plan, options, found)


def test_plain_trees_get_a_guard_larger_leaves_or_a_column_less(people: Table) -> None:
    told = {"method": "cart", "minbucket": 7, "columns": {"age": {"minbucket": 9}}}
    found = ways(people, **told)
    assert [(way.kind, way.to) for way in found[:3]] == [
        ("as it is", ""), ("guarded trees", "guarded"), ("leaf size", "70"),
    ]  # fmt: skip
    assert found[1].options == {"method": "guarded", "columns": {"age": {}}}
    assert found[2].options == {"method": "cart", "minbucket": 70, "columns": {"age": {}}}
    assert {way.kind for way in found[3:]} <= {"without"}
    assert all(way.options["drop"] == [way.to] for way in found[3:])
    assert "marital" not in [way.to for way in found[3:]]  # who does not release it tells nothing


def test_guarded_trees_get_a_stronger_guard_once(people: Table) -> None:
    found = {way.kind: way for way in ways(people, guard="light", backoff=2.0)}
    assert found["guard"].options == {"guard": "strong"}
    assert "guarded trees" not in found
    assert "leaf size" not in found  # four times 90 records would be more than there are
    assert "guard" not in {way.kind for way in ways(people, guard="strong")}
    small = {way.kind: way for way in ways(people, smallest=30.0)}
    assert small["leaf size"].options == {"smallest": 120}


def test_each_way_is_carried_out_and_attacked(people: Table) -> None:
    options = {"method": "cart", "minbucket": 20}
    (tried,) = what_if(people, 5, [Way("as it is", "", options)], targets=["marital"], draws=2,
                       seed=9)  # fmt: skip
    for k in range(2):
        seed = child_seed(9, Stream.WHAT_IF, k)
        release = Synthesizer(seed=seed, **options).fit(people).tables()  # type: ignore[arg-type]
        told = {"generator": options}
        chance = membership(people, release, records=[5], **told).posterior()[0]  # type: ignore[arg-type]
        assert tried.membership[k] == pytest.approx(chance)
        truth = posterior(people, release, 5, unknown=["marital"], **told).probability  # type: ignore[arg-type]
        assert tried.posteriors["marital"][k] == pytest.approx(truth)
    assert tried.to_dict()["membership"] == list(tried.membership)


def test_what_cannot_be_done_says_why(people: Table) -> None:
    heard: list[float] = []
    tried = what_if(
        people, 5,
        [Way("without", "sex", {"drop": ["sex"], "predictors": {"age": ["sex"]}}),
         Way("as it is", "", {})],
        draws=1, done=heard.append,
    )  # fmt: skip
    assert "sex" in tried[0].refused
    assert tried[0].membership == ()
    assert tried[1].refused == ""
    assert len(tried[1].membership) == 1
    assert heard == [0.5]
