"""Published tables: people rebuilt from them, files drafted from them, counts rounded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from caveat.expressions import Expression
from caveat.generators import Drafted, generator_of
from caveat.outputs.blocks import Figure, Reconstruction, random_matches, reconstruct
from caveat.outputs.reconstruction import surest
from caveat.protect import rounded_table, stochastic_round
from caveat.risk import audit
from caveat.seeds import child_seed, rng_of
from caveat.showing import without_values
from caveat.studies.study import Grid, Number, Output, Study, StudyResult
from caveat.synthesis.drafts import (
    Category,
    Correlations,
    Derived,
    DraftPlan,
    Model,
    Numeric,
    PublishedTable,
    draft,
)
from caveat.synthesis.drafts.plan import Equations
from caveat.table import Table

Ints = NDArray[np.int64]

RACES = ("White", "Black", "AIAN", "Asian", "NHPI", "Other", "Two+")
P8 = (377, 10, 1, 80, 0, 6, 9)
P9 = (355, 9, 1, 80, 0, 2, 8)
P12A_G = (44, 0, 0, 5, 0, 1, 0)
P12H, P12I = 2, 43
SOLUTION = {
    "White": (43, 1), "Black": (0, 0), "AIAN": (0, 0), "Asian": (5, 0), "NHPI": (0, 0),
    "Other": (0, 1), "Two+": (0, 0),
}  # fmt: skip
"""Table 1, part C: females from 22 to 24, not Hispanic and Hispanic."""
EPSILONS = {0.01: 1.01, 0.1: 1.11, 4.2: 67.0, 10.6: 32_860.0, 19.61: 325_215_956.0,
            39.91: 215_125_935_915_741_000.0}  # fmt: skip
"""Table 2: ε and e^ε."""
MISPRINTS = {10.6: "a misprint: 32,860 is e to the 10.4",
             19.61: "a misprint: 325,215,956 is e to the 19.6"}  # fmt: skip
# Years of the 23 age groups of table P12; each block draws its ages from their lengths.
YEARS = (5, 5, 5, 3, 2, 1, 1, 3, 5, 5, 5, 5, 5, 5, 5, 2, 3, 2, 3, 5, 5, 5, 5)
BLOCKS = 8_000
MEAN, SPREAD = 50, 1.48  # persons in a block, and how much blocks differ: 17.4 % are unique then
COVERED = 0.97


def block(*, bounded: bool = True) -> Reconstruction:
    """Rebuild the printed block, with or without what tables of the whole block forbid."""
    figures = [
        Figure({}, sum(P12A_G)),
        *(Figure({"race": race}, n) for race, n in zip(RACES, P12A_G, strict=True)),
        Figure({"ethnicity": "H"}, P12H),
        Figure({"race": "White", "ethnicity": "NH"}, P12I),
    ]
    if bounded:
        figures += [
            Figure({"race": race, "ethnicity": "H"}, p8 - p9, at_most=True)
            for race, p8, p9 in zip(RACES, P8, P9, strict=True)
        ]
    return reconstruct({"race": RACES, "ethnicity": ("NH", "H")}, figures)


@dataclass(frozen=True)
class People:
    """A simulated population: what a file with names can be matched by, and what is rebuilt.

    Parameters
    ----------
    keys
        Block, sex and age group of each person, as one number.
    block
        The block of each person.
    group
        Race and ethnicity, as one number.
    """

    keys: Ints
    block: Ints
    group: Ints

    __repr__ = without_values


def people(blocks: int = BLOCKS, seed: int = 1) -> People:
    """Simulate blocks of a census in which as many people are unique as the paper prints.

    Blocks differ in size and in who lives there; race and ethnicity do not depend on sex and age.
    """
    rng = rng_of(seed)
    size = np.maximum(rng.lognormal(math.log(MEAN) - SPREAD**2 / 2, SPREAD, blocks), 1).astype(int)
    where = np.repeat(np.arange(blocks), size)
    age = rng.choice(len(YEARS), len(where), p=np.array(YEARS) / sum(YEARS))
    sex = rng.integers(0, 2, len(where))
    # Seven races, Hispanic or not: shares near those of 2010; neighbours are more alike.
    shares = np.array([64, 12, 0.7, 4.7, 0.2, 0.2, 1.9, 8.7, 0.4, 0.2, 0.1, 0.1, 6.0, 0.8])
    mix = rng.dirichlet(1.2 * shares / shares.sum() + 1e-3, blocks).cumsum(axis=1)
    group = (rng.random((len(where), 1)) > mix[where]).sum(axis=1)
    keys = (where * 2 + sex) * len(YEARS) + age
    return People(keys, where, np.minimum(group, len(shares) - 1))


@dataclass(frozen=True)
class Matched:
    """What each rule calls a person found: shares of all records.

    Parameters
    ----------
    putative
        Records that got the name of somebody with their block, sex and age group.
    confirmed
        Those where the named person has the record's race and ethnicity too: the Bureau's rule.
    by_file
        The same for names without tables: the group that most have in the block is taken.
    unique
        People whom nobody in the block equals in sex and age group: what can be proved at most.
    provable
        Unique people that got a name.
    chance
        What a random pairing of equal records and people gets right.
    """

    putative: float
    confirmed: float
    by_file: float
    unique: float
    provable: float
    chance: float


def matched(population: People, covered: float = COVERED, seed: int = 2) -> Matched:
    """Match records rebuilt without a fault with a file of names that has a share of the people."""
    rng = rng_of(seed)
    n = len(population.keys)
    # Among the same block, sex and age group names are given to records in a random order.
    records = np.lexsort([rng.random(n), population.keys])
    named = np.lexsort([rng.random(n), population.keys])
    has_name = rng.random(n) < covered
    got = has_name[named]  # the record in this place gets this name, if the file has it
    same = population.group[records] == population.group[named]
    _, inverse, size = np.unique(population.keys, return_inverse=True, return_counts=True)
    alone = size[inverse] == 1
    counts = np.zeros((population.block.max() + 1, population.group.max() + 1), np.int64)
    np.add.at(counts, (population.block, population.group), 1)
    usual = counts.argmax(axis=1)[population.block]
    kinds = zip(population.keys.tolist(), population.group.tolist(), strict=True)
    return Matched(
        float(got.mean()),
        float((got & same).mean()),
        float((has_name & (usual == population.group)).mean()),
        float(alone.mean()),
        float((alone & has_name).mean()),
        random_matches(list(kinds)),
    )


def run_census(output: Output, data: Path | None = None, blocks: int = BLOCKS) -> StudyResult:
    """Rebuild the printed block, and match a simulated census; neither output nor data are used."""
    del output, data
    found, open_ = block(), block(bounded=False)
    population = people(blocks)
    report = matched(population)
    counts = dict(zip(found.cells, found.solutions[0].tolist(), strict=True))
    solved = {race: (counts[race, "NH"], counts[race, "H"]) for race in RACES}
    return StudyResult(
        (
            Grid(
                "Females from 22 to 24, block 3000, tract 72, New York County (Table 1, part C)",
                ("race", "not Hispanic", "printed", "Hispanic", "printed"),
                tuple(
                    (race, str(solved[race][0]), str(SOLUTION[race][0]), str(solved[race][1]),
                     str(SOLUTION[race][1])) for race in RACES
                ),
                f"{len(found.solutions)} block agrees with tables P8, P9 and P12A to P12I; without "
                f"P8 and P9 {len(open_.solutions)} do, and "
                f"{open_.certain_share:.0%} of the 50 records are certain",
            ),
            _report(report, len(population.keys), blocks),
            _promises(),
        ),
        remarks=REMARKS,
        numbers=(*_block_numbers(solved), *_claims(report), *_epsilon_numbers()),
    )  # fmt: skip


def _report(one: Matched, n: int, blocks: int) -> Grid:
    rows = (
        ("rebuilt records that got a name ('putative')", one.putative, "97"),
        ("of these, 'confirmed' by race and ethnicity", one.confirmed / one.putative, "78"),
        ("all records: 'confirmed'", one.confirmed, "75"),
        ("all records: 'confirmed' without any table of persons", one.by_file, ""),
        ("unique by sex and age group in the block", one.unique, "17.4"),
        ("unique, and got a name: what can be proved at most", one.provable, ""),
        ("right if equal records are named at random", one.chance, ""),
        ("got a name and are not unique", one.putative - one.provable, "79.6"),
    )
    return Grid(
        "What each rule calls a person found, per cent",
        ("rule", "ours", "printed"),
        tuple((name, f"{100 * share:.1f}", printed) for name, share, printed in rows),
        f"{n:,} simulated persons in {blocks:,} blocks, rebuilt without a fault; {COVERED:.0%} of "
        "them are in the file with names; without a table: the group that most have in the block",
    )


def _promises() -> Grid:
    rows = [
        (f"{epsilon:g}", f"{math.exp(epsilon):,.7g}", f"{printed:,.7g}",
         f"{surest(0.001, epsilon):.4f}")
        for epsilon, printed in EPSILONS.items()
    ]  # fmt: skip
    return Grid(
        "What ε promises (Table 2)",
        ("ε", "odds grow by", "printed", "0.001 becomes at most"),
        tuple(rows),
        "last column: how sure somebody may become of what had a probability of 1 in 1,000",
    )


def _block_numbers(solved: dict[str, tuple[int, int]]) -> list[Number]:
    found = [
        Number(f"{race}, {what}", "Table 1", float(SOLUTION[race][j]), float(solved[race][j]),
               "exact: one solution")
        for race in RACES for j, what in enumerate(("not Hispanic", "Hispanic"))
    ]  # fmt: skip
    totals = np.sum(list(solved.values()), axis=0)
    found += [
        Number(f"all races, {what}", "Table 1", printed, float(total), "exact: one solution")
        for what, printed, total in zip(("not Hispanic", "Hispanic"), (48.0, 2.0), totals,
                                        strict=True)
    ]  # fmt: skip
    return found


def _claims(one: Matched) -> list[Number]:
    stand_in = "a simulated population"
    return [
        Number("blocks rebuilt whole, per cent", "Sect. 2.1", 88.0,
               100 * 5_462_028 / 6_207_027, "5,462,028 of 6,207,027"),
        Number("Whites, who can all be rebuilt, per cent of the population", "Sect. 2.1", 74.0,
               None, "needs the tables of all blocks"),
        Number("unique by sex and age group, per cent", "Sect. 2.2", 17.4, 100 * one.unique,
               f"{stand_in}, made so that it is near"),
        Number("'putative', per cent", "Sect. 2.2", 97.0, 100 * one.putative,
               f"{stand_in}; the file with names is made to have 97 %"),
        Number("'putative' but not unique, points", "Sect. 2.2", 79.6, 97 - 17.4,
               "exact: 97 less 17.4; printed as close to 80 %"),
        Number("'confirmed' among the 'putative', per cent", "Sect. 2.3", 78.0,
               100 * one.confirmed / one.putative,
               f"{stand_in}: decided by how alike the people of a block are"),
        Number("'confirmed' in all, per cent", "Sect. 2.3", 75.0, 97 * 0.78,
               "97 % of which 78 %; printed as more than 75 %"),
        Number("cells of the bottom-up approach", "Sect. 4", 161_109_592_812.0,
               float(6_207_027 * math.prod((2, 103, 63, 2))),
               "exact: blocks, sexes, ages, combinations of races, ethnicities"),
    ]  # fmt: skip


def _epsilon_numbers() -> list[Number]:
    return [
        Number(f"e to the {epsilon:g}", "Table 2", printed, math.exp(epsilon),
               MISPRINTS.get(epsilon, "exact to the 15 digits that are printed" if epsilon > 39 else
                             "exact to the printed digits"))
        for epsilon, printed in EPSILONS.items()
    ]  # fmt: skip


REMARKS = (
    "rebuilt is not found: tables give back the protected file that they were made from, and "
    "nobody in it has a name",
    "a match must not be confirmed by what the attacker's own file brought in: the names are hers",
    "this paper is one side of a dispute; the other is Abowd et al. (2023)",
    "the totals 474, 447 and 27 of Table 1 leave out 'Two or more races'; with them 483, 455, 28",
    "the text has 19.41 where Table 2 has 19.61",
    "to attack tables of your own: caveat tables, and the page on reconstruction",
)
CENSUS_STUDY = Study(
    "census",
    "a census block rebuilt by subtraction, and what counts as a person found",
    run_census,
    paper="Muralidhar and Ruggles (2024)",
    takes="3 s",
)


# -------------------------------------------------------------------------------------------------
# Files from published numbers: Elliot, Little and Allmendinger (2024), Aghaddar et al. (2024).
#
# The first paper makes a teaching file that has the coefficients of a published logistic
# regression, by an evolutionary algorithm; its census records are not public, but the published
# numbers are all that a draft needs. What needs the records (how much the draft tells about them,
# and what a general synthesis keeps) is shown on a stand-in drawn from the printed shares and
# coefficients. The second paper counts how often synthetic business records break sums and
# equalities; ours is a stand-in with a sum and a repeated question.


ROWS = 4027
SHARES: Mapping[str, Mapping[str, float]] = {  # Table 1; TENURE 4 from Table 5
    "AREAP": {"48": 0.1716, "49": 0.2210, "50": 0.1838, "51": 0.4236},
    "SEX": {"1": 0.4527, "2": 0.5473},
    "ETHGROUP": {"1": 0.9878, "2": 0.0122},
    "LTILL": {"1": 0.3700, "2": 0.6300},
    "TENURE": {"1": 0.3650, "2": 0.2131, "3": 0.0055, "4": 0.0358, "5": 0.0117, "6": 0.0204,
               "7": 0.3486},
    "CARS": {"0": 0.4726, "1": 0.5274},
}  # fmt: skip
PRINTED: Mapping[str, float] = {  # Table 2
    "Intercept": 6.4034, "AGE": -0.0787, "AREAP[T.48]": -0.0239, "AREAP[T.49]": -0.0398,
    "AREAP[T.50]": -0.0650, "SEX[T.2]": -0.5501, "ETHGROUP[T.2]": -0.8254, "LTILL[T.1]": -0.2033,
    "TENURE[T.2]": 0.1788, "TENURE[T.3]": -1.6399, "TENURE[T.4]": -1.7013, "TENURE[T.5]": -0.7950,
    "TENURE[T.6]": -1.8219, "TENURE[T.7]": -1.9224,
}  # fmt: skip
BY_TENURE = {"1": (470, 1000), "2": (162, 696), "3": (15, 7), "4": (105, 39), "5": (22, 25),
             "6": (64, 18), "7": (1065, 339)}  # fmt: skip
BY_ETHGROUP = {"1": (1880, 2098), "2": (23, 26)}
FORMULA = "logistic: CARS ~ AGE + AREAP + SEX + ETHGROUP + LTILL + TENURE"
REFERENCE = {"AREAP": "51", "LTILL": "2"}
KEYS = ("AREAP", "AGE", "SEX", "ETHGROUP", "LTILL", "TENURE")
RUNS = (0.00037, 0.00049, 0.00059, 0.00053, 0.00053)  # Table 3
SAMPLE = "a stand-in drawn from the printed shares and coefficients; the records are not public"
PARTS = ("goods", "staff", "other", "depreciation")


def census(
    coefficients: Mapping[str, float] = PRINTED,
    shares: Mapping[str, Mapping[str, float]] = SHARES,
    *,
    tables: bool = False,
) -> DraftPlan:
    """Return the published numbers of the census records: Tables 1 and 2, perhaps 5 and 6 too."""
    columns = {name: Category(tuple(own), tuple(own.values())) for name, own in shares.items()}
    age = Numeric(least=50, most=95, whole=True)
    published = [("TENURE", BY_TENURE), ("ETHGROUP", BY_ETHGROUP)] if tables else []
    return DraftPlan(
        {"AREAP": columns["AREAP"], "AGE": age, **columns},
        tuple(
            PublishedTable((name, "CARS"), {(level, str(car)): count for level, counts in
                                            cells.items() for car, count in enumerate(counts)})
            for name, cells in published
        ),
        (),
        (Model(FORMULA, coefficients, reference=REFERENCE),),
        rows=ROWS,
    )  # fmt: skip


def people_to_draft(seed: int, rows: int = ROWS) -> Table:
    """Draw a stand-in of the census records: printed shares, and cars as the printed model says.

    Ages fall linearly from 50 to 95: their chance of an agreement is then the printed .029.
    """
    rng = np.random.default_rng(seed)
    drawn = {
        name: rng.choice([int(level) for level in own], rows, p=np.divide([*own.values()],
                                                                           sum(own.values())))
        for name, own in SHARES.items()
    }  # fmt: skip
    falling = np.arange(46, 0, -1) / 1081
    drawn = {
        "AREAP": drawn["AREAP"],
        "AGE": rng.choice(np.arange(50, 96), rows, p=falling),
        **drawn,
    }
    predictor = PRINTED["Intercept"] + PRINTED["AGE"] * drawn["AGE"]
    for term, value in PRINTED.items():
        name, _, level = term.partition("[T.")
        if level:
            predictor = predictor + value * (drawn[name] == int(level[:-1]))
    drawn["CARS"] = (rng.random(rows) < 1 / (1 + np.exp(-predictor))).astype(np.int64)
    return Table.from_frame(drawn)


def coefficients_of(table: Table) -> dict[str, float]:
    """Fit the model of the paper."""
    plan = census()
    rows: dict[str, NDArray[Any]] = {}
    for name in (*KEYS, "CARS"):
        values, one = table[name].cell_numbers, plan.columns[name]
        rows[name] = values
        if isinstance(one, Category):
            rows[name] = np.searchsorted([int(level) for level in one.levels], values)
    model = Equations(plan.columns, Model(FORMULA, PRINTED, reference=REFERENCE))
    return dict(zip(model.names, model.fit(rows, free=True).beta.tolist(), strict=True))


def shares_of(table: Table) -> dict[str, dict[str, float]]:
    """Return what an office would publish of the columns."""
    n = table.n_rows
    return {
        name: {lv: int(np.sum(table[name].cell_numbers == int(lv))) / n for lv in own}
        for name, own in SHARES.items()
    }


def error(found: Mapping[str, float], wanted: Mapping[str, float]) -> float:
    """Return the mean absolute difference of coefficients."""
    return float(np.mean([abs(found[term] - wanted[term]) for term in wanted]))


def tcap(original: Table, release: Table, target: str = "CARS") -> tuple[float, float, float]:
    """Return TCAP of a target given all other columns, the same calibrated, and the baseline."""
    keys = [name for name in (*KEYS, "CARS") if name != target]
    names = ["TCAPdisclosive", "scaledTCAP", "baseCAPd"]
    found = audit(original, release, keys=keys, targets=[target], measures=names)
    values = [found[name, target].value for name in names]
    return (values[0] or 0.0, values[1] or 0.0, values[2] or 0.0)


def conditional(table: Table, name: str, printed: Mapping[str, Sequence[int]]) -> float:
    """Return the mean absolute error of the shares with a car, by the levels of a column."""
    cars, cells = table["CARS"].cell_numbers, table[name].cell_numbers
    off = [abs(cars[cells == int(level)].mean() - with_car / (without + with_car))
           for level, (without, with_car) in printed.items()]  # fmt: skip
    return float(np.mean(off))


def business(seed: int = 1, rows: int = 1781) -> Table:
    """Draw a stand-in of a business survey: skewed, many zeros, a sum and a repeated question."""
    rng = np.random.default_rng(seed)
    size = rng.lognormal(4, 1.3, rows)
    parts = {
        name: np.round(share * size * rng.lognormal(0, 0.4, rows) * (rng.random(rows) < often))
        for name, share, often in zip(
            PARTS, (1.0, 0.5, 0.1, 0.05), (0.95, 0.7, 0.5, 0.6), strict=True
        )
    }
    total = np.sum(list(parts.values()), axis=0)
    frame = {**parts, "costs": total, "costs again": total}
    return Table.from_frame({name: cells.astype(np.int64) for name, cells in frame.items()})


def broken(table: Table) -> tuple[float, float]:
    """Return the percentages of rows that break the sum and the equality."""
    cells = {name: table[name].cell_numbers for name in table}
    total = np.sum([cells[name] for name in PARTS], axis=0)
    off = [np.abs(cells["costs"] - total) > 1e-6, cells["costs"] != cells["costs again"]]
    return float(100 * off[0].mean()), float(100 * off[1].mean())


def aggregates(table: Table) -> tuple[DraftPlan, NDArray[np.float64]]:
    """Return what an office would publish of a business survey: moments and correlations."""
    cells = np.array([table[name].cell_numbers for name in PARTS])
    matrix = np.round(np.corrcoef(cells), 4)
    columns = {
        name: Numeric(float(own.mean()), float(own.std(ddof=1)), least=0, family="lognormal")
        for name, own in zip(PARTS, cells, strict=True)
    }
    derived = {
        "costs": Derived(Expression(" + ".join(PARTS))),
        "costs again": Derived(Expression("costs")),
    }
    plan = DraftPlan({**columns, **derived}, (), (Correlations(PARTS, matrix),), rows=table.n_rows)
    return plan, matrix


def run_drafts(output: Output, data: Path | None) -> StudyResult:
    """Make the drafts of both papers and put them beside what is printed."""
    del output, data
    parts = (_one_output(), _several_outputs(), _told(), _rules())
    return StudyResult(
        tuple(grid for grid, _ in parts), numbers=tuple(n for _, own in parts for n in own)
    )


def _one_output() -> tuple[Grid, list[Number]]:
    near = "another random start; ours moves rows by derivatives and mutations, and ends nearer"
    numbers = []
    for i, printed in enumerate(RUNS, 1):
        made = draft(census(), seed=i).table
        ours = error(coefficients_of(made), PRINTED)
        numbers.append(Number(f"MAE of the coefficients, run {i}", "Table 3", printed, ours, near))
    return _grid("Coefficients of a file from published shares and coefficients", numbers), numbers


def _several_outputs() -> tuple[Grid, list[Number]]:
    table = draft(census(tables=True)).table
    why = "the tables are fitted exactly, so no weights have to decide between them and the model"
    numbers = [
        Number("MAE of the coefficients, with two tables, run 1", "Table 7", 0.0034,
               error(coefficients_of(table), PRINTED), why),
        Number("MAE of car by tenure, run 1", "Table 8", 0.0880,
               conditional(table, "TENURE", BY_TENURE), why),
        Number("MAE of car by ethnic group, run 1", "Table 9", 0.0455,
               conditional(table, "ETHGROUP", BY_ETHGROUP), why),
    ]  # fmt: skip
    return _grid("Coefficients and two tables at once", numbers), numbers


def _told() -> tuple[Grid, list[Number]]:
    original, holdout = people_to_draft(1), people_to_draft(2)
    own = coefficients_of(original)
    (made,) = Drafted(census(own, shares_of(original))).fit(original, 1).sample()
    (general,) = generator_of("cart").fit(original, 1).sample()
    numbers = [
        Number("MAE of the coefficients, general synthesis (CART)", "Table 4", 0.2323,
               error(coefficients_of(general), own), SAMPLE),
        Number("MAE of the coefficients, holdout", "Table 4", 0.1460,
               error(coefficients_of(holdout), own), SAMPLE),
        Number("MAE of the coefficients, draft of the stand-in", "Table 4", 0.0004,
               error(coefficients_of(made), own), SAMPLE),
    ]  # fmt: skip
    pairs = (
        ("original by itself", original, original, 1.0, 1.0),
        ("original by the draft", original, made, 0.733, 0.464),
        ("holdout by the draft", holdout, made, 0.719, 0.437),
        ("original by the general synthesis", original, general, 0.777, 0.552),
    )
    for label, about, release, raw, calibrated in pairs:
        value, scaled, base = tcap(about, release)
        numbers += [
            Number(f"TCAP of CARS, {label}", "Table 10", raw, value, SAMPLE),
            Number(f"calibrated TCAP of CARS, {label}", "Table 10", calibrated, scaled, SAMPLE),
        ]
        if about is original and release is original:
            numbers.append(Number("TCAP of CARS, baseline", "Table 10", 0.502, base, SAMPLE))
    printed = sum(share**2 for share in SHARES["CARS"].values())
    numbers.append(
        Number("baseline of CARS from the printed shares", "Table 10", 0.502, printed, "exact")
    )
    return _grid("What the draft tells about the records it was not made from", numbers), numbers


def _rules() -> tuple[Grid, list[Number]]:
    original = business()
    plan, matrix = aggregates(original)
    made = draft(plan).table
    (general,) = generator_of("cart").fit(original, 1).sample()
    before, after = broken(general), broken(made)
    found = np.corrcoef([made[name].cell_numbers for name in PARTS])
    why = "a stand-in: the business records are internal; what must hold is many before, 0 after"
    where, fixed = "Table 1 of Aghaddar et al.", "exact; printed: after repair"
    numbers = [
        Number("sums broken by CART, %", where, 70.58, before[0], why),
        Number("equalities broken by CART, %", where, 63.12, before[1], why),
        Number("sums broken by the draft, %", where, 0, after[0], fixed),
        Number("equalities broken by the draft, %", where, 0, after[1], fixed),
    ]
    off = float(np.abs(found - matrix).max())
    note = f"The published correlations come out to within {off:.1e}."
    return _grid("Sums and equalities of business records", numbers, note), numbers


def _grid(title: str, numbers: Sequence[Number], note: str = "") -> Grid:
    rows = tuple((n.what, f"{n.ours:.5f}", f"{n.printed:.5f}") for n in numbers)
    return Grid(title, ("", "ours", "printed"), rows, note)


DRAFTS_STUDY = Study(
    "drafts",
    "files from published numbers: coefficients, tables, sums, and what they tell",
    run_drafts,
    paper="Elliot, Little and Allmendinger (2024); Aghaddar, Su, Slokom, Barnhoorn and de Wolf "
    "(2024)",
    takes="20 s",
)


# -------------------------------------------------------------------------------------------------
# Deaths of a simulated town, rounded: Brenzel, Palm, Weymeirsch and Münnich (2024).
#
# The paper simulates the deaths of a year in Trier by age and sex, rounds counts below three to
# none or three at random, and shows one run and the mean of 1,000: no small count is shown, and
# the mean is that of the simulation. Its population and life table are not to be had here, so the
# town and its deaths are made up: a smooth age pyramid, and a mortality that grows by a tenth a
# year of age.


AGES, K, MICROSIMULATION_RUNS = 96, 3, 1000  # 0 … 94 and 95 or more
PEOPLE = 110_000
Floats = NDArray[np.float64]


class Deaths(NamedTuple):
    """Deaths by run, age and sex: as simulated, and as shown."""

    simulated: NDArray[np.int64]
    shown: NDArray[np.int64]


def town() -> tuple[NDArray[np.int64], Floats]:
    """Return people and their probability of death by age and sex, women first."""
    age = np.arange(AGES)[:, None]
    shape = np.exp(-(((age - 42) / 38.0) ** 4)) * [1.02, 0.98]
    people = np.maximum(np.round(PEOPLE * shape / shape.sum()), 5).astype(np.int64)
    risk = np.minimum([1.6e-5, 2.6e-5] * np.exp(0.1 * age), [0.24, 0.29])
    risk[0] = 0.003
    return people, risk


def deaths(runs: int = MICROSIMULATION_RUNS, k: int = K, seed: int = 1) -> Deaths:
    """Simulate the deaths of a year, each run with people of its own, and round each run."""
    people, risk = town()
    simulated = rng_of(seed).binomial(people, risk, (runs, *people.shape))
    shown = [stochastic_round(one, k, seed=child_seed(seed, i)) for i, one in enumerate(simulated)]
    return Deaths(simulated, np.stack(shown))


def run_microsimulation(output: Output, data: Path | None = None) -> StudyResult:
    """Compare one run and the mean of all with what is expected."""
    del output, data
    people, risk = town()
    found = deaths()
    expected = people * risk
    error = np.sqrt(found.shown.var(axis=0).clip(1e-9) / MICROSIMULATION_RUNS)
    off = (found.shown.mean(axis=0) - expected) / error
    small = int(((found.shown > 0) & (found.shown < K)).sum())
    table = rounded_table(found.simulated[0], K, seed=1)
    true = found.simulated[0].sum()
    decades = [slice(a, a + 10) for a in range(0, 90, 10)] + [slice(90, AGES)]
    rows = tuple(
        (f"{d.start}–{d.stop - 1 if d.stop < AGES else '95+'}", f"{expected[d].sum():.1f}",
         f"{found.simulated[0][d].sum()}", f"{found.shown[0][d].sum()}",
         f"{found.simulated.mean(axis=0)[d].sum():.1f}", f"{found.shown.mean(axis=0)[d].sum():.1f}")
        for d in decades
    )  # fmt: skip
    grid = Grid(
        "Deaths by age: one run and the mean of 1,000 (Fig. 3)",
        ("age", "expected", "one run", "rounded", "mean of runs", "mean rounded"),
        rows,
        f"Margins come from the rounded cells: those of the first run add up to {table[-1, -1]:,} "
        f"deaths, and {true:,} were simulated. True margins beside them would give cells away.",
    )
    made_up = "the town is made up; a count of 1 or 2 cannot be shown, whatever the town"
    numbers = (
        Number("classes of age and sex", "Sect. 3", 192, people.size, "exact"),
        Number("counts of 1 or 2 that are shown, all runs", "Fig. 3", 0, small, made_up),
        Number("largest probability of death, men of 95", "Sect. 3", 0.3, None,
               "a bound on a life table that is not used here"),
    )  # fmt: skip
    remark = (
        "means of the rounded counts are off by at most "
        f"{np.abs(off[expected > 0.05]).max():.1f} standard errors in 192 classes"
    )
    return StudyResult((grid,), remarks=(remark,), numbers=numbers)


MICROSIMULATION_STUDY = Study(
    "microsimulation",
    "deaths of a simulated town by age and sex, small counts rounded at random",
    run_microsimulation,
    paper="Brenzel, Palm, Weymeirsch and Münnich (2024)",
    takes="2 s",
)
