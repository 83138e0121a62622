"""One of each kind, as the pages on development show it, from the command line to the reports.

A new attack is in tests/attack/test_registry.py and a new entry in tests/spec/test_new_entry.py.
"""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.attack.test_registry import caveat
from tests.pages import DOCS, examples
from tests.protect import test_pipeline
from tests.risk import test_common as test_risk
from tests.synthesis.methods import cases, test_conformance
from tests.utility import test_common as test_utility

from caveat import audit, compare
from caveat.attack.simulated import posterior_by_runs
from caveat.charts import on_page
from caveat.datasets import survey
from caveat.evidence import read as read_evidence
from caveat.protect.pipeline import PROTECTIONS
from caveat.risk import MEASURES, Scenario, rate
from caveat.synthesis.methods import METHODS
from caveat.table import Table, write
from caveat.utility import BEST
from caveat.utility import MEASURES as UTILITIES

# The files of the pages; of each kind one.
FILES = {
    "risk": ("measure.md", 0),
    "utility": ("measure.md", 1),
    "method": ("method.md", 0),
    "protection": ("protection.md", 0),
    "jsonl": ("format.md", 0),
    "generator": ("generator.md", 0),
    "chart": ("chart.md", 0),
}
# What the lines in the tables do, and the section of a report that shows the chart.
MAIN = """
import dummies.risk, dummies.utility, dummies.method, dummies.protection, dummies.chart
from caveat.protect.pipeline import PROTECTIONS
from caveat.risk import register
from caveat.synthesis.methods import METHODS
from caveat.table.source import FORMATS, Format
from caveat import utility

register(*dummies.risk.ENTRIES)
utility.register(*dummies.utility.ENTRIES)
METHODS["uniform"] = dummies.method.Uniform
PROTECTIONS["shuffle"] = dummies.protection.shuffle
FORMATS[".jsonl"] = Format("dummies.jsonl:read_jsonl", "dummies.jsonl:prepare_jsonl")

from collections import Counter
from dataclasses import replace
from importlib import import_module

render = import_module("caveat.report.render")
done_section = render.done_section

def with_chart(evidence):
    section = done_section(evidence)
    columns = (evidence["synthesis"] or {"columns": ()})["columns"]
    counts = Counter(column["method"] for column in columns)
    return replace(section, blocks=[*section.blocks, dummies.chart.methods_figure(counts)])

render.done_section = with_chart
from caveat.cli import main

main()
"""
SPEC = """
[release]
seed = 1
[data]
path = "survey.jsonl"
[synthesis.columns.sex]
method = "uniform"
[[protect]]
name = "shuffle"
columns = ["region"]
[[scenario]]
name = "a neighbour"
keys = ["age"]
targets = ["sex"]
measures = ["commonTarget"]
limits = { commonTarget = 0.01 }
[utility]
measures = ["row gap"]
[map]
risk = "commonTarget"
utility = "row gap"
seeds = 1
settings = { smallest = [20, 50], protect = [[], [{ name = "shuffle", columns = ["age"] }]] }
[output]
formats = ["csv", "jsonl"]
"""
PEOPLE = survey(rows=120).select(["sex", "age", "region"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doors")
    (path / "dummies").mkdir()
    for name, (page, block) in FILES.items():
        code = examples(f"develop/{page}")[block]
        (path / "dummies" / f"{name}.py").write_text(code, encoding="utf-8")
    (path / "main.py").write_text(MAIN, encoding="utf-8")
    (path / "release.toml").write_text(SPEC, encoding="utf-8")
    write(PEOPLE, path / "survey.csv")
    named(path, "jsonl")["prepare_jsonl"](PEOPLE, ".jsonl")(path / "survey.jsonl")
    return path


@pytest.fixture(scope="module")
def release(folder: Path) -> Path:
    caveat(folder, "run", "release.toml", code=3)  # the limit is broken
    return folder / "release"


def named(folder: Path, kind: str) -> dict[str, Any]:
    return runpy.run_path(str(folder / "dummies" / f"{kind}.py"))


def both_reports(release: Path) -> list[str]:
    names = ("report.md", "report-external.md")
    return [(release / "inside" / name).read_text("utf-8") for name in names]


def test_a_measure_of_risk(folder: Path, release: Path) -> None:
    evidence = read_evidence(release / "inside/evidence.json")
    (found,) = evidence["scenarios"][0]["measurements"]
    assert (found["measure"], found["target"]) == ("commonTarget", "sex")
    made = Table.from_frame(json_rows(release / "inside/synthetic-1.jsonl"))
    audited = caveat(
        folder, "audit", "survey.csv", "release/inside/synthetic-1.csv", "--keys", "age",
        "--target", "sex", "--measure", "commonTarget", "--json", "-",
    )  # fmt: skip
    mode = max(set(made["sex"].values), key=list(made["sex"].values).count)
    expected = rate(int(np.sum(PEOPLE["sex"].values == mode)), 120).value
    assert f'"value": {expected}' in audited
    assert found["value"] == pytest.approx(expected)
    for text in both_reports(release):
        assert "commonTarget" in text
        assert "Everything about single records." in text
    assert "what most synthetic records say" in caveat(folder, "measures", "commonTarget")


def json_rows(path: Path) -> dict[str, list[Any]]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return {name: [row[name] for row in rows] for name in rows[0]}


def test_a_measure_of_utility(folder: Path, release: Path) -> None:
    evidence = read_evidence(release / "inside/evidence.json")
    (found,) = evidence["utility"]["measurements"]
    assert (found["measure"], found["value"]) == ("row gap", 0)
    for text in both_reports(release):
        assert "difference in the number of rows" in text


def test_a_method_and_a_protection(release: Path) -> None:
    evidence = read_evidence(release / "inside/evidence.json")
    made = {column["name"]: column["method"] for column in evidence["synthesis"]["columns"]}
    assert made == {"sex": "uniform", "age": "guarded", "region": "guarded"}
    (step,) = evidence["protection"]
    assert (step["name"], step["counts"]) == ("shuffle", {"columns": 1})
    settings = [point["setting"] for point in evidence["map"]["points"]]
    assert settings == ["smallest 20", "smallest 20, shuffle", "smallest 50",
                        "smallest 50, shuffle", "shuffle"]  # fmt: skip
    for text in both_reports(release):
        assert "uniform" in text
        assert all(setting in text for setting in settings)


def test_a_file_format(folder: Path, release: Path) -> None:
    text = Table.from_frame(json_rows(release / "inside/synthetic-1.jsonl"))
    assert text.n_rows == 120
    assert "120" in caveat(folder, "look", "survey.jsonl")
    caveat(folder, "synth", "survey.jsonl", "-o", "made.jsonl", "--seed", "1")
    assert len(json_rows(folder / "made.jsonl")["age"]) == 120
    (folder / "bad.jsonl").write_text("{", encoding="utf-8")
    caveat(folder, "look", "bad.jsonl", code=2)


def test_a_chart(folder: Path, release: Path) -> None:
    names = named(folder, "chart")
    assert on_page(names["methods"]({"cart": 2}))["mark"]["type"] == "bar"
    for name in ("report.html", "report-external.html"):
        page = (release / "inside" / name).read_text("utf-8")
        assert "How many columns each method made." in page
        assert '"methods-1"' in page
    for text in both_reports(release):
        assert re.search(r"\| uniform +\| +1 ", text)


def test_a_generator(folder: Path) -> None:
    generator = named(folder, "generator")["Bootstrap"]()
    first, second = generator.fit(PEOPLE, 1).sample(copies=2)
    assert first == generator.fit(PEOPLE, 1).sample()[0]
    assert first != second
    found = audit(PEOPLE, [first, second], Scenario(("age", "region"), "sex"))
    assert found["repU"].value > 0
    assert compare(PEOPLE, first, measures=["S_pMSE one-way"])["S_pMSE one-way"].value is not None

    def maker(world: Table) -> Any:
        return lambda seed: generator.fit(world, seed).sample()[0]

    attacked = posterior_by_runs(PEOPLE, first, 0, maker, simulations=10, unknown=["sex"])
    assert 0 <= attacked.probability <= 1
    write(first, folder / "boot.csv", force=True)
    text = SPEC.split("[synthesis")[0] + "[[scenario]]" + SPEC.split("[[scenario]]")[1]
    (folder / "audit.toml").write_text(text.split("[map]")[0] + '[output]\nfolder = "audited"\n')
    told = ("--only", "audit", "--synthetic", "boot.csv")
    caveat(folder, "run", "audit.toml", *told, code=3)
    evidence = read_evidence(folder / "audited" / "inside/evidence.json")
    assert evidence["release"]["synthesised_by"] == "elsewhere"


def test_the_common_tests_take_them_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the pages say is checked for every measure, method and protection."""
    (entry,) = named(folder, "risk")["ENTRIES"]
    monkeypatch.setitem(MEASURES, entry.name, entry)
    test_risk.test_entries_are_complete(entry)
    tables = test_risk.people(1), test_risk.people(2)
    test_risk.test_a_measurement_is_a_finite_number_with_a_baseline_if_the_entry_names_one(
        entry.name, tables
    )
    (gap,) = named(folder, "utility")["ENTRIES"]
    monkeypatch.setitem(UTILITIES, gap.name, gap)
    monkeypatch.setitem(BEST, gap.name, gap.best)
    people = Table.from_frame(tables[0])
    test_utility.test_identical_tables_give_the_best_value("row gap", people)
    monkeypatch.setitem(METHODS, "uniform", named(folder, "method")["Uniform"])
    monkeypatch.setitem(cases.CASES, ("uniform", "classes"), cases.Case(5))
    for test in (
        test_conformance.test_draws_follow_the_probabilities,
        test_conformance.test_a_file_keeps_the_model,
        test_conformance.test_the_same_seed_gives_the_same_draws,
        test_conformance.test_weights_count_as_repeated_rows,
    ):
        test("uniform", "classes")
    monkeypatch.setitem(PROTECTIONS, "shuffle", named(folder, "protection")["shuffle"])
    monkeypatch.setitem(test_pipeline.STEPS, "shuffle", {"columns": ["age"]})
    test_pipeline.test_all_are_tried_here()


def test_every_file_that_a_page_names_is_there() -> None:
    """The lists of files touched stay true: all but the new ones exist."""
    pages = sorted((DOCS / "develop").glob("*.md"))
    text = "".join(page.read_text("utf-8") for page in pages)
    paths = set(re.findall(r"`((?:src|tests)/[\w/.]*)`", text))
    assert {path for path in paths if not (DOCS.parent / path).exists()} == {
        "src/caveat/attack/ordinary/luck.py",
        "src/caveat/generators/bootstrap.py",
        "src/caveat/protect/shuffling.py",
        "src/caveat/synthesis/methods/uniform.py",
        "src/caveat/table/_jsonl.py",
        "tests/attack/ordinary/test_luck.py",
        "tests/generators/test_bootstrap.py",
        "tests/table/test_files_jsonl.py",
    }
