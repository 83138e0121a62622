"""The rules of an office in a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.outputs.output_table import Described
from caveat.outputs.statbarns import RULES, Rules, Verdict
from caveat.spec.data_entries import SECTION, OutputRules

TEXT = """
[rules]
threshold = 5
dominance_n = 1
dominance_share = 0.75
p = 0.2
empty = "safe"
totals = ["Insgesamt"]

[[structural]]
sex = "m"
children = 0

[[output]]
file = "cross.csv"
form = "cross"
across = "region"
decimal = ","
rounded = 5

[[output]]
file = "money.csv"
count = "firms"
statistics = { turnover = "total" }
largest = ["first", "second"]
keys = ["code"]
nested = ["code"]
status = "remark"
"""


def rules(text: str, folder: Path) -> OutputRules:
    (folder / "rules.toml").write_text(text)
    return OutputRules.read(folder / "rules.toml")


def test_a_file_of_rules(tmp_path: Path) -> None:
    told = rules(TEXT, tmp_path)
    assert told.rules == Rules(
        threshold=5, dominance_n=1, dominance_share=0.75, p=0.2, empty=Verdict.SAFE,
        totals=frozenset({"insgesamt"}), structural=({"sex": "m", "children": "0"},),
    )  # fmt: skip
    assert told.described == {
        "cross.csv": Described(form="cross", across="region", decimal=",", rounded=5),
        "money.csv": Described(
            count="firms",
            statistics={"turnover": "total"},
            largest=("first", "second"),
            keys=("code",),
            nested=("code",),
            status="remark",
        ),
    }
    assert rules("", tmp_path) == OutputRules()


def test_every_rule_can_be_set() -> None:
    assert set(RULES) < set(SECTION.keys)
    assert {name: SECTION.keys[name].default for name in RULES} == {
        name: rule.default for name, rule in RULES.items()
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[rules]\nthreshold = 0\n", "spec.entry.range"),
        ("[rules]\ntreshold = 5\n", "spec.entry.unknown"),
        ("[rules]\nempty = 'maybe'\n", "spec.value.unknown"),
        ("[rules]\np = 1\n", "spec.entry.range"),
        ("[[output]]\nform = 'cross'\n", "spec.entry.absent"),
        ("[[output]]\nfile = 'a.csv'\ndecimal = ';'\n", "spec.value.unknown"),
        (
            "[[output]]\nfile = 'a.csv'\nstatistics = { x = 'medain' }\n",
            "outputs.statistic.unknown",
        ),
        ("[limits]\n", "spec.entry.unknown"),
    ],
)
def test_mistakes_have_their_line(text: str, said: str, tmp_path: Path) -> None:
    with refused(said):
        rules(text, tmp_path)
