"""Patients and visits: keys, order in time, and what depends on the visit before."""

from __future__ import annotations

import numpy as np
import pandas as pd

from caveat.datasets import patients
from caveat.datasets.tables import DIAGNOSES, NEXT
from caveat.table import Kind


def _frames(number: int = 600) -> tuple[pd.DataFrame, pd.DataFrame]:
    tables = patients(number)
    return tables["patients"].to_frame(), tables["visits"].to_frame()


def test_every_visit_has_a_patient_and_some_patients_have_none() -> None:
    people, visits = _frames()
    assert people["patient"].is_unique
    assert visits["visit"].is_unique
    assert set(visits["patient"]) < set(people["patient"])
    counts = visits.groupby("patient").size().reindex(people["patient"], fill_value=0)
    assert counts.min() == 0
    assert counts.max() == 8
    assert abs((counts == 0).mean() - 0.14) < 0.04


def test_the_visits_of_a_patient_stand_in_the_order_of_their_dates() -> None:
    _, visits = _frames()
    moves = pd.to_datetime(visits["date"]).groupby(visits["patient"]).diff().dropna()
    assert (moves > pd.Timedelta(0)).all()
    assert patients(20)["visits"]["date"].kind is Kind.DATE


def test_a_diagnosis_depends_on_the_one_before() -> None:
    _, visits = _frames(8000)
    same = visits["patient"] == visits["patient"].shift()
    before = visits["diagnosis"].shift()[same]
    found = pd.crosstab(before, visits["diagnosis"][same], normalize="index")
    expected = pd.DataFrame(NEXT, index=DIAGNOSES, columns=DIAGNOSES)
    assert (found - expected).abs().max().max() < 0.03


def test_pressures_go_on_from_the_visit_before() -> None:
    _, visits = _frames(8000)
    pressure = visits["pressure"].astype(float)
    off = pressure - pressure.groupby(visits["diagnosis"]).transform("mean")
    again = (visits["patient"] == visits["patient"].shift()) & off.notna() & off.shift().notna()
    assert abs(np.corrcoef(off[again], off.shift()[again])[0, 1] - 0.7) < 0.05
    assert 0.02 < pressure.isna().mean() < 0.05


def test_the_same_arguments_give_the_same_patients() -> None:
    assert patients(30) == patients(30)
    assert patients(30) != patients(30, seed=2)
