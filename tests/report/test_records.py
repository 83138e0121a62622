"""Who is at risk: groups of alike records, and the rows below them."""

from __future__ import annotations

from tests.report.sample import large, small

from caveat.report.attacker import records_section
from caveat.report.wording import NBSP


def test_alike_records_are_one_line():
    groups = records_section(large()).blocks[1]
    assert [row[0].text for row in groups.rows] == [
        "25 people alone with their keys",
        "25 people alone with their keys and only donor of its value",
    ]
    assert groups.rows[0][2].text == f"0.280 to >{NBSP}0.999"
    assert groups.rows[0][1].text == "How sure the attacker is of their “bmi”"


def test_people_alone_in_their_leaf():
    content = large()
    for i, record in enumerate(content["records_at_risk"]):
        columns = "1 column" if i == 0 else f"{i} columns"
        record["signs"] = [f"only donor of its value in a leaf, in {columns}"][: i < 31]
    groups = records_section(content).blocks[1]
    assert [row[0].text for row in groups.rows] == [
        "31 people alone in their leaf with their value",
        "19 people without such a sign",
    ]
    content["records_at_risk"] = content["records_at_risk"][:1]
    groups = records_section(content).blocks[1]
    assert groups.rows[0][0].text == "1 person alone in their leaf with their value"


def test_the_rows_are_there_folded():
    _, groups, rows = records_section(large()).blocks
    assert not groups.folded
    assert rows.folded
    assert len(rows.rows) == 50
    assert rows.caption.startswith("The rows, counted from 1 without the header: attacker ")


def test_what_counts_or_not_is_no_probability():
    content = small()
    for record in content["records_at_risk"]:
        record |= {"measure": "repU", "value": 1.0, "prior": None}
    groups = records_section(content).blocks[1]
    assert groups.rows[0][2].text == "counted"
    assert groups.rows[0][3].text == "–"


def test_rows_of_several_tables_are_no_people():
    content = small()
    content["records_at_risk"] = [
        {**content["records_at_risk"][0], "table": "visits", "row": row, "signs": []}
        for row in (3, 4)
    ]
    groups = records_section(content).blocks[1]
    assert groups.rows[0][0].text == "2 rows of visits without such a sign"


def test_nobody_is_listed():
    content = small()
    content["records_at_risk"] = []
    assert records_section(content).blocks[0].text == "The evidence lists no single record."
