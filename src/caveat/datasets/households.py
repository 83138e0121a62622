"""Households that nobody lives in: persons with what they share, and what binds them together.

What is true of them is known, because it was drawn so; the numbers are the constants below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caveat.table import Schema, Table

__all__ = ["households"]

EDUCATION = ("primary", "vocational", "secondary", "higher")
MARITAL = ("single", "cohabiting", "married", "divorced", "widowed")
ROLES = ("reference person", "partner", "child", "other")
TENURE = ("owner", "tenant", "rent-free")

# Shares of the five forms, and whether there is a partner and are children in each.
FORMS = {
    "alone": (0.33, False, False),
    "couple": (0.27, True, False),
    "couple with children": (0.25, True, True),
    "parent with children": (0.08, False, True),
    "several adults": (0.07, False, False),
}
# Numbers of children where there are any, and of other adults in the last form.
CHILDREN = {1: 0.44, 2: 0.39, 3: 0.13, 4: 0.04}
OTHERS = {1: 0.62, 2: 0.28, 3: 0.10}
# One family in so many has another adult, who is 22 to 34 years older than the reference person.
WITH_GRANDPARENT = 0.04
ADULT, OF_AGE_TO_ANSWER = 18, 16
# Share of couples who are married, of couples of one sex, and the years between partners.
MARRIED, ONE_SEX, YEARS_APART, SPREAD_APART = 0.78, 0.03, 2.0, 3.5
# Households that one household of each region stands for, and how much that varies.
STANDS_FOR = {"north": 80.0, "east": 120.0, "south": 95.0, "west": 150.0, "centre": 60.0}
SPREAD_OF_WEIGHTS = 0.15
NOT_ASKED = -8

Ints = NDArray[np.int64]


def households(number: int = 1000, seed: int = 2006) -> Table:
    """Simulate a survey of households with a row for each person.

    In every household the first row is the reference person, who is of age; then come the partner,
    the children from the eldest on, and others. ``region``, ``tenure``, ``hhsize``, ``hhincome``
    and ``weight`` are the same for all members; ``hhsize`` is their number and ``hhincome`` the sum
    of their incomes. Partners have the same marital status, and their ages are two years apart on
    average. Who is under 16 was not asked about education and income (the code -8 of the latter);
    some did not say their education or tenure. The same arguments give the same table.

    Parameters
    ----------
    number
        Number of households.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> table = households(number=100)
    >>> len(set(table["household"].codes.tolist())), table["hhsize"].levels.tolist()
    (100, [1, 2, 3, 4, 5])
    """
    rng = np.random.default_rng(seed)
    homes = _draw_homes(rng, number)
    role, home = homes.members()
    age, sex = _age_and_sex(rng, homes, role, home)
    marital = _marital(rng, homes, role, home, age)
    education = _education(rng, age)
    income = _income(rng, age, education, sex)
    together = np.bincount(home, np.maximum(income, 0), minlength=number).astype(np.int64)
    education_words = np.array([*EDUCATION, None], dtype=object)[education]
    frame = pd.DataFrame(
        {
            "household": homes.key[home],
            "region": homes.region[home],
            "tenure": _tenure(rng, together, age[homes.first])[home],
            "hhsize": homes.size[home],
            "hhincome": together[home],
            "weight": homes.weight[home],
            "role": np.array(ROLES)[role],
            "age": age,
            "sex": np.array(["female", "male"])[sex],
            "marital": np.array(MARITAL)[marital],
            "education": pd.Categorical(education_words, list(EDUCATION), ordered=True),
            "income": income,
        }
    )
    declared = Schema.from_mapping({"income": {"missing": {str(NOT_ASKED): "not asked"}}})
    return declared.apply(Table.from_frame(frame))


@dataclass(frozen=True)
class _Homes:
    """The households, one place in each array: who lives there, where, and for how many."""

    partner: NDArray[np.bool_]
    children: Ints
    others: Ints
    key: Ints
    region: NDArray[np.str_]
    weight: NDArray[np.float64]

    @property
    def size(self) -> Ints:
        return 1 + self.partner + self.children + self.others

    @property
    def first(self) -> Ints:
        """The row of each reference person."""
        return np.asarray(np.cumsum(self.size) - self.size)

    def members(self) -> tuple[Ints, Ints]:
        """Return the role of every person and the household."""
        home = np.repeat(np.arange(len(self.size)), self.size)
        place = np.arange(len(home)) - self.first[home]
        before_children = 1 + self.partner[home]
        before_others = before_children + self.children[home]
        role = np.select([place < 1, place < before_children, place < before_others], [0, 1, 2], 3)
        return role, home


def _of(rng: np.random.Generator, shares: Mapping[Any, float], size: int) -> NDArray[Any]:
    return rng.choice(list(shares), size, p=list(shares.values()))


def _draw_homes(rng: np.random.Generator, n: int) -> _Homes:
    forms = rng.choice(len(FORMS), n, p=[share for share, _, _ in FORMS.values()])
    partner, families = np.array([form[1:] for form in FORMS.values()])[forms].T
    several = forms == list(FORMS).index("several adults")
    grandparent = families & (rng.random(n) < WITH_GRANDPARENT)
    region = _of(rng, {"north": 0.2, "east": 0.15, "south": 0.3, "west": 0.1, "centre": 0.25}, n)
    stands_for = np.array([STANDS_FOR[name] for name in region])
    return _Homes(
        partner,
        np.where(families, _of(rng, CHILDREN, n), 0),
        np.where(several, _of(rng, OTHERS, n), grandparent.astype(int)),
        rng.permutation(n) + 10_001,
        region,
        np.round(stands_for * rng.uniform(1 - SPREAD_OF_WEIGHTS, 1 + SPREAD_OF_WEIGHTS, n), 4),
    )


def _age_and_sex(
    rng: np.random.Generator, homes: _Homes, role: Ints, home: Ints
) -> tuple[Ints, Ints]:
    n = len(homes.key)
    mean = np.select([homes.children > 0, homes.others > 0], [41.0, 30.0], 55.0)
    spread = np.select([homes.children > 0, homes.others > 0], [7.5, 9.0], 17.0)
    head = np.clip(np.rint(rng.normal(mean, spread)), ADULT, 95).astype(int)
    sex = rng.integers(0, 2, n)
    apart = np.rint(rng.normal(YEARS_APART, SPREAD_APART, n)).astype(int)
    # The man of a couple is the elder one on average.
    other = np.clip(head + np.where(sex == 0, apart, -apart), ADULT, 95)
    youngest = np.where(homes.partner, np.minimum(head, other), head)
    same = rng.random(n) < ONE_SEX
    # Somebody of 25 has children of up to seven years, somebody of 50 of ten to 32.
    most = np.minimum(youngest[home], 40)
    child = youngest[home] - rng.integers(ADULT, most + 1)
    elder = np.where(homes.children > 0, rng.integers(22, 35, n), 0)[home]
    flatmate = np.clip(np.rint(rng.normal(head[home], 6)), ADULT, 95).astype(int)
    adult = np.where(elder > 0, np.minimum(head[home] + elder, 99), flatmate)
    age = np.choose(role, [head[home], other[home], child, adult])
    of_partner = np.where(same, sex, 1 - sex)[home]
    anybody = rng.integers(0, 2, len(home))
    of_all = np.select([role == 0, role == 1], [sex[home], of_partner], anybody)
    # Children stand from the eldest on.
    order = np.lexsort((np.where(role == 2, -age, 0), role, home))
    return age[order], of_all[order]


def _marital(rng: np.random.Generator, homes: _Homes, role: Ints, home: Ints, age: Ints) -> Ints:
    couple = np.where(rng.random(len(homes.key)) < MARRIED, 2, 1)[home]
    draw = rng.random(len(home))
    widowed = 0.75 / (1 + np.exp((74 - age) / 6))
    divorced = np.where(age > 28, 0.25, 0.0)
    alone = np.select([draw < widowed, draw < widowed + divorced], [4, 3], 0)
    alone = np.where((role == 2) | (age < ADULT), 0, alone)
    return np.where(homes.partner[home] & (role < 2), couple, alone)


def _education(rng: np.random.Generator, age: Ints) -> Ints:
    score = np.clip(np.rint(rng.normal(1.8 - 0.012 * (age - 40), 0.9)), 0, 3).astype(int)
    score = np.where(age < ADULT + 1, np.minimum(score, 1), score)
    silent = rng.random(len(age)) < 0.03
    return np.where((age < OF_AGE_TO_ANSWER) | silent, len(EDUCATION), score)


def _income(rng: np.random.Generator, age: Ints, education: Ints, sex: Ints) -> Ints:
    known = np.where(education < len(EDUCATION), education, 1)
    mean = 6.9 + 0.25 * known + 0.12 * sex - 0.0005 * (age - 48) ** 2
    amount = np.rint(np.exp(rng.normal(mean, 0.45)) / 10).astype(int) * 10
    without = rng.random(len(age)) < np.where(age < 22, 0.8, 0.12)
    return np.where(age < OF_AGE_TO_ANSWER, NOT_ASKED, np.where(without, 0, amount))


def _tenure(rng: np.random.Generator, together: Ints, age: Ints) -> NDArray[np.object_]:
    owns = rng.random(len(age)) < np.clip(0.1 + 0.006 * age + 0.00005 * together, 0, 0.9)
    rents = rng.random(len(age)) < 0.93
    words = np.array([*TENURE, None], dtype=object)
    silent = rng.random(len(age)) < 0.02
    return words[np.where(silent, 3, np.select([owns, rents], [0, 1], 2))]
