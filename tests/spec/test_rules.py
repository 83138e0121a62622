"""Rules about a record and rules about a group, by the columns they name."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.spec.against_data import columns_of, is_of_groups


@pytest.mark.parametrize(
    ("rule", "columns"),
    [
        ("if age < 18 then marital = 'single'", ("age", "marital")),
        ("begin <= end", ("begin", "end")),
        ("any(age >= 18)", ("age",)),
        (" any (`age, in years` >= 18)", ("age, in years",)),
    ],
)
def test_the_columns_of_a_rule(rule: str, columns: tuple[str, ...]) -> None:
    assert columns_of(rule, grouped=True) == columns
    assert is_of_groups(rule) == ("any" in rule)


def test_a_rule_about_members_needs_groups() -> None:
    with refused("spec.entry.absent"):
        columns_of("any(age >= 18)", grouped=False)


@pytest.mark.parametrize("rule", ["any(age >= 18", "any(sex == 'f' and age > 3)", "anything"])
def test_what_is_no_rule_is_refused(rule: str) -> None:
    with pytest.raises(CaveatError):
        columns_of(rule, grouped=True)
