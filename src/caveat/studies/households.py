"""Evaluation of Synthetic Data Generators on Complex Tabular Data (Thees, Novak, Templ, 2024).

From a population samples of households are drawn by two designs and synthesised; what is counted in
the population is compared with what the synthetic data say. Tools that take a household's number
for a column like any other invent a fifth fewer or more than twice as many households, and
households of children. The paper's population is not public: this is simFrame's, of the same make.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError, CaveatWarning
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.table import Column, Kind, Table, read
from caveat.utility.structure import Composition, count_groups

__all__ = ["PRINTED", "STUDY", "Figures", "draw_sample", "figures", "run"]

FILE = "simframe_eusilcP.csv"
KEY, REGION, AGE, SEX, CITIZENSHIP, WEIGHTS = (
    "hid", "region", "age", "gender", "citizenship", "weight",
)  # fmt: skip
COLUMNS = (KEY, REGION, "hsize", AGE, SEX, "ecoStat", CITIZENSHIP, "py010n")
DESIGNS = ("prop", "equal")
SAMPLES = 20
SIZE = 5_000  # households of a sample: with about 12,000 persons, as in the paper
BANDS = (18, 35, 50, 65)
KINDS = {
    "children only": Composition(none=(f"{AGE} >= 18",)),
    "mixed": Composition(
        some=tuple(f"{AGE} >= 18 and {SEX} == '{sex}'" for sex in ("female", "male"))
    ),
}
METHODS = ("whole households", "row by row")
PRINTED = {
    ("prop", METHODS[0]): ("−0.4", "0", "−0.6"),
    ("prop", METHODS[1]): ("−19", "4.03", "−52"),
    ("equal", METHODS[0]): ("−0.5", "0", "+1.2"),
    ("equal", METHODS[1]): ("−19", "3.87", "−50"),
}
"""Table 3 of the paper, simPop and synthpop, in per cent: errors of the number of households,
households of children only (149,033 and 143,276 of 3,701,301), errors of that of mixed ones."""


@dataclass(frozen=True)
class Figures:
    """What is counted in a population, or estimated for it.

    Parameters
    ----------
    households, children_only, mixed
        Numbers of households: all, those without an adult, those with adults of both sexes.
    cells
        Persons by region, band of age and sex.
    """

    households: float
    children_only: float
    mixed: float
    cells: NDArray[np.float64]

    __repr__ = without_values

    def errors(self, truth: Figures) -> tuple[float, float, float, float]:
        """Return the errors: households and mixed ones in per cent, children only, and MAPE."""
        filled = truth.cells > 0
        apart = np.abs(self.cells - truth.cells)[filled] / truth.cells[filled]
        return (
            100 * (self.households / truth.households - 1),
            self.children_only,
            100 * (self.mixed / truth.mixed - 1),
            100 * float(apart.mean()),
        )


def figures(table: Table, regions: Column, weights: NDArray[np.float64] | None = None) -> Figures:
    """Count a population, or what weighted rows stand for."""
    kinds = count_groups(table, KEY, {"all": Composition(), **KINDS}, weights)
    band = np.searchsorted(BANDS, table[AGE].cell_numbers, "right")
    names = [str(level) for level in regions.levels.tolist()]
    region = np.array([names.index(str(value)) for value in table[REGION].values])
    sex = (table[SEX].values == "male").astype(np.int64)
    shape = (len(names), len(BANDS) + 1, 2)
    flat = np.ravel_multi_index((region, band, sex), shape)
    cells = np.bincount(flat, weights, int(np.prod(shape))).astype(np.float64)
    return Figures(kinds["all"], kinds["children only"], kinds["mixed"], cells)


def draw_sample(population: Table, design: str, rng: np.random.Generator) -> Table:
    """Draw households by region, in proportion or equally many, with the weights of the design."""
    codes = population[KEY].codes
    first = np.unique(codes, return_index=True)[1]
    region = population[REGION].codes[first]
    sizes = np.bincount(region)
    share = sizes / sizes.sum() if design == "prop" else np.full(len(sizes), 1 / len(sizes))
    drawn, weight = np.zeros(len(first), bool), np.zeros(len(first))
    for place, wanted in enumerate(np.minimum(np.rint(share * SIZE).astype(int), sizes)):
        chosen = rng.choice(np.flatnonzero(region == place), wanted, replace=False)
        drawn[chosen] = True
        weight[chosen] = sizes[place] / wanted
    rows = np.flatnonzero(drawn[codes])
    levels, cells = np.unique(weight[codes[rows]], return_inverse=True)
    weights = Column(cells, levels, Kind.NUMERIC)
    return population.take(rows).compact().with_columns({WEIGHTS: weights})


def known(population: Table) -> list[dict[str, list[object]]]:
    """Return what samples are calibrated to: households by region, persons by three columns."""
    first = np.unique(population[KEY].codes, return_index=True)[1]
    homes = population[REGION].take(first)
    names = (REGION, SEX, CITIZENSHIP)
    columns = [population[name] for name in names]
    shape = tuple(column.n_levels for column in columns)
    counts = np.bincount(
        np.ravel_multi_index([c.codes.astype(np.int64) for c in columns], shape),
        minlength=int(np.prod(shape)),
    )
    filled = np.flatnonzero(counts)
    cells: dict[str, list[object]] = {
        name: column.with_codes(codes).values.tolist()
        for name, column, codes in zip(names, columns, np.unravel_index(filled, shape), strict=True)
    }
    return [
        {REGION: homes.levels.tolist(), "groups": homes.counts.tolist()},
        {**cells, "count": counts[filled].tolist()},
    ]


def _made(sample: Table, method: str, margins: list[dict[str, list[object]]], seed: int,
          regions: Column) -> Figures:  # fmt: skip
    """Synthesise a sample, and estimate from it what the population is."""
    if method == "whole households":
        groups = {"key": KEY, "margins": margins}
        model = Synthesizer(
            seed=seed, method="cart", groups=groups, weights=WEIGHTS, rules=[f"any({AGE} >= 18)"]
        ).fit(sample)
        return figures(model.tables("population")[0], regions)
    # As tools do that know no groups: number and weight are columns like others.
    release = Synthesizer(seed=seed, method="cart", keep=[KEY]).fit(sample).tables()[0]
    return figures(release, regions, release[WEIGHTS].cell_numbers)


def _citizens(population: Table) -> Table:
    """Return the population with two kinds of citizenship, so that samples have all cells."""
    values = population[CITIZENSHIP].values
    two = np.where(values == "AT", "AT", "other or not asked")
    return population.with_columns({CITIZENSHIP: Table.from_frame({"x": two})["x"]})


def _rows(population: Table, samples: int) -> Iterator[tuple[str, ...]]:
    truth, margins = figures(population, population[REGION]), known(population)
    for design in DESIGNS:
        found: dict[str, list[tuple[float, ...]]] = {method: [] for method in METHODS}
        for number in range(samples):
            rng = np.random.default_rng([number, DESIGNS.index(design)])
            sample = draw_sample(population, design, rng)
            for method in METHODS:
                made = _made(sample, method, margins, number, population[REGION])
                found[method].append(made.errors(truth))
        for method in METHODS:
            homes, children, mixed, apart = np.array(found[method]).T
            ours = (
                f"{homes.mean():+.2f} ({homes.min():+.2f} to {homes.max():+.2f})",
                f"{100 * children.mean() / truth.households:.2f}",
                f"{mixed.mean():+.2f} ({mixed.min():+.2f} to {mixed.max():+.2f})",
            )
            both = zip(ours, PRINTED[design, method], strict=True)
            cells = (cell for pair in both for cell in pair)
            yield (f"{design}, {method}", *cells, f"{apart.mean():.1f}")


def run(output: Output, data: Path | None = None, samples: int = SAMPLES) -> StudyResult:
    """Rerun the comparison; ``output`` is not used, there are no pictures."""
    del output
    file = None if data is None else data / FILE
    if file is None or not file.exists():
        raise CaveatError(
            "the data of this study are not here",
            do=f"give --data FOLDER with {FILE}",
            code="study.file.absent",
        )
    population = _citizens(read(file).select(COLUMNS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CaveatWarning)
        rows = tuple(_rows(population, samples))
    truth = figures(population, population[REGION])
    grid = Grid(
        f"Table 3: population of {truth.households:,.0f} households, "
        f"{truth.children_only:,.0f} of children only, {truth.mixed:,.0f} with adults of both "
        f"sexes; samples of {SIZE:,}",
        ("design, synthesised", "households, %", "printed", "children only, %", "printed",
         "mixed, %", "printed", "MAPE"),
        rows,
        f"errors over {samples} samples of each design, mean (smallest to largest); MAPE: mean "
        "error of region by age by sex in per cent. Row by row: number and weight of a household "
        "are columns like any other. Printed: simPop and synthpop on another population, of "
        "3,701,301 households, none of children only, 2,179,387 mixed",
        "another population, and ours is no copy of simPop",
    )  # fmt: skip
    return StudyResult((grid,))


STUDY = Study(
    "households",
    "a population from a weighted sample of households, Table 3",
    run,
    paper="Thees, Novak and Templ (2024)",
    takes="30 s",
    needs="simframe_eusilcP.csv",
)
