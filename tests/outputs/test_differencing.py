"""What two tables tell together."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.refusals import refused

from caveat.datasets import survey
from caveat.outputs.checking import check_table
from caveat.outputs.differencing import (
    Cells,
    Counts,
    band_findings,
    compare_counts,
    differencing_findings,
)
from caveat.outputs.statbarns import Rules, Verdict


def counts(name: str, frame: pd.DataFrame) -> Counts:
    found = check_table(frame, name=name).counts
    assert found is not None
    return found


def told(one: pd.DataFrame, other: pd.DataFrame, threshold: int = 10) -> list[dict[str, str]]:
    found = compare_counts(counts("one", one), counts("other", other), threshold)
    return [dict(difference.cell) for difference in found]


PEOPLE = pd.DataFrame({"region": ["n", "n", "s", "s"], "sex": ["f", "m", "f", "m"],
                       "count": [50, 60, 70, 80]})  # fmt: skip


def test_a_nested_population_is_found() -> None:
    """The paper's case: all, and the graduates among them."""
    graduates = PEOPLE.assign(count=[30, 57, 40, 60])
    assert told(PEOPLE, graduates) == [{"region": "n", "sex": "m"}]
    assert told(graduates, PEOPLE) == [{"region": "n", "sex": "m"}]
    assert told(PEOPLE, graduates, threshold=3) == []


def test_one_category_less_is_found() -> None:
    """A third sex that one table leaves out, and the other counts only in its totals."""
    with_others = pd.DataFrame({"region": ["n", "s"], "count": [114, 150]})
    assert told(PEOPLE, with_others) == [{"region": "n"}]


def test_totals_that_differ_by_few_are_found() -> None:
    by_age = pd.DataFrame({"age": ["young", "old"], "count": [100, 157]})
    assert told(PEOPLE, by_age) == [{}]  # 260 and 257: three have no age
    assert told(PEOPLE, by_age.assign(count=[100, 160])) == []
    assert told(PEOPLE, by_age.assign(count=[100, 90])) == []


def test_unrelated_tables_are_not() -> None:
    other = pd.DataFrame({"branch": ["food", "toys"], "count": [400, 300]})
    assert told(PEOPLE, other) == []
    # Another year: some counts are larger, some smaller, and no persons are left over.
    assert told(PEOPLE, PEOPLE.assign(count=[52, 58, 71, 77])) == []


def test_a_hidden_cell_is_found_in_another_table() -> None:
    hidden = PEOPLE.assign(count=[50, None, 70, 80])
    by_region = pd.DataFrame({"region": ["n", "s"], "count": [54, 150]})
    (found,) = compare_counts(counts("a", hidden), counts("b", by_region), 10)
    assert (found.hidden, dict(found.cell)) == (True, {"region": "n"})
    two = PEOPLE.assign(count=[None, None, 70, 80])
    assert compare_counts(counts("a", two), counts("b", by_region), 10) == []
    # Both hide it, or the other table is about others.
    assert told(hidden, hidden) == []
    assert told(hidden, by_region.assign(count=[30, 500])) == []


def test_published_totals_are_used() -> None:
    with_total = pd.DataFrame({"sex": ["f", "m", "total"], "count": [None, None, 260]})
    assert told(with_total, PEOPLE.assign(count=[50, 60, 70, 77])) == [{}]


def test_bands_that_are_cut_differently() -> None:
    one = pd.DataFrame({"sex": ["f", "f", "m", "m"], "age": ["0-19", "20-39"] * 2,
                        "count": [50, 60, 40, 55]})  # fmt: skip
    other = one.assign(age=["0-18", "19-39"] * 2, count=[47, 63, 20, 75])
    assert told(one, other) == [{"age": "19 to below 20", "sex": "f"}]


def test_rounding_both_is_a_remedy() -> None:
    one = pd.DataFrame({"region": list("abcdef"), "count": [50, 60, 70, 85, 95, 100]})
    assert told(one, one.assign(count=[45, 60, 70, 85, 95, 100])) == []
    assert told(one, one.assign(count=[45, 61, 70, 85, 95, 101])) == []  # neither is a part
    assert told(one, one.assign(count=[45, 59, 70, 85, 95, 100])) != []


