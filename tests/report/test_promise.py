"""The section on promises: a promise and a measurement are never printed as each other."""

from __future__ import annotations

from typing import Any

import pytest
from tests.report.sample import small

from caveat.evidence import Decision, check, evidence_sha256, external
from caveat.report import markdown, render
from caveat.report.account import TITLE, promise_section
from caveat.report.findings import findings
from caveat.report.wording import NBSP


def promised(largest: float = 0.4, bound: float | None = 0.25, **more: Any) -> dict[str, Any]:
    """Evidence of a private release."""
    content = small()
    content["promise"] = {
        "epsilon": 1.0, "delta": 1e-9, "rho": 0.015, "mechanism": "counts with noise",
        "unit": "one record", "neighbours": "one record more or less", "domain": "declared",
        "records": "not assumed to be public", "pairs": "given in the specification",
        "tables": [{"columns": ["sex", "marital"], "cells": 12, "sigma": 7.75}],
        "poisson": None, "held_out": True,
        "ledger": {"dataset": "LEDGERNAME", "spent": 0.93,
                   "limit": {"epsilon": 2.0, "delta": 1e-8}},
        **more,
    }  # fmt: skip
    content["measured"] = {
        "says": "computed from the original", "records": 1600, "largest": largest,
        "above": 0.01 if largest > 1 else 0.0, "bound": bound,
        "bounds": [] if bound is None else [{"row": 771, "log_ratio": largest, "bound": bound}],
        "simulations": 0 if bound is None else 100, "confidence": 0.95,
    }  # fmt: skip
    check(content)
    return content


def cleared(**other: str) -> dict[str, Any]:
    """Evidence of a release from cleared tables."""
    content = small()
    content["cleared"] = {
        "rules": "at least 10 records in a cell", "records": 1600, "changed_by": 80,
        "tables": [{"columns": ["sex", "marital"], "cells": 8, "smallest": 10, "multiple": 5,
                    "suppressed": 3, "changed_by": 80}],
    }  # fmt: skip
    for column in content["synthesis"]["columns"]:
        column["method"] = other.get(column["name"], "margins")
    check(content)
    return content


def text_of(content: dict[str, Any], version: Any = "internal") -> str:
    return markdown(content, version=version).replace(NBSP, " ")


def test_a_release_without_a_promise_has_no_such_section() -> None:
    assert promise_section(small()) == []
    assert TITLE not in markdown(small())


def test_both_stand_side_by_side_and_are_called_by_their_names() -> None:
    text = text_of(promised())
    assert "| ε | promise | 1.00 | all data of the declared domain, but for δ = 10⁻⁹ |" in text
    assert "| Largest exact log ratio | measurement | 0.400 |" in text
    assert "1,600 records, each left out in turn" in text
    assert "| Lower bound of ε by simulation | measurement | 0.250 |" in text
    assert "95 % confidence" in text
    assert "tables drawn 100 times with and without each" in text
    assert "exp(ε) = 2.72 times as probable (ε = 1), but for a probability of δ = 10⁻⁹" in text
    assert "ε = 0.930 of ε = 2 is spent on “LEDGERNAME”" in text
    assert "above the promise" not in text
    assert 'id="chart-promise"' in render(promised())


def test_the_external_version_has_the_promise_and_no_measurement() -> None:
    text = text_of(promised(), "external")
    assert "exp(ε) = 2.72" in text
    assert "| sex × marital | 12 | 7.75 |" in text
    gone = ("LEDGERNAME", "0.400", "0.250", "771", "What the attacker can do", "What analysts",
            "2,000 original", "strongWorst", "Who is at risk")  # fmt: skip
    assert [word for word in gone if word in text] == []
    assert [lead for lead, _ in findings(external(promised()))] == [
        "What is released", "What is promised", "What was measured", "What this does not cover",
    ]  # fmt: skip


def test_page_one_says_that_measurements_stay_inside() -> None:
    lines = dict(findings(promised()))
    assert lines["What is promised"] == (
        "Differential privacy with ε = 1 and δ = 10⁻⁹ for one record, for the synthetic tables and "
        "the noisy tables behind them. The measurements on these pages are not covered by it and "
        "stay inside."
    )


def test_what_is_above_the_promise_is_said() -> None:
    text = text_of(promised(1.5, 1.2))
    assert "1.0 % of the records have a loss above ε." in text
    assert "By chance this happens in at most 5 % of all runs; otherwise the promise is not" in text
    assert "not simulated: the tables have too many cells" in text_of(promised(bound=None))


def test_a_large_delta_is_called_large() -> None:
    poisson = {"alpha": 1.0, "delta_equation_9": 0.0527, "delta_exact": 0.0256}
    tables = [{"columns": ["sex"], "cells": 3, "sigma": None}]
    content = promised(delta=0.0256, epsilon=2.0, rho=None, poisson=poisson, tables=tables)
    text = text_of(content, "external")
    assert "Such a δ is large: see below." in text
    assert "up to 0.0527; the exact δ is 0.0256" in text
    assert "| sex | 3 | Poisson(count + 1) |" in text


def test_another_run_makes_another_release() -> None:
    text = text_of(promised())
    assert "byte for byte" not in text
    assert "the command makes another release, and spends its budget again" in text
    assert "She is given the noisy tables and the pairs that were chosen" in text


def test_cleared_tables_promise_nothing_and_are_the_only_source() -> None:
    content = cleared()
    assert dict(findings(content))["What is promised"] == (
        "Nothing. The release was made from 1 cleared table and from nothing else; what is given "
        "away is measured, not bounded."
    )
    text = text_of(content)
    assert "Without each of 80 records (5.0 % of 1,600) one of the tables would be another" in text
    assert "| sex × marital | 8 | 5 | 10 | 3 | 80 |" in text
    public = text_of(content, "external")
    assert "| sex × marital | 8 | 5 |" in public
    assert "What the attacker can do" in public
    assert "at least 10 records" not in public
    assert "Without each of" not in public


def test_columns_that_are_not_made_from_tables_are_named() -> None:
    content = cleared(age="cart")
    assert dict(findings(content))["What is promised"].startswith(
        "Nothing. age was made from records, all others from 1 cleared table; "
    )
    assert "age was not: the tables say nothing about what these give away." in text_of(content)


@pytest.mark.parametrize("make", [promised, cleared])
def test_what_is_external_stays_as_it_is(make: Any) -> None:
    once = external(make())
    assert external(once) == once


def test_page_one_of_a_promise_says_so_and_tells_no_decision() -> None:
    content = promised()
    made = Decision(evidence_sha256(content), "release", ["A. Chair"], "2026-11-17")
    first = markdown(content, version="external", decision=made).split("## 2.")[0]
    assert "**Differential privacy is promised: ε = 1, δ = 10⁻⁹.**" in first
    assert "board" not in first
    assert "2026-11-17" not in first
    inside = markdown(content, decision=made).split("## 2.")[0]
    assert "2 of 4 limits are not met" in inside
    assert "☒ Release" in inside


def test_page_one_says_what_columns_are_drawn_from() -> None:
    assert "Of the released columns all are drawn from cleared tables." in markdown(cleared())
    assert "all are drawn from models." in markdown(cleared(sex="cart"))
