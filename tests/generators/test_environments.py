"""Environments of other people's generators: made whole or not at all."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.generators.conformance import check_generator, people
from tests.refusals import refused

from caveat.generators import GeneratorError, Limits, generator_of
from caveat.generators import registry as made
from caveat.generators.registry import RECIPES, Source


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CAVEAT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def pretend(monkeypatch: pytest.MonkeyPatch, fails: bool = False) -> list[list[str]]:
    """Let pip install nothing, or fail."""
    called: list[list[str]] = []
    run = subprocess.run

    def instead(command: list[str], **how: object) -> object:
        called.append(command)
        if "install" not in command:
            return run(command, **how)  # type: ignore[call-overload]
        told = "trying\nERROR: No matching distribution\nbye"
        return subprocess.CompletedProcess(command, int(fails), "", told)

    monkeypatch.setattr(made.subprocess, "run", instead)
    return called


def test_an_environment_is_made_once(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = pretend(monkeypatch)
    said: list[str] = []
    with pytest.raises(GeneratorError, match="not installed; run: caveat generator add arfpy"):
        generator_of("arfpy")
    folder = made.add("arfpy", say=said.append)
    assert folder == own_home / "generators" / "arfpy"
    assert any("arfpy==0.1.1" in command for command in called)
    assert generator_of("arfpy", {"num_trees": 5}).name == "arfpy"
    made.add("arfpy", say=said.append)
    assert said[-1] == "arfpy is installed already"
    mark = folder / "environment.json"
    mark.write_text(json.dumps({"pins": [["arfpy==0.0.1"]]}))
    assert not made.is_installed(RECIPES["arfpy"].source)  # the pins are those of another day
    made.remove("arfpy")
    assert not folder.exists()
    with refused("generator.environment.not-installed"):
        made.remove("arfpy")


def test_what_could_not_be_finished_is_not_there(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pretend(monkeypatch, fails=True)
    says = r"could not be made \(ERROR: No matching distribution\); check that the package index"
    with pytest.raises(GeneratorError, match=says):
        made.add("metasyn", say=lambda text: None)
    assert list((own_home / "generators").iterdir()) == []


def test_a_licence_that_restricts_the_use_must_be_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with refused("generator.licence.refused"):
        made.add("sdv-ctgan")
    pretend(monkeypatch)
    made.add("sdv-ctgan", accept_licence=True, say=lambda text: None)
    for name in ("sdv-copula", "sdv-ctgan", "sdv-tvae"):  # one environment for all
        assert generator_of(name).name == name


def test_names_and_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("generator.name.unknown"):
        made.add("arfpi")
    with refused("generator.program.unsupported"):
        made.add("synthpop")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(GeneratorError, match="it needs Rscript, which is not installed"):
        generator_of("synthpop")
    with refused("generator.program.not-installed"):
        made.add("arfpy", uv=True)


def test_every_recipe_is_complete() -> None:
    for recipe in RECIPES.values():
        source: Source = recipe.source
        assert recipe.script.exists()
        assert bool(source.pins) != bool(source.program)
        assert source.licence
        assert all("==" in pin or "<" in pin or pin == "pyarrow" for s in source.pins for pin in s)
        assert not any("://" in pin for step in source.pins for pin in step)


@pytest.fixture(scope="module")
def real_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment of a real generator; for this run alone unless one is kept in a folder."""
    kept = os.environ.get("CAVEAT_TEST_HOME")
    return Path(kept) if kept else tmp_path_factory.mktemp("generators")


def test_a_real_generator_from_the_package_index(
    real_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DataSynthesizer, installed as a user would, keeps the contract."""
    monkeypatch.setenv("CAVEAT_HOME", str(real_home))
    there = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest",
             str(real_home / "index"), "DataSynthesizer==0.1.13"]  # fmt: skip
    if not made.is_installed(RECIPES["datasynthesizer"].source):
        if subprocess.run(there, capture_output=True, check=False).returncode:
            pytest.skip("there is no package index here")
        made.add("datasynthesizer", say=lambda text: None)
    generator = generator_of("datasynthesizer", {"k": 1}, Limits(seconds=300))
    small = people(120).select(["sex", "education", "income", "bmi", "interviewed"])
    check_generator(generator, small)
