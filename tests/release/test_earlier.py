"""Releases of the same data: their ledger, and what they tell together."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused
from tests.release import tables
from tests.release.conftest import SPEC

from caveat.attack import membership
from caveat.attack.attributes import attributes, prior_of_each
from caveat.attack.posterior import bayes
from caveat.datasets import patients
from caveat.errors import CaveatError, CaveatWarning
from caveat.evidence import external, read
from caveat.privacy import RELEASE, Budget, Ledger
from caveat.release import Release
from caveat.release.again import _remarks, made_again, private_folder
from caveat.release.run import Run
from caveat.report.verdict import released_before
from caveat.spec.spec import ReleaseSpec
from caveat.table import write
from caveat.table.align import recode_to

OTHERS = SPEC.index('[[scenario]]\nname = "ordinary')
SMALL = SPEC[:OTHERS].replace('control = 0.25', "control = 0.1").replace(
    'method = "cart"\nminbucket = 20\n', "smallest = 60\n"
)  # fmt: skip
END = '[utility]\nmeasures = ["total variation"]\n[output]\nreports = []\n'
LEDGER = '[privacy]\nledger = "ledger.jsonl"\ndataset = "the survey"\n'


class House:
    """A folder with data, and releases of them one after the other."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.folder = folder
        (folder / "survey.csv").write_bytes(data)

    def release(self, name: str, *changes: tuple[str, str], more: str = LEDGER) -> dict[str, Any]:
        text = SMALL + END + more
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = self.folder / f"{name}.toml"
        path.write_text(text, "utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CaveatWarning)
            Release.from_toml(path).run(self.folder / name, date="2026-01-01")
        return read(self.folder / name / "inside/evidence.json")

    @property
    def entries(self) -> list[dict[str, Any]]:
        return Ledger(self.folder / "ledger.jsonl").entries("the survey")

    @property
    def private(self) -> list[Path]:
        return sorted((self.folder / "ledger.private").glob("*"))


@pytest.fixture
def house(tmp_path: Path, survey_file: Path) -> House:
    return House(tmp_path, survey_file.read_bytes())


def seed(number: int) -> tuple[str, str]:
    return "seed = 1", f"seed = {number}"


def test_two_releases_tell_what_their_likelihoods_add_up_to(house: House) -> None:
    first = house.release("first")
    assert first["earlier_releases"]["releases"] == 0
    assert first["earlier_releases"]["membership"] is None
    second = house.release("second", seed(2))
    made = [
        made_again(ReleaseSpec.from_toml(house.folder / f"{name}.toml"), house.folder / name)
        for name in ("first", "second")
    ]
    original = made[0].original
    column = original["marital"]
    total = np.zeros(original.n_rows)
    logs = np.zeros((original.n_rows, column.n_levels))
    for material in made:
        found = membership(material.fitted, material.drawn, generator=material.plan)
        total[material.rows] += found.log_ratio
        about = attributes(material.fitted, material.drawn, "marital", generator=material.plan)
        codes = recode_to(about.target.with_codes(np.arange(about.target.n_levels)), column)
        logs[np.ix_(material.rows, codes)] += about.log_likelihood
    ever = np.union1d(made[0].rows, made[1].rows)
    together = second["earlier_releases"]["membership"]
    chances = 1 / (1 + np.exp(-total[ever]))
    assert (together["records"], together["releases"]) == (len(ever), 2)
    assert together["together"]["share"] == pytest.approx((chances >= 0.9).mean())
    assert together["together"]["mean"] == pytest.approx(chances.mean())
    assert together["together"]["largest"] > together["alone"]["largest"]
    after = bayes(prior_of_each("conditional", original, "marital"), logs)
    truth = after[np.arange(original.n_rows), column.codes][ever]
    (marital,) = second["earlier_releases"]["targets"]
    assert marital["target"] == "marital"
    assert marital["together"]["mean"] == pytest.approx(truth.mean())
    assert marital["together"]["largest"] == pytest.approx(truth.max())


def test_entries_say_what_was_released_and_no_seed(house: House) -> None:
    house.release("first")
    house.release("second", seed(987_654_321))
    one, two = house.entries
    assert (one["kind"], one["what"], one["exact"], one["method"]) == (
        RELEASE, "A survey", True, "guarded",
    )  # fmt: skip
    first = read(house.folder / "first/inside/evidence.json")
    assert one["data"] == two["data"] == first["inputs"]["data"]["sha256"]
    assert one["evidence"] != two["evidence"]
    assert two["folder"] == str(house.folder / "second")
    assert two["files"] == ["synthetic-1.csv"]
    assert "987654321" not in (house.folder / "ledger.jsonl").read_text()
    assert [path.name for path in house.private] == sorted([one["private"], two["private"]])
    assert {path.stat().st_mode & 0o777 for path in house.private} == {0o600}
    assert (house.folder / "ledger.private").stat().st_mode & 0o777 == 0o700


def test_the_report_is_warned_and_nothing_of_it_leaves(house: House) -> None:
    assert not [r for r in house.release("first")["remarks"] if "released" in r]
    second = house.release("second", seed(2))
    (remark,) = [r for r in second["remarks"] if "released once before" in r]
    assert "taken together, 2 releases make the strong attacker at least 90 % sure that" in remark
    assert "as sure of marital of " in remark
    assert "not a scenario's" not in remark  # all records are tried
    second["earlier_releases"]["membership"]["records"] = 50
    (fewer,) = _remarks(second["earlier_releases"], 400)
    assert "where not all records are tried, the same ones in every release" in fewer
    (short,) = released_before(second, short=True)
    assert short[1].startswith("These data were released once before. By all 2 releases together")
    public = json.dumps(external(second))
    assert "earlier_releases" not in public
    assert "released once before" not in public


def test_what_does_not_add_up_is_left_out_and_said(house: House) -> None:
    house.release("first")
    rounded = '[[protect]]\nname = "round_numbers"\nbase = { income = 100 }\n'
    protected = house.release("second", seed(2), more=LEDGER + rounded)["earlier_releases"]
    assert protected["exact"] is False
    assert "protected afterwards" in protected["reason"]
    assert protected["membership"] is None
    third = house.release("third", seed(3))["earlier_releases"]
    assert (third["releases"], third["together"]) == (2, 1)
    assert third["left_out"] == [{"title": "A survey", "reason": protected["reason"]}]
    # The same seed draws with the same numbers: the releases depend on each other.
    fourth = house.release("fourth", ("smallest = 60", "smallest = 70"))["earlier_releases"]
    assert fourth["together"] == 1  # the third
    assert any("same seed" in one["reason"] for one in fourth["left_out"])
    again = house.release("fifth", seed(3))["earlier_releases"]
    assert any("the same tables" in one["reason"] for one in again["left_out"])


def test_other_data_under_the_name_are_another_line(house: House) -> None:
    house.release("first")
    path = house.folder / "survey.csv"
    path.write_bytes(path.read_bytes().rsplit(b"\n", 2)[0] + b"\n")  # one record less
    second = house.release("second", seed(2))
    found = second["earlier_releases"]
    assert (found["releases"], found["other_data"], found["membership"]) == (0, 1, None)
    assert any("of other data (another checksum)" in remark for remark in second["remarks"])
    assert len({entry["data"] for entry in house.entries}) == 2


@pytest.mark.parametrize("damage", ["gone", "no file of ours", "other records"])
def test_private_files_that_are_lost_are_said(house: House, damage: str) -> None:
    house.release("first")
    (path,) = house.private
    if damage == "gone":
        path.unlink()
    elif damage == "no file of ours":
        path.write_bytes(b"PK")
    else:
        with np.load(path) as arrays:
            held = dict(arrays)
        np.savez(path, **{**held, "fitted": held["fitted"][1:]})
    found = house.release("second", seed(2))["earlier_releases"]
    assert (found["together"], found["membership"]) == (0, None)
    assert "not there, or damaged" in found["left_out"][0]["reason"]


def test_a_target_of_an_earlier_release_is_asked_for_again(house: House) -> None:
    house.release("first")
    other = ('targets = ["marital"]\nrecords = 60', 'targets = ["education"]\nrecords = 60')
    found = house.release("second", seed(2), other)["earlier_releases"]
    assert [one["target"] for one in found["targets"]] == ["marital"]
    assert house.entries[1]["targets"] == ["education", "marital"]


def test_plain_trees_are_attacked_on_the_same_records(house: House) -> None:
    plain = ("smallest = 60", 'method = "cart"\nminbucket = 40')
    house.release("first", plain)
    found = house.release("second", seed(2), plain)["earlier_releases"]
    assert found["membership"]["releases"] == 2
    assert found["targets"][0]["records"] == found["membership"]["records"]


def test_without_a_ledger_there_is_nothing(house: House) -> None:
    content = house.release("first", more="")
    assert "earlier_releases" not in content
    assert not (house.folder / "ledger.jsonl").exists()
    assert house.private == []


def test_a_run_that_fails_enters_nothing_and_damage_is_refused_first(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.release("first")

    def fail(*_: object) -> None:
        raise CaveatError("the disk is full", code="test.thing.failed")

    with monkeypatch.context() as patch:
        patch.setattr(Run, "write", fail)
        with refused("test.thing.failed"):
            house.release("second", seed(2))
    assert len(house.entries) == len(house.private) == 1
    book = house.folder / "ledger.jsonl"
    book.write_text("no entry\n" + book.read_text())
    monkeypatch.setattr(Run, "whole", fail)
    with refused("privacy.ledger.damaged"):
        house.release("third", seed(3))


def test_tables_made_elsewhere_and_linked_tables_are_entered_only(
    house: House, tmp_path: Path
) -> None:
    house.release("first")
    theirs = house.folder / "first" / "inside/synthetic-1.csv"
    (house.folder / "audit.toml").write_text(SMALL + END + LEDGER)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        outcome = Release.from_toml(house.folder / "audit.toml").run(
            house.folder / "audit", only="audit", synthetic=[theirs], date="2026-01-01"
        )
    assert "how it was made is not known" in outcome.evidence["earlier_releases"]["reason"]
    assert house.entries[1]["method"] == "elsewhere"
    for name, table in patients(number=150).items():
        write(table, tmp_path / f"{name}.csv")
    path = tmp_path / "linked.toml"
    path.write_text(tables.SPEC + '\n[privacy]\ndataset = "patients"\n')
    linked = Release.from_toml(path).run(tmp_path / "linked", date="2026-01-01")
    assert "rows belong together" in linked.evidence["earlier_releases"]["reason"]
    assert Ledger(tmp_path / "ledger.jsonl").entries("patients")[0]["private"] is None


def test_the_private_folder_is_never_the_ledger_itself(tmp_path: Path) -> None:
    names = {"ledger.jsonl": "ledger.private", "ledger": "ledger.private",
             "x.private": "x.private.private", "x.PRIVATE": "x.PRIVATE.private"}  # fmt: skip
    for ledger, folder in names.items():
        assert private_folder(Budget(tmp_path / ledger, "d")) == tmp_path.resolve() / folder
