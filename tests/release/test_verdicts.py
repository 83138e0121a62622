"""Ten releases whose truth is known: what the verdict of their evidence says, by its codes."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from caveat import Release, evidence
from caveat.datasets import survey
from caveat.errors import CaveatWarning
from caveat.table import Table, write

Columns = dict[str, Any]

BEGIN = """\
[release]
unit = "person"
seed = 1
{release}
[data]
path = "people.csv"
{data}
[synthesis]
{synthesis}
"""
NEIGHBOUR = """
[[scenario]]
name = "a neighbour"
keys = ["job", "town", "band"]
targets = ["answer"]
"""
STRONG = """
[[scenario]]
name = "who knows all others"
attacker = "strong"
targets = ["answer"]
"""
END = """
[utility]
measures = ["S_pMSE two-way"]
[output]
reports = []
"""


def people(n: int = 1500, *, no: float = 0.885, seed: int = 1) -> Columns:
    """People of few kinds, most of whom answer "no", whoever they are."""
    rng = np.random.default_rng(seed)
    return {
        "job": rng.choice(list("abcdef"), n),
        "town": rng.choice([f"t{k:02}" for k in range(20)], n),
        "band": rng.choice([f"{k}0s" for k in range(2, 8)], n),
        "answer": np.where(rng.random(n) < no, "no", "yes"),
    }


def run(
    folder: Path,
    columns: Columns,
    scenarios: str,
    *,
    synthesis: str = 'method = "guarded"\nguard = "strong"',
    control: str = "control = 0.2",
    synthetic: Columns | None = None,
    anyway: bool = False,
) -> dict[str, Any]:
    """Return the evidence of a release of these columns, or of a table made elsewhere."""
    write(Table.from_frame(columns), folder / "people.csv")
    text = BEGIN.format(release=control, data="", synthesis=synthesis) + scenarios + END
    more: dict[str, Any] = {}
    if synthetic is not None:
        write(Table.from_frame(synthetic), folder / "other.csv")
        text = text.replace("control = 0.2\n", "")
        more = {"only": "audit", "synthetic": [folder / "other.csv"]}
    (folder / "release.toml").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        outcome = Release.from_toml(folder / "release.toml").run(
            folder / "out", threads=1, anyway=anyway, **more
        )
    content = dict(outcome.evidence)
    evidence.check(content)
    # What may leave is evidence with a verdict of its own, which names nothing that is withheld.
    assert evidence.external(content)["verdict"]["code"] == content["verdict"]["code"]
    return content


def codes(content: dict[str, Any], side: str = "unreliable") -> set[str]:
    return {finding["code"] for finding in content["verdict"][side]}


def measured(content: dict[str, Any], measure: str) -> dict[str, Any]:
    every = [m for s in content["scenarios"] for m in s["measurements"]]
    return next(m for m in every if m["measure"] == measure)


ABOVE = 'measures = ["repU", "DiSCO"]\nlimits = { DiSCO = { above = 2 } }\n'
MEMBERS = "limits = { strongShare = { above = 2 }, membershipShare = { above = 10 } }\n"


@pytest.fixture(scope="module")
def harmless(tmp_path_factory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("harmless")
    return run(folder, people(), NEIGHBOUR + ABOVE + STRONG + MEMBERS)


def test_a_high_level_that_people_outside_have_too_is_harmless(harmless):
    found = measured(harmless, "DiSCO")
    assert found["value"] > 0.3 < found["control"]
    assert abs(found["rise"]["value"]) < 0.1
    assert found["excess"] == 0
    assert harmless["verdict"]["code"] == "met"
    assert "limit-met" in codes(harmless, "reliable")


def test_an_answer_that_was_obvious_before_is_not_disclosed(harmless):
    """A prior of 0.885 may step over 0.9: the level is high, and nobody's probability rose."""
    found = measured(harmless, "strongShare")
    assert found["details"]["sure"] > 0.2
    assert found["value"] == found["excess"] == 0
    assert harmless["verdict"]["limits"]["met"] == 3


def test_a_good_guarded_release_is_met_and_every_run_tries_three_settings(harmless):
    tried = harmless["other_settings"]
    assert [p["setting"] for p in tried["points"]] == [
        "guard light", "guard standard", "guard strong",
    ]  # fmt: skip
    assert [p["chosen"] for p in tried["points"]] == [False, False, True]
    risks = [p["risk_mean"] for p in tried["points"]]
    assert risks == sorted(risks, reverse=True)
    assert measured(harmless, "membershipShare")["excess"] == 0


def test_a_limit_that_no_setting_can_meet_is_recognised(tmp_path):
    content = run(tmp_path, people(), NEIGHBOUR + 'measures = ["DiSCO"]\nlimits = { DiSCO = 5 }\n')
    assert measured(content, "DiSCO")["control"] > 0.3
    assert content["verdict"]["code"] == "unattainable"
    assert content["verdict"]["limits"]["cannot_be_met"] == 1
    assert content["verdict"]["limits"]["not_met"] == 0
    assert content["verdict"]["next"]["code"] == "limit-above"
    # The price of a setting has a unit, whether a strong attacker was asked for or not.
    assert content["measures"]["membershipShare"]["unit"] == "share"
    assert measured(content, "DiSCO")["excess"] > 0  # the command still ends with 3


