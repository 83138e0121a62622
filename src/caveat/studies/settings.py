"""Settings of the generator as protections: what each does to risk and utility.

The effect of the smallest leaf on SD2011, from 1 to 200 records, beside the published one (Latner,
Neunhoeffer and Drechsler, replication material; one release each); and that of pruning, depth,
chosen predictors, the order of visits, forests, proper synthesis and three protections.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack import posterior, vulnerable
from caveat.attack.posterior import drawn_columns
from caveat.datasets import survey
from caveat.risk import key_cells
from caveat.spec.limits import unit_of
from caveat.studies.study import Grid, Output, Study, StudyResult
from caveat.synthesis import Synthesizer, make_plan
from caveat.table import ColumnSchema, Schema, Table, align, read
from caveat.tuning import Point, Question, Setting, risk_utility_map
from caveat.units import printed

__all__ = ["PRINTED", "STUDY", "new_keys", "run", "settings"]

LEAVES = (1, 5, 10, 20, 50, 100, 200)
# Share of synthetic combinations of keys that nobody has, repU and DiSCO, in per cent, by leaf.
PRINTED: Mapping[str, tuple[float, ...]] = {
    "new keys": (17.1, 34.4, 41.2, 43.9, 50.3, 52.4, 59.2),
    "repU": (16.1, 14.0, 13.1, 13.2, 12.7, 12.8, 11.6),
    "DiSCO": (31.8, 9.1, 6.9, 5.8, 5.9, 5.2, 4.7),
}
COLUMNS = ("sex", "age", "region", "placesize", "depress", "edu", "income", "marital", "ls",
           "smoke", "height", "weight")  # fmt: skip
MEASURES = ("repU", "DiSCO", "S_pMSE", "S_pMSE two-way")
SEEDS, RECORDS = 3, 2
SCREENED = ("minbucket 5", "minbucket 100", "minbucket 200", "cp 0.001", "cp 0.01", "depth 5")
SURE = 0.5


def settings(keys: Sequence[str], target: str) -> dict[str, Setting]:
    """Return the settings that are compared, by name."""
    options: dict[str, Mapping[str, Any]] = {
        **{f"minbucket {leaf}": {"minbucket": leaf} for leaf in LEAVES},
        "cp 0.0001": {"cp": 1e-4},
        "cp 0.001": {"cp": 1e-3},
        "cp 0.01": {"cp": 1e-2},
        "depth 10": {"max_depth": 10},
        "depth 5": {"max_depth": 5},
        f"{target} from {keys[0]} and {keys[1]} alone": {"predictors": {target: list(keys[:2])}},
        f"{target} visited first": {"order": [target]},
        "forest of 10 trees": {"method": "forest"},
        "proper": {"proper": True},
    }
    steps: dict[str, Mapping[str, Any]] = {
        "replicated uniques removed": {"name": "remove_replicated_uniques", "keys": list(keys)},
        "distance filter (gower)": {"name": "distance_filter", "metric": "gower"},
        f"PRAM of {target}, θ = 0.3": {"name": "pram", "columns": [target], "theta": 0.3},
    }
    usual = {"method": "cart"}  # plain trees, unless a setting names another method
    found = {name: Setting({**usual, **chosen}) for name, chosen in options.items()}
    return found | {name: Setting(usual, (step,)) for name, step in steps.items()}


def new_keys(original: Table, keys: Sequence[str], options: Mapping[str, Any], seed: int) -> float:
    """Return the share of synthetic combinations of keys that nobody has in the original.

    The keys are visited first, so that the other columns need not be made.
    """
    known = original.select(keys)
    release = Synthesizer(seed=seed, **options).fit(known).tables()[0]
    both = align(known, release)
    tables = (both.original, both.synthetic)
    (ours, theirs), _ = key_cells(
        [[table[key].codes for key in keys] for table in tables],
        [both.original[key].n_levels for key in keys],
    )
    return float((~np.isin(np.unique(theirs), ours)).mean())


def attacked_records(
    original: Table, chosen: Mapping[str, Setting], keys: Sequence[str]
) -> list[int]:
    """Return records to attack under every setting: the most vulnerable under some of them.

    Whoever compares settings must attack the same records: those that a screening finds under one
    setting need not be the ones that another setting gives away.
    """
    found: set[int] = set()
    for name in SCREENED:
        if name in chosen:
            screened = vulnerable(original, keys=keys, generator=dict(chosen[name].options))
            found |= {int(i) for i in screened.first(RECORDS)}
    return sorted(found)


def posteriors(
    original: Table, setting: Setting, records: Sequence[int], target: str
) -> list[float] | None:
    """Return what the strong attacker gives to the truth, on one release; None if not exact."""
    plan = make_plan(original, dict(setting.options))
    if setting.protect or drawn_columns(plan):
        return None
    release = Synthesizer(seed=0, **setting.options).fit(original).tables()[0]
    return [
        posterior(
            original, release, record, unknown=[target], generator=plan, prior="uniform"
        ).probability
        for record in records
    ]


def run(output: Output, data: Path | None = None) -> StudyResult:
    """Measure the settings on SD2011, or on the simulated survey when it is not there."""
    output.check(("settings",))
    file = None if data is None else data / "sd2011.csv"
    published = file is not None and file.exists()
    keys: tuple[str, ...]
    if file is not None and published:
        schema = Schema({"income": ColumnSchema(missing={-8: "not asked"})})
        original = schema.apply(read(file).select(COLUMNS))
        keys, target, name = COLUMNS[:4], "depress", "SD2011"
    else:
        original = survey(rows=1000).select(["sex", "age", "region", "marital", "weight"])
        keys, target, name = ("sex", "age", "region"), "marital", "the simulated survey"
    chosen = settings(keys, target)
    question = Question(MEASURES, keys, (target,))
    found = risk_utility_map(original, list(chosen.values()), question, seeds=SEEDS)
    output.save(found.plot("DiSCO", "S_pMSE two-way"), "settings")
    points = dict(zip(chosen, found.points, strict=True))
    fresh = {
        leaf: [
            new_keys(original, keys, {"method": "cart", "minbucket": leaf}, seed)
            for seed in range(SEEDS)
        ]
        for leaf in LEAVES
    }
    records = attacked_records(original, chosen, keys)
    sure = {n: posteriors(original, s, records, target) for n, s in chosen.items()}
    title = f"{name}, {original.n_rows:,} records"
    grids = (_leaves(points, fresh, published), _all(points, sure, title))
    remarks = (
        f"mean ± standard deviation over {SEEDS} releases; repU, DiSCO and new keys in per cent",
        f"keys {', '.join(keys)}; target {target}",
        f"sure: of {len(records)} vulnerable records, the same for all settings, those for whom an "
        f"attacker who knows all but {target} gives the truth more than {SURE:g}, on one release; "
        "median: of what she gives the truth",
        *(() if published else ("give --data FOLDER with sd2011.csv for SD2011",)),
    )
    return StudyResult(grids, tuple(output.saved), remarks)


def _leaves(points: Mapping[str, Point], fresh: Mapping[int, list[float]], published: bool) -> Grid:
    rows = []
    for place, leaf in enumerate(LEAVES):
        point = points[f"minbucket {leaf}"]
        ours: dict[str, Sequence[float | None]]
        ours = {"new keys": fresh[leaf], "repU": point.each("repU"), "DiSCO": point.each("DiSCO")}
        cells = [str(leaf)]
        for name, values in ours.items():
            cells += [_around(values, "share"), f"{PRINTED[name][place]}" if published else ""]
        rows.append(tuple(cells))
    header = ("minbucket", *(part for name in PRINTED for part in (name, "printed")))
    why = f"our own draws: a mean over {SEEDS} releases beside the published ones"
    return Grid("Smallest leaf: ours beside the published", header, tuple(rows), why=why)


def _all(points: Mapping[str, Point], sure: Mapping[str, list[float] | None], title: str) -> Grid:
    rows = []
    for name, point in points.items():
        found = sure[name]
        attacked = ("none", "none")
        if found is not None:
            attacked = (str(sum(p > SURE for p in found)), f"{np.median(found):.3f}")
        rows.append((name, *(_around(point.each(m), unit_of(m)) for m in MEASURES), *attacked))
    return Grid(title, ("setting", *MEASURES, "sure", "median"), tuple(rows))


def _around(values: Sequence[float | None], unit: str) -> str:
    numbers = [printed(value, unit) for value in values if value is not None]
    if len(numbers) < len(values):
        return "none"
    return f"{np.mean(numbers):.2f} ± {np.std(numbers, ddof=1):.2f}"


STUDY = Study(
    "settings",
    "leaves, pruning, depth, forests and other settings as protections",
    run,
    paper="Latner, Neunhoeffer and Drechsler (2025)",
    takes="2 minutes",
    needs="sd2011.csv, else the built-in survey",
)
