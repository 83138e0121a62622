"""Codes above codes."""

from __future__ import annotations

import time

from tests.refusals import refused

from caveat.outputs.tables import Hierarchy


def test_codes_stand_below_their_parents_and_uneven_branches_are_fine() -> None:
    tree = Hierarchy.of(["a1", "b", "a2"], {"a1": "a", "a2": "a", "a": "Total"})
    assert tree.codes == ("Total", "a", "a1", "a2", "b")
    assert tree.parent.tolist() == [-1, 0, 1, 1, 0]
    assert [tree.codes[i] for i in tree.leaves] == ["a1", "b", "a2"]
    assert tree.at_depth.tolist() == [[0] * 5, [-1, 1, 1, 1, 4], [-1, -1, 2, 3, -1]]


def test_codes_of_the_hierarchy_that_the_data_lack_are_left_out() -> None:
    assert Hierarchy.of(["x"], {"x": "X", "y": "Y"}).codes == ("Total", "X", "x")


def test_a_circle_is_refused_with_its_codes() -> None:
    with refused("outputs.hierarchy.malformed", column="region") as error:
        Hierarchy.of(["a"], {"a": "b", "b": "c", "c": "b"}, column="region")
    assert "column region" in str(error.value)
    with refused("outputs.hierarchy.malformed"):
        Hierarchy.of(["a"], {"a": "a"})


def test_a_code_that_stands_for_others_is_no_code_of_the_data() -> None:
    for found in (["a", "b"], ["Total"]):
        with refused("outputs.code.conflict"):
            Hierarchy.of(found, {"a": "b"})
    with refused("outputs.hierarchy.malformed"):
        Hierarchy.of(["a"], {"Total": "world"})


def test_many_codes_below_one_and_long_ways_up_are_no_wait() -> None:
    """Twice as many siblings took four times as long."""
    codes = [f"c{i}" for i in range(60_000)]
    above = dict.fromkeys(codes, "x") | {f"w{i}": f"w{i + 1}" for i in range(20_000)}
    begin = time.process_time()
    tree = Hierarchy.of(codes, above)
    assert time.process_time() - begin < 60
    assert (len(tree.codes), tree.parent[2:].tolist()) == (60_002, [1] * 60_000)
