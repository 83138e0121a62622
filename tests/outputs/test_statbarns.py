"""The twelve barns, their rules and their sources."""

from __future__ import annotations

import dataclasses

import pytest
from tests.refusals import refused

from caveat.outputs.statbarns import (
    RULES,
    STATBARNS,
    Risk,
    Rules,
    Verdict,
    barn_of,
    known_barn,
    plain_name,
)


def test_there_are_twelve_barns_six_of_them_safe() -> None:
    """Table 1 of the paper."""
    barns = list(STATBARNS.values())
    assert "".join(barn.letter for barn in barns) == "abcdefghijkl"
    assert [barn.letter for barn in barns if barn.safe] == list("ghijkl")
    for barn in barns:
        assert barn.source
        assert barn.remedy
        assert barn.risks
        assert set(barn.rules) <= set(RULES)


def test_the_defaults_are_those_of_the_table_and_of_acro() -> None:
    defaults = {one.name: one.default for one in dataclasses.fields(Rules)}
    assert {name: rule.default for name, rule in RULES.items()} == {
        name: defaults[name] for name in RULES
    }
    assert (defaults["threshold"], defaults["degrees_of_freedom"]) == (10, 10)
    assert (defaults["dominance_n"], defaults["dominance_share"], defaults["p"]) == (2, 0.9, 0.1)
    assert all(rule.source and rule.says for rule in RULES.values())


@pytest.mark.parametrize(
    ("statistic", "letter"),
    [
        # The paper's own allocations, sections 3.2 and 5.
        ("pie chart", "a"), ("histogram", "a"), ("decision tree", "a"), ("scatter plot", "a"),
        ("median", "b"), ("IQR", "b"), ("P90", "b"), ("maximum", "c"), ("mean", "d"),
        ("concentration ratio", "d"), ("odds_ratio", "e"), ("survival", "f"),
        ("estimated odds ratio", "g"), ("kernel density", "g"), ("skewness", "i"), ("mode", "j"),
        ("Herfindahl", "k"), ("gini", "l"),
    ],
)  # fmt: skip
def test_statistics_are_in_their_barns(statistic: str, letter: str) -> None:
    assert barn_of(statistic).letter == letter


def test_frequencies_are_as_the_paper_describes_them() -> None:
    barn = barn_of("count")
    assert not barn.safe
    assert set(barn.risks) == {Risk.LOW_COUNT, Risk.CLASS, Risk.DIFFERENCING}
    assert "threshold" in barn.rules
    for remedy in ("suppress", "round", "noise", "merge"):
        assert remedy in barn.remedy
    aggregates = barn_of("total")
    assert set(barn.rules) < set(aggregates.rules)  # all rules of frequencies plus dominance


def test_what_is_in_no_barn_is_said_so() -> None:
    assert known_barn("colour") is None
    with refused("outputs.statistic.unknown"):
        barn_of("medain")


@pytest.mark.parametrize(
    ("wrong", "said"),
    [({"threshold": 0}, "outputs.rule.range"), ({"threshold": True}, "outputs.rule.range"),
     ({"p": 1.0}, "outputs.rule.range"),
     ({"dominance_share": 0.0}, "outputs.rule.range")],
)  # fmt: skip
def test_rules_that_are_none_are_refused(wrong: dict[str, float], said: str) -> None:
    with refused(said):
        Rules(**wrong)  # type: ignore[arg-type]


def test_verdicts_have_an_order_and_cells_may_be_structural() -> None:
    assert [verdict.severity for verdict in Verdict] == [0, 1, 2]
    rules = Rules(structural=({"sex": "m", "pregnant": "yes"}, {}))
    assert rules.is_structural({"sex": "m", "pregnant": "yes", "age": "20"})
    assert not rules.is_structural({"sex": "f", "pregnant": "yes"})


def test_some_names_are_german() -> None:
    names = ("Anzahl", "Mittelwert", "Summe")
    assert [plain_name(name) for name in names] == ["count", "mean", "sum"]
    assert "".join(barn_of(name).letter for name in names) == "add"
