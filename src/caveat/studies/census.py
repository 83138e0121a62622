"""Census tables and people (Muralidhar and Ruggles, 2024): rebuilt, matched, confirmed.

A block of the 2010 Census comes back by subtraction from its tables. Records without names are then
matched with a file that has names, and 'confirmed' by the name that came from that file. The study
rebuilds the printed block and counts on a simulated population what each of the rules calls a
person found, beside what chance and the file alone give.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.outputs.blocks import Figure, Reconstruction, random_matches, reconstruct
from caveat.outputs.reconstruction import surest
from caveat.seeds import rng_of
from caveat.studies.study import Grid, Number, Output, Study, StudyResult

__all__ = [
    "EPSILONS", "SOLUTION", "STUDY", "Matched", "People", "block", "matched", "people", "run",
]  # fmt: skip

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


def run(output: Output, data: Path | None = None, blocks: int = BLOCKS) -> StudyResult:
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
STUDY = Study(
    "census",
    "a census block rebuilt by subtraction, and what counts as a person found",
    run,
    paper="Muralidhar and Ruggles (2024)",
    takes="3 s",
)
