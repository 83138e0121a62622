"""The built-in example tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from caveat.datasets import RELEASES, buyer_beware, survey
from caveat.table import Kind


@pytest.mark.parametrize("release", range(11))
def test_buyer_beware_has_the_published_counts(release: int) -> None:
    table = buyer_beware(release)
    codes = sum(table[f"var{j + 1}"].values.astype(int) << (3 - j) for j in range(4))
    assert np.bincount(codes, minlength=16).tolist() == list(RELEASES[release])
    assert table.n_rows == 1000


def test_buyer_beware_margins_add_up_by_hand() -> None:
    # Paper 001, Table A.1, original: 1000 records, 463 of them with var1 = 1, one 1111.
    table = buyer_beware()
    assert table["var1"].counts.tolist() == [537, 463]
    assert [RELEASES[r][15] for r in range(1, 11)] == [1, 0, 1, 3, 2, 1, 3, 0, 1, 1]


def test_survey_has_every_kind_that_the_tools_must_cope_with() -> None:
    table = survey()
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds["person"] is Kind.TEXT
    assert kinds["interviewed"] is Kind.DATE
    assert kinds["education"] is Kind.ORDERED
    assert table["education"].levels.tolist() == ["primary", "vocational", "secondary", "higher"]
    assert len(table["occupation"].levels) == 48
    assert len(np.unique(table["person"].codes)) == table.n_rows == 3000
    income = table["income"]
    assert income.kind is Kind.INTEGER
    assert -8 in income.levels
    assert income.is_missing.any()


def test_survey_bmi_follows_from_height_and_weight() -> None:
    frame = survey().to_frame()
    known = frame["weight"].notna()
    expected = (frame["weight"] / (frame["height"] / 100) ** 2).round(1)
    pd.testing.assert_series_equal(
        frame["bmi"][known].astype(float), expected[known].astype(float), check_names=False
    )


def test_survey_is_reproducible_and_seeded() -> None:
    assert survey(rows=200) == survey(rows=200)
    assert survey(rows=200) != survey(rows=200, seed=1)
