"""A household survey that never took place, with everything that makes real ones awkward."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caveat.table import Table

__all__ = ["survey"]

EDUCATION = ("primary", "vocational", "secondary", "higher")
MARITAL = ("single", "married", "divorced", "widowed")
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
    education = _education(rng, age)
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
            "marital": _marital(rng, age),
            "occupation": _occupation(rng, working, education),
            "income": _income(rng, age, education, working),
            "friends": _friends(rng, age),
            "height": height,
            "weight": weight,
        }
    )
    # Rounded as a questionnaire system would: look has to see through it.
    frame["bmi"] = (frame["weight"] / (frame["height"] / 100) ** 2).round(1)
    frame["satisfied"] = _satisfaction(rng, age, frame["income"].to_numpy(float, na_value=0.0))
    return Table.from_frame(frame)


def _education(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[np.int64]:
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


def _marital(rng: np.random.Generator, age: NDArray[np.int64]) -> NDArray[np.str_]:
    widowed = 0.6 / (1 + np.exp((78 - age) / 6))
    single = 0.9 / (1 + np.exp((age - 27) / 4)) + 0.05
    divorced = np.where(age > 25, 0.09, 0.0)
    draw = rng.random(len(age))
    steps = np.cumsum(np.stack([single, divorced, widowed]), axis=0)
    chosen = np.select([draw < steps[0], draw < steps[1], draw < steps[2]], [0, 2, 3], 1)
    return np.array(MARITAL)[np.where(age < 18, 0, chosen)]


def _occupation(
    rng: np.random.Generator, working: NDArray[np.bool_], education: NDArray[np.int64]
) -> list[str | None]:
    fields = rng.choice(len(FIELDS), len(working), p=np.arange(14, 2, -1) / 102)
    ranks = np.clip(education + rng.integers(-1, 2, len(working)), 0, 3)
    titles = [f"{FIELDS[f]} {RANKS[r]}" for f, r in zip(fields, ranks, strict=True)]
    return [title if works else None for title, works in zip(titles, working, strict=True)]


def _income(
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
