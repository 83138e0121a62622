"""Survey weights are found by name and shape, and nothing else is taken for them."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from caveat.datasets import survey
from caveat.findings import Profile, look
from caveat.spec.starter import starter
from caveat.synthesis import Synthesizer
from caveat.table import read


def weights_of(profile: Profile) -> list[str]:
    return [f.columns[0] for f in profile.about("survey-weights")]


@pytest.mark.parametrize(
    ("file", "found", "used"),
    [
        ("laeken_eusilc", ["db090", "rb050"], "rb050"),
        ("adult", ["fnlwgt"], "fnlwgt"),
        ("nist_ma2019", ["PWGTP", "WGTP"], "PWGTP"),
        ("sdcmicro_testdata", ["household_weights"], "household_weights"),
        ("sd2011", [], None),  # its weight is in kilograms
        ("cmc", [], None),
        ("german_credit", [], None),
        ("fertility", [], None),
        ("simframe_eusilcP", [], None),
    ],
)
def test_the_files_of_surveys(shared: Path, file: str, found: list[str], used: str | None) -> None:
    path = shared / "data" / f"{file}.csv"
    profile = look(path)
    assert weights_of(profile) == found
    # Nothing else has to be decided about them.
    others = {name for f in profile.findings if f.code != "survey-weights" for name in f.columns}
    assert not others & set(found)
    text = starter(profile)
    content = tomllib.loads(text)
    synthesis = content["synthesis"]
    assert synthesis.get("weights") == used
    assert not set(found) & set(synthesis.get("order", ()))
    assert set(found) <= set(synthesis.get("drop", ()))
    for scenario in content["scenario"]:
        assert not set(found) & set(scenario.get("keys", ()))
    if used is not None:
        plan = Synthesizer(groups=content.get("groups"), **synthesis).plan(read(path))
        assert plan.weights == used
        assert not set(found) & {
            n for n in plan.columns if plan.columns[n].settings.method != "drop"
        }


ROWS = 200
RNG = np.random.default_rng(1)
SHAPES = {
    "expansion": np.round(RNG.lognormal(6, 0.4, ROWS), 4),
    "whole": RNG.integers(20, 900, ROWS),
    "by stratum": RNG.choice([104.25, 88.5, 301.125], ROWS),
    "scaled": (lambda w: w / w.mean())(RNG.lognormal(0, 0.4, ROWS)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "name",
    ["fnlwgt", "PWGTP", "perwt", "hhwt", "sampling_weight", "survey_weight", "person_weight",
     "design_weight", "dweight", "pspwght", "rb050", "DB090", "pb040", "pond",
     "expansion_factor", "W_FSTUWT", "phrf", "hochrechnungsfaktor"],
)  # fmt: skip
def test_names_that_mean_nothing_else(name: str, shape: str) -> None:
    table = {"age": RNG.integers(18, 80, ROWS), name: SHAPES[shape], "height": SHAPES["whole"]}
    assert weights_of(look(table)) == [name]


@pytest.mark.parametrize("name", ["weight", "wt", "WGT", "gew", "poids", "w", "final_weight"])
def test_names_that_may_mean_a_body(name: str) -> None:
    age = RNG.integers(18, 80, ROWS)
    for shape, expected in (("expansion", [name]), ("scaled", [name]), ("whole", [])):
        assert weights_of(look({"age": age, name: SHAPES[shape]})) == expected
        assert weights_of(look({"age": age, name: SHAPES[shape], "height": age + 100})) == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("income", SHAPES["expansion"]),
        ("score", SHAPES["scaled"]),
        ("birth_weight", SHAPES["whole"]),
        ("rb090", RNG.integers(1, 3, ROWS)),  # sex in EU-SILC
        ("rb080", RNG.integers(1930, 2000, ROWS)),
        ("db040", RNG.integers(1, 10, ROWS)),
        ("fnlwgt", np.where(np.arange(ROWS) == 3, np.nan, SHAPES["whole"])),
        ("fnlwgt", SHAPES["whole"] - 300),
        ("fnlwgt", np.full(ROWS, 5)),
        ("fnlwgt", np.where(np.arange(ROWS) % 2, SHAPES["whole"], 0)),
        ("fnlwgt", SHAPES["whole"].astype(str) + "x"),
        ("weighted_score", SHAPES["expansion"]),
        ("wtf", SHAPES["expansion"]),
    ],
)
def test_what_is_no_weight(name: str, values: np.ndarray) -> None:  # type: ignore[type-arg]
    assert weights_of(look({"age": RNG.integers(18, 80, ROWS), name: values})) == []


def test_the_weight_of_a_body_is_data() -> None:
    assert weights_of(look(survey(rows=400))) == []


def test_clusters_and_strata_are_categories() -> None:
    rng = np.random.default_rng(9)
    stratum = np.repeat(np.arange(1, 31), 40)
    psu = 100 * stratum + np.tile(np.repeat(np.arange(4), 10), 30)
    n = len(psu)
    profile = look(
        {
            "psu": psu, "strata": stratum, "bmi": rng.normal(26, 4, n).round(1),
            "weight": rng.gamma(5, 0.2, n), "district": rng.integers(1, 30, n),
        }
    )  # fmt: skip
    assert {f.columns[0] for f in profile.about("sampling-unit")} == {"psu", "strata"}
    assert not profile.about("arithmetic")  # strata = psu / 100 says nothing about codes
    assert weights_of(profile) == ["weight"]  # a sample has weights, whatever else is measured
    content = tomllib.loads(starter(profile))
    assert content["columns"] == {"psu": {"kind": "category"}, "strata": {"kind": "category"}}
