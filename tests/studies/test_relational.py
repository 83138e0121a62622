"""The register, joined and linked: rules hold, priors are those that the paper prints."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, matthews_corrcoef

from caveat.datasets.tables import register
from caveat.studies import STUDIES, relational
from caveat.studies.study import Output

ROWS = 6_000


@pytest.fixture(scope="module")
def result():
    return relational.run_relational(Output(None), rows=ROWS)


@pytest.fixture(scope="module")
def grids(result):
    return result.grids


def column(grid, name):
    return [row[grid.header.index(name)] for row in grid.rows]


@pytest.mark.parametrize("name", ["original", "joined", "linked"])
def test_plain_trees_keep_all_six_rules(grids, name):
    assert column(grids[0], name) == ["100.0"] * 6


@pytest.mark.parametrize("name", ["prior", "independent"])
def test_independent_columns_keep_rules_as_often_as_the_printed_prior(grids, name):
    # 1,500 receive benefits: binomial, four standard errors around the printed shares.
    for i, printed in enumerate(relational.PRINTED["prior"]):
        share = printed / 100
        # Rules about a rare flag are about few drawn rows, the prior about all of them.
        rows = (
            1_500
            if name == "prior" or i in (1, 2, 3)
            else 1_500 * (0.041, 1, 1, 1, 0.038, 0.004)[i]
        )
        error = 400 * (share * (1 - share) / rows) ** 0.5
        found = column(grids[0], name)[i]
        assert found == "" or abs(float(found) - printed) < error + 0.2, i


def test_most_codes_of_countries_come_back(grids):
    first = grids[1].rows[0]
    assert first[1] == "218"
    linked = int(column(grids[1], "linked")[0])
    assert 190 <= linked <= 218
    # Fewer rows, fewer codes: each of the 217 rare ones is there once or a few times.
    assert 120 <= int(column(grids[1], "joined")[0]) < linked


def test_a_joined_table_is_split_with_fresh_keys():
    tables = register(rows=1_000)
    both = relational.joined(tables)
    assert both.n_rows == 250
    assert "person" not in both.names
    made = relational.split(both, tables)
    for name, one in made.items():
        assert one.names == tables[name].names
        assert len(set(one["person"].values)) == 250
        assert not set(one["person"].values) & set(tables["population"]["person"].values)
    assert (made["population"]["person"].values == made["benefits"]["person"].values).all()


def test_days_on_benefits_depend_on_the_year_of_birth_unless_columns_are_independent(grids):
    slopes = dict(
        zip(column(grids[2], "fitted to"), column(grids[2], "year of birth"), strict=True)
    )
    true = float(slopes["original"])
    for name in ("joined", "linked"):
        assert float(slopes[name]) == pytest.approx(true, rel=0.2)
    assert abs(float(slopes["independent"])) < abs(true) / 5


def test_numbers_of_the_paper(result):
    numbers = {(n.what, n.where): n for n in result.numbers}
    assert len(numbers) == len(result.numbers) == 24 + 16 + 36 + 4 + 1 + 24
    rules = [n for n in result.numbers if n.where == "Table 2" and "CART" in n.what]
    assert [(n.printed, n.ours) for n in rules] == [(100, 100)] * 6
    apart = [n for n in result.numbers if n.where == "Table 3, computed elsewhere"]
    for number in apart:
        assert number.ours == pytest.approx(number.printed, abs=0.0011), number.what


def test_random_is_the_majority_rule():
    truth = np.repeat([1, 0], [9_612, 388])
    said = np.ones(10_000, int)
    assert f1_score(truth, said, average="macro", zero_division=0.0) == pytest.approx(
        relational.majority_f1(0.9612)
    )
    assert relational.majority_f1(0.9612) == pytest.approx(0.4901, abs=5e-5)
    assert matthews_corrcoef(truth, said) == 0


def test_guesses_without_knowledge(grids):
    """The closed forms, against draws: with 2 million people the error is below 0.001."""
    rng = np.random.default_rng(1)
    truth = rng.random(2_000_000) < 0.9612
    for row, p in zip(grids[4].rows[1:], (0.9612, 0.5), strict=True):
        said = rng.random(len(truth)) < p
        assert f1_score(truth, said, average="macro") == pytest.approx(float(row[1]), abs=1e-3)


def test_the_old_name_is_gone():
    assert "relational" in STUDIES
    assert "register" not in STUDIES