def test_findings_name_the_other_table_and_no_count() -> None:
    new = counts("new.csv", PEOPLE)
    old = counts("old.csv", PEOPLE.assign(count=[30, 57, 40, 60]))
    (finding,) = differencing_findings(new, [old], Rules())
    assert finding.verdict is Verdict.REFUSE
    assert finding.reason == ("it differs from old.csv by fewer than 10 persons: region n, sex m")
    same = Counts(new.name, new.keys, new.cells, new.totals, sha256="a")
    assert list(differencing_findings(same, [same], Rules())) == []


def test_every_difference_of_nested_tables_is_found() -> None:
    """Against a count of the persons themselves, over all pairs of columns of a survey."""
    frame = survey(rows=600).to_frame("pandas")
    rng = np.random.default_rng(3)
    part = frame[rng.random(len(frame)) > 0.02]
    left = frame.drop(part.index)
    for names in itertools.combinations(("sex", "region", "marital"), 2):
        tables = [
            group.groupby(list(names), dropna=False).size().reset_index(name="count")
            for group in (frame, part)
        ]
        whole = [table.astype(dict.fromkeys(names, str)) for table in tables]
        found = {tuple(sorted(cell.items())) for cell in told(*whole) if len(cell) == 2}
        rows = left[list(names)].astype(str).itertuples(index=False)
        expected = Counter(tuple(sorted(zip(names, row, strict=True))) for row in rows)
        shown = {tuple(row) for row in whole[1][list(names)].to_numpy()}
        few = {
            cell for cell, n in expected.items()
            if n < 10 and tuple(dict(cell)[name] for name in names) in shown
        }  # fmt: skip
        assert few
        assert found == few


def test_an_entry_keeps_what_was_published_and_no_more() -> None:
    table = counts("t.csv", PEOPLE.assign(count=[50, None, 70, 80]))
    entry = table.entry()
    assert entry["columns"] == ["region", "sex"]
    assert entry["cells"][1] == ["n", "m", None]
    assert entry["total"] is None
    again = Counts.from_entry(entry)
    assert (again.keys, again.cells) == (table.keys, table.cells)


def test_of_a_large_table_the_total_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("caveat.outputs.differencing.MOST_CELLS", 3)
    entry = counts("t.csv", PEOPLE).entry()
    assert (entry["cells"], entry["total"]) == (None, 260)
    again = Counts.from_entry(entry)
    assert [d.cell for d in compare_counts(again, counts("x", PEOPLE.head(3)), 90)] == [{}]


@pytest.mark.parametrize(
    "wrong",
    [{"cells": [["n", 5]]}, {"cells": [["n", "m", -5]]}, {"cells": 3}, {"columns": None},
     {"cells": [["n", "m", "many"]]}],
)  # fmt: skip
def test_damaged_entries_are_refused(wrong: dict[str, object]) -> None:
    with refused("privacy.ledger.damaged", where="ledger"):
        Counts.from_entry({**counts("t", PEOPLE).entry(), **wrong})


def test_a_cell_that_goes_the_other_way_does_not_hide_the_rest() -> None:
    """Most counts are equal: by chance two of four are in one of thirty pairs of tables."""
    one, other = counts("a", PEOPLE), counts("b", PEOPLE.assign(count=[47, 60, 70, 85]))
    found = compare_counts(one, other, 10)
    assert [(dict(d.cell), d.sure) for d in found] == [
        ({"region": "n", "sex": "f"}, False), ({"region": "s", "sex": "m"}, False),
    ]  # fmt: skip
    (finding,) = differencing_findings(other, [one], Rules())
    assert finding.verdict is Verdict.REVIEW
    assert finding.reason == (
        "it seems to be about the persons of a, and differs from it by fewer than 10: region n, "
        "sex f; region s, sex m"
    )
    # A large difference beside it is none of few persons.
    assert told(PEOPLE, PEOPLE.assign(count=[47, 60, 70, 95])) == [{"region": "n", "sex": "f"}]
    # In one of two cells nothing is equal, and in one of three too little.
    assert told(PEOPLE.head(2), PEOPLE.head(2).assign(count=[47, 69])) == []
    assert told(PEOPLE.head(3), PEOPLE.head(3).assign(count=[47, 60, 81])) == []


