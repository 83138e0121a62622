"""The verdict in words."""

from __future__ import annotations

from tests.evidence.cases import LIMIT, content, entry, point, with_settings

from caveat.evidence import verdict_of
from caveat.report.verdict import CODES, headline, never, reasons
from caveat.report.wording import NBSP


def said(found):
    return {lead: text.replace(NBSP, " ") for lead, text in reasons(found)}


def test_every_code_has_words():
    from caveat.evidence.verdict import CODES as ALL

    assert set(CODES) == set(ALL)


def test_a_limit_that_no_setting_can_meet_is_said_to_be_one():
    found = content(entry(0.417, 0.414, limit=LIMIT))
    assert "cannot be met by any setting" in headline(found)
    assert "not ready" not in headline(found)
    (m,) = found["scenarios"][0]["measurements"]
    says = "no setting can meet it: people who are not in the data have 41.4 %"
    assert never(found, m).replace(NBSP, " ") == says
    assert says in said(found)["The board cannot rely on"]
    assert "above = 2" in said(found)["Next step"]


def test_the_next_step_names_its_price():
    found = with_settings(
        content(entry(0.08, 0.03, limit=LIMIT)), point("guard standard", 0.17, 2.2, True),
        point("guard strong", 0.04, 2.8),
    )  # fmt: skip
    assert said(found)["Next step"] == (
        "guard strong: 4.0 % instead of 17.0 % of the people known to be in the data; tables of "
        "two variables 2.80 instead of 2.20 (1 is expected)."
    )


def test_every_number_has_what_it_is_compared_with():
    found = content(entry(0.417, 0.414, limit={"most": None, "least": None, "above": 0.02}))
    found["scenarios"][0]["measurements"][0]["excess"] = 0.0
    assert "DiSCO 41.7 %, 41.4 % of people not in the data" in said(found)["The board can rely on"]


def test_a_stored_verdict_is_printed_and_not_made_again():
    found = content(entry(0.04, 0.03, limit=LIMIT))
    found["verdict"] = verdict_of(content(entry(0.08, 0.03, limit=LIMIT)))
    assert "not ready" in headline(found)
