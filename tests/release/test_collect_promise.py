"""A promise and a measurement are two entries, and what is spent is spent once."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat import Release, evidence
from caveat.datasets import survey
from caveat.errors import CaveatError
from caveat.privacy import rho_of
from caveat.release.collect_audit import _simulations, remarks_on
from caveat.report import markdown
from caveat.seeds import ReleaseKey
from caveat.synthesis.margins.promise import Measured

pytest.importorskip("opendp")

SPEC = """\
[release]
access = "public"
seed = 1
[data]
path = "survey.csv"
[synthesis]
method = "margins"
margins = [["sex", "marital"]]
epsilon = 1.0
delta = 1e-9
drop = ["person", "age", "region", "education", "occupation", "income", "friends", "height",
        "weight", "bmi", "interviewed", "satisfied"]
[synthesis.columns]
sex = { levels = ["female", "male"] }
marital = { levels = ["divorced", "married", "single"] }
[columns]
sex.missing = [""]
marital.missing = [""]
[privacy]
dataset = "survey"
limit = { epsilon = 2.0, delta = 1e-8 }
[[scenario]]
name = "a neighbour"
keys = ["sex"]
targets = ["marital"]
limits = { DiSCO = 5 }
[utility]
measures = ["total variation"]
[output]
reports = []
"""
Make = Callable[..., Path]


@pytest.fixture
def private(tmp_path: Path, survey_file: Path) -> Make:
    """Write a private specification beside the data; texts in it may be replaced."""

    def make(*changes: tuple[str, str]) -> Path:
        (tmp_path / "survey.csv").write_bytes(survey_file.read_bytes())
        text = SPEC
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "release.toml").write_text(text)
        return tmp_path / "release.toml"

    return make


def run(path: Path) -> dict[str, Any]:
    outcome = Release.from_toml(path).run(threads=1, date="2024-05-01")
    return dict(evidence.read(outcome.folder / "inside/evidence.json"))


def noisy(folder: Path) -> dict[tuple[str, ...], dict[tuple[str, ...], int]]:
    """The noisy tables as they lie in the folder."""
    found = {}
    for path in sorted(folder.glob("0*.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        found[tuple(head[:-1])] = {tuple(row[:-1]): int(row[-1]) for row in rows}
    return found


def test_the_promise_says_what_is_promised_and_what_it_cost(private: Make) -> None:
    found = run(private())["promise"]
    rho = rho_of(1.0, 1e-9)
    assert (found["epsilon"], found["delta"]) == (1.0, 1e-9)
    assert found["rho"] == pytest.approx(rho)
    assert (found["unit"], found["neighbours"]) == ("one record", "one record more or less")
    assert found["records"].endswith("comes from the noisy counts")
    assert found["pairs"] == "given in the specification"
    assert found["mechanism"] == "counts of columns and pairs with discrete Gaussian noise"
    assert (found["poisson"], found["held_out"]) == (None, False)
    # Four parts of nine go to the two columns, five to the pair.
    wide, narrow = math.sqrt(2 / (2 * rho * 4 / 9)), math.sqrt(1 / (2 * rho * 5 / 9))
    assert [(t["columns"], t["cells"]) for t in found["tables"]] == [
        (["sex"], 3), (["marital"], 4), (["sex", "marital"], 12),
    ]  # fmt: skip
    assert [t["sigma"] for t in found["tables"]] == pytest.approx([wide, wide, narrow])
    ledger = found["ledger"]
    assert (ledger["dataset"], ledger["limit"]) == ("survey", {"epsilon": 2.0, "delta": 1e-8})
    assert ledger["spent"] == pytest.approx(0.9296, abs=1e-4)


def test_the_largest_ratio_is_that_of_the_written_tables(private: Make) -> None:
    path = private()
    content = run(path)
    sigma = {tuple(t["columns"]): t["sigma"] for t in content["promise"]["tables"]}
    tables = noisy(path.parent / "release" / "inside" / "margins")
    data = survey(rows=400)
    # Who is widowed is not declared, and counts as an empty cell.
    known = {"sex": ("female", "male"), "marital": ("divorced", "married", "single")}
    records = [
        {n: str(v) if str(v) in known[n] else "empty" for n, v in zip(known, row, strict=True)}
        for row in zip(data["sex"].values, data["marital"].values, strict=True)
    ]
    ratios = []
    for record in records:
        total = 0.0
        for names, seen in tables.items():
            cell = tuple(record[name] for name in names)
            true = sum(all(o[n] == record[n] for n in names) for o in records)
            # exp(−k²/2σ²) against exp(−(k+1)²/2σ²) of the noise k.
            total += (2 * (seen.get(cell, 0) - true) + 1) / (2 * sigma[names] ** 2)
        ratios.append(abs(total))
    measured = content["measured"]
    assert measured["records"] == 400
    assert measured["largest"] == pytest.approx(max(ratios))
    assert measured["above"] == np.mean(np.array(ratios) > 1)


def test_the_bound_is_of_the_worst_records_and_below_the_promise(private: Make) -> None:
    measured = run(private())["measured"]
    assert (measured["simulations"], measured["confidence"]) == (100, 0.95)
    ratios = [one["log_ratio"] for one in measured["bounds"]]
    assert len(ratios) == 3
    assert ratios == sorted(ratios, reverse=True)
    assert ratios[0] == measured["largest"]
    assert measured["bound"] == max(one["bound"] for one in measured["bounds"]) < 1
    assert measured["says"].endswith("no part of the promise, and confidential")


def test_the_noisy_tables_may_leave_and_the_rest_may_not(private: Make) -> None:
    path = private()
    ReleaseKey.at(path.with_suffix(".key"))
    run(path)
    folder = path.parent / "release"
    listed = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    assert {f["name"]: f["confidential"] for f in listed} == {
        "public/synthetic-1.csv": False, "public/margins/01-sex.csv": False,
        "public/margins/02-marital.csv": False, "public/margins/03-sex-marital.csv": False,
        "public/margins/manifest.csv": False, "public/dictionary.csv": False,
        "public/dictionary.html": False, "public/dictionary.xml": False,
        "inside/evidence.json": True, "inside/release.toml": True,
    }  # fmt: skip
    with (folder / "public" / "margins" / "manifest.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        lines = list(csv.DictReader(file))
    tables = noisy(folder / "public" / "margins")
    assert [int(line["total"]) for line in lines] == [sum(t.values()) for t in tables.values()]
    assert [line["cells"] for line in lines] == ["3", "4", "12"]
    assert lines[0]["noise"] == "discrete Gaussian, sigma 12.2585"
    assert {sex for sex, _ in tables["sex", "marital"]} <= {"female", "male", "empty"}


def test_of_the_poisson_mechanism_both_deltas_are_told(private: Make) -> None:
    content = run(private(("margins = [[\"sex\", \"marital\"]]\n", ""),
                          ("epsilon = 1.0\ndelta = 1e-9", "epsilon = 2.0\npoisson = 1.0"),
                          ("delta = 1e-8", "delta = 0.1")))  # fmt: skip
    promise = content["promise"]
    assert promise["rho"] is None
    assert promise["delta"] == promise["poisson"]["delta_exact"]
    assert promise["poisson"]["delta_exact"] == pytest.approx(0.0256, abs=5e-5)
    assert promise["poisson"]["delta_equation_9"] == pytest.approx(0.0527, abs=5e-5)
    assert promise["tables"] == [{"columns": ["sex", "marital"], "cells": 12, "sigma": None}]
    assert content["measured"]["bound"] < 2
    text = markdown(content, version="external")
    assert "up to 0.0527; the exact δ is 0.0256" in text


def test_what_was_measured_does_not_leave(private: Make) -> None:
    content = run(private(("seed = 1", "seed = 1\ncontrol = 0.25")))
    strangers = [text for text in content["remarks"] if "declared domain" in text]
    assert len(strangers) == 1
    public = evidence.external(content)
    assert public == evidence.external(public)
    assert "measured" not in public
    assert (public["scenarios"], public["measures"], public["map"]) == ([], {}, None)
    assert not any(public["utility"].values())
    assert {public["release"][name] for name in ("original_rows", "control_rows")} == {None}
    assert public["promise"] == {**content["promise"], "ledger": None}
    text = markdown(content, version="external")
    for word in ("survey.csv", "original records;", "DiSCO", "variation", "values are not"):
        assert word not in text.partition("## 3.")[0], word
    assert "Measurements are left out of this version" in text
    assert "values are not in the declared domain" in markdown(content)


def test_a_loss_above_the_promise_is_a_warning() -> None:
    promise = {"epsilon": 1.0, "delta": 1e-9}
    assert remarks_on({}) == []
    assert remarks_on({"promise": promise, "measured": {"largest": 0.9, "bound": None}}) == []
    (above,) = remarks_on({"promise": promise, "measured": {"largest": 1.25, "bound": 0.5}})
    assert above == (
        "the largest exact log ratio of a record, 1.25, is above ε = 1: for any one record the "
        "promise allows this with a probability of about δ = 1e-09"
    )
    both = remarks_on({"promise": promise, "measured": {"largest": 1.25, "bound": 1.1}})
    assert both[1].endswith("chance, once in twenty runs at most, or the promise is not kept")


@pytest.mark.parametrize(
    ("cells", "alpha", "simulations"),
    [(100, 0.0, 100), (10_000, 0.0, 25), (20_000, 0.0, 0), (500_000, 1.0, 25)],
)
def test_tables_are_drawn_as_often_as_time_allows(
    cells: int, alpha: float, simulations: int
) -> None:
    measured = Measured({"a": cells}, {("a",): np.zeros(cells, np.int64)}, {}, alpha=alpha)
    assert _simulations(measured, 3) == simulations


OTHERS = '[[scenario]]\nname = "x"\nattacker = "simulated"\n'


TUNE = """[tune]
keys = ["sex"]
targets = ["marital"]
objective = "S_pMSE"
limits = { DiSCO = 5 }
settings = { minbucket = [5] }
[output]"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("[output]", "[map]\nsettings = { minbucket = [5] }\n[output]"), "map: every release"),
        (("[output]", TUNE), "tune: every release"),
        (("[output]", f"{OTHERS}[output]"), "this attacker makes many"),
        (("[output]", "[[protect]]\nname = \"remove_replicated_uniques\"\n[output]"),
         "looks at original records"),
        (("keys = [\"sex\"]", "keys = [\"income\"]"), "income is not released"),
        (("sex = { levels = [\"female\", \"male\"] }\n", ""), "is not declared"),
        (("epsilon = 1.0", "epsilon = 0"), "epsilon"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_spent(
    private: Make, change: tuple[str, str], says: str
) -> None:
    path = private(change)
    with pytest.raises(CaveatError, match=says):
        run(path)
    assert not (path.parent / "ledger.jsonl").exists()


def test_a_folder_that_is_there_costs_nothing(private: Make) -> None:
    path = private()
    (path.parent / "release").mkdir()
    (path.parent / "release" / "notes.txt").write_text("mine")
    with refused("release.folder.exists"):
        run(path)
    assert not (path.parent / "ledger.jsonl").exists()


CLEARED = ("epsilon = 1.0\ndelta = 1e-9", "clearing = { threshold = 10, multiple = 5 }")
UNDECLARED = SPEC[SPEC.index("[synthesis.columns]") : SPEC.index("[[scenario]]")]


def test_cleared_tables_promise_nothing(private: Make) -> None:
    path = private(CLEARED, (UNDECLARED, ""))
    content = run(path)
    assert "promise" not in content
    cleared = content["cleared"]
    assert cleared["rules"] == "at least 10 records in a cell, rounded to multiples of 5"
    (table,) = cleared["tables"]
    assert (table["columns"], table["multiple"]) == (["sex", "marital"], 5)
    # Without a record one cell has one less: it is another if that is below the threshold, or if
    # the count is the first that is rounded to its multiple (half up: 3 and 8).
    data = survey(rows=400)
    pairs = list(zip(data["sex"].values, data["marital"].values, strict=True))
    many = {pair: pairs.count(pair) for pair in pairs}
    moved = sum(n for n in many.values() if n >= 10 and (n == 10 or n % 5 == 3))
    assert cleared["changed_by"] == table["changed_by"] == moved
    assert evidence.external(content)["cleared"] == {
        "tables": [{"columns": ["sex", "marital"], "cells": table["cells"], "multiple": 5}]
    }
    assert f"Without each of {moved:,} record" in markdown(content)
    assert "changed by" not in markdown(content, version="external")
