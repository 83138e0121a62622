"""What the evidence comes to in a few lines, and where measures disagree."""

from __future__ import annotations

import pytest
from tests.report.sample import describe, large, measured, small

from caveat.report.attacker import disagreements
from caveat.report.findings import findings
from caveat.report.wording import NBSP


def lines(content):
    return {lead: text.replace(NBSP, " ") for lead, text in findings(content)}


def without(content, *attackers):
    content["scenarios"] = [s for s in content["scenarios"] if s["attacker"] not in attackers]
    return content


def test_there_are_four_lines_in_order():
    assert [lead for lead, _ in findings(small())] == [
        "What is released",
        "The worst finding",
        "What utility costs",
        "What this does not cover",
    ]


def test_the_release():
    assert lines(small())["What is released"] == (
        "1 synthetic table of 1,600 rows (one row is one person) and 5 columns, from 2,000 "
        "original records; 1 column is not released. Access: public. For: students. "
        "Purpose: teaching."
    )


def test_the_strong_attacker_is_the_worst_finding():
    assert lines(small())["The worst finding"] == (
        "An attacker who knows how the table was made and every record but one gives probability "
        "0.999 to the true “marital” of the person most at risk (before the release: 0.125). "
        "Because of the release she is nearly certain (0.9 or more) of “marital” for 12.7 % of the "
        'records examined. Plain trees show single records; guarded ones (method = "guarded") are '
        "made to hide them from her. Of 1.2 % of the records examined the strong attacker "
        "knows almost surely that they were in the data."
    )


def test_without_a_strong_attacker_the_limit_broken_by_most_is_the_worst():
    text = lines(without(small(), "strong"))["The worst finding"]
    assert text.startswith(
        "Furthest above its limit: people whose keys show one “marital” only, and it is theirs "
        "(DiSCO): 7.2 %, baseline 1.5 % (a neighbour)."
    )
    assert "No strong attacker was computed" in text


def test_a_strong_attacker_of_members_alone_was_computed_all_the_same():
    content = small()
    for scenario in content["scenarios"]:
        if scenario["attacker"] == "strong":
            about_values = ("strongWorst", "posterior", "strongShare", "strongGain")
            kept = [m for m in scenario["measurements"] if m["measure"] not in about_values]
            first = {**scenario["measurements"][0], "measure": "membershipShare", "target": None}
            scenario["measurements"] = kept or [{**first, "value": 0.1, "excess": None}]
    text = lines(content)["The worst finding"]
    assert "The strong attacker was not asked for anybody's values: the worst may be" in text


def test_without_limits_the_rise_over_the_baseline_counts():
    content = without(small(), "strong")
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["limit"] = m["excess"] = None
    text = lines(content)["The worst finding"]
    # singlingOut rises by 6.0, DiSCO by 5.75, inference and repU by 4.5.
    assert text.startswith("Furthest above its baseline: ")
    assert "(singlingOut (4 columns)): 8.5 %, baseline 2.5 %" in text


def test_what_has_no_baseline_is_not_above_it():
    content = without(small(), "strong")
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["limit"] = m["excess"] = None
    first = content["scenarios"][0]["measurements"]
    content["measures"]["iS"] = describe("iS")
    first.append(measured("iS", 0.999, baseline=None))
    assert "(singlingOut (4 columns)): 8.5 %" in lines(content)["The worst finding"]
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["baseline"] = None
    text = lines(content)["The worst finding"]
    assert text.startswith("No measure has a baseline to be compared with")


def with_members(content, share):
    """The strong attacker asks for membership alone, of groups."""
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["limit"] = m["excess"] = None
        if scenario["attacker"] == "strong":
            scenario["measurements"] = [
                measured("membershipShare", share, baseline=0.0, per="group")
            ]
    return content


def test_membership_counts_where_it_was_measured():
    content = with_members(small(), 0.43)
    text = lines(content)["The worst finding"]
    assert text.startswith(
        "Furthest above its baseline: groups whom the attacker knows almost surely to be in the "
        "data (membershipShare per group): 43.0 %, baseline 0 %"
    )
    assert "groups examined" not in text
    # A limit that is broken comes first, and membership is said all the same.
    content["scenarios"][0]["measurements"][0] |= {"limit": {"most": 0.01}, "excess": 3.5}
    text = lines(content)["The worst finding"]
    assert text.startswith("Furthest above its limit: ")
    assert text.endswith(
        "Of 43.0 % of the groups examined the strong attacker knows almost surely that they were "
        "in the data."
    )


