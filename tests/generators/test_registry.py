"""Generators by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.datasets import buyer_beware
from caveat.generators import generator_names, generator_of
from caveat.generators.process import GeneratorError


def test_names_are_those_of_methods_and_references() -> None:
    names = generator_names()
    assert len(set(names)) == len(names)
    assert {"guarded", "cart", "copy", "sample", "margins", "uniform"} <= set(names)


def test_an_unknown_name_says_what_there_is() -> None:
    with refused("generator.name.unknown"):
        generator_of("gaurded")


def test_a_command_starts_only_when_it_is_allowed(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    settings = {"command": [sys.executable, "-c", f"open({str(mark)!r}, 'w')"]}
    with refused("generator.command.refused", where="generator cart"):
        generator_of("cart", settings)
    made = generator_of("cart", settings, allow_command=True)
    with pytest.raises(GeneratorError):  # it writes no table
        made.fit(buyer_beware(), 1).sample()
    assert mark.exists()