def secrets(n: int = 1200) -> Columns:
    """People with a code of their own, which nothing in the population predicts."""
    rng = np.random.default_rng(3)
    town = rng.choice([f"t{k:03}" for k in range(150)], n)
    return {
        "job": rng.choice(list("ab"), n),
        "town": town,
        "band": rng.choice(["20s", "50s"], n),
        "answer": rng.choice([f"code {k:03}" for k in range(120)], n),
    }


@pytest.mark.parametrize(
    ("limit", "code"),
    [("limits = { DiSCO = { above = 2 } }\n", "not-ready"),
     ("limits = { DiSCO = 25 }\n", "uncovered")],
)  # fmt: skip
def test_a_low_level_that_people_outside_do_not_have_is_harmful(tmp_path, limit, code):
    """Trees with leaves of single people: few answers are shown, all of people in the data."""
    plain = 'method = "cart"\nminbucket = 1\ncp = 0.0\nrare_below = 1'
    content = run(tmp_path, secrets(), NEIGHBOUR + 'measures = ["DiSCO"]\n' + limit,
                  synthesis=plain)  # fmt: skip
    found = measured(content, "DiSCO")
    assert found["value"] < 0.25
    assert found["control"] < 0.02
    assert found["rise"]["interval"][0] > 0
    assert content["verdict"]["code"] == code
    about = {f["measure"] for f in content["verdict"]["unreliable"] if "measure" in f}
    assert "DiSCO" in about


def test_a_copy_of_the_original_is_called_one(tmp_path):
    content = run(tmp_path, secrets(), NEIGHBOUR, synthetic=secrets())
    assert content["verdict"]["code"] == "not-ready"
    assert "copied-rows" in codes(content)
    assert content["verdict"]["next"]["code"] == "synthesise"
    assert content["other_settings"]["reason"]["code"] == "synthesised-elsewhere"


def test_names_that_leave_come_before_all_limits(tmp_path):
    rng = np.random.default_rng(5)
    first = np.array(["Anna", "Paul", "Maria", "Jonas", "Emma", "Lukas", "Laura", "Felix"])
    last = np.array(["Müller", "Schmidt", "Fischer", "Weber", "Meyer", "Wagner", "Becker"])
    named = people(400)
    named["full_name"] = np.array(
        [f"{a} {b}" for a, b in zip(rng.choice(first, 400), rng.choice(last, 400), strict=True)]
    )
    other = {**people(400, seed=9), "full_name": named["full_name"]}
    content = run(tmp_path, named, NEIGHBOUR + "limits = { repU = 100 }\n", synthetic=other)
    assert content["verdict"]["limits"]["met"] == 1
    assert content["verdict"]["code"] == "not-ready"
    assert content["verdict"]["next"] == {"code": "leave-out", "columns": ["full_name"]}


@pytest.mark.parametrize("n", [15, 30])
def test_numbers_about_a_few_people_are_not_relied_on(tmp_path, n):
    content = run(tmp_path, people(n), NEIGHBOUR + STRONG, control="", anyway=True,
                  synthesis='method = "guarded"\nrare_below = 1')  # fmt: skip
    assert content["verdict"]["code"] == "too-small"
    assert {"few-people", "no-control"} <= codes(content)


def test_a_control_of_relatives_is_no_control(tmp_path):
    """Rows of one household are in the data and in the control, unless [groups] names the key."""
    home = np.repeat(np.arange(100_000, 100_400), 3)
    one = people(400)
    clustered = {name: np.repeat(column, 3) for name, column in one.items()}
    clustered = {"household_id": home, **clustered}
    content = run(tmp_path, clustered, NEIGHBOUR + ABOVE)
    assert "undeclared-groups" in codes(content)
    assert content["verdict"]["next"] == {"code": "declare-groups", "columns": ["household_id"]}


def test_plain_trees_are_not_passed_by_limits_that_do_not_see_them(tmp_path):
    """The limits are met; who took part is known, and the next step says what would hide it."""
    table = survey(rows=500)
    columns = {name: table[name].values for name in ("sex", "age", "region", "marital", "height")}
    scenario = (
        '\n[[scenario]]\nname = "a neighbour"\nkeys = ["sex", "region"]\ntargets = ["marital"]\n'
        'measures = ["DiSCO"]\nlimits = { DiSCO = { above = 5 } }\n'
        '[[scenario]]\nname = "who knows all others"\nattacker = "strong"\n'
    )
    content = run(tmp_path, columns, scenario, synthesis='method = "cart"')
    assert measured(content, "membershipShare")["value"] > 0.3
    assert content["verdict"]["code"] == "uncovered"
    step = content["verdict"]["next"]
    assert step["code"] == "safer-setting"
    assert step["setting"].startswith("guarded")
    assert step["risk"]["then"] < step["risk"]["now"]
    assert len(content["other_settings"]["points"]) == 3