def test_with_many_equal_cells_the_tables_are_of_the_same_persons() -> None:
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"town": [f"t{i}" for i in range(40)], "count": rng.integers(20, 90, 40)})
    moved = frame.assign(count=frame["count"] + [3, -2, 1, *[0] * 37])
    found = compare_counts(counts("a", frame), counts("b", moved), 10)
    assert [(d.cell["town"], d.sure) for d in found] == [("t0", True), ("t1", True), ("t2", True)]
    (finding,) = differencing_findings(counts("b", moved), [counts("a", frame)], Rules())
    assert finding.verdict is Verdict.REFUSE


def test_nearly_nested_tables_need_review() -> None:
    """Of twenty towns all but one have fewer: some left, and one was entered late."""
    frame = pd.DataFrame({"town": [f"t{i}" for i in range(20)], "count": range(103, 123)})
    part = frame.assign(count=[104, 100, *(frame["count"][2:] - 30)])
    found = compare_counts(counts("a", frame), counts("b", part), 10)
    assert [(d.cell["town"], d.sure) for d in found] == [("t0", False), ("t1", False)]
    three = frame.assign(count=[104, 105, 106, *(frame["count"][3:] - 30)])
    assert told(frame, three) == []


def test_persons_that_moved_between_cells_need_review() -> None:
    """Nobody came or went, and six are in other cells."""
    one = pd.DataFrame({"sex": ["f", "m"], "count": [120, 110]})
    found = compare_counts(counts("a", one), counts("b", one.assign(count=[117, 113])), 10)
    assert [(dict(d.cell), d.sure) for d in found] == [({"sex": "f"}, False), ({"sex": "m"}, False)]
    assert told(one, one.assign(count=[100, 130])) == []  # another question
    assert told(one, one.assign(count=[117, 114])) == []  # another year


def test_tables_of_different_persons_are_rarely_taken_for_the_same() -> None:
    """Two samples of one population, the worst case: under one in a hundred pairs."""
    rng = np.random.default_rng(11)
    alarms = 0
    for _ in range(400):
        rates = rng.uniform(15, 80, 12)
        tables = [
            Counts("x", ("town",), {(f"t{i}",): float(n) for i, n in enumerate(rng.poisson(rates))},
                   {}) for _ in range(2)
        ]  # fmt: skip
        alarms += bool(compare_counts(*tables, 10))
    assert alarms <= 4


def test_what_is_passed_over_for_rounding_is_said_unless_it_is_declared() -> None:
    frame = pd.DataFrame({"region": list("abcdef"), "count": [50, 60, 70, 85, 95, 100]})
    one, other = (
        counts("one", frame),
        counts("other", frame.assign(count=[45, *frame["count"][1:]])),
    )
    (finding,) = differencing_findings(other, [one], Rules())
    assert finding.verdict is Verdict.REVIEW
    assert finding.reason == ("differences from one were passed over, as both look rounded to 5")
    said = [replace(table, rounded=5) for table in (one, other)]
    assert list(differencing_findings(said[0], said[1:], Rules())) == []
    exact = [replace(table, rounded=1) for table in (one, other)]
    (sure,) = differencing_findings(exact[0], exact[1:], Rules())
    assert sure.verdict is Verdict.REFUSE
    assert Counts.from_entry(said[0].entry()).rounded == 5


def test_bands_of_one_table() -> None:
    cells: Cells = {
        ("0-19", "f"): 50.0,
        ("0-18", "f"): 47.0,
        ("0-19", "m"): 80.0,
        ("0-18", "m"): 60.0,
    }
    table = Counts("t", ("age", "sex"), cells, {("0-19", ""): 130.0, ("0-18", ""): 107.0})
    (found,) = band_findings(table, Rules())
    assert found.verdict is Verdict.REFUSE
    assert found.reason == (
        "bands of the table tell of fewer than 10 persons together: age 19 to below 20, sex f"
    )
    assert list(band_findings(table, Rules(threshold=3))) == []
    # Bands of different groups are about different persons.
    other = Counts("t", ("age", "sex"), {("0-19", "f"): 50.0, ("0-18", "m"): 47.0}, {})
    assert list(band_findings(other, Rules())) == []


def test_bands_of_a_rounded_table() -> None:
    ages = ("0-19", "0-18", "0-17", "20-29", "30-39", "40-49")
    cells: Cells = {(age,): n for age, n in zip(ages, (50, 50, 45, 60, 70, 95), strict=True)}
    table = Counts("t", ("age",), cells, {})
    (found,) = band_findings(table, Rules())
    assert found.verdict is Verdict.REVIEW
    assert list(band_findings(replace(table, rounded=5), Rules())) == []
