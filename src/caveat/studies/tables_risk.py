"""Tables from synthetic data: whether the TCAP ratio tells which tables are risky.

Kolb, Tang and Giessing (2024) ask it for the German road accident statistics, which are
confidential: 21 settings of a partial synthesis, 52 tables at three levels of geography, and the
correlation over the settings of a measure of the file with the risk of each table. Here the same is
done on SD2011: three variables stay, three are synthesised.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from caveat.datasets import survey
from caveat.outputs.plan_risk import (
    Correlation,
    PlanRisk,
    correlation,
    plan_risk,
    planned_tables,
)
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer
from caveat.synthesis.model import recoded
from caveat.table import Table, read

__all__ = ["STUDY", "Variables", "correlations", "measured", "run", "settings"]

LEAVES = (1, 5, 10, 20, 50, 100, 200)
PREDICTORS = (3, 5, 7)
COPIES = 5


class Variables(NamedTuple):
    """What stays, what is synthesised, and the levels of geography."""

    untouched: tuple[str, ...]
    synthesised: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]

    @property
    def fixed(self) -> tuple[str, ...]:
        """The columns that are copied."""
        return tuple(dict.fromkeys((*self.untouched, *(n for level in self.levels for n in level))))


SD2011 = Variables(
    ("sex", "agegr", "edu"),
    ("marital", "ls", "eduspec"),
    ((), ("region",), ("region", "placesize")),
)
SURVEY = Variables(
    ("sex", "education", "satisfied"),
    ("marital", "friends", "occupation"),
    ((), ("region",)),
)


def settings(variables: Variables) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return 21 settings: seven smallest leaves by three numbers of predictors."""
    for most in PREDICTORS:
        for leaf in LEAVES:
            before = list(variables.fixed)
            drawn: dict[str, dict[str, Any]] = {}
            for name in variables.synthesised:
                # The places last: whoever has few predictors does not have them.
                drawn[name] = {"predictors": before[:most]}
                before.insert(len(variables.untouched), name)
            options = {"method": "cart", "minbucket": leaf, "columns": drawn}
            yield f"leaf {leaf}, {most} predictors", {**options, "given": variables.fixed}


def measured(
    original: Table, variables: Variables, options: Mapping[str, Any], copies: int = COPIES
) -> list[PlanRisk]:
    """Synthesise with one setting and measure all tables of each copy."""
    plan = planned_tables(variables.untouched, variables.synthesised)
    model = Synthesizer.of(options, seed=1).fit(original)
    known = {name: recoded(model.columns[name], original, name) for name in variables.fixed}
    found = []
    for seed in range(copies):
        drawn = replace(model, seed=seed).draw(known, original.n_rows)
        made = original.with_columns({name: drawn[name].column for name in variables.synthesised})
        found.append(
            plan_risk(original, made, plan, variables.synthesised, levels=variables.levels)
        )
    return found


class Found(NamedTuple):
    """One table of the plan over the settings."""

    level: tuple[str, ...]
    columns: tuple[str, ...]
    target: str
    cells: float  # combinations that seem disclosive, in the mean
    with_tcap: Correlation


