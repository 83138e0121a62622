"""Tables with hidden cells, attacked by the office that made them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.refusals import refused

from caveat.outputs.primary import PrimaryRules
from caveat.outputs.publication import inner_cells, publish
from caveat.outputs.reconstruction import attack_publication, told_by
from caveat.outputs.tables import Layout
from caveat.table import Table

COUNTS = {"a": (1, 4), "b": (3, 3), "c": (5, 6), "d": (7, 0)}  # ill, well
LAYOUT = [Layout("t", ("place", "ill"))]
SINGLES, NOTHING = PrimaryRules(least=None), PrimaryRules(least=None, singles=False)


def people(places: str = "abcd") -> Table:
    place = [place for place in places for _ in range(sum(COUNTS[place]))]
    ill = [
        ill for place in places for ill in ["yes"] * COUNTS[place][0] + ["no"] * COUNTS[place][1]
    ]
    return Table.from_frame({"place": place, "ill": ill})


def blocks(table: Table, rules: PrimaryRules, *, every: bool = False, times: int = 200):
    """Return the attack, and the number of ill in a and b of all blocks that it met."""
    done = publish(inner_cells(table, LAYOUT, every=every), rules)
    found = attack_publication(done, times=times)
    at = [found.cells.index((place, "yes")) for place in "ab"]
    return found, sorted(set(map(tuple, found.published.blocks[:, at].tolist())))


def test_what_is_shown_is_a_figure_and_what_is_hidden_is_not():
    """The only ill person of a is hidden, and with it a/well, b/ill, b/well."""
    done = publish(inner_cells(people(), LAYOUT), SINGLES)
    hidden = {done.cells.words(cell) for cell in np.flatnonzero(done.done.hidden)}
    assert hidden == {f"place {p}, ill {i}" for p in "ab" for i in ("yes", "no")}
    told, truth = told_by(done)
    assert truth[[told.cells.index((p, "yes")) for p in "abcd"]].tolist() == [1, 3, 5, 7]
    figures = told.counts[~told.at_most].tolist()
    # The number of records; everybody, ill, well, four places; c and d, where nobody is well.
    assert figures[0] == 29
    assert sorted(figures[1:]) == sorted([29, 16, 13, 5, 6, 11, 7, 5, 6, 7, 0])
    assert told.counts[told.at_most].tolist() == [-1] * 4
    assert (told.matrix @ truth <= told.counts).all()


def test_every_block_that_the_shown_cells_leave_is_met_and_no_other():
    # a/ill is 1 to 3: a has 5, and 4 are ill in a and b; no hidden cell is empty.
    found, ill = blocks(people(), SINGLES)
    assert ill == [(1, 3), (2, 2), (3, 1)]
    sums = found.published.blocks.sum(axis=1)
    assert (sums == 29).all()
    # All in d are ill: they are told. So few can be exchanged that the rest is nearly right.
    assert found.unequivocal(["place"]) == 7 / 29
    assert 1 - 2 * 2 * 2 / 29 < found.published.agreement < 1
    # Where every combination is there, nothing says that a hidden cell is not empty.
    assert blocks(people("abc"), SINGLES)[1] == [(0, 4), (1, 3), (2, 2), (3, 1), (4, 0)]


def test_hidden_zeros_may_be_zeros():
    rules = PrimaryRules(least=None, zeros=True, singles=False)
    done = publish(inner_cells(people(), LAYOUT, every=True), rules)
    told, _ = told_by(done)
    assert not told.at_most.any()
    found = attack_publication(done, times=50)
    well = found.published.blocks[:, found.cells.index(("d", "no"))]
    assert (well.min(), well.max() > 0) == (0, True)


def test_nothing_hidden_gives_everything_and_chance_does_not():
    found, ill = blocks(people(), NOTHING, times=5)
    assert ill == [(1, 3)]
    assert found.published.agreement == 1
    assert found.unequivocal(["place"]) == 7 / 29
    assert found.names == ("place", "ill")
    assert 0.5 < found.chance.agreement < 0.9
    # Each place with its share, and of these the share of the ill: independent columns.
    expected = np.array([sum(COUNTS[p]) / 29 * n / 29 for p in "abcd" for n in (16, 13)])
    cells = [found.cells.index((p, i)) for p in "abcd" for i in ("yes", "no")]
    many = attack_publication(publish(inner_cells(people(), LAYOUT), NOTHING), times=300)
    assert many.chance.frequency[cells] / 29 == pytest.approx(expected, abs=0.02)


def test_codes_above_others_are_figures_too():
    """The two towns of the north are one below a total of their own."""
    above = {"a": "north", "b": "north"}
    shallow = [Layout("t", ("place", "ill"), {"place": 1})]
    done = publish(inner_cells(people(), shallow, {"place": above}), NOTHING)
    found = attack_publication(done, times=50)
    ill = [found.cells.index((place, "yes")) for place in "ab"]
    north = found.published.blocks[:, ill]
    assert (north.sum(axis=1) == 4).all()
    assert len(np.unique(north[:, 0])) > 1


def test_publications_that_are_refused():
    table = Table.from_frame({"place": ["a", "b"], "pay": [1.0, 2.0]})
    layout = [Layout("t", ("place",))]
    with refused("outputs.table.unsupported", where="publication"):
        attack_publication(publish(inner_cells(table, layout, value="pay"), NOTHING))
    wide = Table.from_frame({f"c{i}": [str(j) for j in range(150)] for i in range(2)})
    done = publish(inner_cells(wide, [Layout("t", ("c0",)), Layout("u", ("c1",))]), NOTHING)
    with refused("outputs.cell.too-many", where="publication"):
        attack_publication(done)
