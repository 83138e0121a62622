"""Earlier releases of the same data, where they cannot be overlooked."""

from __future__ import annotations

from tests.report.sample import small

from caveat.report import markdown
from caveat.report.verdict import released_before
from caveat.report.wording import NBSP


def told(alone, together, **more):
    both = {"alone": alone, "together": together}
    sides = {k: {"share": v, "mean": v, "largest": v} for k, v in both.items()}
    return {"records": 500, "releases": 2, "before": 0.0, **sides, **more}


def released(**more):
    content = small()
    content["earlier_releases"] = {
        "dataset": "survey 2026", "releases": 1, "together": 1, "exact": True, "reason": None,
        "other_data": 0, "left_out": [], "membership": told(0.088, 0.12),
        "targets": [told(0.06, 0.2, target="marital")], **more,
    }  # fmt: skip
    return content


def line(content, **more):
    return [text.replace(NBSP, " ") for _, text in released_before(content, **more)]


def test_page_one_and_the_short_version_say_it_inside_only():
    text = markdown(released())
    assert "**Released before**: These data were released once before." in text.split("## 2.")[0]
    short = text.split("## 2.")[1].split("## 3.")[0]
    assert "**Released before**: These data were released once before." in short
    assert "Released before" not in markdown(released(), version="external")
    assert "Released before" not in markdown(small())


def test_it_says_how_much_is_added_and_of_which_records():
    by_all = (
        "These data were released once before. By all 2 releases together the strong attacker is "
        "nearly certain (0.9 or more) "
    )
    marital = "of marital for 20.0 % of 500 records (by this release alone 6.0 %)"
    assert line(released(), short=True) == [f"{by_all}{marital}. Details: remarks of the run."]
    assert line(released()) == [
        f"{by_all}that they were in the data for 12.0 % of 500 records (by this release alone "
        f"8.8 %); {marital}. These are records chosen once for all releases of the data, not those "
        "that the attackers of this report are tried on: numbers differ for that reason."
    ]


def test_where_all_records_are_tried_nothing_is_said_of_a_choice():
    content = released()
    content["release"]["fitted_rows"] = 500
    assert line(content)[0].endswith("(by this release alone 6.0 %).")


def test_what_is_not_added_up_is_said():
    assert line(released(releases=3, membership=None, targets=[], other_data=1)) == [
        "These data were released 3 times before. What the releases tell together is not added "
        "up. 1 release under the same name is of other data and not added."
    ]
    assert line(released(releases=0, other_data=0)) == []
    assert line(released(releases=0, membership=None, targets=[], other_data=2)) == [
        "Not these data, by the ledger. 2 releases under the same name are of other data and not "
        "added."
    ]
