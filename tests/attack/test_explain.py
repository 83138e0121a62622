"""One record explained: what its columns say adds up to what the attacks find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.refusals import refused

from caveat.attack import attributes, explain, membership
from caveat.attack.explain import CHOICE, _text, member_probability
from caveat.datasets import buyer_beware, survey
from caveat.synthesis import Synthesizer
from caveat.table import Table

COLUMNS = ["sex", "age", "region", "education", "marital", "income"]
WAYS = {
    "guarded": {},
    "plain": {"method": "cart", "minbucket": 60},
    "strata": {"method": "cart", "minbucket": 30, "strata": "sex"},
    "chosen": {"predictors": 2},
}


@pytest.fixture(scope="module")
def people() -> Table:
    return Table.from_frame(survey(rows=300)).select(COLUMNS)


@pytest.mark.parametrize("way", WAYS)
def test_the_parts_add_up_to_what_the_attacks_find(people: Table, way: str) -> None:
    model = Synthesizer(seed=4, **WAYS[way]).fit(people)
    release = model.tables()
    for record in (3, 17):
        found = explain(people, release, record, generator=model, targets=["marital", "income"])
        (ratio,) = membership(people, release, generator=model, records=[record]).log_ratio
        assert found.log_ratio == pytest.approx(ratio, abs=1e-9)
        assert {p.column for p in found.parts} - {CHOICE} == set(people.names)
        assert (CHOICE in {p.column for p in found.parts}) == (way == "chosen")
        if math.isfinite(ratio):
            assert sum(p.log_ratio for p in found.parts) == pytest.approx(ratio, abs=1e-9)
            assert found.membership == pytest.approx(1 / (1 + math.exp(-ratio)))
        for belief in found.beliefs:
            whole = attributes(people, release, belief.target, generator=model, records=[record])
            assert belief.posterior == pytest.approx(whole.probability[0], abs=1e-9)
            assert belief.prior == pytest.approx(whole.prior_probability[0], abs=1e-12)
            assert (belief.rank, belief.correct) == (whole.rank[0], whole.correct[0])
            assert belief.excluded == np.isneginf(whole.log_likelihood[0]).sum()
            others = np.delete(whole.probabilities[0], whole.truth[0])
            assert belief.rival_posterior == pytest.approx(others.max(), abs=1e-9)
            if belief.rival_posterior:
                moved = math.log(belief.posterior / belief.rival_posterior)
                moved -= math.log(belief.prior / belief.rival_prior)
                assert sum(p.log_ratio for p in belief.parts) == pytest.approx(moved, abs=1e-8)


def test_the_column_that_rules_the_rest_out_is_named() -> None:
    found = explain(buyer_beware(), buyer_beware(1), 999, targets=["var4"])
    assert found.log_ratio == math.inf
    assert (found.parts[0].column, found.parts[0].impossible) == ("var4", 1)
    (belief,) = found.beliefs
    assert (belief.prior, belief.posterior, belief.excluded) == (pytest.approx(0.00675, abs=1e-5),
                                                                 1, 1)  # fmt: skip
    assert (belief.value, belief.rival) == ("1", "0")
    content = found.to_dict()
    assert content["membership"]["log_ratio"] is None
    assert content["membership"]["impossible_without"] is True
    assert content["targets"][0]["parts"] == [{"column": "var4", "log_ratio": None,
                                               "impossible": 1}]  # fmt: skip


def test_values_are_told_only_when_asked_for() -> None:
    found = explain(buyer_beware(), buyer_beware(1), 999, targets=["var4"])
    silent, open_ = found.to_dict(), found.to_dict(values=True)
    assert "values" not in silent
    assert "value" not in silent["targets"][0]
    assert open_["values"] == dict.fromkeys(("var1", "var2", "var3", "var4"), "1")
    assert open_["targets"][0]["rival"] == "0"
    assert repr(found).startswith("<Explanation: record 999")
    assert "'1'" not in repr(found) + repr(found.beliefs[0])


def test_what_has_no_answer_says_why(people: Table) -> None:
    model = Synthesizer(seed=1, method="cart", drop=["income"]).fit(people)
    found = explain(people, model.tables(), 0, generator=model, targets=["income", "marital"])
    assert found.refused == {
        "income": "it is not drawn from a model, so that there is nothing to attack"
    }
    assert [belief.target for belief in found.beliefs] == ["marital"]


@pytest.mark.filterwarnings("ignore:sex is copied")
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"method": "cart", "proper": True}, "attack.probability.unsupported"),
        ({"columns": {"income": {"method": "normal"}}}, "attack.method.unsupported"),
        ({"columns": {"sex": {"method": "copy"}}}, "attack.column.unsupported"),
        ({"method": "cart", "smoothing": "kernel"}, "attack.probability.unsupported"),
    ],
)
def test_without_an_exact_attacker_it_is_refused(
    people: Table, options: dict[str, object], says: str
) -> None:
    model = Synthesizer(seed=1, **options).fit(people)  # type: ignore[arg-type]
    with refused(says):
        explain(people, model.tables(), 0, generator=model)


def test_a_record_that_is_not_there_and_a_release_of_other_data(people: Table) -> None:
    model = Synthesizer(seed=1).fit(people)
    with refused("attack.record.unknown"):
        explain(people, model.tables(), 300, generator=model)
    with refused("attack.release.mismatch", column="var4"):
        explain(buyer_beware().take(np.arange(999)), buyer_beware(1), 0)


def test_progress_comes_to_one_and_probabilities_have_no_overflow(people: Table) -> None:
    model, heard = Synthesizer(seed=1).fit(people), list[float]()
    explain(people, model.tables(), 0, generator=model, targets=["sex", "marital"],
            done=heard.append)  # fmt: skip
    assert sum(heard) == pytest.approx(1)
    assert member_probability(-1e6) == 0
    assert member_probability(1e6) == 1


def test_an_empty_cell_is_a_word() -> None:
    words = Table.from_frame({"a": ["x", None, "None"], "b": [1.5, None, 2.0], "c": [-8, 1, 2]})
    assert [_text(words["a"], int(code)) for code in words["a"].codes] == ["x", "missing", "None"]
    assert [_text(words["b"], int(code)) for code in words["b"].codes] == ["1.5", "missing", "2.0"]
    assert _text(words["c"], int(words["c"].codes[0])) == "-8"
