"""One record in plain words."""

from __future__ import annotations

from typing import Any

from caveat.report.pages import as_text, explain_page


def leaf(column: str, **more: Any) -> dict[str, Any]:
    return {
        "column": column, "is_kind": False, "guarded": False, "size": 67, "alike": 1,
        "released": 61, "released_alike": 1, "path": ["var1"], **more,
    }  # fmt: skip


def content(**more: Any) -> dict[str, Any]:
    return {
        "title": "A survey", "row": 1000, "records": 1000, "prior": "conditional", "notes": [],
        "membership": {
            "prior": 0.5, "posterior": 1.0, "log_ratio": None, "impossible_without": True,
            "parts": [
                {"column": "var4", "log_ratio": None, "impossible": 1},
                {"column": "var3", "log_ratio": -0.6931471805599453, "impossible": 0},
                {"column": "var2", "log_ratio": 0.001, "impossible": 0},
            ],
        },
        "targets": [
            {"target": "var4", "prior": 0.007, "posterior": 1.0, "candidates": 2, "excluded": 1,
             "rank": 1, "correct": True, "rival_prior": 0.993, "rival_posterior": 0.0,
             "parts": [{"column": "var4", "log_ratio": None, "impossible": 1}]},
        ],
        "leaves": [leaf("var4"), leaf("var3", alike=3, path=[]), leaf("var2", size=1)],
        "refused": {"id": "it is not drawn from a model"},
        "tried": [
            {"kind": "as it is", "to": "", "membership": [0.9, 1.0], "refused": "",
             "posteriors": {"var4": [0.25, 0.25]}},
            {"kind": "without", "to": "var1", "membership": [], "refused": "a rule needs it",
             "posteriors": {}},
        ],
        **more,
    }  # fmt: skip


def flat(**more: Any) -> str:
    return " ".join(as_text(explain_page(content(**more))).split())


def test_the_page_says_what_she_believes_and_why() -> None:
    text = flat()
    assert text.startswith("INTERNAL. About one record of the original")
    assert "A survey: row 1,000" in text
    assert "is certain: without it the release is impossible." in text
    assert "she gives the truth 0.7 % before the release and 100 % after it" in text
    assert "The best guess is right." in text
    assert (
        "What gives it away most: var4: this column of the release is impossible without it "
        "(1 cell). Its leaf has 67 records; none of the others has its value, reached by var1."
    ) in text
    assert "2.00 times as probable without it as with it" in text
    assert "its leaf has 67 records; 2 of the others have its value, the whole table" in text
    assert "as probable either way" in text
    assert "it is alone in its leaf" in text
    assert "id: no answer: it is not drawn from a model." in text
    assert "impossible with the other value (1 cell)" in text


def test_ways_that_were_tried_have_their_least_and_most() -> None:
    text = flat()
    assert "2 fresh releases" in text
    assert "made as it is was it in the data? 90.0 % to 100 % the truth about var4: 25.0 %" in text
    assert "without the column var1 was it in the data? cannot be done: a rule needs it" in text
    assert "Nothing was tried." in flat(tried=[])


def test_a_tree_that_would_have_another_shape_is_told() -> None:
    member = {**content()["membership"]}
    member["parts"] = [{"column": "var4", "log_ratio": None, "impossible": 5}]
    assert "(5 cells; the tree would have another shape)" in flat(membership=member)


def test_a_record_that_nothing_speaks_for_and_a_guess_that_is_wrong() -> None:
    member = {"prior": 0.5, "posterior": 0.4, "log_ratio": -0.4, "impossible_without": False,
              "parts": [{"column": "var3", "log_ratio": -0.4, "impossible": 0}]}  # fmt: skip
    belief = {**content()["targets"][0], "correct": False, "rank": 2}
    text = flat(membership=member, targets=[belief])
    assert "is 40.0 % sure." in text
    assert "no column makes it look as if it had been in the data" in text
    assert "The truth is in place 2 of her guesses." in text
    assert "one of several best guesses" in flat(targets=[{**belief, "rank": 1}])


def test_many_columns_are_added_up_and_values_shown_only_if_they_are_there() -> None:
    member = {"prior": 0.5, "posterior": 0.9, "log_ratio": 2.1, "impossible_without": False}
    parts = [{"column": f"c{i}", "log_ratio": 0.3, "impossible": 0} for i in range(7)]
    text = flat(membership={**member, "parts": parts})
    assert "2 other columns this column of the release is: 1.82 times as probable with it" in text
    assert "ITS VALUES" not in text
    assert "var1 value: secret" in flat(values={"var1": "secret"})


def test_nothing_is_claimed_about_those_who_know_less() -> None:
    text = flat()
    assert "what others learn, who know less or other things, is not computed here." in text
    assert "learns less" not in text
