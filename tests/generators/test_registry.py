"""Generators by name."""

from __future__ import annotations

import pytest

from caveat.errors import CaveatError
from caveat.generators import generator_names, generator_of


def test_names_are_those_of_methods_and_references() -> None:
    names = generator_names()
    assert len(set(names)) == len(names)
    assert {"guarded", "cart", "copy", "sample", "margins", "uniform"} <= set(names)


def test_an_unknown_name_says_what_there_is() -> None:
    with pytest.raises(CaveatError, match=r"no generator 'gaurded'; perhaps guarded"):
        generator_of("gaurded")
