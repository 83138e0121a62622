"""The rules on tables, by cases that can be checked by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from caveat.errors import CaveatError
from caveat.outputs.checking import check_table
from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import Checked, Rules, Verdict
from caveat.outputs.table_rules import dominates


def check(rules: Rules | None = None, **columns: list[object]) -> Checked:
    return check_table(pd.DataFrame(columns), rules)


def said(found: Checked) -> dict[str, tuple[Verdict, list[int]]]:
    return {one.rule: (one.verdict, [row for row, _ in one.cells]) for one in found.findings}


def test_low_counts_are_refused_and_the_threshold_is_the_offices() -> None:
    columns = {"sex": ["f", "m", "x"], "count": [120, 10, 9]}
    assert said(check(**columns)) == {"threshold": (Verdict.REFUSE, [2])}
    assert check(Rules(threshold=9), **columns).verdict is Verdict.SAFE
    assert check(Rules(threshold=11), **columns).findings[0].reason == (
        "rows 2 and 3: fewer than 11 persons"
    )


def test_a_table_of_one_cell() -> None:
    assert check(count=[12]).verdict is Verdict.SAFE
    assert said(check(count=[2])) == {"threshold": (Verdict.REFUSE, [0])}
    assert said(check(count=[0])) == {"empty": (Verdict.REVIEW, [0])}


def test_empty_and_full_cells_are_class_disclosure() -> None:
    """All who are ill are men: it is true of each of them."""
    columns = {
        "ill": ["yes", "yes", "no", "no"], "sex": ["f", "m", "f", "m"], "count": [0, 30, 40, 50],
    }  # fmt: skip
    found = check(**columns)
    assert said(found) == {"full": (Verdict.REFUSE, [1, 2]), "empty": (Verdict.REVIEW, [0])}
    structural = Rules(structural=({"ill": "yes", "sex": "f"},))
    assert check(structural, **columns).verdict is Verdict.SAFE
    careless = Rules(empty=Verdict.SAFE, full=Verdict.SAFE)
    assert check(careless, **columns).findings == ()
    strict = Rules(empty=Verdict.REFUSE, full=Verdict.REVIEW)
    assert said(check(strict, **columns))["empty"] == (Verdict.REFUSE, [0])
    hidden = {**columns, "count": [0, None, 40, 50]}
    assert said(check(**hidden))["full"] == (Verdict.REFUSE, [2])


def test_weighted_counts_need_the_persons() -> None:
    assert said(check(sex=["f", "m"], count=[20.5, 30.0])) == {"weighted": (Verdict.REVIEW, [])}


@pytest.mark.parametrize(
    ("total", "largest", "nk", "p"),
    [
        (100, [60, 30], True, False),  # 90 of 100: the share itself is refused; 10 > 6
        (100, [60, 29], False, False),
        (100, [60, 34], True, False),  # the rest is 6: not less than 10 % of 60
        (100, [60, 34.5], True, True),
        (100, [80, 12], True, False),  # the rest, 8, is 10 % of 80
        (1000, [450, 440], False, False),
        (0, [0, 0], False, False),  # nobody has anything
        (7, [7, 0], True, True),
    ],
)
def test_dominance_by_hand(total: float, largest: list[float], nk: bool, p: bool) -> None:
    assert dominates(total, largest, Rules()) == (nk, p)


def test_dominance_with_the_papers_settings() -> None:
    """Navarro-Arribas and Torra: n = 1 or 2 with r = 0.6; p = (1 - r) / r is comparable."""
    one, two = Rules(dominance_n=1, dominance_share=0.6), Rules(dominance_share=0.6, p=0.66)
    cell = [5.0, 2.0]  # and 3 of others
    assert dominates(10, cell, one)[0] is False
    assert dominates(10, cell, two) == (True, True)
    assert dominates(4, [2.0, 2.0], two) == (True, True)  # a pair always


def test_magnitudes_are_held_to_dominance() -> None:
    columns = {"branch": ["food", "toys"], "count": [30, 40], "total": [100, 100]}
    found = check(**columns)
    assert said(found) == {"nk-rule": (Verdict.REVIEW, [])}
    assert "largest_1 to largest_2" in found.findings[0].remedy
    tops = {"largest_1": [60, 50], "largest_2": [35, 30]}
    assert said(check(**columns, **tops)) == {
        "nk-rule": (Verdict.REFUSE, [0]), "p-ratio": (Verdict.REFUSE, [0]),
        "largest": (Verdict.REVIEW, []),  # these columns must not leave
    }  # fmt: skip
    means = {"branch": ["food"], "count": [50], "mean": [2.0], "largest_1": [60], "largest_2": [35]}
    assert said(check(**means))["nk-rule"] == (Verdict.REFUSE, [0])
    without = {name: column for name, column in means.items() if name != "count"}
    assert {one.verdict for one in check(**without).findings} == {Verdict.REVIEW}


@pytest.mark.parametrize(
    ("tops", "text"),
    [([60, -1], "below 0"), ([30, 60], "not in order"), ([80, 40], "more than the sum")],
)
def test_contributions_that_cannot_be(tops: list[float], text: str) -> None:
    with pytest.raises(CaveatError, match=f"row 1: .*{text}"):
        check(branch=["food"], count=[30], total=[100], largest_1=[tops[0]], largest_2=[tops[1]])


def test_the_other_barns() -> None:
    groups = {"sex": ["f", "m"], "count": [30, 12]}
    assert said(check(**groups, median=[1, 2])) == {"position": (Verdict.REVIEW, [1])}
    assert said(check(**groups, p90=[1, 2]))["position"] == (Verdict.REVIEW, [0, 1])
    assert said(check(**groups, max=[1, 2])) == {"endpoint": (Verdict.REFUSE, [0, 1])}
    assert said(check(**groups, odds_ratio=[1, 2])) == {"ratio": (Verdict.REVIEW, [])}
    assert said(check(**groups, share=[0.1, 0.2])) == {"nk-rule": (Verdict.REVIEW, [])}
    for safe in ("sd", "gini", "herfindahl", "mode"):
        assert check(**groups, **{safe: [1, 2]}).verdict is Verdict.SAFE
    assert said(check(sex=["f", "m"], count=[30, 10], sd=[1, 2])) == {
        "degrees_of_freedom": (Verdict.REFUSE, [1])
    }
    assert said(check(sex=["f", "m"], sd=[1, 2])) == {"threshold": (Verdict.REVIEW, [])}
    assert said(check(sex=["f", "m"], count=[30, None], gini=[0.3, 0.2])) == {
        "threshold": (Verdict.REVIEW, [1])
    }


def test_what_a_column_holds_must_be_known() -> None:
    found = check(region=["n", "s"], count=[20, 30], turnover=[2.5, 3.5])
    assert said(found) == {"unknown": (Verdict.REVIEW, [])}
    described = Described(statistics={"turnover": "gini"})
    frame = pd.DataFrame({"region": ["n", "s"], "count": [20, 30], "turnover": [2.5, 3.5]})
    assert check_table(frame, described=described).verdict is Verdict.SAFE


def test_cells_of_a_cross_table_are_named_with_their_column() -> None:
    frame = pd.DataFrame({"sex": ["f", "m"], "north": [10, 40], "south": [3, 20]})
    found = check_table(frame, described=Described(form="cross", across="region"))
    assert found.findings[0].reason == "row 1 of south: fewer than 10 persons"


def test_no_value_is_in_a_message() -> None:
    found = check(sex=["f", "m"], count=[4711, 7], total=[815.25, 90], largest_1=[800, 85],
                  largest_2=[10, 5])  # fmt: skip
    text = " ".join(f"{one.reason} {one.remedy}" for one in found.findings)
    for value in ("4711", "815", "800", "85"):
        assert value not in text


def test_what_is_said_to_be_hidden_must_be() -> None:
    columns = {"sex": ["f", "m"], "n": [20, 30], "status": ["shown", "hidden"]}
    assert said(check(**columns)) == {"hidden": (Verdict.REFUSE, [1])}
    assert check(**{**columns, "n": [20, None]}).verdict is Verdict.SAFE
    why = {**columns, "n": [20, None], "status": ["shown", "primary: fewer than 3"]}
    assert said(check(**why)) == {"hidden": (Verdict.REVIEW, [])}
    unsaid = check(sex=["f", "m"], value=[20, 30], status=["shown"] * 2)
    assert said(unsaid) == {"unknown": (Verdict.REVIEW, [])}


def test_class_disclosure_is_found_in_rows_that_are_not_there() -> None:
    """The case of the empty and full cells, its zero left out."""
    columns = {"ill": ["yes", "no", "no"], "sex": ["m", "f", "m"], "count": [30, 40, 50]}
    found = check(**columns)
    assert said(found) == {"full": (Verdict.REFUSE, [0, 1])}
    assert found.findings[0].reason == (
        "rows 1 and 2: all persons of a line of the table are in one cell: what is true of all is "
        "true of each; combinations that are not listed are empty"
    )
    structural = Rules(structural=({"ill": "yes", "sex": "f"},))
    assert check(structural, **columns).verdict is Verdict.SAFE
    assert check(Rules(full=Verdict.SAFE), **columns).verdict is Verdict.SAFE
    total = {"ill": [*columns["ill"], "total"], "sex": [*columns["sex"], "f"]}
    somebody = check(**total, count=[30, 40, 50, 52])  # twelve women are ill, and left out
    assert said(somebody)["recomputed"] == (Verdict.REFUSE, [])
    assert "full" not in said(somebody)
    assert said(check(**total, count=[30, 40, 50, 40]))["full"] == (Verdict.REFUSE, [0, 1])


def test_keys_that_follow_from_others_must_be_declared() -> None:
    columns = {"region": ["n", "n", "s"], "town": ["a", "b", "c"], "count": [30, 40, 50]}
    found = check(**columns)
    assert said(found) == {"full": (Verdict.REVIEW, [])}
    assert found.findings[0].reason.startswith("each value of town has one value of region")
    frame = pd.DataFrame(columns)
    assert check_table(frame, described=Described(nested=("town",))).verdict is Verdict.SAFE
    label = pd.DataFrame({"code": [1, 2], "name": ["n", "s"], "count": [30, 40]})
    keys = Described(keys=("code",))
    assert check_table(label, described=keys).verdict is Verdict.REVIEW
    declared = Described(keys=("code",), nested=("code",))
    assert check_table(label, described=declared).verdict is Verdict.SAFE


def test_a_rounding_that_is_declared() -> None:
    columns = {"region": [*"abcdef", "total"], "count": [15, 5, 0, 10, 20, 45, 100]}
    guess = check(**columns)
    assert said(guess) == {
        "threshold": (Verdict.REFUSE, [1]), "empty": (Verdict.REVIEW, [2])
    }  # fmt: skip
    assert guess.findings[0].reason == (
        "row 2: fewer than 10 persons (counts look rounded to 5; if they are, say rounded = 5)"
    )
    frame = pd.DataFrame(columns)
    assert check_table(frame, described=Described(rounded=5)).verdict is Verdict.SAFE
    odd = check_table(frame, described=Described(rounded=10))
    assert said(odd) == {"rounded": (Verdict.REFUSE, [0, 1, 5])}
    pairs = pd.DataFrame({"sex": ["f", "m"], "count": [20, 4]})
    assert said(check_table(pairs, described=Described(rounded=2)))["threshold"]  # 3 to 5
    exact = check_table(frame, described=Described(rounded=1))
    assert said(exact)["totals"] == (Verdict.REVIEW, [6])  # 95, and not 100
    wrong = check(**{**columns, "count": [15, 10, 10, 10, 20, 45, 200]})
    assert wrong.findings[0].reason == (
        "row 7: the total is not the sum of its cells, even if numbers are rounded to 5 as they "
        "seem to be"
    )


def test_hidden_cells_of_a_table_that_only_looks_rounded() -> None:
    frame = pd.DataFrame({"region": [*"abcdefg", "total"],
                          "count": [15, 25, 20, 10, 20, 45, None, 150]})  # fmt: skip
    (guess,) = check_table(frame).findings
    assert (guess.rule, guess.verdict) == ("pattern", Verdict.REVIEW)
    assert "look rounded to 5" in guess.reason
    assert check_table(frame, described=Described(rounded=5)).verdict is Verdict.SAFE
    exact = check_table(frame, described=Described(rounded=1))
    assert said(exact) == {"recomputed": (Verdict.REFUSE, [6])}


def test_a_cross_table_with_its_margins_is_read_as_one() -> None:
    columns = {"region": ["n", "s", "Total"], "f": ["1,203", "*", "1,213"],
               "m": ["1,104", "1,051", "2,155"], "Total": ["2,307", "1,061", "3,368"]}  # fmt: skip
    found = check(**columns)
    assert [(one.rule, one.verdict) for one in found.findings] == [
        ("unknown", Verdict.REVIEW), ("recomputed", Verdict.REFUSE),
    ]  # fmt: skip
    assert found.findings[1].reason == (
        "hidden cells can be computed from the totals: region s, columns f"
    )
    assert found.findings[1].cells == ((1, "f"),)
    said_so = check_table(pd.DataFrame(columns), described=Described(form="cross"))
    assert [one.rule for one in said_so.findings] == ["recomputed"]
    amounts = check(**{**columns, "Total": ["2,307.5", "1,061", "3,368"]})
    assert amounts.barns == ("linear aggregates",)


def test_german_names_and_decimals() -> None:
    found = check(region=["n", "s"], Anzahl=["1.500", "7"], Summe=["1.767,26", "20,5"])
    assert found.findings[0].reason == "row 2: fewer than 10 persons"
    assert found.barns == ("frequencies", "linear aggregates")