@pytest.mark.parametrize(
    ("share", "says", "says_not"),
    [
        (0.43, "It does not do so for all: groups whom the attacker knows", "so that no single"),
        (0.01, "so that no single record moves a draw by much. The strong", "It does not do"),
        (None, "by much. How far it does was not measured.", "is measured on these data"),
    ],
)
def test_the_guard_claims_no_more_than_was_measured(share, says, says_not):
    content = with_members(small(), share)
    for column in content["synthesis"]["columns"]:
        column["method"] = "drop" if column["method"] == "drop" else "guarded"
    text = lines(content)["What the guard does"]
    assert says in text
    assert says_not not in text


def test_the_guard_claims_nothing_that_one_record_contradicts():
    content = with_members(small(), 0.0)
    strong = next(s for s in content["scenarios"] if s["attacker"] == "strong")
    strong["measurements"].append(
        measured("strongWorst", 0.97, baseline=0.2, target="marital", n=200)
    )
    content["synthesis"]["columns"][0]["method"] = "guarded"
    text = lines(content)["What the guard does"]
    assert "It does not do so for all: how sure the attacker is of the “marital” of" in text


def test_nothing_found_is_no_all_clear():
    content = without(small(), "strong")
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["limit"] = m["excess"] = None
            m["baseline"] = m["value"]
    assert "That is no all-clear" in lines(content)["The worst finding"]
    content["scenarios"] = []
    assert lines(content)["The worst finding"].startswith("No measure of risk has a value")


def test_utility_is_compared_with_a_fresh_sample():
    text = lines(small())["What utility costs"]
    assert text.startswith(
        "How well the two tables can be told apart (S_pMSE): 1.75 (1 is expected of a right "
        "synthesis, above 10 is poor; 1.02 for a fresh sample of the original). Worst single "
        "variable: marital (S_pMSE 2.00). Worst pair: age and marital (6.25)."
    )


def test_what_was_not_measured_is_said():
    content = without(small(), "strong", "ordinary")
    content["release"]["control_rows"] = 0
    text = lines(content)["What this does not cover"]
    assert text.startswith(
        "Not measured: the strong attacker, ordinary attacks (prediction, singling out, linkage) "
        "and a control (people who were not in the data). 3 columns were no attacker's target "
        "(sex, age and region)."
    )


def test_certain_disclosure_that_the_usual_measures_do_not_see():
    found = {remark.title: remark for remark in disagreements(large())}
    remark = found["Nearly certain about bmi, and other measures do not see it"]
    text = remark.text.replace(NBSP, " ")
    assert "probability > 0.999, up from 0.120 before the release" in text
    assert "repU is 0 % and DiSCO is 3.9 %" in text
    spots = dict(remark.items)
    assert list(spots) == ["repU", "DiSCO"]
    assert spots["repU"].startswith("Only the named keys are looked at")
    # TCAP is at 24 %, so it does see something.
    assert "TCAP" not in text


def test_an_average_that_hides_the_worst_record():
    titles = [remark.title for remark in disagreements(small())]
    assert "The average for marital is calm, the worst record is not" in titles
    # A mean rise of 31.5 points is not calm.
    assert not any("calm" in remark.title for remark in disagreements(large()))


def test_ordinary_attacks_that_fail():
    found = {remark.title: remark.text.replace(NBSP, " ") for remark in disagreements(small())}
    text = found["Ordinary attacks on marital fail, the strong one does not"]
    assert "singlingOut 8.5 % (control 8.2 %) and inference 48.0 % (control 47.5 %)" in text


def test_a_limit_broken_no_more_than_for_outsiders():
    found = {remark.title: remark.text.replace(NBSP, " ") for remark in disagreements(small())}
    text = found["Above the limit, but no more than for people who were not in the data"]
    assert text.startswith("DiSCO 7.2 % (control 6.5 %).")
    content = small()
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            m["control"] = 0.0 if m["control"] is not None else None
    assert not any("Above the limit" in remark.title for remark in disagreements(content))


def test_a_high_value_that_is_no_gain():
    content = small()
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            if m["measure"] == "inference":
                m |= {"value": 0.8, "baseline": 0.81}
    found = {remark.title: remark.text.replace(NBSP, " ") for remark in disagreements(content)}
    text = found["High, and yet no higher than without the release"]
    assert text.startswith("inference 80.0 % (baseline 81.0 %).")


@pytest.mark.parametrize("before", [0.95, 0.9])
def test_a_record_that_was_obvious_before_is_no_finding(before):
    content = small()
    for scenario in content["scenarios"]:
        for m in scenario["measurements"]:
            if m["measure"] == "strongWorst":
                m["baseline"] = before
    assert not any("Nearly certain" in remark.title for remark in disagreements(content))
