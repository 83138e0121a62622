"""Names of people by their values: common ones in many languages, and nothing like them."""

from __future__ import annotations

import polars as pl
import pytest

from caveat.table._signs import share_of_names


@pytest.mark.parametrize(
    "texts",
    [
        ["Anna", "BERND", "carla"],
        ["Müller, Anna", "Garcia Lopez, Pablo", "O'Brien, Sean"],
        ["Dr. Hans Weber", "Ms. Li Wang", "Jean-Pierre Dubois"],
    ],
)
def test_names_are_found_however_they_are_written(texts: list[str]) -> None:
    assert share_of_names(pl.Series(texts)) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["north", "south", "east", "west"],
        ["Anna 1", "Bernd 2", "Carla 3"],
        ["Anna went to see the doctor again", "Bernd was not at home this time"],
        ["brown", "white", "gray", "black"],
        [],
    ],
)
def test_other_texts_are_not(texts: list[str]) -> None:
    assert share_of_names(pl.Series(texts, dtype=pl.String)) == 0
