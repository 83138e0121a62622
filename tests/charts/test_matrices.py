"""Heat maps: every pair once, below the diagonal, with a number and a shade."""

from __future__ import annotations

import pytest
from tests.charts.specs import rows_of, spec_of

from caveat.charts import associations, two_way

NAMES = ["age", "sex", "job"]


def test_pairs_lie_below_the_diagonal() -> None:
    pairs = {("sex", "age"): 0.4, ("age", "job"): 12.3, ("job", "sex"): 2345.0}
    spec = spec_of(two_way(NAMES, pairs, {"age": 3.0}))
    found = {(r["a"], r["b"]): (r["value"], r["shade"], r["text"]) for r in rows_of(spec, "a")}
    assert found == {
        ("age", "sex"): (0.4, 1.0, "0.4"),
        ("age", "job"): (12.3, 12.3, "12"),
        ("sex", "job"): (2345.0, 2345.0, "2k"),
        ("age", "age"): (3.0, 3.0, "3.0"),
    }
    cells = spec["layer"][0]["encoding"]
    assert cells["x"]["sort"] == cells["y"]["sort"] == NAMES
    assert cells["color"]["scale"]["domain"] == [1, 2345.0]
    assert spec["width"] == spec["height"] == {"step": 19}


def test_small_scores_do_not_look_like_a_disaster() -> None:
    spec = spec_of(two_way(NAMES, {("age", "sex"): 3.0}, {}, by="S_chi2"))
    colour = spec["layer"][0]["encoding"]["color"]
    assert colour["scale"]["domain"] == [1, 30]
    assert colour["legend"]["title"] == "S_chi2"


@pytest.mark.parametrize(("there", "text"), [(0.46, ""), (0.44, "−6"), (0.7, "+20")])
def test_differences_have_signs_where_they_matter(there: float, text: str) -> None:
    rows = [{"a": "age", "b": "sex", "original": 0.5, "synthetic": there}]
    spec = spec_of(associations(NAMES, rows))
    (row,) = rows_of(spec, "a")
    assert row["value"] == pytest.approx(there - 0.5)
    assert row["text"] == text
    top = max(0.1, abs(there - 0.5))
    domain = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert domain == [pytest.approx(-top), 0, pytest.approx(top)]
