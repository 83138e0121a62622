"""What is promised and what is lost: guarded trees, claimed ε, and risky tables."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from caveat.attack import attributes, membership, membership_test, posterior
from caveat.attack.membership import MembershipTest
from caveat.charts import COLOURS, Key, risk_utility
from caveat.charts.style import GREY
from caveat.datasets import buyer_beware, survey
from caveat.errors import CaveatWarning
from caveat.outputs.plan_risk import Correlation, PlanRisk, correlation, plan_risk, planned_tables
from caveat.studies.study import Grid, Output, Study, StudyResult, promises
from caveat.synthesis import Synthesizer
from caveat.synthesis.coding import assumed_grid
from caveat.synthesis.model import recoded
from caveat.table import Column, Table, read
from caveat.table.table import decimals_of
from caveat.utility import compare

SD2011 = ("sex", "age", "region", "placesize", "edu", "marital", "ls", "smoke", "height", "weight",
          "income", "depress")  # fmt: skip
SURVEY = ("sex", "age", "region", "education", "height", "weight", "marital")
GENERATORS: Mapping[str, Mapping[str, Any]] = {
    "plain 5": {"method": "cart"},
    "plain 20": {"method": "cart", "minbucket": 20},
    "unpruned 20": {"method": "cart", "minbucket": 20, "prune": False},
    "unpruned 50": {"method": "cart", "minbucket": 50, "prune": False},
    "unpruned 200": {"method": "cart", "minbucket": 200, "prune": False},
    "guarded light": {"method": "guarded", "guard": "light"},
    "guarded standard": {"method": "guarded"},
    "guarded strong": {"method": "guarded", "guard": "strong"},
}
SOME = 100
"""Records that are attacked where every one of them costs a refit; on guarded trees all are."""
RELEASES = 200
"""Releases of the four columns of Buyer Beware."""
RECORD = 999
MEASURES = ("S_pMSE", "S_pMSE two-way")
HEADER = ("trees", "S_pMSE", "two-way", "proof", "member", "≥ 0.9", "≥ 0.5", "right")


@dataclass(frozen=True)
class Outcome:
    """What one release is worth and what it gives away; shares are from 0 to 1.

    Parameters
    ----------
    utility
        S_pMSE, and the mean over all pairs of columns.
    impossible
        Share of records without which the release could not have been made.
    member
        Share whose membership an even prior raises to 0.9 and more.
    sure, likely
        Share whose true value of the target gets 0.9 (0.5) and more.
    right, prior_right
        Share whose most probable value is the true one, after the release and before it.
    """

    utility: tuple[float, float]
    impossible: float
    member: float
    sure: float
    likely: float
    right: float
    prior_right: float


def outcome(original: Table, options: Mapping[str, Any], target: str, seed: int) -> Outcome:
    """Make one release and attack it."""
    model = Synthesizer(seed=seed, order=original.names, **options).fit(original)
    release = model.tables()[0]
    measured = compare(original, release, measures=list(MEASURES), resamples=0)
    everyone = options["method"] == "guarded"
    order = np.random.default_rng(seed).permutation(original.n_rows)
    records = None if everyone else sorted(order[:SOME].tolist())
    known: dict[str, Any] = {"generator": model.plan, "records": records}
    members = membership(original, release, **known)
    found = attributes(original, release, target, prior="marginal", **known)
    first, second = (float(measured[name].value or np.nan) for name in MEASURES)
    return Outcome(
        (first, second),
        float(np.isposinf(members.log_ratio).mean()),
        float((members.posterior() >= 0.9).mean()),
        float((found.probability >= 0.9).mean()),
        float((found.probability >= 0.5).mean()),
        float(found.correct.mean()),
        float(found.prior_correct.mean()),
    )


def last_record(releases: int = RELEASES, guard: str = "standard") -> tuple[Any, Any]:
    """Return what the attacker gives to the true last record, and its copies, release by release.

    She knows the other 999 records and gives all sixteen combinations the same chance before.
    """
    original = buyer_beware()
    beliefs, copies = np.empty(releases), np.empty(releases, np.int64)
    for seed in range(releases):
        model = Synthesizer(seed=seed, method="guarded", guard=guard).fit(original)
        release = model.tables()[0]
        found = posterior(original, release, RECORD, generator=model.plan, prior="uniform")
        beliefs[seed] = found.probability
        same = [release[n].codes == original[n].codes[RECORD] for n in original]
        copies[seed] = int(np.all(same, axis=0).sum())
    return beliefs, copies


def run_guarded(output: Output, data: Path | None = None) -> StudyResult:
    """Measure plain and guarded trees on the survey, and on SD2011 where it is."""
    output.check(("guarded",))
    found = {name: outcome(survey().select(SURVEY), o, "marital", 1) for name, o in
             GENERATORS.items()}  # fmt: skip
    grids = [_grid("The simulated survey, 3,000 records; target marital", found)]
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        original = read(file).select(SD2011)
        found = {name: outcome(original, o, "depress", 1) for name, o in GENERATORS.items()}
        grids.append(_grid("SD2011, 5,000 records, 12 columns; target depress", found))
    output.save(_picture(found), "guarded")
    beliefs, copies = last_record()
    high = float(np.quantile(beliefs, 0.95))
    row = (f"{beliefs.mean():.3f}", f"{high:.3f}", f"{beliefs.max():.3f}", f"{copies.mean():.1f}")
    header = ("mean", "95 % below", "largest", "copies of 1111")
    note = "plain trees with leaves of 5 give it away: 1.0 wherever 1111 is released"
    title = f"Buyer Beware, guarded, {RELEASES} releases: what she gives to 1111 (before: 0.0625)"
    grids.append(Grid(title, header, (row,), note))
    remarks = (
        f"attacked are all records of guarded releases, and {SOME} of plain ones",
        *(() if len(grids) > 2 else ("give --data FOLDER with sd2011.csv for SD2011",)),
    )
    return StudyResult(tuple(grids), tuple(output.saved), remarks)


def _grid(title: str, found: Mapping[str, Outcome]) -> Grid:
    rows = [
        (
            name,
            *(f"{value:.2f}" for value in one.utility),
            *(f"{100 * v:.1f} %" for v in (one.impossible, one.member, one.sure, one.likely)),
            f"{one.right:.3f} ({one.prior_right:.3f})",
        )
        for name, one in found.items()
    ]
    note = (
        "proof: the release is impossible without the record; member: membership 0.9 and more; "
        "≥: what the true value gets; right: true best guesses (before the release)"
    )
    return Grid(title, HEADER, tuple(rows), note)


def _picture(found: Mapping[str, Outcome]) -> Any:
    """Draw members given away against utility: plain, unpruned and guarded trees as curves."""
    lines = list(dict.fromkeys(name.split()[0] for name in found))
    points = [
        {
            "setting": name,
            "risk_mean": 100 * one.member,
            "risk_worst": 100 * one.member,
            "utility_mean": one.utility[1],
            "pareto": True,
            "chosen": False,
            "method": {"plain": "cart"}.get(name.split()[0], name.split()[0]),
            "line": lines.index(name.split()[0]),
        }
        for name, one in found.items()
    ]
    return risk_utility(points, "members given away, %", "S_pMSE two-way (1 is best)")


GUARDED_STUDY = Study(
    "guarded",
    "guarded trees beside plain ones: what the strong attacker gets, and utility",
    run_guarded,
    paper="our own",
    takes="about 15 minutes",
    needs="sd2011.csv for SD2011",
)


# -------------------------------------------------------------------------------------------------
# The promise beside the loss: claimed ε, what the strong attacker finds, and what can be proven.
#
# For every ε three numbers. The claimed one holds for every table of the declared domain. The
# largest exact log ratio is that of the record which one release gives away most. The lower bound
# is what an outsider could prove about the mechanism by running it again and again with and
# without a record (Clopper and Pearson, 95 %): but for chance, it cannot lie above the first.


Declared = Mapping[str, Mapping[str, Any]]

MISSING = -8
BINS = 16
FEW = 10
"""Whole numbers with at most so many values are classes."""

PROMISE_SURVEY: Declared = {
    "sex": {"levels": ["female", "male"]},
    "age": {"range": [16, 99, 1], "bins": BINS},
    "region": {"levels": ["north", "east", "south", "west", "centre", "islands"]},
    "education": {"levels": ["primary", "vocational", "secondary", "higher"]},
    "marital": {"levels": ["single", "married", "divorced", "widowed"]},
    "income": {
        "range": [0, 20_000, 10],
        "scale": "geometric",
        "missing": [MISSING, ""],
        "bins": BINS,
    },
    "height": {"range": [100, 230, 1], "bins": BINS},
    "weight": {"range": [30, 200, 1], "bins": BINS, "missing": [""]},
}
"""What a code book of the simulated survey would say."""

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
DELTA = 1e-9
N_RELEASES, RECORDS, SIMULATIONS = 5, 10, 60
LEAST = 0.01
"""Where the picture ends below; a bound of 0 lies on this line."""
CURVES: Key = (
    ("dot", GREY, "claimed ε"),
    ("dot", COLOURS[1], "largest exact log ratio"),
    ("dot", COLOURS[0], "lower bound that can be proven"),
)


@dataclass(frozen=True)
class Loss:
    """What is promised and what was found.

    Parameters
    ----------
    epsilon
        The claimed one.
    largest
        For each release the largest |log p(tables with the record) - log p(tables without it)|.
    proven
        The lower bound of ε.
    """

    epsilon: float
    largest: tuple[float, ...]
    proven: float


def declared_as_in(table: Table) -> dict[str, dict[str, Any]]:
    """Return what a code book would declare of a public file, read off the file for want of one.

    No private release may do this: what its columns can be has to be known without the data.
    """
    return {name: _declared(table[name]) for name in table}


def _declared(column: Column) -> dict[str, Any]:
    numbers = column.numbers if column.kind.is_number else np.zeros(0)
    empty = [""] if column.is_missing.any() else []
    if len(numbers) <= (FEW if column.levels.dtype.kind in "iu" else 1):
        return {"levels": column.levels.tolist(), "missing": empty}
    coded = numbers[0] == MISSING
    ordinary = numbers[1:] if coded else numbers
    grid = assumed_grid(column, ordinary, decimals_of(column), "", (), exact=True)
    found = {"range": [grid.low, grid.high, grid.step], "scale": grid.scale, "bins": BINS}
    found["missing"] = [*([MISSING] if coded else []), *empty]
    if column.counts[0] >= column.counts.sum() / 4 and len(numbers) >= 2 * FEW and not coded:
        found["special"] = [float(numbers[0])]
    return found


def losses(
    original: Table,
    declared: Declared,
    epsilons: Sequence[float] = EPSILONS,
    *,
    releases: int = N_RELEASES,
    records: int = RECORDS,
    simulations: int = SIMULATIONS,
) -> list[Loss]:
    """Return what each ε claims and what is found.

    Parameters
    ----------
    original, declared
        The data, and what is declared of each column.
    epsilons
        What is claimed; δ is always 1e-9.
    releases
        How many releases are made, of each of which all records are attacked.
    records, simulations
        How many records are drawn for the lower bound, and how often each of them is in the data,
        and as often not.
    """
    drawn = np.random.default_rng(0).permutation(original.n_rows)[:records]
    found = []
    for epsilon in epsilons:
        largest = []
        for seed in range(releases):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", CaveatWarning)  # the study says it in the end
                model = Synthesizer(
                    seed=seed, method="margins", epsilon=epsilon, delta=DELTA, columns=declared
                ).fit(original)
            all_of_them = membership(original, model.tables()[0], generator=model)
            largest.append(float(np.abs(all_of_them.log_ratio).max()))
        tests = [
            membership_test(original, int(i), generator=model, simulations=simulations)
            for i in drawn
        ]
        found.append(Loss(epsilon, tuple(largest), _together(tests).epsilon))
    return found


def _together(tests: Sequence[MembershipTest]) -> MembershipTest:
    """Return one test of all records: what holds for each of them holds for their mean.

    They take turns, so that both halves of the simulations have all of them.
    """
    inside, outside = (
        np.stack([getattr(test, side) for test in tests], axis=1).ravel()
        for side in ("inside", "outside")
    )
    return MembershipTest(tests[0].record, inside, outside)


def run_promise(output: Output, data: Path | None = None) -> StudyResult:
    """Set promises beside losses on the survey, and on SD2011 where it is."""
    output.check(("promise",))
    found = {"The simulated survey": losses(survey().select([*PROMISE_SURVEY]), PROMISE_SURVEY)}
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        original = read(file).select(SD2011)
        found["SD2011, 12 columns"] = losses(original, declared_as_in(original))
    output.save(picture(found), "promise")
    grids = tuple(_grid_promise(title, lines) for title, lines in found.items())
    remarks = (
        f"δ = {DELTA:g}; noise has no seed: every run gives other numbers",
        f"largest: over all records and both signs, {N_RELEASES} releases; lower bound: {RECORDS} "
        f"records, each {SIMULATIONS} times in the data and {SIMULATIONS} times not",
        *(
            ["what SD2011 can be is read off the public file, for want of a code book: no private "
             "release may do this"]
            if len(found) > 1
            else ["give --data FOLDER with sd2011.csv for SD2011"]
        ),
    )  # fmt: skip
    return StudyResult(grids, tuple(output.saved), remarks)


def _grid_promise(title: str, found: Sequence[Loss]) -> Grid:
    rows = tuple(
        (
            f"{one.epsilon:g}",
            f"{np.mean(one.largest):.3f}",
            f"{max(one.largest):.3f}",
            f"{one.proven:.3f}",
        )
        for one in found
    )
    header = ("claimed ε", "largest log ratio", "of all releases", "proven")
    return Grid(title, header, rows)


def picture(found: Mapping[str, Sequence[Loss]]) -> Any:
    """Draw the three numbers over ε, on logarithmic axes, a panel for each table."""
    words = [entry[2] for entry in CURVES]
    panels = {
        title: [
            {"epsilon": one.epsilon, "curve": word, "loss": max(value, LEAST)}
            for one in lines
            for word, value in zip(
                words, (one.epsilon, float(np.mean(one.largest)), one.proven), strict=True
            )
        ]
        for title, lines in found.items()
    }
    return promises(panels, CURVES, [LEAST, 0.03, *EPSILONS])


PROMISE_STUDY = Study(
    "promise",
    "the promise beside the loss: claimed ε, the strong attacker's, and what can be proven",
    run_promise,
    paper="our own",
    takes="about 15 minutes",
    needs="caveat[dp]; sd2011.csv for SD2011",
)


# -------------------------------------------------------------------------------------------------
# Tables from synthetic data: whether the TCAP ratio tells which tables are risky.
#
# Kolb, Tang and Giessing (2024) ask it for the German road accident statistics, which are
# confidential: 21 settings of a partial synthesis, 52 tables at three levels of geography, and
# the correlation over the settings of a measure of the file with the risk of each table. Here the
# same is done on SD2011: three variables stay, three are synthesised.


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


SD2011_TABLES = Variables(
    ("sex", "agegr", "edu"),
    ("marital", "ls", "eduspec"),
    ((), ("region",), ("region", "placesize")),
)
SURVEY_TABLES = Variables(
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


def run_tables_risk(output: Output, data: Path | None = None) -> StudyResult:
    """Measure all settings on SD2011, or on the simulated survey when it is not there."""
    del output
    file = None if data is None else data / "sd2011.csv"
    if file is not None and file.exists():
        variables, name, original = SD2011_TABLES, "SD2011", read(file)
    else:
        variables, name, original = SURVEY_TABLES, "the simulated survey", survey()
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
        *(() if variables is SD2011_TABLES else ("give --data FOLDER with sd2011.csv for SD2011",)),
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


TABLES_RISK_STUDY = Study(
    "tables-risk",
    "tables from synthetic data: TCAP ratio and the risk of 52 tables by level, 21 settings",
    run_tables_risk,
    paper="Kolb, Tang and Giessing (2024)",
    takes="30 s",
    needs="sd2011.csv, else the built-in survey",
)
