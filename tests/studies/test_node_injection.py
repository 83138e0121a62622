"""An injected node moves the scores of its target's neighbours, and of nobody else."""

from __future__ import annotations

import numpy as np
import pytest

from caveat.seeds import rng_of
from caveat.studies import STUDIES
from caveat.studies.node_injection import (
    STRATEGIES,
    injection,
    random_network,
    run_node_injection,
    small,
    stolen,
)
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def result():
    return run_node_injection(Output(), sizes=(300, 700, 60, 3), asked=100)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("seed", [1, 2])
def test_two_layers_of_averages_give_every_link_away(strategy, seed):
    graph, everyone = small(rng_of(seed)), np.arange(300)
    network = random_network(rng_of(seed, 1), (20, 16, 3))
    moved = injection(network, graph, everyone, strategy, targets=everyone[:60])
    truth = graph.links[everyone[:60]].toarray() > 0
    others = everyone[:60, None] != everyone  # a target moves too, unless it has no neighbour
    assert ((moved > 0) == truth)[others].all()
    found = stolen(moved, graph, everyone, everyone[:60])
    assert (found.precision, found.recall, found.f1) == (1, 1, 1)


def test_other_networks_move_neighbours_of_neighbours():
    graph, everyone = small(rng_of(1)), np.arange(300)
    some = everyone[:60]
    for sizes, kind in (((20, 16, 3), "symmetric"), ((20, 16, 16, 3), "row")):
        network = random_network(rng_of(2), sizes, kind)
        moved = injection(network, graph, everyone, "identity", targets=some)
        two = (graph.links @ graph.links)[some].toarray() > 0
        near = graph.links[some].toarray() > 0
        assert (moved[two & ~near] > 0).any()
        assert stolen(moved, graph, everyone, some).f1 < 1


def test_a_noisy_graph_hides_links(result):
    rows = {row[0]: float(row[1]) for row in result.grids[2].rows}
    assert rows["no noise"] == 1
    assert rows["1"] < 0.2


def test_printed_numbers(result):
    numbers = {(n.what, n.where): n for n in result.numbers}
    for what in ("precision", "recall"):
        assert numbers[f"{what}, two layers, per cent", "Table 2, low degrees"].ours == 100
    # .99 / .80 is 23.75 %; with .98 / .74 the mean is 28.1 %.
    twitch = numbers["gain over LinkTeller on Twitch, per cent", "Sect. 5.2"]
    assert twitch.ours == pytest.approx(28.1, abs=0.05)
    assert twitch.printed == pytest.approx(100 * (0.99 / 0.80 - 1))
    flickr = numbers["gain over LinkTeller on Flickr, per cent", "Sect. 5.2"]
    assert flickr.ours == pytest.approx(flickr.printed)
    assert len([n for n in numbers if n[1] == "Table 1"]) == 21
    assert len([n for n in numbers if n[1] == "Table 4"]) == 8


def test_the_grids_name_their_stand_in(result):
    assert [len(grid.rows) for grid in result.grids] == [4, 6, 5]
    assert [row[0] for row in result.grids[1].rows] == list(STRATEGIES)
    assert {row[1] for row in result.grids[1].rows} == {"1.00"}
    assert "random graph of 300 nodes" in result.grids[1].note
    assert STUDIES["node-injection"].paper.startswith("Zari")
