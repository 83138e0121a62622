"""The strong attacker of a run is bounded: what is attacked, in what, and what is left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from caveat.attack.targets import LEAST, QUICK, STANDARD, AttackWork, Bound, work_of
from caveat.cli import app
from caveat.datasets import households
from caveat.release import Release, collect_strong, run
from caveat.synthesis import Model
from caveat.table import Table, read, write

SPEC = """\
[release]
seed = 1

[data]
path = "clients.csv"

[synthesis]
method = "METHOD"

[[scenario]]
name = "a neighbour"
keys = ["job"]
targets = ["y"]
measures = ["DiSCO"]

[[scenario]]
name = "strong"
attacker = "strong"
targets = ["balance", "y"]

[utility]
measures = ["S_pMSE logit", "total variation"]

[output]
reports = []
"""
DATE = "2024-05-01"


@pytest.fixture
def specification(tmp_path):
    rng = np.random.default_rng(5)
    n = 500
    clients = {
        "job": rng.choice(["a", "b", "c"], n),
        "balance": np.round(np.exp(rng.normal(6, 1, n))).astype(int),
        "duration": rng.integers(0, 90, n),
        "y": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
    }
    write(Table.from_frame(clients), tmp_path / "clients.csv")

    def make(method: str = "guarded", *changes: tuple[str, str]):
        text = SPEC.replace("METHOD", method)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "release.toml").write_text(text)
        return Release.from_toml(tmp_path / "release.toml")

    return make


def strong(content: dict[str, Any], measure: str, target: str | None = None) -> dict[str, Any]:
    (found,) = (s for s in content["scenarios"] if s["name"] == "strong")
    return next(
        m for m in found["measurements"] if (m["measure"], m["target"]) == (measure, target)
    )


def codes(measurement: dict[str, Any]) -> list[str]:
    return [note["code"] for note in measurement["notes"]]


def remarks(content: dict[str, Any]) -> list[str]:
    return next(s["remarks"] for s in content["scenarios"] if s["name"] == "strong")


def test_a_small_table_is_attacked_by_value_and_whole(specification):
    content = specification().run(date=DATE).evidence
    for target in ("balance", "y"):
        assert strong(content, "strongShare", target)["n"] == 500
        assert codes(strong(content, "strongShare", target)) == ["all-records"]
    assert strong(content, "membershipShare")["n"] == 500
    assert remarks(content) == []


def test_a_number_with_too_many_values_is_attacked_in_cells(specification, monkeypatch):
    monkeypatch.setattr(collect_strong, "MOST_VALUES", 100_000)
    by_value = specification().run(date=DATE)
    found = strong(by_value.evidence, "strongWorst", "balance")
    assert codes(found) == ["all-records", "in-cells"]
    assert found["n"] == 500
    assert 2 < found["notes"][1]["parameters"]["n"] <= 65
    assert codes(strong(by_value.evidence, "strongWorst", "y")) == ["all-records"]
    (remark,) = remarks(by_value.evidence)
    assert remark.startswith("balance: attacked in ")


@pytest.mark.parametrize("method", ["guarded", "cart"])
def test_records_are_sampled_within_the_bound(specification, monkeypatch, method):
    counted: dict[str, AttackWork] = {}

    def counting(model: Model, fitted: Table, target: str = "", *, in_cells: bool = False):
        counted[target] = work_of(model, fitted, target, in_cells=in_cells)
        return counted[target]

    monkeypatch.setattr(collect_strong, "work_of", counting)
    release = specification(method)
    release.run(date=DATE)
    bound = Bound(counted["y"].of(150) + counted["balance"].of(20), counted[""].of(40))
    monkeypatch.setattr(run, "STANDARD", bound)
    content = release.run(date=DATE, force=True).evidence
    found = strong(content, "membershipShare")
    assert (found["n"], codes(found)) == (40, ["random-sample"])
    attacked = {name: strong(content, "strongWorst", name)["n"] for name in ("balance", "y")}
    assert all(n >= LEAST for n in attacked.values())
    assert sum(counted[name].of(n) for name, n in attacked.items()) <= bound.targets
    assert any(remark.startswith("membership: 40 of 500") for remark in remarks(content))


def test_what_cannot_attack_ten_records_is_left_out_and_said(specification, monkeypatch):
    monkeypatch.setattr(run, "STANDARD", Bound(10.0, 10.0))
    content = specification().run(date=DATE).evidence
    for target, measure in (("balance", "strongShare"), ("y", "strongWorst")):
        found = strong(content, measure, target)
        assert found["value"] is None
        assert codes(found) == ["too-much-work"]
    assert strong(content, "membershipShare")["value"] is None
    assert [remark.partition(":")[0] for remark in remarks(content)] == [
        "balance", "y", "membership",
    ]  # fmt: skip


def test_all_records_are_attacked_whatever_the_bound(specification, monkeypatch):
    monkeypatch.setattr(run, "STANDARD", Bound(10.0, 10.0))
    release = specification(
        "guarded", ('targets = ["balance", "y"]', 'targets = ["y"]\nrecords = "all"')
    )
    content = release.run(date=DATE).evidence
    assert strong(content, "strongShare", "y")["n"] == 500
    assert strong(content, "membershipShare")["n"] == 500


def test_plain_trees_attack_a_number_in_classes(specification, monkeypatch):
    release = specification("cart")
    table = read(release.spec.data.path)
    outcome = release.run(date=DATE)
    assert "in-cells" not in codes(strong(outcome.evidence, "strongShare", "balance"))
    monkeypatch.setattr(run, "STANDARD", Bound(STANDARD.targets / 40, STANDARD.members))
    content = release.run(date=DATE, force=True).evidence
    found = strong(content, "strongWorst", "balance")
    assert "in-cells" in codes(found)
    assert found["notes"][1]["parameters"]["n"] <= 21 < table["balance"].n_levels
    assert found["n"] >= 10


def test_a_quick_run_makes_the_same_tables_and_measures_less(specification, monkeypatch):
    monkeypatch.setattr(collect_strong, "MOST_VALUES", 100_000)
    release = specification()
    usual = release.run(date=DATE)
    tables = (usual.folder / "inside" / "synthetic-1.csv").read_bytes()
    quick = release.run(date=DATE, force=True, quick=True)
    assert (quick.folder / "inside" / "synthetic-1.csv").read_bytes() == tables
    assert quick.evidence["remarks"][0].startswith("a quick run")
    assert "S_pMSE logit" in quick.evidence["remarks"][0]
    measured = {m["measure"] for m in quick.evidence["utility"]["measurements"]}
    assert measured == {"total variation"}
    assert QUICK.targets <= STANDARD.targets / 5
    n = strong(quick.evidence, "strongShare", "balance")["n"]
    assert 10 <= n <= strong(usual.evidence, "strongShare", "balance")["n"]


def test_the_plan_is_printed_before_the_work_starts(specification, tmp_path):
    release = specification()
    told: list[str] = []

    def progress(step: str, share: float) -> None:
        del share
        told.append(step)

    release.run(date=DATE, progress=progress, announce=told.append)
    first = next(i for i, words in enumerate(told) if words.startswith("about "))
    assert {*told[:first]} == {"read"}
    assert "fit" in told[first:]
    found = CliRunner().invoke(app, ["run", str(tmp_path / "release.toml"), "--force", "--quick"])
    assert found.exit_code == 0
    assert found.stderr.index("plan: about") < found.stderr.index("note: a quick run")


def test_groups_are_attacked_within_the_bound(tmp_path, monkeypatch):
    people = households(60)
    write(Table.from_frame(people), tmp_path / "people.csv")
    (tmp_path / "release.toml").write_text(
        SPEC.replace("clients", "people").replace("METHOD", "guarded")
        .replace('keys = ["job"]\ntargets = ["y"]', 'keys = ["sex"]\ntargets = ["marital"]')
        .replace('targets = ["balance", "y"]', 'targets = ["income"]')
        .replace("[synthesis]\n", '[groups]\nkey = "household"\n\n[synthesis]\ndrop = ["weight"]\n')
    )  # fmt: skip
    release = Release.from_toml(tmp_path / "release.toml")
    monkeypatch.setattr(collect_strong, "BY_VALUE", 1_000)
    content = release.run(date=DATE).evidence
    found = strong(content, "strongShare", "income")
    assert "in-cells" in codes(found)
    assert strong(content, "membershipShare")["n"] == 60
    monkeypatch.setattr(run, "STANDARD", Bound(1e3, 1e3))
    content = release.run(date=DATE, force=True).evidence
    assert codes(strong(content, "strongShare", "income")) == ["too-much-work"]
    assert codes(strong(content, "membershipShare")) == ["too-much-work"]
    assert len(remarks(content)) == 3
