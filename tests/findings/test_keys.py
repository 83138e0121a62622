"""Key variables that an attacker may know: those that are proposed add something to each other."""

from __future__ import annotations

import numpy as np

from caveat.findings import look
from caveat.findings.keys import candidates, candidates_of_tables, proposal, proposal_of_tables

RNG = np.random.default_rng(40)
N = 600
AGE = RNG.integers(18, 90, N)
AREA = RNG.integers(0, 12, N)
PEOPLE = {
    "region": [f"r{k // 3}" for k in AREA],
    "district": [f"d{k}" for k in AREA],
    "age": AGE,
    "age group": [f"{a // 10 * 10}" for a in AGE],
    "sex": RNG.choice(["f", "m"], N),
    "country": ["here"] * N,
    "pay": RNG.integers(0, 900, N),
}


def test_a_key_that_another_key_determines_is_not_proposed() -> None:
    assert candidates(look(PEOPLE), [*PEOPLE]) == ["sex", "age", "district"]
    assert candidates(look(PEOPLE), ["sex", "region", "age group"]) == [
        "sex",
        "age group",
        "region",
    ]


def test_a_column_with_one_value_is_no_key() -> None:
    assert "country" not in candidates(look(PEOPLE), [*PEOPLE])
    keys, others = proposal(look({"a": [1] * 40, "b": [1, 2] * 20}), ["a", "b"])
    assert (keys, others) == (["b"], [])


def test_one_column_of_each_topic_comes_first() -> None:
    data = {name: RNG.integers(0, 6, N) for name in ("town", "province", "birth place", "sex")}
    assert candidates(look(data), [*data]) == ["sex", "birth place", "province", "town"]


def test_without_telling_names_short_columns_are_proposed_that_do_not_follow_from_others() -> None:
    code = RNG.integers(0, 20, N)
    data = {"a": [f"x{k // 5}" for k in code], "b": [f"y{k}" for k in code], "c": AGE}
    profile = look(data)
    assert profile.about("determined-by", "a")
    assert proposal(profile, [*data]) == (["b"], [])


def test_tables_have_their_keys_together() -> None:
    people = look({name: PEOPLE[name] for name in ("sex", "pay")})
    profiles = {"homes": look({"region": AREA}), "people": people}
    released = {"homes": ["region"], "people": ["sex", "pay"]}
    assert candidates_of_tables(profiles, released) == ["sex", "region"]
    assert proposal_of_tables(profiles, released) == (["sex", "region"], [])
    # What is left must be something to learn.
    released["people"] = ["sex"]
    assert proposal_of_tables(profiles, released) == (["sex"], ["region"])
