"""A later publication beside an earlier one: the two together tell no hidden cell."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outputs.test_publication import people
from tests.outputs.toys import is_spanned
from tests.refusals import refused

from caveat import Table
from caveat.errors import CaveatError
from caveat.outputs.audit import recoverable
from caveat.outputs.primary import Earlier, PrimaryRules, Reason, in_words, primary_cells
from caveat.outputs.publication import inner_cells, publish
from caveat.outputs.tables import Layout

OLD, NEW = Layout("a", ("place", "job")), Layout("b", ("sex", "job"))
ABOVE = {"place": {"n1": "N", "n2": "N"}}


def keys(cells) -> list[frozenset[tuple[str, str]]]:
    codes = [cells.codes(j) for j in range(cells.n_cells)]
    return [frozenset((k, v) for k, v in one.items() if v != "Total") for one in codes]


def two_runs(table: Table, first: PrimaryRules, later: PrimaryRules, **more):
    """Publish one table, then another one beside it; return both and the earlier one's cells."""
    old = publish(inner_cells(table, [OLD], ABOVE, **more), first)
    shown = {k for k, h in zip(keys(old.cells), old.done.hidden, strict=True) if not h}
    inner = inner_cells(table, [OLD, NEW], ABOVE, **more)
    is_old = np.isin(np.arange(inner.cells.n_cells), inner.cells.members[0])
    known = np.array([k in shown for k in keys(inner.cells)]) & is_old
    return inner, known, publish(inner, later, earlier=Earlier((0,), known))


def split(cells, mask):
    dense = cells.matrix.toarray().T
    return list(dense[~mask]), list(dense[mask])


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("zeros", [False, True])
def test_counts_nothing_hidden_in_either_follows_from_both(seed: int, zeros: bool) -> None:
    rules = PrimaryRules(zeros=zeros)
    inner, known, done = two_runs(people(30, seed), rules, rules, every=zeros)
    hidden_before = np.isin(np.arange(len(known)), inner.cells.members[0]) & ~known
    assert (done.done.primary >= hidden_before).all()
    assert done.settled.known.tolist() == (known | recoverable(inner.cells.matrix, ~known)).tolist()
    published, primary = split(inner.cells, done.done.hidden)[0], done.done.primary
    assert not any(is_spanned(c, published) for c in split(inner.cells, primary)[1])
    assert not any(is_spanned(c, published) for c in split(inner.cells, hidden_before)[1])
    assert done.settled.told == ()


def test_a_run_that_does_not_know_of_the_earlier_one_tells_hidden_cells() -> None:
    found = []
    for seed in range(8):
        table = people(30, seed)
        inner, known, done = two_runs(table, PrimaryRules(), PrimaryRules())
        alone = publish(inner_cells(table, [NEW], ABOVE), PrimaryRules())
        shown = {k for k, h in zip(keys(alone.cells), alone.done.hidden, strict=True) if not h}
        new = np.isin(np.arange(len(known)), inner.cells.members[1])
        both = known | (np.array([k in shown for k in keys(inner.cells)]) & new)
        told = both | recoverable(inner.cells.matrix, ~both)
        found.append(int((told & done.done.primary).sum()))
    assert found == [1, 0, 0, 2, 0, 0, 2, 0]


@pytest.mark.parametrize("seed", range(8))
def test_magnitudes_no_single_contributor_learns_a_cell_from_both(seed: int) -> None:
    rules = PrimaryRules(least=2, p_percent=10)
    more = {"value": "pay", "weight": "weight", "contributor": "firm"}
    inner, known, done = two_runs(people(30, seed), rules, rules, **more)
    assert done.leaks == ()
    _, owner, row_owner = primary_cells(inner.cells, inner.given, rules)
    published = split(inner.cells, done.done.hidden)[0]
    before = split(inner.cells, ~known)[0]
    told = {(leak.owner, leak.cell) for leak in done.leaks_before}
    dense, rows = inner.cells.matrix.toarray().T, np.eye(len(inner.cells.inner), dtype=int)
    for firm in np.unique(row_owner[row_owner >= 0]):
        mine = list(rows[row_owner == firm])
        for cell in np.flatnonzero(done.done.primary & (owner != firm)):
            if is_spanned(dense[cell], [*published, *mine]):
                assert (firm, cell) in told
                assert is_spanned(dense[cell], [*before, *mine])


