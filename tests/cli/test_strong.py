"""``caveat attack`` as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from caveat.cli import app
from caveat.datasets import buyer_beware
from caveat.errors import CaveatError
from caveat.synthesis import Synthesizer, save
from caveat.table import read, write

runner = CliRunner()


@pytest.fixture
def folder(tmp_path):
    write(buyer_beware(), tmp_path / "original.csv")
    write(buyer_beware(2), tmp_path / "release2.csv")
    write(buyer_beware(1), tmp_path / "release1.csv")
    (tmp_path / "release.toml").write_text('[synthesis]\nmethod = "cart"\nminbucket = 5\n')
    return tmp_path


def attack(folder, *arguments):
    files = [str(folder / name) if "." in name else name for name in arguments]
    return runner.invoke(app, ["attack", "strong", str(folder / "original.csv"), *files])


def test_one_record(folder):
    result = attack(folder, "release2.csv", "--spec", "release.toml", "--record", "1000",
                    "--prior", "uniform", "--json", "one.json")  # fmt: skip
    assert result.exit_code == 0, result.output
    figures = json.loads((folder / "one.json").read_text())
    assert figures["probability of the truth"] == pytest.approx(0.0240, abs=5e-5)
    assert figures["candidates"] == 16
    assert "0.0240" in result.output


def test_every_record_and_the_confidential_file(folder):
    result = attack(folder, "release1.csv", "--spec", "release.toml", "--target", "var4",
                    "--records", "people.csv")  # fmt: skip
    assert result.exit_code == 0, result.output
    lines = read(folder / "people.csv")
    assert lines.n_rows == 1000
    assert lines["probability"].values[999] == 1
    assert "row most exposed" in result.output
    assert "1,000" in result.output


def test_membership_with_a_model_file(folder):
    model = Synthesizer(seed=1, method="cart").fit(read(folder / "original.csv"))
    save(model, folder / "m.caveat")
    result = attack(folder, "release1.csv", "--model", "m.caveat", "--membership",
                    "--records", "members.csv")  # fmt: skip
    assert result.exit_code == 0, result.output
    members = read(folder / "members.csv")
    assert members["release_impossible"].values[999] == "without the record"
    assert members["log_ratio"].is_missing.tolist() == [False] * 999 + [True]
    assert "impossible without the record (%)" in result.output
    # one of the thousand
    assert "0.1000" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--spec", "release.toml"], "not clear what to attack"),
        (["--spec", "release.toml", "--record", "1", "--membership"], "not clear what to attack"),
        (["--spec", "release.toml", "--record", "1", "--target", "var4"], "not clear what"),
        (["--record", "1"], "give --model FILE.caveat"),
        (["--spec", "release.toml", "--record", "1001"], "no row 1001"),
        (["--spec", "release.toml", "--record", "1", "--unknown", "var9"], "no column 'var9'"),
        (["--spec", "release.toml", "--membership", "--json", "original.csv"], "exists already"),
    ],
)
def test_mistakes(folder, arguments, message):
    result = attack(folder, "release1.csv", *arguments)
    assert isinstance(result.exception, CaveatError)
    assert message in str(result.exception)


def test_a_model_made_with_a_specification_is_attacked_with_both(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{rng.integers(2)},{rng.choice([-8, 1, 2, 3])}" for _ in range(80))
    Path("data.csv").write_text(f"a,b\n{rows}\n")
    Path("spec.toml").write_text("[columns.b]\nmissing = [-8]\n")
    for command in (
        ["synth", "data.csv", "-o", "syn.csv", "--spec", "spec.toml", "--seed", "1",
         "--model", "m.caveat"],
        ["attack", "strong", "data.csv", "syn.csv", "--model", "m.caveat", "--spec", "spec.toml",
         "--record", "1", "--unknown", "b"],
    ):  # fmt: skip
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    assert "probability of the truth" in result.output


def test_a_sample_bounds_the_work_and_is_the_same_each_time(folder):
    whole = attack(folder, "release1.csv", "--spec", "release.toml", "--membership",
                   "--records", "all.csv")  # fmt: skip
    assert whole.exit_code == 0, whole.output
    for name in ("some.csv", "again.csv"):
        result = attack(folder, "release1.csv", "--spec", "release.toml", "--membership",
                        "--sample", "40", "--records", name)  # fmt: skip
        assert result.exit_code == 0, result.output
    some, everyone = read(folder / "some.csv"), read(folder / "all.csv")
    assert (folder / "some.csv").read_bytes() == (folder / "again.csv").read_bytes()
    rows = some["row"].values.astype(int)
    assert len(rows) == 40
    assert (some["probability"].values == everyone["probability"].values[rows - 1]).all()


def test_a_long_attack_says_how_long_and_how_to_bound_it(monkeypatch, capsys):
    from caveat.cli import attacking

    clock = iter([0.0, 1.0, 6.0, 7.0])
    monkeypatch.setattr(attacking.time, "monotonic", lambda: next(clock))
    with attacking.watched("--sample 500 attacks so many records") as done:
        for _ in range(3):
            done(0.005)  # 6 s for one hundredth: 600 s for all
    told = capsys.readouterr().err
    assert told.count("all of it will take about 10 minutes; --sample 500") == 1
