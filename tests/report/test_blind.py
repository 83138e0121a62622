"""What each measure cannot see."""

from __future__ import annotations

from tests.report.sample import large, small

from caveat.report.attacker import FIVE, blind_blocks


def rows(table):
    return {row[0].small: row for row in table.rows}


def test_measures_of_one_table_are_folded():
    heading, compared, others = blind_blocks(large())
    assert heading.id == "blind-spots"
    assert not compared.folded
    assert others.folded
    assert {"UiO", "Dorig"} == set(rows(others))
    assert {"repU", "DiSCO", "strongWorst"} <= set(rows(compared))


def test_what_is_not_done_is_said_so():
    _, compared, *_ = blind_blocks(large())
    found = rows(compared)
    assert found["repU"][3].text == (
        "Does not: find certain disclosure; grow with the information given away; rule out false "
        "reassurance"
    )
    assert (found["DiSCO"][3].text, found["DiSCO"][3].marks) == ("Does not: any of the five", "1")
    assert found["strongWorst"][3].text == "–"
    assert compared.notes == (FIVE,)


def test_what_was_said_is_not_said_again():
    _, compared, *_ = blind_blocks(small())
    found = rows(compared)
    assert found["strongWorst"][2].text.startswith("As strongShare. One record decides")


def test_without_attackers_there_is_nothing():
    content = small()
    content["scenarios"] = []
    assert list(blind_blocks(content)) == []