def three_columns() -> Table:
    """Six in n, four in s; of these one is y."""
    return Table.from_frame(
        {"place": list("nnnnnnssss"), "job": list("xxxyyyxxxy"), "sex": list("fmfmfmfmfm")}
    )


def test_what_the_earlier_one_shows_and_the_rules_hide_is_refused_in_a_new_table() -> None:
    layouts = [Layout("old", ("place", "job")), Layout("new", ("job", "place"), {})]
    inner = inner_cells(three_columns(), layouts)
    everything = Earlier((0,), np.ones(inner.cells.n_cells, bool))
    with pytest.raises(CaveatError) as error:
        publish(inner, PrimaryRules(), earlier=everything)
    assert "the earlier publication tells cells that the rules hide (1): place s, job y" in str(
        error.value
    )
    # What follows from it is known as well: s without x.
    shown = np.array([inner.cells.words(j) != "place s, job y" for j in range(inner.cells.n_cells)])
    with refused("outputs.cell.confidential", where="tables"):
        publish(inner, PrimaryRules(), earlier=Earlier((0,), shown))


def test_what_only_the_earlier_one_tells_is_named_and_the_rest_protected() -> None:
    layouts = [Layout("old", ("place", "job")), Layout("new", ("sex", "place"))]
    inner = inner_cells(three_columns(), layouts)
    shown = np.zeros(inner.cells.n_cells, bool)
    shown[inner.cells.members[0]] = True
    done = publish(inner, PrimaryRules(), earlier=Earlier((0,), shown))
    assert in_words(inner.cells, done.settled.told) == "place s, job y"
    # f and m of s are two each.
    reasons = {inner.cells.words(j): done.reasons[j] for j in np.flatnonzero(done.done.primary)}
    assert reasons == {"place s, sex f": Reason.THRESHOLD, "place s, sex m": Reason.THRESHOLD}
    shown = {inner.cells.words(j) for j in np.flatnonzero(~done.done.hidden)}
    assert "place s" in shown
    assert {"place n, sex f", "sex f"} - shown
    assert {"place n, sex m", "sex m"} - shown


def test_what_the_earlier_one_hides_stays_hidden_and_protected() -> None:
    """The earlier one hid x in s, the later rules would show it, and the total of x tells it."""
    layouts = [Layout("old", ("place", "job")), Layout("new", ("job", "sex"))]
    inner = inner_cells(three_columns(), layouts)
    words = [inner.cells.words(j) for j in range(inner.cells.n_cells)]
    old = np.isin(np.arange(len(words)), inner.cells.members[0])
    hide = ("place s, job x", "place s, job y", "job x", "job y")
    shown = old & ~np.isin(words, hide)
    done = publish(inner, PrimaryRules(least=1, singles=False), earlier=Earlier((0,), shown))
    hidden = {words[j] for j in np.flatnonzero(done.done.hidden)}
    assert hidden >= set(hide)
    assert all(done.reasons[words.index(word)] is Reason.EARLIER for word in hide)
    # Both sexes of x would add up to x.
    assert hidden - set(hide) == {"job x, sex m", "job y, sex m"}


def test_many_cells_are_not_all_named() -> None:
    inner = inner_cells(people(), [OLD])
    assert in_words(inner.cells, [0, 1]) == f"the grand total; {inner.cells.words(1)}"
    assert in_words(inner.cells, range(9)).endswith("; and 6 more")
