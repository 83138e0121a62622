"""Our own generator: sequential synthesis, and protections after it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.protect.pipeline import Surroundings, check_steps, protect
from caveat.protect.record import Step
from caveat.seeds import child_seed
from caveat.synthesis import Model, Synthesizer
from caveat.synthesis.smoothing import SMOOTHINGS
from caveat.table import Table

__all__ = ["Copy", "FittedSetting", "Setting", "settings_of"]

# First words of the seeds for refilling, and for the protections of further copies.
REFILL, PROTECT = 1_000_003, 1_000_011


@dataclass(frozen=True)
class Setting:
    """How a release is made: options of the synthesiser, and protections after it.

    Parameters
    ----------
    options
        Options of :class:`caveat.synthesis.Synthesizer`.
    protect
        Steps for :func:`caveat.protect.pipeline.protect`.
    shown
        The options that differ between the settings of a map, for its name.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    protect: tuple[Mapping[str, Any], ...] = ()
    shown: tuple[str, ...] | None = None

    @property
    def key(self) -> str:
        """A text that is the same for the same setting."""
        return json.dumps([self.options, self.protect], sort_keys=True, default=str)

    def __str__(self) -> str:
        names = self.options if self.shown is None else self.shown
        parts = [f"{name} {_short(self.options[name])}" for name in names if name in self.options]
        parts += [step["name"].replace("_", " ") for step in self.protect]
        return ", ".join(parts) or "as it is"

    @property
    def is_public(self) -> bool:
        """Whether its name may be published: it holds numbers, yes or no, and protections only."""
        names = self.options if self.shown is None else self.shown
        return all(isinstance(self.options.get(name, 0), int | float) for name in names)

    def fit(self, table: Table, seed: int) -> FittedSetting:
        """Fit the synthesiser on one core, whatever the number of records."""
        model = Synthesizer(seed=seed, threads=1, anyway=True, **self.options).fit(table)
        return FittedSetting(self, table, model)

    def again(self, world: Table) -> Callable[[int], Table]:
        """Return what makes releases from another table, seed by seed."""
        refit = bool(self.options.get("proper")) or self.options.get("method") == "forest"
        first = self.fit(world, 0)

        def release(seed: int) -> Table:
            fitted = self.fit(world, seed) if refit else first.with_seed(seed)
            return fitted.sample()[0]

        return release


@dataclass(frozen=True)
class Copy:
    """One synthetic table that a setting made.

    Parameters
    ----------
    drawn, release
        The table before the protections, and after them.
    setting
        How it was made.
    steps
        What the protections did.
    """

    drawn: Table
    release: Table
    setting: Setting
    steps: tuple[Step, ...] = ()

    __repr__ = without_values


@dataclass(frozen=True)
class FittedSetting:
    """A setting that has seen a table.

    Parameters
    ----------
    setting
        How releases are made.
    original
        The table.
    model
        The fitted synthesiser.
    """

    setting: Setting
    original: Table
    model: Model

    __repr__ = without_values

    def with_seed(self, seed: int) -> FittedSetting:
        """Return the same fit with another seed for its draws."""
        return replace(self, model=replace(self.model, seed=seed))

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Return releases: drawn, then protected."""
        drawn = self.model.tables(rows, copies, 1)
        return [self.protect(table, copy).release for copy, table in enumerate(drawn)]

    def protect(self, drawn: Table, copy: int = 0) -> Copy:
        """Apply the protections to a drawn copy; fresh records for a filter come from the model."""
        # The first copy has the seeds that the same setting has in a map.
        seed = self.model.seed if copy == 0 else child_seed(self.model.seed, PROTECT, copy)

        def refill(n: int, number: int) -> Table:
            fresh = replace(self.model, seed=child_seed(seed, REFILL, number))
            return fresh.tables(n, threads=1)[0]

        # What is not released cannot be compared with what is.
        shared = self.original.select([name for name in self.original if name in drawn])
        around = Surroundings(shared, seed, refill, SMOOTHINGS)
        release, steps = protect(drawn, self.setting.protect, around)
        return Copy(drawn, release, self.setting, steps)


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def settings_of(base: Mapping[str, Any], grid: Mapping[str, Any]) -> list[Setting]:
    """Return all combinations of a grid; ``protect`` holds alternative lists of steps.

    Examples
    --------
    >>> [str(s) for s in settings_of({}, {"minbucket": [5, 50], "cp": [1e-8]})]
    ['minbucket 5', 'minbucket 50']
    """
    for name, values in grid.items():
        if not isinstance(values, list | tuple) or not values:
            raise CaveatError(
                "a setting needs a list of values to try",
                where=f"tune, settings, {name}",
                entry=(name,),
                do=f"write {name} = [5, 20, 50]",
            )
    protections = grid.get("protect", [[]])
    for steps in protections:
        check_steps(steps)
    options = {name: values for name, values in grid.items() if name != "protect"}
    shown = tuple(name for name, values in options.items() if len(values) > 1)
    return [
        Setting({**base, **dict(zip(options, values, strict=True))}, tuple(steps), shown)
        for *values, steps in product(*options.values(), protections)
    ]
