"""Protections one after the other, as a specification names them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from caveat.errors import CaveatError
from caveat.protect.distance import Refill, distance_filter, remove_replicated_uniques
from caveat.protect.donut import donut
from caveat.protect.lattice import Levels
from caveat.protect.levels import group_rare_levels, label, pram, robin_hood
from caveat.protect.numbers import (
    Population,
    Smoother,
    add_noise,
    code_extremes,
    microaggregate,
    round_numbers,
    smooth,
    spectral,
)
from caveat.protect.record import Protected, Step, number_column, numbers_of
from caveat.registry import Registry
from caveat.showing import without_values
from caveat.table import Table

__all__ = [
    "PROTECTIONS",
    "Surroundings",
    "arguments_of",
    "check_steps",
    "protect",
    "reads_original",
]


@dataclass(frozen=True)
class Surroundings:
    """What protections may need beside the release.

    Parameters
    ----------
    original
        The original table.
    seed
        Root of the draws.
    refill
        Draws fresh synthetic records.
    smoothers
        Smoothing functions by name.
    """

    original: Table
    seed: int = 0
    refill: Refill | None = None
    smoothers: Mapping[str, Smoother] = field(default_factory=dict)

    __repr__ = without_values


def _noise(
    original: Table, synthetic: Table, population: Mapping[str, int], **how: Any
) -> Protected:
    """Take the original's own values as the distribution in a population of a given size."""
    known = {
        name: Population(size, values=numbers_of(number_column(original, name, "noise")))
        for name, size in population.items()
    }
    return add_noise(original, synthetic, known, **how)


def _robin_hood(
    synthetic: Table,
    attribute: str,
    keys: Sequence[str],
    k_target: int,
    k_initial: int = 3,
    of_majority: float = 1.0,
    of_minority: float = 0.5,
    seed: int = 0,
) -> Protected:
    """Mask without generalising: a release that is compared with its original keeps its values."""
    levels = {name: Levels(hides=False) for name in keys}
    return robin_hood(
        synthetic, attribute, levels, k_target=k_target, k_initial=k_initial,
        of_majority=of_majority, of_minority=of_minority, seed=seed,
    )  # fmt: skip


def _smooth(
    synthetic: Table,
    columns: Sequence[str],
    smoothers: Mapping[str, Smoother],
    how: str = "kernel",
    by: Sequence[str] = (),
    seed: int = 0,
) -> Protected:
    if how not in smoothers:
        raise CaveatError(
            f"there is no smoothing {how!r}",
            where="smooth",
            do=f"use {', '.join(smoothers)}",
            code="protection.setting.unknown",
        )
    return smooth(synthetic, columns, smoothers[how], by=by, seed=seed)


PROTECTIONS: Registry[Callable[..., Protected]] = Registry(
    {
        "add_noise": _noise,
        "code_extremes": code_extremes,
        "distance_filter": distance_filter,
        "donut": donut,
        "group_rare_levels": group_rare_levels,
        "label": label,
        "microaggregate": microaggregate,
        "pram": pram,
        "remove_replicated_uniques": remove_replicated_uniques,
        "robin_hood": _robin_hood,
        "round_numbers": round_numbers,
        "smooth": _smooth,
        "spectral": spectral,
    }
)
GIVEN = ("synthetic", "original", "seed", "refill", "smoothers", "threads")


def check_steps(steps: Sequence[Mapping[str, Any]]) -> None:
    """Refuse steps that name no protection, or an argument that it has not."""
    for step in steps:
        name = str(step.get("name")) if isinstance(step, Mapping) else ""
        if name not in PROTECTIONS:
            raise CaveatError(
                f"there is no protection {name!r}",
                where="protect",
                do=f"choose among {', '.join(PROTECTIONS)}",
                code="protection.name.unknown",
            )
        known, anything = arguments_of(name)
        for argument in step:
            if argument != "name" and argument not in known and not anything:
                raise CaveatError(
                    f"{argument!r} is no argument of {name}",
                    where="protect",
                    do=f"use {', '.join(known)}",
                    entry=(argument,),
                    code="protection.entry.unknown",
                )


def arguments_of(name: str) -> tuple[list[str], bool]:
    """Return what a specification may tell a protection, and whether it may tell it more."""
    parameters = inspect.signature(PROTECTIONS[name]).parameters.values()
    known = [p.name for p in parameters if p.name not in GIVEN and p.kind is not p.VAR_KEYWORD]
    return known, any(p.kind is p.VAR_KEYWORD for p in parameters)


def reads_original(name: str) -> bool:
    """Whether a protection looks at original records.

    Examples
    --------
    >>> [name for name in PROTECTIONS if reads_original(name)]
    ['add_noise', 'distance_filter', 'remove_replicated_uniques']
    """
    return "original" in inspect.signature(PROTECTIONS[name]).parameters


def protect(
    synthetic: Table, steps: Sequence[Mapping[str, Any]], around: Surroundings
) -> tuple[Table, tuple[Step, ...]]:
    """Apply protections in order.

    Parameters
    ----------
    synthetic
        The release.
    steps
        For each step its ``name`` in `PROTECTIONS`, and its arguments.
    around
        What the protections may need.

    Examples
    --------
    >>> release = Table.from_frame({"age": [31, 99]})
    >>> steps = [{"name": "code_extremes", "top": {"age": 80}}, {"name": "label"}]
    >>> table, records = protect(release, steps, Surroundings(release))
    >>> table["age"].values.tolist(), [record.name for record in records]
    ([31, 80], ['code_extremes', 'label'])
    """
    check_steps(steps)
    records = []
    for step in steps:
        arguments = {key: value for key, value in step.items() if key != "name"}
        function = PROTECTIONS[step["name"]]
        wanted = inspect.signature(function).parameters
        offered: dict[str, Any] = {
            "original": around.original,
            "refill": around.refill,
            "smoothers": around.smoothers,
        }
        if "seed" in wanted or step["name"] == "add_noise":
            offered["seed"] = around.seed
        used = {k: v for k, v in offered.items() if k in wanted or k == "seed"}
        done = function(synthetic=synthetic, **used, **arguments)
        synthetic = done.table
        records.append(done.step)
    return synthetic, tuple(records)