def correlations(every: Sequence[Sequence[PlanRisk]]) -> list[Found]:
    """Correlate the TCAP ratio of each target with the risk of each table, over the settings."""
    ratios = {
        target: [_mean([one.tcap_ratio[target].value for one in copies]) for copies in every]
        for target in every[0][0].tcap_ratio
    }
    found = []
    for place, table in enumerate(every[0][0].tables):
        risks = [_mean([one.tables[place].risk for one in copies]) for copies in every]
        cells = float(np.mean([one.tables[place].synthetic for copies in every for one in copies]))
        related = correlation(ratios[table.target], risks)
        found.append(Found(table.level, table.columns, table.target, cells, related))
    return found


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Measure all settings on SD2011, or on the simulated survey when it is not there."""
    del output
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        variables, name, original = SD2011, "SD2011", read(file)
    else:
        variables, name, original = SURVEY, "the simulated survey", survey()
    original = original.select([*variables.fixed, *variables.synthesised])
    every = {how: measured(original, variables, options) for how, options in settings(variables)}
    copies = list(every.values())
    most = max(range(len(copies)), key=lambda i: max(_ratios(copies[i])))
    without = correlations([*copies[:most], *copies[most + 1 :]])
    both = list(zip(correlations(copies), without, strict=True))
    places = {level: _place(level) for level in variables.levels}
    grids = (
        _by_size(both, places, name, list(every)[most]),
        _by_setting(every, variables.synthesised),
    )
    remarks = (
        f"{COPIES} copies of each setting, measures averaged over them; "
        f"{', '.join(variables.untouched)} stay, {', '.join(variables.synthesised)} are "
        "synthesised, each the target in turn; about a minute",
        "a table without a disclosive cell in some copy has no correlation and is not counted",
        *(() if variables is SD2011 else ("give --data FOLDER with sd2011.csv for SD2011",)),
    )
    return StudyResult(grids, remarks=remarks)


def _ratios(copies: Sequence[PlanRisk]) -> list[float]:
    """Return the mean TCAP ratio of each target, 0 where there is none."""
    return [
        _mean([one.tcap_ratio[target].value for one in copies]) or 0.0
        for target in copies[0].tcap_ratio
    ]


def _place(level: tuple[str, ...]) -> str:
    return " × ".join(level) or "whole"


def _by_size(
    both: Sequence[tuple[Found, Found]], places: Mapping[tuple[str, ...], str], name: str,
    extreme: str,
) -> Grid:  # fmt: skip
    rows = []
    sizes = sorted({len(one.columns) for one, _ in both})
    for level, place in places.items():
        for size in sizes:
            some = [p for p in both if p[0].level == level and len(p[0].columns) == size]
            cells = float(np.mean([one.cells for one, _ in some]))
            all_of_them, fewer = (
                [p[i].with_tcap.value for p in some if p[i].with_tcap.value is not None]
                for i in (0, 1)
            )
            rows.append(
                (
                    f"{place}, {size} variables",
                    f"{cells:,.0f}",
                    f"{len(all_of_them)} of {len(some)}",
                    *_spread(all_of_them),
                    _spread(fewer)[1],
                )
            )
    return Grid(
        f"Correlation over 21 settings of TCAP ratio and table risk, {name}",
        ("tables", "disclosive cells", "defined", "lowest", "median", "highest", "median without"),
        tuple(rows),
        "The paper says near 1 and prints no table. The last column is without the most extreme "
        f"setting, {extreme}: one point far from the others makes a correlation by itself.",
    )


def _spread(values: Sequence[float | None]) -> tuple[str, str, str]:
    known = [value for value in values if value is not None]
    if not known:
        return ("", "", "")
    return tuple(f"{f(known):.2f}" for f in (min, np.median, max))  # type: ignore[return-value]


def _by_setting(every: Mapping[str, Sequence[PlanRisk]], targets: Sequence[str]) -> Grid:
    rows = []
    for how, copies in every.items():
        ratios = [f"{ratio:.3f}" for ratio in _ratios(copies)]
        distance = float(np.mean([table.hellinger for one in copies for table in one.tables]))
        seen, true = (
            float(np.mean([sum(getattr(t, which) for t in one.tables) for one in copies]))
            for which in ("synthetic", "common")
        )
        risk = true / seen if seen else 0.0
        rows.append((how, *ratios, f"{risk:.3f}", f"{seen:,.0f}", f"{distance:.3f}"))
    return Grid(
        "The settings",
        ("setting", *(f"TCAP ratio, {target}" for target in targets), "table risk, all tables",
         "disclosive cells", "Hellinger, mean"),
        tuple(rows),
    )  # fmt: skip


STUDY = Study(
    "tables-risk",
    "tables from synthetic data: TCAP ratio and the risk of 52 tables by level, 21 settings",
    run,
    paper="Kolb, Tang and Giessing (2024)",
    takes="30 s",
    needs="sd2011.csv, else the built-in survey",
)
