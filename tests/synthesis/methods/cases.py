"""A small table, and for every method a target that suits it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from caveat.synthesis.coding import Part
from caveat.synthesis.methods import METHODS, Fitted, Inputs, Settings, Target
from caveat.synthesis.methods.tables import Ipf, Margins

UNSEEN = 3  # a level of the factor that no training row has


@dataclass(frozen=True)
class Case:
    """How a method is tried.

    Parameters
    ----------
    n_levels
        Number of classes or numbers of the target; the last one is never observed.
    numeric
        Whether the target is a number.
    settings
        The settings of the method.
    """

    n_levels: int
    numeric: bool = False
    settings: Settings = field(default_factory=Settings)


# Trees of one split: smallest leaves count rows, which weights and repeated rows do not share.
STUMP = Settings(minbucket=1, max_depth=1)

CASES: dict[tuple[str, str], Case] = {
    ("cart", "classes"): Case(5, settings=STUMP),
    ("cart", "numbers"): Case(8, numeric=True, settings=STUMP),
    ("forest", "classes"): Case(5, settings=Settings(trees=4)),
    ("forest", "numbers"): Case(8, numeric=True, settings=Settings(trees=4)),
    ("sample", "classes"): Case(5),
    ("normal", "numbers"): Case(8, numeric=True),
    ("normrank", "numbers"): Case(8, numeric=True),
    ("logistic", "classes"): Case(3),
    ("multinomial", "classes"): Case(5),
    ("ordinal", "classes"): Case(5),
    ("nested", "classes"): Case(5),
    ("saturated", "classes"): Case(5),
    ("saturated", "pseudo-count"): Case(5, settings=Settings(pseudo_count=10.0)),
    ("saturated", "numbers"): Case(8, numeric=True, settings=Settings(pseudo_count=10.0)),
    ("ipf", "classes"): Case(5),
    ("margins", "classes"): Case(5),
    ("lookup", "classes"): Case(5),
    ("guarded", "classes"): Case(5, settings=Settings(method="guarded", smallest=30.0, depth=3)),
}


def inputs_for(n: int, rng: np.random.Generator) -> Inputs:
    """Return a number, a factor and an ordered factor."""
    return Inputs(
        (
            Part(rng.integers(0, 6, n), 6, True, np.array([0.0, 1.0, 2.0, 4.0, 7.0, 30.0])),
            Part(rng.choice(UNSEEN, n, p=[0.2, 0.5, 0.3]), UNSEEN + 1, False),
            Part(rng.integers(0, 3, n), 3, True),
        ),
        n,
    )


def target_for(case: Case, inputs: Inputs, rng: np.random.Generator) -> Target:
    """Return a target that depends on the inputs and has noise."""
    number, factor, order = (part.codes for part in inputs.parts)
    top = case.n_levels - 2
    mean = top * (0.1 * number + 0.15 * factor + 0.1 * order)
    codes = np.clip(np.rint(mean + rng.normal(0, 0.3 * case.n_levels, inputs.n_rows)), 0, top)
    numbers = np.cumsum(np.linspace(0.1, 0.4, case.n_levels)).round(1) if case.numeric else None
    return Target(codes.astype(np.uint8), case.n_levels, numbers, decimals=1)


def fit(name: str, inputs: Inputs, target: Target, settings: Settings, seed: int = 7) -> Fitted:
    """Fit a method by name."""
    if name == "ipf":
        return Ipf.of_cells(inputs, target)
    if name == "margins":
        return margins_from(inputs, target)
    return METHODS[name].fit(inputs, target, settings, np.random.default_rng(seed))


def margins_from(inputs: Inputs, target: Target) -> Margins:
    """Return shares of a table of all inputs and the target."""
    chosen, codes, weights = target.training(inputs)
    shape = (*(part.n_levels for part in inputs.parts), target.n_levels)
    place = np.ravel_multi_index([*(part.codes for part in chosen.parts), codes], shape)
    counts = np.bincount(place, weights, minlength=int(np.prod(shape)))
    return Margins.of_shares(counts.reshape(shape))


def fixed_rows(inputs: Inputs, n: int) -> list[Inputs]:
    """Return blocks of n equal rows: two of the training rows, and one with an unseen level."""
    rows = [inputs.take(np.full(n, row)) for row in (0, 1)]
    number, factor, order = rows[0].parts
    return [*rows, Inputs((number, replace(factor, codes=np.full(n, UNSEEN)), order), n)]
