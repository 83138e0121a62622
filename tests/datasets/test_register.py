"""The register and the benefits: the printed shares, six rules and 218 codes of countries."""

from __future__ import annotations

import pytest
from tests.refusals import refused

from caveat.datasets import register
from caveat.datasets.tables import BENEFITS, COUNTRIES


def test_shares_are_those_that_the_paper_prints() -> None:
    # Slokom et al. 2024, Table 6: bijstand = 0 4.1 %, ioaw = 1 3.8 %, ioaz = 1 0.4 %.
    benefits = register(rows=100_000)["benefits"].to_frame()
    assert len(benefits) == 25_000
    assert (benefits["bijstand"] == 0).mean() == pytest.approx(0.041, abs=0.004)
    assert benefits["ioaw"].mean() == pytest.approx(0.038, abs=0.004)
    assert benefits["ioaz"].mean() == pytest.approx(0.004, abs=0.0015)


@pytest.mark.parametrize("name", BENEFITS)
def test_a_date_is_missing_exactly_where_its_flag_is_0(name: str) -> None:
    benefits = register()["benefits"].to_frame()
    assert (benefits[f"{name}_since"].isna() == (benefits[name] == 0)).all()
    assert benefits[name].isin([0, 1]).all()


def test_benefits_cover_a_part_of_the_register() -> None:
    tables = register(rows=4000)
    population, benefits = (tables[name].to_frame() for name in ("population", "benefits"))
    assert population["person"].is_unique
    assert benefits["person"].is_unique
    assert set(benefits["person"]) < set(population["person"])
    assert population["mother_born"].isna().mean() == pytest.approx(0.38, abs=0.03)
    assert population["father_born"].isna().mean() == pytest.approx(0.41, abs=0.03)


def test_all_countries_occur_also_among_those_who_receive_benefits() -> None:
    tables = register(rows=2000)
    population, benefits = (tables[name].to_frame() for name in ("population", "benefits"))
    receiving = population[population["person"].isin(benefits["person"])]
    assert population["country"].nunique() == receiving["country"].nunique() == COUNTRIES == 218


def test_too_few_rows_for_the_countries_are_refused() -> None:
    with refused("data.setting.range", where="register"):
        register(rows=400)


def test_the_same_arguments_give_the_same_tables() -> None:
    assert register(1000) == register(1000)
    assert register(1000) != register(1000, seed=2)
