"""A graph, a network that classifies its nodes, and LapGraph, which hides links behind noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, diags_array, eye_array

from caveat.discreet import without_values

__all__ = [
    "Graph", "Network", "lap_graph", "normalised", "random_network", "stand_in", "top_of_zeros",
    "train",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Graph:
    """A graph without loops: its edges, the features of its nodes and their classes."""

    links: csr_array
    features: Floats
    classes: Ints

    __repr__ = without_values


def normalised(links: csr_array, kind: str) -> csr_array:
    """Return what a layer multiplies by: links and loops, by row or symmetric."""
    full = links + eye_array(links.shape[0])
    degree = np.asarray(full.sum(axis=1)).ravel()
    if kind == "row":
        return csr_array(diags_array(1 / degree) @ full)
    half = diags_array(1 / np.sqrt(degree))
    return csr_array(half @ full @ half)


@dataclass(frozen=True)
class Network:
    """A graph convolutional network.

    Parameters
    ----------
    weights
        One matrix for each layer.
    kind
        How links are normalised: ``row`` or ``symmetric``.
    """

    weights: tuple[Floats, ...]
    kind: str = "row"

    __repr__ = without_values

    def scores(self, links: csr_array, first: Floats) -> Floats:
        """Return the scores (nodes, classes) from features that the first weights have seen."""
        average = normalised(links, self.kind)
        hidden = average @ first
        for weights in self.weights[1:]:
            hidden = average @ (np.maximum(hidden, 0) @ weights)
        return _softmax(hidden)


def _softmax(z: Floats) -> Floats:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def random_network(rng: np.random.Generator, sizes: tuple[int, ...], kind: str = "row") -> Network:
    """Return a network with random weights, as it is before training."""
    drawn = (rng.normal(0, np.sqrt(2 / (a + b)), (a, b)) for a, b in pairwise(sizes))
    return Network(tuple(drawn), kind)


def train(graph: Graph, network: Network, known: Bools, epochs: int = 100) -> Network:
    """Fit the weights to the classes of the known nodes, by Adam on the cross-entropy."""
    average = normalised(graph.links, network.kind)
    start = average @ graph.features
    target = np.eye(int(graph.classes.max()) + 1)[graph.classes]
    weights = [w.copy() for w in network.weights]
    first, second = ([np.zeros_like(w) for w in weights] for _ in range(2))
    for step in range(1, epochs + 1):
        inputs, z = [start], [start @ weights[0]]
        for w in weights[1:]:
            inputs.append(average @ np.maximum(z[-1], 0))
            z.append(inputs[-1] @ w)
        slope = (_softmax(z[-1]) - target) * known[:, None] / known.sum()
        for layer in reversed(range(len(weights))):
            gradient = inputs[layer].T @ slope + 5e-4 * weights[layer]
            if layer:
                slope = (average.T @ (slope @ weights[layer].T)) * (z[layer - 1] > 0)
            first[layer] += 0.1 * (gradient - first[layer])
            second[layer] += 0.001 * (gradient**2 - second[layer])
            size = np.sqrt(second[layer] / (1 - 0.999**step)) + 1e-8
            weights[layer] -= 0.01 * first[layer] / (1 - 0.9**step) / size
    return Network(tuple(weights), network.kind)


def stand_in(rng: np.random.Generator, sizes: tuple[int, int, int, int]) -> Graph:
    """Return a random graph of papers: few have many links, most links stay within a topic."""
    n, edges, words, topics = sizes
    classes = rng.integers(0, topics, n)
    weight = rng.pareto(2.5, n) + 1
    found: set[tuple[int, int]] = set()
    while len(found) < edges:
        a = rng.choice(n, p=weight / weight.sum())
        alike = (classes == classes[a]) == (rng.random() < 0.81)
        b = rng.choice(n, p=weight * alike / (weight * alike).sum())
        if a != b:
            found.add((int(min(a, b)), int(max(a, b))))
    own = np.arange(words) % topics == classes[:, None]
    features = (rng.random((n, words)) < np.where(own, 0.03, 0.01)).astype(np.float64)
    return Graph(_linked(np.array(sorted(found)), n), features, classes)


def _linked(edges: Ints, n: int) -> csr_array:
    ends = np.vstack([edges, edges[:, ::-1]])
    return csr_array(coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n)))


def top_of_zeros(rng: np.random.Generator, cells: int, most: int, scale: float) -> Floats:
    """Return the largest of many Laplace draws, from the largest down, without drawing the rest."""
    gaps = rng.exponential(size=most) / np.arange(cells, cells - most, -1)
    below = np.cumsum(gaps)  # minus the log of the largest uniform numbers
    upper = -np.expm1(-below)  # one minus them
    return np.asarray(scale * np.where(upper <= 0.5, -np.log(2 * upper), np.log(2) - below))


def lap_graph(links: csr_array, epsilon: float, rng: np.random.Generator) -> csr_array:
    """Return a noisy graph: the cells that are largest after Laplace noise, as many as edges.

    A hundredth of ε pays for the number of edges, the rest for the cells below the diagonal. Draws
    are of ordinary floating point numbers: a demonstration, not a release.
    """
    n = links.shape[0]
    place = links.tocoo()
    lower = place.coords[0] > place.coords[1]
    ones = place.coords[0][lower].astype(np.int64) * n + place.coords[1][lower]
    cells = n * (n - 1) // 2 - len(ones)
    number = round(len(ones) + rng.laplace(0, 1 / (0.01 * epsilon)))
    number = min(max(number, 0), n * (n - 1) // 2)
    scale = 1 / (0.99 * epsilon)
    zeros = top_of_zeros(rng, cells, min(number, cells), scale)
    kept = 1 + rng.laplace(0, scale, len(ones))
    both = np.concatenate([kept, zeros])
    chosen = np.argpartition(-both, number - 1)[:number] if number else np.zeros(0, np.int64)
    edges = ones[chosen[chosen < len(ones)]]
    new = _absent(rng, n, set(ones.tolist()), int((chosen >= len(ones)).sum()))
    every = np.concatenate([edges, new])
    return _linked(np.column_stack([every // n, every % n]), n)


def _absent(rng: np.random.Generator, n: int, present: set[int], number: int) -> Ints:
    """Draw different cells below the diagonal that hold no edge."""
    found: dict[int, None] = {}
    while len(found) < number:
        ends = rng.integers(0, n, (2 * (number - len(found)) + 8, 2))
        for a, b in ends.tolist():
            if a > b and a * n + b not in present:
                found.setdefault(a * n + b)
    return np.array(list(found)[:number], dtype=np.int64)
