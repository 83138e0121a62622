"""Generators by name: ours, the reference ones, and other people's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from caveat.errors import CaveatError, hint
from caveat.generators.contract import Generator
from caveat.generators.ours import Setting
from caveat.generators.reference import REFERENCES, reference
from caveat.protect.pipeline import check_steps
from caveat.synthesis.methods import METHODS

__all__ = ["generator_names", "generator_of"]


def generator_names() -> list[str]:
    """Return the names of all generators.

    The reference generator ``sample`` has the name of a method of ours, which is here ``margins``.
    """
    return [*(name for name in METHODS if name not in REFERENCES), *REFERENCES]


def generator_of(name: str, settings: Mapping[str, Any] | None = None) -> Generator:
    """Return a generator by its name.

    Parameters
    ----------
    name
        One of our methods for the whole table (``guarded``, ``cart``, …) or a reference generator.
    settings
        Its settings: for ours the options of a synthesis, and ``protect`` with the steps after it.

    Examples
    --------
    >>> from caveat.datasets import buyer_beware
    >>> generator = generator_of("cart", {"minbucket": 20})
    >>> generator.name, generator.is_seeded
    ('cart, minbucket 20', True)
    >>> generator.fit(buyer_beware(), seed=1).sample(rows=10)[0].n_rows
    10
    """
    given = dict(settings or {})
    if name in REFERENCES:
        return reference(name, given)
    if name in METHODS:
        steps = given.pop("protect", [])
        check_steps(steps)
        return Setting({"method": name, **given}, tuple(steps))
    raise CaveatError(f"there is no generator {name!r}", do=hint(name, generator_names()))
