"""From microdata to protected tables."""

from __future__ import annotations

import numpy as np
import pytest
from tests.outputs.toys import is_spanned
from tests.refusals import refused

from caveat import Table
from caveat.outputs.audit import insiders
from caveat.outputs.elimination import Rule
from caveat.outputs.primary import PrimaryRules, primary_cells
from caveat.outputs.publication import inner_cells, publish
from caveat.outputs.tables import Layout

LAYOUTS = [Layout("a", ("sex", "place")), Layout("b", ("place", "job"))]


def people(n: int = 60, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_frame(
        {
            "sex": rng.choice(["f", "m"], n),
            "place": rng.choice(["n1", "n2", "s1", "s2"], n, p=[0.4, 0.3, 0.2, 0.1]),
            "job": rng.choice(["x", "y", "z"], n, p=[0.7, 0.2, 0.1]),
            "pay": rng.gamma(1, 1000, n).round(1),
            "firm": rng.integers(0, n // 3, n).astype(str),
            "weight": rng.integers(1, 4, n),
        }
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("zeros", [False, True])
def test_counts_nobody_learns_a_cell(seed: int, zeros: bool) -> None:
    inner = inner_cells(people(seed=seed), LAYOUTS, {"place": {"n1": "N", "n2": "N"}}, every=zeros)
    done = publish(inner, PrimaryRules(zeros=zeros))
    dense = inner.cells.matrix.toarray().T
    published = [c for c, h in zip(dense, done.done.hidden, strict=True) if not h]
    assert not any(is_spanned(c, published) for c in dense[done.done.primary])
    assert (done.values[done.done.primary] < 3).all()
    assert (done.values[~done.done.hidden] >= 3).all()
    assert len(done.intervals) == done.done.primary.sum()


def check_no_single_contributor_learns_a_cell(inner, rules) -> None:
    done = publish(inner, rules)
    assert done.leaks == ()
    _, owner, row_owner = primary_cells(inner.cells, inner.given, rules)
    cells = inner.cells
    assert insiders(cells.matrix, done.done.hidden, done.done.primary, owner, row_owner) == []
    dense = cells.matrix.toarray().T
    published = [c for c, h in zip(dense, done.done.hidden, strict=True) if not h]
    rows = np.eye(len(cells.inner), dtype=int)
    for firm in np.unique(row_owner[row_owner >= 0]):
        known = [*published, *rows[row_owner == firm]]
        others = done.done.primary & (owner != firm)
        assert not any(is_spanned(c, known) for c in dense[others])


@pytest.mark.parametrize("seed", range(8))
def test_magnitudes_no_single_contributor_learns_a_cell(seed: int) -> None:
    table = people(seed=seed)
    inner = inner_cells(table, LAYOUTS, value="pay", weight="weight", contributor="firm")
    check_no_single_contributor_learns_a_cell(inner, PrimaryRules(least=2, p_percent=10))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("zeros", [False, True])
def test_counts_of_several_records_of_one_contributor(seed: int, zeros: bool) -> None:
    inner = inner_cells(people(seed=seed), LAYOUTS, contributor="firm", every=zeros)
    rules = PrimaryRules(least=2, zeros=zeros)
    check_no_single_contributor_learns_a_cell(inner, rules)
    # Ones, or zeros, still protect each other in no sum.
    done = publish(inner, rules)
    dense = inner.cells.matrix.toarray().T
    published = [c for c, h in zip(dense, done.done.hidden, strict=True) if not h]
    rows = np.flatnonzero(inner.amounts == (0 if zeros else 1))[:6]
    for subset in range(1, 2 ** len(rows)):
        column = np.zeros(len(inner.amounts), int)
        column[[r for i, r in enumerate(rows) if subset >> i & 1]] = 1
        assert not is_spanned(column, published)


def test_a_contributor_of_several_records_takes_hers_away_from_a_total() -> None:
    """Firm A has all 5 records of x, B all 4 of y; their sum told each of them the other's."""
    table = Table.from_frame({"k": ["x"] * 5 + ["y"] * 4 + ["z"] * 6,
                              "firm": ["A"] * 5 + ["B"] * 4 + list("CCDDEE")})  # fmt: skip
    layout = [Layout("t", ("k",))]
    hidden = {}
    for contributor in (None, "firm"):
        inner = inner_cells(table, layout, contributor=contributor)
        done = publish(inner, PrimaryRules(least=2))
        hidden[contributor] = {inner.cells.words(j) for j in np.flatnonzero(done.done.hidden)}
    assert hidden[None] == set()
    assert hidden["firm"] == {"k x", "k y", "k z"}
    # Everybody with one record is as nobody named.
    everybody = Table.from_frame({"k": list("xxyyyz"), "firm": list("ABCDEF")})
    one, two = (publish(inner_cells(everybody, layout, contributor=c)) for c in (None, "firm"))
    assert one.done.hidden.tolist() == two.done.hidden.tolist()


def two_firms_in_two_cells() -> Table:
    sizes = {"x": {"A": 1000, "B": 2000}, "y": {"A": 500, "B": 700}}
    sizes |= {k: {f"{k}{i}": 1000 + 10 * i for i in range(10)} for k in "zw"}
    return Table.from_frame({
        "k": [k for k, firms in sizes.items() for _ in firms],
        "firm": [firm for firms in sizes.values() for firm in firms],
        "v": [float(v) for firms in sizes.values() for v in firms.values()],
    })  # fmt: skip


@pytest.mark.parametrize(("least", "also"), [(3, {"k z"}), (2, set())])
def test_hidden_cells_of_the_same_few_are_not_told_together(least: int, also: set[str]) -> None:
    """A and B are all of x and of y: from the sum of both each has the other's total."""
    inner = inner_cells(two_firms_in_two_cells(), [Layout("t", ("k",))], value="v",
                        contributor="firm")  # fmt: skip
    done = publish(inner, PrimaryRules(least=least))
    hidden = {inner.cells.words(j) for j in np.flatnonzero(done.done.hidden)}
    assert hidden == ({"k x", "k y"} if least == 3 else set()) | also
    by_rule = {inner.cells.words(j): why.rule for j, why in done.done.why.items()}
    assert by_rule == dict.fromkeys(also, Rule.REVEALS)


@pytest.mark.parametrize("seed", range(6))
def test_no_sum_of_primary_cells_below_a_total_is_of_too_few(seed: int) -> None:
    table = people(seed=seed)
    inner = inner_cells(table, LAYOUTS, value="pay", contributor="firm")
    done = publish(inner, PrimaryRules(least=3))
    dense = inner.cells.matrix.toarray().T
    published = [c for c, h in zip(dense, done.done.hidden, strict=True) if not h]
    found = 0
    for _, below in inner.cells.families():
        rows = dense[below[done.done.primary[below]]].sum(axis=0)
        firms = {w for r, w in zip(inner.given.row, inner.given.who, strict=True) if rows[r]}
        if 0 < len(firms) < 3:
            found += 1
            assert not is_spanned(rows, published)
    assert found > 1


@pytest.mark.parametrize("seed", range(6))
def test_magnitudes_no_sum_of_hidden_zeros_is_known(seed: int) -> None:
    """A sum that is shown as 0 tells that all of it is 0; also where somebody contributes 0."""
    table = people(40, seed)
    pay = np.where(np.random.default_rng(seed).random(40) < 0.2, 0, table["pay"].cell_numbers)
    table = Table.from_frame({**{n: table[n].values for n in ("sex", "place", "firm")}, "pay": pay})
    layouts = [Layout("a", ("sex", "place")), Layout("b", ("place",))]
    inner = inner_cells(table, layouts, value="pay", contributor="firm", every=True)
    rules = PrimaryRules(least=2, zeros=True)
    done = publish(inner, rules)
    assert done.leaks == ()
    assert (done.values[~done.done.hidden] > 0).all()
    dense = inner.cells.matrix.toarray().T
    published = [c for c, h in zip(dense, done.done.hidden, strict=True) if not h]
    rows = np.flatnonzero(inner.amounts == 0)
    for subset in range(1, 2 ** len(rows)):
        column = np.zeros(len(inner.amounts), int)
        column[[r for i, r in enumerate(rows) if subset >> i & 1]] = 1
        assert not is_spanned(column, published)


def test_a_row_of_zeros_is_not_shown_as_one() -> None:
    """Two firms without turnover in s: their sum would tell both."""
    table = Table.from_frame({"k": list("nnnnnnss"), "j": list("xxxyyyxy"),
                              "v": [5.0, 6, 7, 5, 6, 7, 0, 0]})  # fmt: skip
    inner = inner_cells(table, [Layout("t", ("k", "j"))], value="v", every=True)
    done = publish(inner, PrimaryRules(least=1, singles=False, zeros=True))
    hidden = {inner.cells.words(j) for j in np.flatnonzero(done.done.hidden)}
    assert hidden == {"k s", "k s, j x", "k s, j y", "k n", "k n, j x", "k n, j y"}
    # Negative values may add up to 0, and tell nothing.
    table = Table.from_frame({"k": list("nnss"), "v": [5.0, -5, 3, 4]})
    inner = inner_cells(table, [Layout("t", ("k",))], value="v", every=True)
    assert not publish(inner, PrimaryRules(least=1, singles=False, zeros=True)).done.hidden.any()


def test_weights_are_summed_and_contributors_counted() -> None:
    table = Table.from_frame({"k": ["a", "a", "b"], "w": [2, 3, 10], "v": [1.0, 2.0, 5.0]})
    inner = inner_cells(table, [Layout("t", ("k",))], weight="w")
    assert inner.values.tolist() == [15, 5, 10]
    inner = inner_cells(table, [Layout("t", ("k",))], weight="w", value="v")
    assert inner.values.tolist() == [58, 8, 50]
    assert inner.counts.tolist() == [2, 1]


def test_missing_codes_are_codes_and_missing_values_none() -> None:
    table = Table.from_frame({"k": ["a", None, "b"], "v": [1.0, 2.0, None]})
    inner = inner_cells(table, [Layout("t", ("k",))], value="v")
    assert inner.cells.hierarchies["k"].codes == ("Total", "a", "b", "(missing)")
    # Nobody has a value in b: that is no 0, and only where zeros are hidden a hidden one.
    assert [inner.cells.words(j) for j in range(3)] == ["the grand total", "k a", "k (missing)"]
    assert inner.values.tolist() == [3, 1, 2]
    inner = inner_cells(table, [Layout("t", ("k",))], value="v", every=True)
    assert inner.values.tolist() == [3, 1, 0, 2]
    assert publish(inner, PrimaryRules(zeros=True)).done.hidden.all()
    none = Table.from_frame({"k": ["a", "b"], "v": np.array([np.nan, np.nan])})
    with refused("data.column.empty", column="v"):
        inner_cells(none, [Layout("t", ("k",))], value="v")


def test_wrong_columns_are_one_sentence() -> None:
    with refused("data.column.type", column="job"):
        inner_cells(people(), LAYOUTS, value="job")
    with refused("data.column.unknown"):
        inner_cells(people(), [Layout("t", ("town",))])
    with refused("data.table.empty", where="tables"):
        inner_cells(people().take(slice(0, 0)), LAYOUTS)
