"""Links stolen by an injected node (Zari, Parra-Arnau, Ünsal and Önen, 2024).

A service classifies the nodes of a private graph. The attacker joins one node of her own to a
target and sees whose scores move: its neighbours. With two layers and averages over neighbours
nobody else can move. LapGraph answers from a noisy graph instead. The graphs of the paper are not
built in; a random graph of the size of Cora stands in for it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from caveat.seeds import rng_of
from caveat.studies._graphs import Graph, Network, lap_graph, random_network, stand_in, train
from caveat.studies.study import Grid, Number, Output, Study, StudyResult

__all__ = [
    "STRATEGIES", "STUDY", "TABLE1", "TABLE2", "TABLE3", "TABLE4", "Stolen", "injection", "run",
    "small", "stolen",
]  # fmt: skip

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

STRATEGIES = ("class representative", "max attributes", "all ones", "all zeros", "identity",
              "influence")  # fmt: skip
TABLE1 = {
    "class representative": (0.94, 0.83, 0.96), "max attributes": (0.99, 0.98, 1.00),
    "all ones": (0.99, 0.97, 0.99), "all zeros": (0.58, 0.48, 0.71),
    "identity": (0.81, 0.69, 0.95), "influence": (0.81, 0.70, 0.89),
    "LinkTeller (no injection)": (0.80, 0.74, 0.32),
}  # fmt: skip
"""F1 for Twitch-FR, Twitch-RU and Flickr, by features of the injected node."""
TABLE2 = {
    "Twitch-FR": ((99.1, 99.6), (99.9, 100.0)), "Twitch-RU": ((96.4, 98.3), (99.9, 99.4)),
    "Flickr": ((99.1, 95.8), (93.7, 78.9)),
}  # fmt: skip
"""Precision and recall of the injection, for all targets and for those of high degree."""
TABLE3 = {"Cora": (99.7, 99.6), "Citeseer": (97.4, 98.2), "Pubmed": (99.7, 100.0)}
"""Precision and recall of the injection."""
TABLE4 = {
    ("Twitch-FR", 2): (99.13, 99.57), ("Twitch-FR", 3): (85.06, 81.56),
    ("Twitch-RU", 2): (96.45, 98.34), ("Twitch-RU", 3): (78.78, 76.35),
}  # fmt: skip
"""Precision and recall with all ones, by the depth of the network."""
CORA = (2_708, 5_278, 1_433, 7)  # nodes, edges, words, topics of the public file
ASKED = 500
EPSILONS = (1.0, 4.0, 7.0, 10.0)
ALPHA = 1e-2


def _crafted(strategy: str, graph: Graph, before: Floats, asked: Ints, target: int) -> Floats:
    """Return the features of the injected node."""
    if strategy in ("all ones", "all zeros"):
        return np.full(graph.features.shape[1], float(strategy == "all ones"))
    if strategy in ("identity", "influence"):
        return np.asarray(graph.features[target] + (ALPHA if strategy == "influence" else 0))
    said = before.argmax(axis=1)
    others = asked[said[asked] != said[target]]
    if len(others) == 0:
        others = asked
    if strategy == "max attributes":
        return np.asarray(graph.features[others].max(axis=0))
    return np.asarray(graph.features[others[before[others].max(axis=1).argmax()]])


def injection(
    network: Network, graph: Graph, asked: Ints, strategy: str = "all ones",
    *, targets: Ints | None = None, shown: Callable[[csr_array], csr_array] | None = None,
) -> Floats:  # fmt: skip
    """Inject a node beside each target, and return how far the scores move (targets, asked).

    Parameters
    ----------
    network, graph
        The service.
    asked
        The nodes whose scores the attacker may ask for.
    strategy
        How she chooses features.
    targets
        Whose neighbours she wants, all that she asks for if None.
    shown
        What the service does to the links before every answer: nothing if None.
    """
    n = len(graph.classes)
    protect = shown or (lambda links: links)
    first = graph.features @ network.weights[0]
    before = network.scores(protect(graph.links), first)
    place = graph.links.tocoo()
    moved = []
    for target in asked if targets is None else targets:
        made = _crafted(strategy, graph, before, asked, int(target)) @ network.weights[0]
        rows = np.append(place.coords[0], [n, target])
        columns = np.append(place.coords[1], [target, n])
        links = csr_array(coo_array((np.ones(len(rows)), (rows, columns)), shape=(n + 1, n + 1)))
        after = network.scores(protect(links), np.vstack([first, made]))
        moved.append(np.abs(after[asked] - before[asked]).sum(axis=1))
    return np.array(moved)


@dataclass(frozen=True)
class Stolen:
    """How well moved scores tell links: at the best threshold, and with as many as expected."""

    precision: float
    recall: float
    f1: float
    expected_f1: float


def stolen(moved: Floats, graph: Graph, asked: Ints, targets: Ints | None = None) -> Stolen:
    """Compare the pairs that moved most with the links."""
    from_ = asked if targets is None else targets
    truth = graph.links[from_][:, asked].toarray() > 0
    others = from_[:, None] != asked[None, :]
    score, is_link = moved[others], truth[others]
    order = np.argsort(-score, kind="stable")
    last = np.append(np.flatnonzero(np.diff(score[order])), len(order) - 1)  # ties stay together
    hits = np.cumsum(is_link[order])[last]
    precision, recall = hits / (last + 1), hits / is_link.sum()
    f1 = 2 * hits / (last + 1 + is_link.sum())
    best = int(f1.argmax())
    n = len(graph.classes)
    expected = round(graph.links.nnz / (n * (n - 1)) * len(score))  # from the density alone
    found = int(is_link[order[:expected]].sum())
    return Stolen(
        float(precision[best]), float(recall[best]), float(f1[best]),
        float(2 * found / (expected + is_link.sum())),
    )  # fmt: skip


def small(rng: np.random.Generator) -> Graph:
    """Return a random graph of 300 nodes with features of all sizes, none of them 0."""
    plain = stand_in(rng, (300, 900, 20, 3))
    return Graph(plain.links, rng.normal(size=plain.features.shape), plain.classes)


def run(
    output: Output,
    data: Path | None = None,
    sizes: tuple[int, int, int, int] = CORA,
    asked: int = ASKED,
) -> StudyResult:
    """Steal the links of random graphs; neither output nor data are used."""
    del output, data
    exact, exact_grid = _exact()
    graph = stand_in(rng_of(3), sizes)
    some = rng_of(4).choice(sizes[0], asked, replace=False)
    known = rng_of(5).random(sizes[0]) < 0.6
    found: dict[tuple[str, int, str], Stolen] = {}
    for kind, depth in (("row", 2), ("symmetric", 2), ("symmetric", 3)):
        network = _network(graph, known, kind, depth)
        for strategy in STRATEGIES:
            moved = injection(network, graph, some, strategy)
            found[kind, depth, strategy] = stolen(moved, graph, some)
    noisy = _protected(graph, some[: max(asked // 5, 20)], some, known)
    return StudyResult(
        (exact_grid, _strategies(found, sizes, asked), _noise(noisy)),
        remarks=REMARKS,
        numbers=_numbers(exact, found["row", 2, "all ones"], noisy),
    )


def _network(graph: Graph, known: Bools, kind: str, depth: int) -> Network:
    layers = (graph.features.shape[1], *[16] * (depth - 1), int(graph.classes.max()) + 1)
    return train(graph, random_network(rng_of(2, depth), layers, kind), known)


def _exact() -> tuple[dict[tuple[str, int], Stolen], Grid]:
    """Attack random networks on a small graph, where only arithmetic decides."""
    graph, everyone = small(rng_of(1)), np.arange(300)
    found, rows = {}, []
    for kind, depth in (("row", 2), ("symmetric", 2), ("row", 3), ("symmetric", 3)):
        network = random_network(rng_of(2), (20, *[16] * (depth - 1), 3), kind)
        one = stolen(injection(network, graph, everyone, "identity"), graph, everyone)
        found[kind, depth] = one
        cells = (one.precision, one.recall, one.f1, one.expected_f1)
        rows.append((f"{kind}, {depth} layers", *(f"{cell:.3f}" for cell in cells)))
    header = ("network", "precision", "recall", "F1", "F1, as many as expected")
    note = "300 nodes, 900 links, random weights, the injected node copies its target"
    return found, Grid("What two layers give away, without training", header, tuple(rows), note)


def _strategies(
    found: dict[tuple[str, int, str], Stolen], sizes: tuple[int, int, int, int], asked: int
) -> Grid:
    settings = list(dict.fromkeys(key[:2] for key in found))
    rows = [
        (
            strategy,
            *(f"{found[kind, depth, strategy].f1:.2f}" for kind, depth in settings),
            *(f"{value:.2f}" for value in TABLE1[strategy]),
        )
        for strategy in STRATEGIES
    ]
    return Grid(
        "F1 of the stolen links by the features of the injected node (Table 1)",
        ("features", *(f"{kind}, {depth} layers" for kind, depth in settings),
         *(f"{name}, printed" for name in ("Twitch-FR", "Twitch-RU", "Flickr"))),
        tuple(rows),
        f"trained on a random graph of {sizes[0]:,} nodes and {sizes[1]:,} links (as Cora, but "
        f"not its links); links among {asked} nodes, at the threshold with the largest F1",
    )  # fmt: skip


@dataclass(frozen=True)
class _Noisy:
    f1: float
    accuracy: float


def _protected(
    graph: Graph, targets: Ints, asked: Ints, known: Bools
) -> dict[float | None, _Noisy]:
    """Train and answer on noisy graphs, a new one at every question."""
    found = {}
    for epsilon in (None, *EPSILONS):
        rng = rng_of(6, 0 if epsilon is None else int(10 * epsilon))

        def shown(
            links: csr_array, epsilon: float | None = epsilon, rng: np.random.Generator = rng
        ) -> csr_array:
            return links if epsilon is None else lap_graph(links, epsilon, rng)

        seen = Graph(shown(graph.links), graph.features, graph.classes)
        network = _network(seen, known, "row", 2)
        moved = injection(network, graph, asked, targets=targets, shown=shown)
        said = network.scores(shown(graph.links), graph.features @ network.weights[0])
        right = (said.argmax(axis=1) == graph.classes)[~known]
        f1 = stolen(moved, graph, asked, targets).f1
        found[epsilon] = _Noisy(f1, float(right.mean()))
    return found


def _noise(found: dict[float | None, _Noisy]) -> Grid:
    rows = [
        ("no noise" if epsilon is None else f"{epsilon:g}", f"{one.f1:.3f}", f"{one.accuracy:.3f}")
        for epsilon, one in found.items()
    ]
    return Grid(
        "LapGraph: a noisy graph at every answer",
        ("ε of one answer", "F1 of the attack", "F1 of the task"),
        tuple(rows),
        "injected features all ones, averages over neighbours, two layers; the classes of nodes "
        "that training has not seen (micro-averaged F1)",
    )


def _numbers(
    exact: dict[tuple[str, int], Stolen], cora: Stolen, noisy: dict[float | None, _Noisy]
) -> tuple[Number, ...]:
    sure = exact["row", 2]
    why = "exact: in two layers of averages only the target and its neighbours can move"
    found = [
        Number("precision, two layers, per cent", "Table 2, low degrees", 100.0,
               100 * sure.precision, why),
        Number("recall, two layers, per cent", "Table 2, low degrees", 100.0,
               100 * sure.recall, why),
    ]  # fmt: skip
    for name, printed in TABLE3.items():
        ours = (100 * cora.precision, 100 * cora.recall) if name == "Cora" else (None, None)
        why = "a random graph of its size, averages over neighbours" if name == "Cora" else ABSENT
        found += [
            Number(f"{what}, {name}, per cent", "Table 3", theirs, value, why)
            for what, theirs, value in zip(("precision", "recall"), printed, ours, strict=True)
        ]
    for strategy, f1 in TABLE1.items():
        found += [
            Number(f"F1, {strategy}, {name}", "Table 1", value, None, ABSENT)
            for name, value in zip(("Twitch-FR", "Twitch-RU", "Flickr"), f1, strict=True)
        ]
    for name, both in TABLE2.items():
        found += [
            Number(f"{what}, {name}, {which}, per cent", "Table 2", value, None, ABSENT)
            for which, pair in zip(("all targets", "high degrees"), both, strict=True)
            for what, value in zip(("precision", "recall"), pair, strict=True)
        ]
    for (name, depth), pair in TABLE4.items():
        found += [
            Number(f"{what}, {name}, {depth} layers, per cent", "Table 4", value, None, ABSENT)
            for what, value in zip(("precision", "recall"), pair, strict=True)
        ]
    best, other = TABLE1["max attributes"], TABLE1["LinkTeller (no injection)"]
    gain = [100 * (a / b - 1) for a, b in zip(best, other, strict=True)]
    plain = noisy[None]
    with_noise = [one for epsilon, one in noisy.items() if epsilon is not None]
    lost = 100 * (1 - float(np.mean([one.f1 for one in with_noise])) / plain.f1)
    useful = noisy[max(EPSILONS)].accuracy
    return (
        *found,
        Number("gain over LinkTeller on Twitch, per cent", "Sect. 5.2", 23.75,
               float(np.mean(gain[:2])), "the printed mean is that of Twitch-FR alone"),
        Number("gain over LinkTeller on Flickr, per cent", "Sect. 5.2", 212.5, gain[2],
               "exact, from Table 1"),
        Number("attack weakened by LapGraph, per cent", "abstract", 71.9, lost,
               "a stand-in, on which noise moves scores more than an injected node; mean over ε "
               f"of {', '.join(f'{e:g}' for e in EPSILONS)}"),
        Number("task weakened by LapGraph, per cent", "abstract", 3.2,
               100 * (1 - useful / plain.accuracy),
               f"a stand-in, at ε = {max(EPSILONS):g}; the paper does not say at which ε"),
    )  # fmt: skip


ABSENT = "the graph is not built in; a random one stands in for the attack"
REMARKS = (
    "with averages over neighbours (row normalisation) and two layers the attack is exact, "
    "whatever the features; symmetric normalisation moves neighbours of neighbours too, as the "
    "links of the target lose weight",
    "the best threshold needs the truth; 'as many as expected' takes the density of the graph only",
    "LapGraph answers from a new noisy graph after every injection: the ε of all answers add up",
    "this is about links of a network; nothing else here protects or attacks links",
)  # fmt: skip
STUDY = Study(
    "node-injection",
    "links of a private graph, read off the scores that one injected node moves",
    run,
    paper="Zari, Parra-Arnau, Ünsal and Önen (2024)",
    takes="50 s",
)
