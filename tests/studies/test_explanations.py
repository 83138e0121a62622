"""Records from explanations: the printed example to its last digit."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.seeds import rng_of
from caveat.studies import STUDIES
from caveat.studies.node_injection import (
    EXAMPLE,
    ROWS,
    SHAPLEY,
    grown,
    linear,
    predict,
    run_explanations,
    shapley,
)
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def result():
    return run_explanations(Output())


def test_shapley_values_of_a_linear_model_are_those_of_table_2():
    known = EXAMPLE[5:]
    service = linear(known, known[:, 0] - known[:, 2] * known[:, 3])
    found = shapley(service, EXAMPLE[:5], known)
    # Tens of millionths decide no printed digit; 0.005 is half of the last one.
    assert np.abs(found - SHAPLEY).max() < 0.005
    coefficients = service(np.vstack([np.zeros(4), np.eye(4)]))
    assert coefficients - [0, *[coefficients[0]] * 4] == pytest.approx(
        [-0.09879, 0.72998, -0.22395, 0.38353, 0.27796], abs=5e-6
    )


def test_the_rounded_y_of_the_paper_is_not_what_it_used():
    known = EXAMPLE[5:]
    service = linear(known, np.array([-1.2, 0.9, -0.2, -0.1, -0.1]))
    found = shapley(service, EXAMPLE[:5], known)[:, 0]
    assert found == pytest.approx([1.37, 0.29, 0.76, 1.68, 1.45], abs=0.005)


def test_shapley_values_add_up_to_what_the_model_adds():
    rng = rng_of(1)
    x, references = rng.normal(size=(6, 5)), rng.normal(size=(4, 5))

    def model(z):
        return np.exp(z[:, 0] * z[:, 1]) + z[:, 2] * z[:, 3]

    values = shapley(model, x, references)
    assert values.sum(axis=1) == pytest.approx(model(x) - model(references).mean())
    # A feature that the model does not use explains nothing.
    assert np.abs(values[:, 4]).max() < 1e-12


def test_every_row_of_table_3_is_reached(result):
    found = {n.what: n for n in result.numbers if n.where == "Table 3"}
    assert len(found) == 5 * len(ROWS) + 4
    misprint = found.pop("error of x4, mean of the four")
    assert misprint.ours == pytest.approx((0 + 1.18 + 0.53 + 0.54) / 4, abs=0.005)
    for number in found.values():
        # Half of the last printed digit; .995 is printed as 1.00.
        assert abs(number.ours - number.printed) < 0.0051, number.what
    assert [row[1] for row in result.grids[1].rows] == ["1", "12", "12", "8"]


def test_a_linear_model_leaves_nothing_to_guess(result):
    errors = [n.ours for n in result.numbers if "linear model, linear attack" in n.what]
    assert max(errors) < 1e-12
    table = {row[0]: [float(cell) for cell in row[1:]] for row in result.grids[2].rows}
    assert table["exact, two known records"] == [0, 0, 0, 0]
    assert max(table["rounded to 2 decimals"]) < 0.03
    assert table["no explanation: a known value at random"] == [1.488, 0.812, 0.744, 0.896]


def test_a_tree_is_grown_to_the_end():
    x, y = EXAMPLE[5:], EXAMPLE[5:, [0]]
    for tree in grown(x, y):
        assert predict(tree, x) == pytest.approx(y)


def test_it_is_in_the_list(result):
    assert STUDIES["explanations"].paper == "Toma and Kikuchi (2024)"
    assert len(result.numbers) == 44
