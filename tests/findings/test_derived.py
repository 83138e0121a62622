"""Columns that follow from others: groups, names, functions, arithmetic."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from caveat.findings import look

RNG = np.random.default_rng(22)
N = 2000
AGE = RNG.integers(16, 90, N)
CUTS = [24, 34, 44, 59, 64]
GROUPS = np.array(["16-24", "25-34", "35-44", "45-59", "60-64", "65+"], dtype=object)


def grouped(values=AGE, cuts=CUTS):
    return GROUPS[np.searchsorted(cuts, values)]


def test_age_groups():
    group = grouped()
    group[:4] = None
    (finding,) = look({"age": AGE, "agegr": group}).about("groups-of")
    assert finding.columns == ("agegr", "age")
    assert finding.suggestion["groups"][0] == ["16-24", "16", "24"]
    assert "missing in 4 rows where age is not" in finding.message


def test_groups_with_exceptions_are_still_groups():
    group = grouped()
    group[RNG.choice(N, 5, replace=False)] = "65+"
    exceptions = int((group != grouped()).sum())
    (finding,) = look({"age": AGE, "agegr": group}).about("groups-of")
    assert f"except in {exceptions} row" in finding.message


def test_groups_of_a_quantity_with_distinct_values():
    income = RNG.lognormal(7, 0.6, N)
    decile = np.searchsorted(np.quantile(income, np.arange(0.1, 1, 0.1)), income)
    (finding,) = look({"income": income, "decile": decile}).about("groups-of")
    assert finding.columns == ("decile", "income")


def test_related_is_not_derived():
    noisy = grouped(AGE + RNG.integers(-3, 4, N))
    assert look({"age": AGE, "agegr": noisy}).about("groups-of") == ()


def test_one_to_one():
    number = RNG.integers(1, 9, N)
    name = np.array([f"level {i * 7 % 11}" for i in range(9)], dtype=object)[number]
    (finding,) = look({"education": name, "num": number}).about("one-to-one")
    assert finding.columns == ("num", "education")
    assert str(finding.strength) == "certain"


def test_a_function_without_order_is_looked_up():
    town = np.array([f"t{i}" for i in range(40)], dtype=object)
    land = np.array([f"l{i * 13 % 5}" for i in range(40)], dtype=object)
    where = RNG.integers(0, 40, N)
    profile = look({"town": town[where], "land": land[where], "x": RNG.integers(0, 3, N)})
    (finding,) = profile.about("determined-by")
    assert finding.columns == ("land", "town")


def test_a_chain_is_reported_link_by_link():
    coarse = np.where(AGE < 45, "young", "old").astype(object)
    found = look({"age": AGE, "agegr": grouped(), "half": coarse}).findings
    assert {f.columns for f in found if f.code in ("groups-of", "determined-by")} == {
        ("agegr", "age"),
        ("half", "agegr"),
    }


def formulas(data):
    return {f.columns[0]: f.suggestion["formula"] for f in look(data).about("arithmetic")}


def with_missing(values, share=0.05):
    values = np.array(values, dtype=float)
    values[RNG.random(len(values)) < share] = np.nan
    return pl.Series(values).fill_nan(None)


A, B, C = RNG.lognormal(7, 0.5, N).round(), RNG.lognormal(6, 0.7, N).round(), RNG.integers(0, 90, N)
KG, CM = RNG.normal(75, 12, N).round(1), RNG.normal(170, 9, N).round()
QTY, PRICE = RNG.integers(1, 6, N), RNG.uniform(1, 90, N).round(2)


@pytest.mark.parametrize(
    ("data", "target", "formula"),
    [
        ({"a": A, "b": B, "sum": A + B}, "sum", "a + b"),
        ({"a": A, "b": B, "c": C, "sum": A + B + C}, "sum", "a + b + c"),
        ({"sum": A + B + C, "a": A, "b": B, "c": C}, "sum", "a + b + c"),
        ({"rev": A, "cost": B, "profit": A - B}, "profit", "rev - cost"),
        ({"q": QTY, "p": PRICE, "amount": (QTY * PRICE).round(2)}, "amount", "q * p"),
        ({"a": A, "b": B, "ratio": (A / B).round(3)}, "ratio", "a / b"),
        ({"a": A, "b": B, "share": (100 * A / B).round(1)}, "share", "100 * a / b"),
        ({"kg": KG, "cm": CM, "bmi": KG / (CM / 100) ** 2}, "bmi", "kg / (cm / 100) ** 2"),
        (
            {"kg": KG, "cm": CM, "bmi": (KG / (CM / 100) ** 2).round(1)},
            "bmi",
            "kg / (cm / 100) ** 2",
        ),
        ({"kg": KG, "g": KG * 1000}, "g", "1000 * kg"),
        ({"year": A, "month": A / 12}, "month", "year / 12"),
        ({"age": AGE, "born": 2011 - AGE}, "born", "2011 - age"),
        ({"c": (KG - 60).round(1), "f": ((KG - 60) * 1.8 + 32).round(2)}, "f", "1.8 * c + 32"),
        ({"x": PRICE, "again": PRICE}, "again", "x"),
    ],
)
def test_identities(data, target, formula):
    assert formulas(data) == {target: formula}
    gaps = {name: with_missing(values) for name, values in data.items()}
    assert formulas(gaps) == {target: formula}


def test_a_total_of_many_parts():
    parts = {f"p{i}": RNG.integers(0, 50, N) for i in range(6)}
    data = {**parts, "total": sum(parts.values()), "other": RNG.integers(0, 50, N)}
    assert formulas(data) == {"total": "p0 + p1 + p2 + p3 + p4 + p5"}


def test_exceptions_are_counted():
    total = A + B
    total[[5, 50, 500]] += 17
    (finding,) = look({"a": A, "b": B, "total": total}).about("arithmetic")
    assert finding.message == "total = a + b in 1,997 rows, except in 3 rows."
    assert str(finding.strength) == "likely"


def test_a_term_that_is_nearly_always_zero_makes_no_sum():
    rare = np.zeros(N)
    rare[:3] = 5
    assert "b" not in str(formulas({"a": A, "b": rare, "y": A + rare}).get("y", ""))


def test_columns_that_are_merely_correlated():
    y = (A + B + RNG.normal(0, 5, N)).round()
    assert formulas({"a": A, "b": B, "y": y, "c": C}) == {}


def test_names_that_need_quotes_in_a_formula():
    assert formulas({"net pay": A, "tax": B, "gross": A + B}) == {"gross": "`net pay` + tax"}
