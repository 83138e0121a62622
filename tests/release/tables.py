"""Specifications of several tables, for the tests of their release."""

from __future__ import annotations

from typing import Any

from caveat.release.folder import Outcome

TABLES = """\
[tables.patients]
file = "patients.csv"
key = "patient"

[tables.visits]
file = "visits.csv"
key = "visit"
links = { patient = "patients" }
order = "date"
"""
SCENARIOS = """\
[[scenario]]
name = "a neighbour"
keys = ["sex", "region", "number of visits"]
targets = ["smoker"]
limits = { repU = 0 }

[[scenario]]
name = "a nurse"
keys = ["sex", "diagnosis"]
targets = ["region"]
measures = ["repU", "DiSCO"]

[[scenario]]
name = "a nurse who knows the patient"
unit = "group"
keys = ["sex", "diagnosis"]
targets = ["smoker"]
measures = ["repU", "DiSCO"]

[[scenario]]
name = "of the same columns, by visits"
table = "visits"
keys = ["sex", "region"]
measures = ["repU"]

[[scenario]]
name = "everybody else"
attacker = "strong"
targets = ["smoker", "diagnosis"]

[[scenario]]
name = "with and without"
attacker = "simulated"

[[scenario]]
name = "ordinary"
attacker = "ordinary"
keys = ["sex", "born", "diagnosis"]
targets = ["smoker"]
attacks = ["inference"]
"""
UTILITY = """\
[utility]
measures = ["S_pMSE two-way", "group sizes", "S_pMSE two-way joined", "rule violations",
            "CI overlap"]
models = ["pressure ~ diagnosis + smoker"]
rules.born = { then = "born > 1900" }
rules.seen = { then = "pressure > 0", group = "patient" }
limits = { "S_pMSE two-way" = 50 }
"""
SPEC = f"""\
[release]
unit = "patient"
seed = 1
copies = 2
control = 0.2

{TABLES}
{SCENARIOS}
{UTILITY}"""

SMALL = f"""\
[release]
seed = 1

{TABLES}
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["smoker"]
measures = ["repU"]

[utility]
measures = ["group sizes"]
"""


def by_name(outcome: Outcome) -> dict[str, Any]:
    return {s["name"]: s for s in outcome.evidence["scenarios"]}
