"""What a notebook shows: lines, small tables and frames, without a value of anybody."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

import caveat
from caveat.showing import MOST_ROWS, Summary, frame_of, in_short, on_page
from caveat.spec.limits import Question
from caveat.synthesis.options import TOP_LEVEL, refuse_unknown
from caveat.synthesis.plan import SETTINGS
from caveat.tuning import RiskUtilityMap


class Answer:
    """A result whose name has signs that mean something to a browser."""

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def _summary(self) -> Summary:
        rows = [("<b>", 1234, 0.123456, None)] * self.rows
        return Summary("Answer & more", ("a<b", "n", "share", "none"), rows, ("x > y",))

    __repr__ = in_short
    _repr_html_ = on_page


def test_a_result_is_one_line_and_a_table_in_which_nothing_is_markup():
    assert repr(Answer(1)) == "<Answer & more>"
    assert Answer(1)._repr_html_() == (
        "<div><p><strong>Answer &amp; more</strong></p><table><thead><tr>"
        '<th scope="col">a&lt;b</th><th scope="col">n</th><th scope="col">share</th>'
        '<th scope="col">none</th></tr></thead><tbody><tr><td style="text-align:left">&lt;b&gt;'
        '</td><td style="text-align:right">1,234</td><td style="text-align:right">0.1235</td>'
        '<td style="text-align:left"></td></tr></tbody></table><p>x &gt; y</p></div>'
    )


def test_a_long_table_is_cut_and_says_so():
    text = Answer(MOST_ROWS + 7)._repr_html_()
    assert text.count("<tr>") == MOST_ROWS + 1
    assert "… 7 more" in text
    assert "<table>" not in Answer(0)._repr_html_()


def test_frames_are_pandas_or_polars():
    columns = {"a": [1, 2], "b": [0.5, None]}
    assert frame_of(columns)["a"].tolist() == [1, 2]
    assert frame_of(columns, "polars")["b"].to_list() == [0.5, None]
    with refused("data.backend.unknown"):
        frame_of(columns, "arrow")


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """Return a result of every kind, of the built-in survey."""
    table = caveat.datasets.survey(rows=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", caveat.CaveatWarning)
        model = caveat.Synthesizer(seed=1, drop=["person"]).fit(table)
        release = model.sample()
        keys = ["sex", "age"]
        return {
            "table": table,
            "model": model,
            "plan": model.plan,
            "look": caveat.look(table),
            "audit": caveat.audit(table, release, keys=keys, targets=["income"]),
            "compare": caveat.compare(table, release),
            "posterior": caveat.posterior(
                table, release, record=3, unknown=["satisfied"], generator=model
            ),
            "membership": caveat.membership(table, release, generator=model, records=range(20)),
            "vulnerable": caveat.vulnerable(table, generator=model, keys=keys),
        }


def test_every_result_is_short_in_one_line_and_a_table_in_a_notebook(made):
    lines = {name: repr(result) for name, result in made.items()}
    assert lines["model"] == "<Model: 300 original records, 14 columns (1 drop, 13 guarded)>"
    assert lines["plan"] == "<Plan: 14 columns (1 drop, 13 guarded)>"
    assert lines["look"].startswith("<Profile: 300 rows, 14 columns, ")
    assert lines["audit"].endswith("measurements of one copy, 300 original records>")
    assert lines["compare"].endswith("measures of one copy of 300 rows>")
    assert lines["posterior"].startswith("<Posterior of record 3, exact: ")
    assert lines["membership"].startswith("<Membership of 20 records: ")
    for name, line in lines.items():
        assert "\n" not in line or name == "table"
        if name != "vulnerable":
            assert made[name]._repr_html_().startswith("<div><p><strong>"), name
    assert "the nearest" not in lines["look"]
    assert str(made["look"]).count("\n") > 5  # what print shows is all of it
    assert str(made["audit"]).startswith("Disclosure audit")


def test_every_result_is_a_frame(made):
    frames = {name: made[name].to_frame("polars") for name in made if name != "model"}
    assert frames["plan"]["column"].to_list() == list(made["plan"].columns)
    assert frames["look"].height == len(made["look"].findings)
    assert frames["compare"]["measure"].to_list() == [r.label for r in made["compare"].results]
    posterior, found = frames["posterior"], made["posterior"]
    assert posterior["after"].sum() == pytest.approx(1)
    assert posterior.filter("truth")["after"].item() == found.probability
    assert set(posterior.columns) == {"satisfied", "before", "after", "truth"}
    member = frames["membership"]
    ratio = member["log_ratio"].to_numpy()
    assert member["posterior"].to_numpy() == pytest.approx(1 / (1 + np.exp(-ratio)))
    assert frames["vulnerable"].columns[-1] == "score"
    assert frames["vulnerable"].height == 300


def test_charts_of_results(made):
    look = made["look"].plot().to_dict()
    (rows,) = (
        (v for v in look["datasets"].values()) if "datasets" in look else [look["data"]["values"]]
    )
    assert {row["column"] for row in rows} == {
        column.name for column in made["look"].columns if column.missing
    }
    audit = str(made["audit"].plot().to_dict())
    assert "repU" in audit
    assert "UiO" not in audit.replace("UiOiS", "")  # it describes the original alone
    for what in ("distributions", "two-way", "correlations"):
        assert made["compare"].plot(what).to_dict()["title"]["text"]
    with refused("chart.name.unknown"):
        made["compare"].plot("pie")
    with refused("tune.measure.absent"):
        RiskUtilityMap((), Question(("repU",), ("sex",))).plot()


def test_dir_and_signatures_tell_what_there_is():
    assert dir(caveat) == sorted(caveat.__all__)
    given = set(inspect.signature(caveat.Synthesizer).parameters)
    plan = {"seed", "key", "threads", "anyway", "groups", "budget", "epsilon", "delta", "poisson"}
    plan |= {"replace"}
    assert given == {*plan, *TOP_LEVEL, *SETTINGS}
    synthesizer = caveat.Synthesizer(seed=3, minbucket=7, method="cart")
    assert synthesizer.options == {"minbucket": 7, "method": "cart"}
    assert repr(synthesizer) == "<Synthesizer: trial with seed 3, method, minbucket>"
    with pytest.raises(TypeError, match="minbuckets"):
        caveat.Synthesizer(minbuckets=7)  # type: ignore[call-arg]
    with refused("synthesis.setting.unknown", where="synthesis"):
        refuse_unknown({"minbuckets": 7}, SETTINGS)


def test_a_comparison_is_printed_as_its_table():
    people = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    found = caveat.compare(people, people, measures=["KS", "correlations kept"], resamples=1)
    lines = str(found).splitlines()
    assert lines[2].split()[:2] == ["measure", "value"]
    assert [line.split()[0] for line in lines[3:5]] == ["KS", "correlations"]
    assert lines[3].split()[1] == "0"
    assert lines[4].split()[2] == "–"  # what has no value has none in the table
    assert repr(found).startswith("<Utility")
