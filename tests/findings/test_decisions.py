"""What the user has to decide, and what the starter specification settles."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest

from caveat.datasets import households, survey
from caveat.findings import look
from caveat.findings.keys import (
    _RANKED,
    _SETTLED,
    MOST_DECISIONS,
    OpenDecision,
    further_findings,
    open_decisions,
    sentences,
    settled_decisions,
)
from caveat.findings.profile import CATALOGUE, Profile, Status
from caveat.spec.starter import starter

RNG = np.random.default_rng(39)
N = 400


def many() -> dict[str, Any]:
    """Return a table about which much has to be decided."""
    smoker = RNG.choice(["yes", "no"], N).astype(object)
    pay = RNG.integers(8, 60, N) * 100
    pay[0] = 900_000
    answer = RNG.choice(["good", "Good", "bad", "unknown"], N).astype(object)
    area = RNG.integers(0, 12, N)
    points = RNG.integers(0, 40, N)
    points[:60] = 40
    rare = np.zeros(N, int)
    rare[:9] = [1, 2, 3] * 3
    return {
        "sex": RNG.choice(["f", "m"], N), "day": RNG.choice(["03/04/2020", "05/06/2021"], N),
        "pay": pay, "gap": np.where(RNG.random(N) < 0.1, 999, RNG.integers(0, 400, N)),
        "answer": answer, "smoker": smoker, "n": np.where(smoker == "yes", pay // 100, -8),
        "area": [f"a{k}" for k in area], "land": [f"l{k // 4}" for k in area],
        "points": points, "rare": rare, "empty": [None] * N,
    }  # fmt: skip


@pytest.fixture(scope="module")
def profile() -> Profile:
    return look(many())


def test_every_kind_of_finding_that_may_be_open_has_a_rank() -> None:
    ranked = {code for one in _RANKED for code in (one if isinstance(one, tuple) else (one,))}
    assert ranked == {code for code, entry in CATALOGUE.items() if entry.status is Status.OPEN}
    settled = {code for code, entry in CATALOGUE.items() if entry.status is Status.SETTLED}
    assert settled <= {*_SETTLED}
    with_entry = {code for code, entry in CATALOGUE.items() if entry.entry}
    assert with_entry == ranked | settled


def test_keys_come_first_and_the_rest_by_importance(profile: Profile) -> None:
    entries = [decision.entry for decision in open_decisions(profile)]
    assert entries[0] == "[[scenario]] keys"
    assert entries[1:3] == ["[columns.day] kind, format", "[columns.gap] missing"]
    assert "[synthesis] rules" in entries
    assert "[columns.answer] recode" in entries
    assert len(entries) > MOST_DECISIONS
    assert all(decision.action.endswith(".") for decision in open_decisions(profile))


def test_what_the_starter_decides_is_in_the_starter(profile: Profile) -> None:
    held = {d.entry: d.columns for d in settled_decisions(profile)}
    assert held["[columns.NAME] missing"] == ("n (-8)",)
    content = tomllib.loads(starter(profile))
    assert content["columns"]["n"] == {"missing": [-8]}
    homes = look(households())
    held = {d.entry: d.columns for d in settled_decisions(homes)}
    content = tomllib.loads(starter(homes))
    assert held["[groups]"] == (content["groups"]["key"],)
    assert held["[synthesis] weights"] == (content["synthesis"]["weights"],)
    people = look(survey(rows=500))
    held = {d.entry: d.columns for d in settled_decisions(people)}
    synthesis = tomllib.loads(starter(people))["synthesis"]
    assert set(held["[synthesis] replace"]) == set(synthesis["replace"])


def test_the_proposed_keys_are_those_of_the_starter(profile: Profile) -> None:
    for each in (profile, look(households()), look({"a": [1, 2] * 20, "b": [1, 2, 3, 4] * 10})):
        keys = tomllib.loads(starter(each))["scenario"][0]["keys"]
        assert open_decisions(each)[0].summary.startswith(f"Proposed: {', '.join(keys)}.")


def test_no_finding_is_lost(profile: Profile) -> None:
    first = [f for d in open_decisions(profile)[:MOST_DECISIONS] for f in d.findings]
    further = further_findings(profile)
    assert sorted(map(id, first + further)) == sorted(map(id, profile.findings))


def test_a_finding_without_values_of_few_records_stands_for_a_decision() -> None:
    (keys, outlier) = open_decisions(look({"x": [*range(100), 9_999]}))
    assert isinstance(keys, OpenDecision)
    assert sentences(keys) == [keys.summary]
    assert "9999" in outlier.findings[0].message
    assert "9999" not in " ".join(sentences(outlier))


def test_an_empty_table_needs_no_decision() -> None:
    assert open_decisions(look({})) == []
    assert settled_decisions(look({})) == []


def test_a_notebook_folds_the_rest(profile: Profile) -> None:
    page = profile._repr_html_()
    first, _, rest = page.partition("<details>")
    assert "[[scenario]] keys" in first
    assert "for information" not in first
    assert "for information" in rest
    assert page.count("<details>") == page.count("</details>") == 2
