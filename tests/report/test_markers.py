"""The whole chain on a file with planted markers: none of them is in the external report.

The data are an SPSS file whose labels, levels, numbers, missing codes and a dropped column carry
markers; so do the rules, derived columns, exclusions and protections of the specification.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from tests.report.page import Page

from caveat import Release

N = 240
NUMBERS = ("731971", "64827.25", "918273")
"""Numbers of single records, of a rule and of a protection."""

SPEC = """
[release]
title = "A small survey"
unit = "person"
seed = 192837465564738291
control = 0.2

[data]
path = "MARKERFILE.sav"

[columns.income]
missing = { "-987654" = "MARKERMISSINGLABEL" }

[synthesis]
method = "cart"
minbucket = 10
drop = ["MARKERDROPPED"]
rare_below = 1
rules = ["if age < 25 then marital = 'MARKERLEVEL'"]
derived = { wealth = "income * 64827.25" }

[[protect]]
name = "code_extremes"
top = { age = 918273 }

[[scenario]]
name = "a neighbour"
keys = ["sex", "age"]
targets = ["marital"]
limits = { DiSCO = 5, TCAPdisclosive = 5 }
exclude_levels = { marital = ["MARKERLEVEL"] }
exclude_pairs = [["marital", "MARKERRARE", "sex", "f"]]

[[scenario]]
name = "a strong one"
attacker = "strong"
targets = ["marital"]
records = 30

[[scenario]]
name = "with means"
attacker = "ordinary"
keys = ["sex", "age"]
targets = ["marital"]
attacks = ["singling-out", "inference"]
n_attacks = 100

[utility]
models = ["income ~ age + sex", "income ~ I(age * 918273)"]
rules = { MARKERRULE = { if = "age < 25", then = "marital == 'MARKERLEVEL'" } }

[map]
settings = { minbucket = [10, 40] }
scenario = "a neighbour"
seeds = 1
"""


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    age = rng.integers(18, 90, N)
    marital = np.where(age < 25, "MARKERLEVEL", rng.choice(["married", "single", "widowed"], N))
    marital[3] = "MARKERRARE"
    income = np.round(rng.normal(2000, 400, N)).astype(float)
    income[3] = float(NUMBERS[0])
    income[rng.integers(10, N, 12)] = -987654.0
    return pd.DataFrame(
        {
            "MARKERDROPPED": [f"MARKERID{i}" for i in range(N)],
            "sex": rng.choice(["f", "m"], N),
            "age": age.astype(float),
            "region": rng.integers(1, 4, N).astype(float),
            "marital": marital,
            "income": income,
            "wealth": np.where(income == -987654, np.nan, income * 64827.25),
        }
    )


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    folder = tmp_path_factory.mktemp("markers")
    pyreadstat.write_sav(
        survey(),
        str(folder / "MARKERFILE.sav"),
        column_labels=[f"MARKERLABEL{i}" for i in range(7)],
        variable_value_labels={"region": {1.0: "MARKERVALUE", 2.0: "south", 3.0: "east"}},
        missing_ranges={"income": [-987654.0]},
    )
    (folder / "release.toml").write_text(SPEC)
    return Release.from_toml(folder / "release.toml").run(threads=1, date="2026-01-01")


def found_in(text: str) -> set[str]:
    """Return the markers in a text, numbers with and without separators too."""
    flat = text.replace(",", "").replace("\u00a0", "")
    words = set(re.findall(r"MARKER[A-Z]+", text))
    return words | {number for number in (*NUMBERS, "987654") if number in flat}


def test_the_markers_are_in_the_evidence(outcome):
    seen = found_in(json.dumps(outcome.evidence))
    assert {
        "MARKERFILE", "MARKERLEVEL", "MARKERRARE", "MARKERDROPPED", "MARKERRULE", "MARKERLABEL",
        *NUMBERS[1:],
    } <= seen  # fmt: skip


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_the_internal_report_shows_them(outcome, name):
    text = (outcome.folder / "inside" / name).read_text("utf-8")
    assert {"MARKERFILE", "MARKERLEVEL", "MARKERDROPPED", "MARKERLABEL"} <= found_in(text)
    assert "Who is at risk" in text


@pytest.mark.parametrize("name", ["report-external.html", "report-external.md"])
def test_the_external_report_shows_none(outcome, name):
    text = (outcome.folder / "inside" / name).read_text("utf-8")
    assert found_in(text) == set()
    assert "Who is at risk" not in text
    assert outcome.evidence["seed"] not in text


def test_the_external_report_still_says_what_counts(outcome):
    words = Page((outcome.folder / "inside/report-external.html").read_text("utf-8")).words
    for text in ("The strong attacker: a strong one", "DiSCO", "strongWorst", "S_pMSE", "marital"):
        assert text in words
    assert "model 1 (withheld)" in words
    assert "income ~ age + sex" in words


def test_single_records_are_named_inside_only(outcome):
    records = outcome.evidence["records_at_risk"]
    assert records
    inside = (outcome.folder / "inside/report.html").read_text("utf-8")
    rows = re.search(r'<section id="records".*?</section>', inside, re.DOTALL).group(0)
    for record in records:
        assert f'data-sort="{record["row"]}"' in rows
    assert 'id="records"' not in (outcome.folder / "inside/report-external.html").read_text("utf-8")
