"""A population register and a file of benefits, one to one: a stand-in for tables of an office.

Slokom, Agrawal, Krol and de Wolf (Privacy in Statistical Databases 2024) synthesise two tables of
Statistics Netherlands, which are not public. These have the shares that the paper prints, the six
rules that its developers test, and the 218 codes of countries.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table import Table

__all__ = ["BENEFITS", "COUNTRIES", "register"]

COUNTRIES = 218
BENEFITS = ("bijstand", "ioaw", "ioaz")
# Combinations of the three benefits: without bijstand 4.1 %, with ioaw 3.8 %, with ioaz 0.4 %.
COMBINED = {(1, 0, 0): 0.958, (1, 1, 0): 0.001, (0, 1, 0): 0.037, (0, 0, 1): 0.004}
# Shares of people whose mother's and father's year of birth are not known, and who were born here.
NO_MOTHER, NO_FATHER, BORN_HERE = 0.38, 0.41, 0.62
YEAR = np.datetime64("2022-01-01")

Ints = NDArray[np.int64]


def register(rows: int = 20_000, covered: float = 0.25, seed: int = 2024) -> dict[str, Table]:
    """Simulate a register of persons, and the benefits that some of them receive.

    ``population`` has person (the key), country, born, gender, mother_born and father_born;
    ``benefits`` has a row for each person who receives any: person, three flags, the date since
    when for each, and begin and end in the year. A date is missing exactly where its flag is 0: six
    rules. All 218 codes of countries occur, also among those who receive benefits. Who is older
    receives them for longer. The same arguments give the same tables.

    Parameters
    ----------
    rows
        Number of persons.
    covered
        Share of them who receive benefits.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> tables = register(rows=2000)
    >>> [(name, table.n_rows) for name, table in tables.items()]
    [('population', 2000), ('benefits', 500)]
    >>> len(tables["population"]["country"].levels)
    218
    """
    receiving = round(rows * covered)
    if not COUNTRIES <= receiving <= rows:
        raise CaveatError(
            f"{receiving:,} of {rows:,} persons would receive benefits, fewer than there are codes",
            where="register",
            do=f"choose rows and covered so that {COUNTRIES} to all do",
            code="data.setting.range",
        )
    rng = np.random.default_rng(seed)
    receives = np.zeros(rows, dtype=bool)
    receives[rng.choice(rows, receiving, replace=False)] = True
    key = rng.permutation(rows) + 100_000_001
    born = 2022 - np.clip(np.rint(rng.normal(np.where(receives, 46, 42), 14)), 18, 95).astype(int)
    population = pd.DataFrame(
        {
            "person": key,
            "country": _countries(rng, receives),
            "born": born,
            "gender": rng.choice(["1", "2"], rows, p=[0.47, 0.53]),
            "mother_born": _parent(rng, born, 27, NO_MOTHER),
            "father_born": _parent(rng, born, 30, NO_FATHER),
        }
    )
    benefits = _benefits(rng, key[receives], born[receives])
    return {"population": Table.from_frame(population), "benefits": Table.from_frame(benefits)}


def _countries(rng: np.random.Generator, receives: NDArray[np.bool_]) -> NDArray[np.object_]:
    """Give everyone a code: one that most have, 217 whose shares fall off as those of countries."""
    shares = 1 / np.arange(1, COUNTRIES) ** 1.2
    shares = np.append(BORN_HERE, (1 - BORN_HERE) * shares / shares.sum())
    given = rng.choice(COUNTRIES, len(receives), p=shares)
    # The rarest codes would be missing from a small table.
    everyone = np.flatnonzero(receives)
    given[rng.choice(everyone, COUNTRIES, replace=False)] = np.arange(COUNTRIES)
    # Three letters each: digits would be read as numbers.
    names = ["".join(letters) for letters in product("ABCDEFG", repeat=3)]
    return rng.permutation(np.array(names, dtype=object))[given]


def _parent(rng: np.random.Generator, born: Ints, years: int, unknown: float) -> pd.Series:
    year = born - np.clip(np.rint(rng.normal(years, 5, len(born))), 15, 60).astype(int)
    return pd.Series(year, dtype="Int64").mask(rng.random(len(born)) < unknown)


def _benefits(rng: np.random.Generator, key: Ints, born: Ints) -> pd.DataFrame:
    n = len(key)
    flags = np.array(list(COMBINED))[rng.choice(len(COMBINED), n, p=list(COMBINED.values()))]
    order = rng.permutation(n)
    columns: dict[str, object] = {"person": key[order]}
    for j, name in enumerate(BENEFITS):
        columns[name] = flags[:, j]
    for j, name in enumerate(BENEFITS):
        days = np.rint(rng.gamma(2, 12.0 * np.maximum(2010 - born[order], 4))).astype(int)
        since = pd.Series((YEAR - days.astype("timedelta64[D]")).astype(object))
        columns[f"{name}_since"] = since.mask(flags[:, j] == 0, None)
    begin = np.where(rng.random(n) < 0.7, 0, rng.integers(0, 300, n))
    end = np.minimum(begin + np.where(rng.random(n) < 0.7, 364, rng.integers(30, 364, n)), 364)
    columns["begin"] = (YEAR + begin.astype("timedelta64[D]")).astype(object)
    columns["end"] = (YEAR + end.astype("timedelta64[D]")).astype(object)
    return pd.DataFrame(columns)
