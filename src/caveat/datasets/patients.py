"""Patients who never were ill, and their visits: two tables, linked by the patient."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from caveat.table import Table

__all__ = ["patients"]

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

Ints = NDArray[np.int64]


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
