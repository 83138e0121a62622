"""Secondary suppression: the numbers of the paper, and nobody learns a cell."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.outputs.toys import is_spanned, table1, table3
from tests.refusals import refused

from caveat.outputs import elimination
from caveat.outputs.elimination import Eager, Owners, by_worth, suppress


def hidden(done, names) -> set[str]:
    return {names[j] for j in np.flatnonzero(done.secondary)}


def test_table_1_without_a_rule_for_zeros_and_with_each() -> None:
    matrix, values, names = table1()
    primary = np.array([name in ("Young-I", "Young-P") for name in names])
    zero = np.array([True, True, False, False, False, False])
    four = {"Young-S", "Old-I", "Old-P", "Old-S"}
    order = by_worth(values, matrix)
    assert hidden(suppress(matrix, primary, order), names) == {"Old-I", "Old-P"}
    both = zero.astype(int)
    assert hidden(suppress(matrix, primary, order, virtual=[both]), names) == four
    for rule in ("subspace", "any-sum"):
        done = suppress(matrix, primary, order, zero_rows=zero, zeros=rule)
        assert hidden(done, names) == four


def test_table_2_two_totals() -> None:
    names = ["YI", "YP", "YS", "OI", "OP", "OS", "Total1", "Total2"]
    matrix = np.hstack([np.eye(6, dtype=int), 1 - np.eye(6, dtype=int)[:, :2]])
    primary = np.array([True, True] + [False] * 6)
    order = [names.index(name) for name in ("Total1", "Total2", "OI", "YS", "OS", "OP")]
    zero = np.array([True, True] + [False] * 4)
    assert hidden(suppress(matrix, primary, order), names) == {"OP"}
    for rule, more in (("subspace", {"OP", "Total2"}), ("any-sum", {"OP"})):
        done = suppress(matrix, primary, order, zero_rows=zero, zeros=rule)
        assert hidden(done, names) == more


PATTERNS = {
    "simple": {"Gov-P", "Ind-I"},
    "virtual": {"Ent-S", "Gov-P", "Ind-I"},
    "within": {"Agr-P", "Agr-S", "Gov-P", "Ind-I"},
    "parallel": {"Agr-P", "Agr-S", "Gov-Total", "Ind-I", "Ind-Total"},
    "combinations": {"Agr-P", "Agr-S", "Ent-S", "Gov-P", "Gov-Total", "Ind-I", "Ind-Total"},
}


def table3_pattern(method: str, parallel: bool = True):
    matrix, values, names, column_owner, row_owner = table3()
    primary = column_owner >= 0
    order = by_worth(values, matrix)
    if method in ("simple", "virtual"):
        pairs = [("Ent-I", "Ent-P"), ("Ind-P", "Ind-S"), ("Ent-P", "Ind-P"), ("Gov-S", "Ind-S")]
        dense = matrix.toarray()
        sums = [dense[:, names.index(a)] + dense[:, names.index(b)] for a, b in pairs]
        return suppress(matrix, primary, order, virtual=sums if method == "virtual" else ()), names
    owners = Owners(
        row_owner,
        column_owner,
        parallel=parallel and method != "within",
        combinations=method == "combinations",
    )
    done = suppress(matrix, primary, order, owners=owners)
    return done, names


@pytest.mark.parametrize(
    ("method", "parallel"), [(m, True) for m in PATTERNS] + [("combinations", False)]
)
@pytest.mark.parametrize("eager", [False, True])
def test_table_3_patterns(method, parallel, eager, monkeypatch) -> None:
    if eager:
        monkeypatch.setattr(elimination, "_Compiled", _too_large)
    done, names = table3_pattern(method, parallel)
    assert hidden(done, names) == PATTERNS[method]


def _too_large(*_):
    raise OverflowError


@st.composite
def table_sets(draw):
    """Several small linked tables over common inner cells: random sums of random cells."""
    n_rows = draw(st.integers(2, 8))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    shape = draw(st.sampled_from([(2, 2), (2, 3), (3, 3), (2, 2, 2), (n_rows,)]))
    grid = np.indices(shape).reshape(len(shape), -1)
    columns = []
    for key in np.ndindex(*(n + 1 for n in shape)):
        inside = np.all(
            [(k == n) | (g == k) for k, n, g in zip(key, shape, grid, strict=True)], axis=0
        )
        columns.append(inside.astype(int))
    columns += [(rng.random(grid.shape[1]) < 0.5).astype(int) for _ in range(rng.integers(0, 4))]
    matrix = np.stack(columns, axis=1)
    matrix = matrix[:, rng.random(matrix.shape[1]) < draw(st.sampled_from([0.6, 1.0]))]
    values = rng.integers(0, draw(st.sampled_from([3, 20])), matrix.shape[0])
    return matrix, values, rng


@settings(max_examples=1000, deadline=None)
@given(table_sets())
def test_nobody_learns_a_cell(given_set) -> None:
    matrix, values, rng = given_set
    cells = values @ matrix
    primary = (cells < 2) | (rng.random(len(cells)) < 0.1)
    done = suppress(matrix, primary, by_worth(cells, matrix))
    published = [c for c, h in zip(matrix.T, done.hidden, strict=True) if not h]
    assert not any(is_spanned(c, published) for c in matrix.T[primary & matrix.any(axis=0)])
    # Nothing is hidden needlessly: each secondary cell would reveal a primary one.
    for j in np.flatnonzero(done.secondary)[:2]:
        more = [*published, matrix[:, j]]
        assert any(is_spanned(c, more) for c in matrix.T[primary & matrix.any(axis=0)])


def owned(matrix, values, rng) -> tuple[Owners, np.ndarray]:
    """Return some contributors who are alone in inner cells, and in cells."""
    row_owner = np.where(rng.random(len(values)) < 0.6, rng.integers(0, 3, len(values)), -1)
    found = [set(row_owner[column > 0]) for column in matrix.T]
    column_owner = np.array([next(iter(k)) if len(k) == 1 else -1 for k in found])
    rules = {name: bool(rng.integers(2)) for name in ("parallel", "combinations")}
    return Owners(row_owner, column_owner, **rules), column_owner >= 0


@settings(max_examples=300, deadline=None)
@given(table_sets(), st.sampled_from(["", "subspace", "any-sum", "owners", "both"]))
def test_the_compiled_loops_do_what_the_plain_ones_do(given_set, rule) -> None:
    matrix, values, rng = given_set
    cells = values @ matrix
    options = {"rows": rng.permutation(len(values))}
    primary = cells == 0
    if rule in ("owners", "both"):
        options["owners"], alone = owned(matrix, values, rng)
        primary = alone | (rng.random(len(cells)) < 0.1) | (primary if rule == "both" else False)
    if rule not in ("", "owners"):
        options |= {"zero_rows": values == 0, "zeros": "any-sum" if rule == "both" else rule}
    order = by_worth(cells, matrix)
    done = suppress(matrix, primary, order, **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "_Compiled", _too_large)
        plain = suppress(matrix, primary, order, **options)
    assert done.secondary.tolist() == plain.secondary.tolist()
    assert done.why.keys() == plain.why.keys()


@settings(max_examples=300, deadline=None)
@given(table_sets(), st.sampled_from(["", "any-sum"]), st.booleans())
def test_nobody_learns_a_cell_beside_what_is_known(given_set, rule, eager) -> None:
    """Known cells are any that do not tell a primary one alone, whatever the rules say of them."""
    matrix, values, rng = given_set
    cells = values @ matrix
    primary = ((cells < 2) | (rng.random(len(cells)) < 0.1)) & matrix.any(axis=0)
    known = (rng.random(len(cells)) < 0.3) & ~primary
    before = list(matrix.T[known])
    primary &= ~np.array([is_spanned(c, before) for c in matrix.T], bool)
    options = {"zero_rows": values == 0} if rule else {}
    with pytest.MonkeyPatch.context() as patch:
        if eager:
            patch.setattr(elimination, "_Compiled", _too_large)
        done = suppress(matrix, primary, by_worth(cells, matrix), known=known, **options)
    assert not done.hidden[known].any()
    both = [c for c, h in zip(matrix.T, done.hidden, strict=True) if not h]
    assert not any(is_spanned(c, both) for c in matrix.T[primary])
    # What the two tell together about zeros, the earlier one has told alone.
    rows = np.flatnonzero(values == 0)[:5] if rule else []
    for subset in range(1, 2 ** len(rows)):
        column = np.zeros(len(values), int)
        column[[r for i, r in enumerate(rows) if subset >> i & 1]] = 1
        assert is_spanned(column, both) == is_spanned(column, before)


def test_what_is_known_may_not_tell_a_primary_cell() -> None:
    matrix, values, names = table1()
    primary = np.array([name == "Young-I" for name in names])
    known = np.array([name in ("Old-I", "Total-I") for name in names])
    with refused("outputs.cell.confidential", where="tables"):
        suppress(matrix, primary, by_worth(values, matrix), known=known)


@settings(max_examples=300, deadline=None)
@given(table_sets())
def test_no_sum_of_zeros_is_public_after_any_sum(given_set) -> None:
    matrix, values, _ = given_set
    cells, zero = values @ matrix, values == 0
    matrix = matrix[:, matrix.any(axis=0)]
    cells = values @ matrix
    done = suppress(matrix, cells == 0, by_worth(cells, matrix), zero_rows=zero)
    published = [c for c, h in zip(matrix.T, done.hidden, strict=True) if not h]
    rows = np.flatnonzero(zero)
    for subset in range(1, 2 ** min(len(rows), 6)):
        column = np.zeros(len(values), int)
        column[[r for i, r in enumerate(rows[:6]) if subset >> i & 1]] = 1
        assert not is_spanned(column, published)


def test_everything_primary_hides_everything_and_nothing_more() -> None:
    matrix, values, _ = table1()
    done = suppress(matrix, np.ones(12, bool), by_worth(values, matrix))
    assert not done.secondary.any()
    assert done.hidden.all()


def test_numbers_are_whole_and_every_cell_has_a_mark() -> None:
    matrix, values, _ = table1()
    order, primary = by_worth(values, matrix), np.zeros(12, bool)
    with refused("outputs.setting.type", where="tables"):
        suppress(matrix * 0.5, primary, order)
    with refused("outputs.setting.mismatch", where="tables"):
        suppress(matrix, primary[:3], order)


@pytest.mark.parametrize("size", [2**28, 2**40])
def test_numbers_beyond_64_bits_go_the_plain_way(size, monkeypatch) -> None:
    plain = []
    monkeypatch.setattr(elimination, "Eager", lambda *a: plain.append(1) or Eager(*a))
    big = np.random.default_rng(1).integers(size // 2, size, (4, 4))
    matrix = np.hstack([big, big.sum(axis=1, keepdims=True)])
    primary = np.array([False] * 4 + [True])
    done = suppress(matrix, primary, [0, 1, 2, 3])
    assert np.flatnonzero(done.secondary).tolist() == [3]
    assert plain


@settings(max_examples=150, deadline=None)
@given(table_sets(), st.sampled_from(["", "any-sum", "owners"]))
def test_another_order_of_rows_comes_before_the_plain_way(given_set, rule) -> None:
    matrix, values, rng = given_set
    cells = values @ matrix
    primary, options = cells == 0, {"zero_rows": values == 0} if rule == "any-sum" else {}
    if rule == "owners":
        options["owners"], primary = owned(matrix, values, rng)
    order = by_worth(cells, matrix)
    usual = suppress(matrix, primary, order, **options)
    compiled, failed = elimination._Compiled, []

    def fails_first(problem, rows):
        if not failed:
            failed.append(rows)
            raise OverflowError
        return compiled(problem, rows)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elimination, "_Compiled", fails_first)
        patch.setattr(elimination, "Eager", None)
        other = suppress(matrix, primary, order, **options)
    assert other.secondary.tolist() == usual.secondary.tolist()


def test_the_store_grows_while_it_works(monkeypatch) -> None:
    rng = np.random.default_rng(0)
    matrix = sp.csc_array((rng.random((400, 900)) < 0.02).astype(int))
    primary = rng.random(900) < 0.05
    order = np.arange(900)
    usual = suppress(matrix, primary, order).secondary

    class Tight(elimination.Columns):
        def __init__(self, *args) -> None:
            super().__init__(*args)
            self.rows, self.vals = (
                self.rows[: self.used + 8].copy(),
                self.vals[: self.used + 8].copy(),
            )

    monkeypatch.setattr(elimination, "Columns", Tight)
    assert (suppress(matrix, primary, order).secondary == usual).all()
    assert usual.sum() > 5
