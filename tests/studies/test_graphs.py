"""The network has the right slopes, and LapGraph the right noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

from caveat.seeds import rng_of
from caveat.studies.node_injection import (
    Graph,
    lap_graph,
    normalised,
    random_network,
    stand_in,
    top_of_zeros,
    train,
)

SIZES = (200, 500, 30, 3)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return stand_in(rng_of(1), SIZES)


def test_a_stand_in_has_its_sizes(graph):
    assert graph.links.nnz == 2 * 500
    assert graph.links.diagonal().sum() == 0
    assert (graph.links != graph.links.T).nnz == 0
    assert graph.features.shape == (200, 30)
    ends = graph.links.tocoo().coords
    assert (graph.classes[ends[0]] == graph.classes[ends[1]]).mean() == pytest.approx(
        0.81, abs=0.07
    )


@pytest.mark.parametrize("kind", ["row", "symmetric"])
def test_layers_by_hand(kind, graph):
    full = graph.links.toarray() + np.eye(200)
    degree = full.sum(axis=1)
    by_hand = full / degree[:, None]
    if kind == "symmetric":
        by_hand = full / np.sqrt(np.outer(degree, degree))
    assert normalised(graph.links, kind).toarray() == pytest.approx(by_hand)
    network = random_network(rng_of(2), (30, 8, 3), kind)
    hidden = by_hand @ np.maximum(by_hand @ graph.features @ network.weights[0], 0)
    odds = np.exp(hidden @ network.weights[1])
    found = network.scores(graph.links, graph.features @ network.weights[0])
    assert found == pytest.approx(odds / odds.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("depth", [2, 3])
def test_training_goes_down_the_slope(depth, graph):
    """The first step of Adam is 0.01 against the sign of each slope, found here by differences."""
    known = rng_of(3).random(200) < 0.5
    network = random_network(rng_of(4), (30, *[6] * (depth - 1), 3))
    after = train(graph, network, known, epochs=1)

    def loss(weights):
        scores = type(network)(weights, "row").scores(graph.links, graph.features @ weights[0])
        entropy = -np.log(scores[known, graph.classes[known]]).mean()
        return entropy + 2.5e-4 * sum((w**2).sum() for w in weights)

    for layer, (a, b) in ((0, (4, 2)), (depth - 1, (1, 2)), (depth - 1, (3, 0))):
        step = [w.copy() for w in network.weights]
        step[layer][a, b] += 1e-5
        slope = (loss(tuple(step)) - loss(network.weights)) / 1e-5
        moved = after.weights[layer][a, b] - network.weights[layer][a, b]
        assert moved == pytest.approx(-0.01 * math.copysign(1, slope), rel=1e-2)


def test_training_learns_the_classes(graph):
    known = rng_of(3).random(200) < 0.5
    network = train(graph, random_network(rng_of(4), (30, 16, 3)), known, epochs=100)
    said = network.scores(graph.links, graph.features @ network.weights[0]).argmax(axis=1)
    assert (said == graph.classes)[~known].mean() > 0.6  # a guess has a third


def test_the_largest_of_many_draws_are_as_if_all_were_drawn():
    draws = np.array([top_of_zeros(rng_of(5, i), 1000, 20, 0.5)[[0, 19]] for i in range(400)])
    every = -np.sort(-rng_of(6).laplace(0, 0.5, (400, 1000)), axis=1)[:, [0, 19]]
    for j in (0, 1):
        assert kstest(draws[:, j], every[:, j]).pvalue > 0.001
    # All of them, also below the middle.
    every_one = np.concatenate([top_of_zeros(rng_of(7, i), 40, 40, 2.0) for i in range(200)])
    assert kstest(every_one, "laplace", args=(0, 2.0)).pvalue > 0.001


def test_a_noisy_graph_is_as_large_and_tends_to_the_true_one(graph):
    exact = lap_graph(graph.links, 1e6, rng_of(8))
    assert (exact != graph.links).nnz == 0
    noisy = [lap_graph(graph.links, 2.0, rng_of(9, i)) for i in range(60)]
    assert all((one != one.T).nnz == 0 and one.diagonal().sum() == 0 for one in noisy)
    # The number of edges has Laplace noise of scale 50: its mean lies within 4 standard errors.
    error = 50 * math.sqrt(2) / math.sqrt(60)
    assert np.mean([one.nnz / 2 for one in noisy]) == pytest.approx(500, abs=4 * error)
    # As with noise on every cell, drawn plainly.
    kept = np.mean([one.multiply(graph.links).nnz / 2 for one in noisy])
    lower = np.tril_indices(200, -1)
    truth = graph.links.toarray()[lower]
    plain = []
    for i in range(60):
        rng = rng_of(10, i)
        number = round(500 + rng.laplace(0, 50))
        cells = truth + rng.laplace(0, 1 / 1.98, len(truth))
        plain.append(truth[np.argsort(-cells)[:number]].sum())
    spread = np.std(plain) / math.sqrt(30)
    assert kept == pytest.approx(np.mean(plain), abs=4 * spread)
