"""The example tables: one from a paper, counted cell by cell, and simulated ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.table import Schema, Table

# Counts of 0000, 0001, …, 1111; first the original, then the ten releases.
RELEASES: tuple[tuple[int, ...], ...] = (
    (69, 60, 79, 62, 68, 64, 60, 75, 74, 63, 54, 69, 77, 59, 66, 1),
    (68, 60, 77, 70, 73, 60, 58, 72, 77, 69, 50, 61, 79, 65, 60, 1),
    (66, 53, 71, 51, 63, 77, 68, 91, 84, 66, 54, 59, 77, 52, 68, 0),
    (71, 57, 73, 56, 80, 49, 66, 86, 80, 57, 57, 77, 76, 54, 60, 1),
    (73, 56, 71, 68, 54, 66, 61, 81, 73, 68, 51, 71, 83, 57, 64, 3),
    (76, 58, 71, 63, 61, 52, 69, 80, 70, 73, 47, 66, 78, 66, 68, 2),
    (62, 60, 84, 55, 79, 90, 56, 77, 81, 56, 50, 69, 66, 67, 47, 1),
    (72, 67, 65, 74, 65, 52, 67, 82, 82, 68, 39, 75, 65, 59, 65, 3),
    (52, 67, 70, 57, 73, 53, 65, 77, 65, 75, 62, 69, 88, 65, 62, 0),
    (64, 57, 77, 68, 66, 65, 64, 75, 76, 78, 58, 68, 70, 49, 64, 1),
    (67, 67, 74, 52, 71, 71, 53, 72, 73, 55, 54, 81, 89, 60, 60, 1),
)


def buyer_beware(release: int = 0) -> Table:
    """Return the original records (0) or one of the ten published releases (1 to 10).

    The rows are in the order of the combinations, so the unique record 1111 is the last one.

    Examples
    --------
    >>> table = buyer_beware()
    >>> table.n_rows, [int(table[name].values[-1]) for name in table]
    (1000, [1, 1, 1, 1])
    """
    cells = np.array(list(product((0, 1), repeat=4)))
    rows = np.repeat(cells, RELEASES[release], axis=0)
    return Table.from_frame({f"var{j + 1}": rows[:, j] for j in range(4)})


# -------------------------------------------------------------------------------------------------
# Households that nobody lives in: persons with what they share, and what binds them together.
#
# What is true of them is known, because it was drawn so; the numbers are the constants below.


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


# -------------------------------------------------------------------------------------------------
# Patients who never were ill, and their visits: two tables, linked by the patient.


# How many patients have so many visits: 0, 1, …, 8.
VISITS = (0.14, 0.2, 0.2, 0.16, 0.12, 0.08, 0.05, 0.03, 0.02)
DIAGNOSES = ("none", "hypertension", "diabetes", "infection")
# The diagnosis of the first visit, and that of a later one given the one before.
FIRST = (0.45, 0.25, 0.12, 0.18)
NEXT = (
    (0.70, 0.12, 0.04, 0.14),
    (0.08, 0.82, 0.05, 0.05),
    (0.03, 0.05, 0.88, 0.04),
    (0.60, 0.08, 0.04, 0.28),
)
# Blood pressure goes on from the visit before: the share of it that stays.
STAYS = 0.7
MEAN_PRESSURE = (122.0, 146.0, 134.0, 124.0)
BEGIN, DAYS_BETWEEN = np.datetime64("2019-01-01"), 90.0


def patients(number: int = 600, seed: int = 1951) -> dict[str, Table]:
    """Simulate a register of patients and one of their visits.

    ``patients`` has the columns patient (the key), sex, born, region and smoker; ``visits`` has
    visit (the key), patient, date, diagnosis and pressure. About one patient in seven has no visit,
    nobody has more than eight. The visits of a patient stand in the order of their dates, which all
    differ. A diagnosis depends on the one before (``NEXT`` in this module), a blood pressure on the
    diagnosis and on the pressure before: seven tenths of how far that was off the mean of its
    diagnosis stay. Pressures were not taken at one visit in thirty. The same arguments give the
    same tables.

    Parameters
    ----------
    number
        Number of patients.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> tables = patients(number=50)
    >>> {name: table.names[:2] for name, table in tables.items()}
    {'patients': ('patient', 'sex'), 'visits': ('visit', 'patient')}
    """
    rng = np.random.default_rng(seed)
    key = np.array([f"P{k:06d}" for k in rng.permutation(number) + 1], dtype=object)
    born = 2019 - np.clip(np.rint(rng.gamma(9, 5.8, number)), 1, 98).astype(int)
    smoker = rng.random(number) < np.where(born > 2003, 0.02, 0.24)
    people = pd.DataFrame(
        {
            "patient": key,
            "sex": rng.choice(["female", "male"], number, p=[0.54, 0.46]),
            "born": born,
            "region": rng.choice(["north", "east", "south", "west"], number),
            "smoker": smoker,
        }
    )
    visits = rng.choice(len(VISITS), number, p=VISITS)
    whose = np.repeat(np.arange(number), visits)
    first = np.append(True, whose[1:] != whose[:-1]) if len(whose) else np.zeros(0, bool)
    days = np.rint(rng.exponential(DAYS_BETWEEN, len(whose))).astype(int) + 1
    so_far = np.cumsum(days)
    # Days are counted from the first visit on, which may be on any day of two years.
    since = so_far - np.repeat(so_far[first], visits[visits > 0])
    since = since + rng.integers(0, 730, number)[whose]
    diagnosis = _diagnoses(rng, first)
    seen = pd.DataFrame(
        {
            "visit": [f"V{k:07d}" for k in rng.permutation(len(whose)) + 1],
            "patient": key[whose],
            "date": (BEGIN + since.astype("timedelta64[D]")).astype(object),
            "diagnosis": np.array(DIAGNOSES)[diagnosis],
            "pressure": _pressures(rng, first, diagnosis, smoker[whose]),
        }
    )
    return {"patients": Table.from_frame(people), "visits": Table.from_frame(seen)}


def _diagnoses(rng: np.random.Generator, first: NDArray[np.bool_]) -> Ints:
    draws, steps = rng.random(len(first)), np.cumsum(NEXT, axis=1)
    begin = np.cumsum(FIRST)
    out, before = np.zeros(len(first), dtype=np.int64), 0
    for i, (draw, is_first) in enumerate(zip(draws.tolist(), first.tolist(), strict=True)):
        chances = begin if is_first else steps[before]
        before = min(int(np.searchsorted(chances, draw)), len(DIAGNOSES) - 1)
        out[i] = before
    return out


def _pressures(
    rng: np.random.Generator, first: NDArray[np.bool_], diagnosis: Ints, smoker: NDArray[np.bool_]
) -> pd.Series:
    shocks = rng.normal(0, 10, len(first)).tolist()
    off, offs = 0.0, []
    for shock, is_first in zip(shocks, first.tolist(), strict=True):
        off = shock if is_first else STAYS * off + (1 - STAYS**2) ** 0.5 * shock
        offs.append(off)
    mean = np.array(MEAN_PRESSURE)[diagnosis] + 4.0 * smoker
    pressure = pd.Series(np.rint(mean + np.array(offs)).astype(int), dtype="Int64")
    return pressure.mask(rng.random(len(first)) < 1 / 30)


# -------------------------------------------------------------------------------------------------
# A population register and a file of benefits, one to one: a stand-in for tables of an office.
#
# Slokom, Agrawal, Krol and de Wolf (Privacy in Statistical Databases 2024) synthesise two tables
# of Statistics Netherlands, which are not public. These have the shares that the paper prints,
# the six rules that its developers test, and the 218 codes of countries.


COUNTRIES = 218
BENEFITS = ("bijstand", "ioaw", "ioaz")
# Combinations of the three benefits: without bijstand 4.1 %, with ioaw 3.8 %, with ioaz 0.4 %.
COMBINED = {(1, 0, 0): 0.958, (1, 1, 0): 0.001, (0, 1, 0): 0.037, (0, 0, 1): 0.004}
# Shares of people whose mother's and father's year of birth are not known, and who were born here.
NO_MOTHER, NO_FATHER, BORN_HERE = 0.38, 0.41, 0.62
YEAR = np.datetime64("2022-01-01")


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


# -------------------------------------------------------------------------------------------------
# A household survey that never took place, with everything that makes real ones awkward.

SURVEY_MARITAL = ("single", "married", "divorced", "widowed")
REGIONS = ("north", "east", "south", "west", "centre", "islands")
# The pieces of 48 job titles: a factor with more levels than a subset search can take.
FIELDS = ("metal", "food", "textile", "office", "health", "school", "transport", "retail",
          "farm", "energy", "building", "hotel")  # fmt: skip
RANKS = ("helper", "worker", "master", "manager")


def survey(rows: int = 3000, seed: int = 2011) -> Table:
    """Simulate a survey of persons.

    Numbers with the code -8 ("not asked") beside empty cells, ordered and nominal factors, a factor
    with 48 levels, a date, a column that follows from two others, an amount with heaps at round
    values, and an id. The same arguments give the same table.

    Parameters
    ----------
    rows
        Number of persons.
    seed
        Seed of the simulation.

    Examples
    --------
    >>> table = survey(rows=100)
    >>> table["bmi"].kind, table["occupation"].kind
    (<Kind.NUMERIC: 'numeric'>, <Kind.CATEGORY: 'category'>)
    """
    rng = np.random.default_rng(seed)
    age = np.clip(rng.gamma(9, 5.3, rows), 16, 96).astype(int)
    sex = rng.choice(["female", "male"], rows, p=[0.53, 0.47])
    education = _education_survey(rng, age)
    height, weight = _body(rng, sex, age)
    working = (age < 67) & (rng.random(rows) < 0.35 + 0.12 * education)
    frame = pd.DataFrame(
        {
            "person": [f"P{number:06d}" for number in rng.permutation(rows) + 1],
            "interviewed": _interview_dates(rng, rows),
            "sex": sex,
            "age": age,
            "region": rng.choice(REGIONS, rows, p=[0.1, 0.15, 0.3, 0.2, 0.2, 0.05]),
            "education": pd.Categorical.from_codes(education, list(EDUCATION), ordered=True),
            "marital": _marital_survey(rng, age),
            "occupation": _occupation(rng, working, education),
            "income": _income_survey(rng, age, education, working),
            "friends": _friends(rng, age),
            "height": height,
            "weight": weight,
        }
    )
    # Rounded as a questionnaire system would: look has to see through it.
    frame["bmi"] = (frame["weight"] / (frame["height"] / 100) ** 2).round(1)
    frame["satisfied"] = _satisfaction(rng, age, frame["income"].to_numpy(float, na_value=0.0))
    return Table.from_frame(frame)


def _education_survey(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[np.int64]:
    score = rng.normal(1.7 - 0.012 * (age - 40), 0.9)
    return np.where(age < 19, 0, np.clip(np.rint(score), 0, 3)).astype(int)


def _body(
    rng: np.random.Generator, sex: NDArray[np.str_], age: NDArray[np.int64]
) -> tuple[pd.Series, pd.Series]:
    height = np.rint(rng.normal(np.where(sex == "male", 177, 164), 6.5)).astype(int)
    bmi = np.clip(rng.normal(21.5 + 0.08 * np.minimum(age, 65), 3.5), 16, 48)
    weight = np.rint(bmi * (height / 100) ** 2).astype(int)
    unknown = rng.random(len(age)) < 0.02
    return pd.Series(height, dtype="Int64"), pd.Series(weight, dtype="Int64").mask(unknown)


def _interview_dates(rng: np.random.Generator, rows: int) -> pd.Series:
    days = rng.integers(0, 60, rows).astype("timedelta64[D]")
    return pd.Series((np.datetime64("2024-03-01") + days).astype(object))


def _marital_survey(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[np.str_]:
    widowed = 0.6 / (1 + np.exp((78 - age) / 6))
    single = 0.9 / (1 + np.exp((age - 27) / 4)) + 0.05
    divorced = np.where(age > 25, 0.09, 0.0)
    draw = rng.random(len(age))
    steps = np.cumsum(np.stack([single, divorced, widowed]), axis=0)
    chosen = np.select([draw < steps[0], draw < steps[1], draw < steps[2]], [0, 2, 3], 1)
    return np.array(SURVEY_MARITAL)[np.where(age < 18, 0, chosen)]


def _occupation(
    rng: np.random.Generator, working: NDArray[np.bool_], education: NDArray[np.int64]
) -> list[str | None]:
    fields = rng.choice(len(FIELDS), len(working), p=np.arange(14, 2, -1) / 102)
    ranks = np.clip(education + rng.integers(-1, 2, len(working)), 0, 3)
    titles = [f"{FIELDS[f]} {RANKS[r]}" for f, r in zip(fields, ranks, strict=True)]
    return [title if works else None for title, works in zip(titles, working, strict=True)]


def _income_survey(
    rng: np.random.Generator,
    age: NDArray[np.int64],
    education: NDArray[np.int64],
    working: NDArray[np.bool_],
) -> pd.Series:
    mean = 6.6 + 0.28 * education + 0.35 * working - 0.0004 * (age - 48) ** 2
    amount = np.exp(rng.normal(mean, 0.45))
    step = rng.choice([10, 50, 100, 500], len(age), p=[0.15, 0.2, 0.5, 0.15])
    rounded = (np.rint(amount / step) * step).astype(int)
    refused = rng.random(len(age)) < 0.09
    income = pd.Series(np.where(age < 18, -8, rounded), dtype="Int64")
    return income.mask(refused & (age >= 18))


def _friends(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[np.int64]:
    count = rng.negative_binomial(2, 0.22, len(age))
    heaped = (count > 6) & (rng.random(len(age)) < 0.7)
    count = np.where(heaped, np.rint(count / 5).astype(int) * 5, count)
    return np.where(age < 18, -8, count)


def _satisfaction(
    rng: np.random.Generator, age: NDArray[np.int64], income: NDArray[np.float64]
) -> pd.Series:
    score = rng.normal(0.3 * np.log1p(np.maximum(income, 0)) - 0.01 * age, 1.0)
    levels = ["not at all", "little", "rather", "very"]
    return pd.Series(pd.cut(score, [-np.inf, 0.2, 1.2, 2.4, np.inf], labels=levels))
