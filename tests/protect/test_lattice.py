"""Hierarchies and their lattice: nested levels, neighbours of nodes, classes of records."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.protect.lattice import HIDDEN, Hierarchy, Lattice, Levels, equivalence_classes
from caveat.table import ColumnSchema, Kind, Schema, Table, read, write

JOBS = Table.from_frame({"job": ["baker", "clerk", "smith", "clerk"]})["job"]
TRADES = {"craft": ["baker", "smith"], "office": ["clerk", "notary"]}


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Any hierarchy: each level puts groups of the one before together."""
    n = draw(st.integers(1, 6))
    maps, names = [np.arange(n)], [tuple(f"v{i}" for i in range(n))]
    for level in range(draw(st.integers(0, 3))):
        groups = draw(st.integers(1, max(len(names[-1]), 1)))
        onto = draw(st.lists(st.integers(0, groups - 1), min_size=len(names[-1]),
                             max_size=len(names[-1])))  # fmt: skip
        maps.append(np.array(onto)[maps[-1]])
        names.append(tuple(f"g{level}.{i}" for i in range(groups)))
    return Hierarchy(tuple(maps), tuple(names))


@st.composite
def lattices(draw: st.DrawFn) -> tuple[Lattice, np.ndarray]:
    lattice = Lattice(tuple(draw(st.lists(hierarchies(), min_size=1, max_size=4))))
    rows = draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    sizes = lattice.sizes((0,) * len(lattice.hierarchies))
    return lattice, np.stack([rng.integers(size, size=rows) for size in sizes], axis=1)


def test_intervals_begin_at_the_origin_and_nest() -> None:
    column = Table.from_frame({"x": [-3, 0, 7, 12, 19, 20]})["x"]
    found = Levels([5, 10], origin=-1).of(column, "x")
    assert found.names[1] == ("[-6, -1)", "[-1, 4)", "[4, 9)", "[9, 14)", "[19, 24)")
    assert found.names[2] == ("[-11, -1)", "[-1, 9)", "[9, 19)", "[19, 29)")
    assert found.maps[1].tolist() == [0, 1, 2, 3, 4, 4]
    assert found.maps[2].tolist() == [0, 1, 1, 2, 3, 3]
    assert found.maps[3].tolist() == [0] * 6
    assert found.names[3] == (HIDDEN,)


def test_widths_that_are_no_binary_fractions_nest_too() -> None:
    rng = np.random.default_rng(1)
    column = Table.from_frame({"x": np.round(rng.uniform(-9, 9, 5000), 1)})["x"]
    Levels([0.1, 0.3, 0.9, 9.9], origin=0.05).of(column, "x")  # a Hierarchy checks itself


def test_groups_are_named_level_by_level() -> None:
    found = Levels(groups=[TRADES, {"work": ["craft", "office"]}]).of(JOBS, "job")
    assert found.names == (("baker", "clerk", "smith"), ("craft", "office"), ("work",), (HIDDEN,))
    assert [m.tolist() for m in found.maps] == [[0, 1, 2], [0, 1, 0], [0, 0, 0], [0, 0, 0]]


def test_numbers_of_classes_may_be_written_with_or_without_a_point() -> None:
    for values in ([1, 2, 3], [1.0, 2.0, 3.0]):
        column = Table.from_frame({"x": values})["x"]
        found = Levels(groups=[{"low": [1, 2.0], "high": [3]}]).of(column, "x")
        assert found.maps[1].tolist() == [0, 0, 1]


def test_a_way_to_be_missing_stays_until_all_is_hidden() -> None:
    table = Table.from_frame({"x": [1, 6, -8, None]})
    column = Schema({"x": ColumnSchema(missing={-8: "not asked"})}).apply(table)["x"]
    found = Levels([5]).of(column, "x")
    codes = found.maps[1][column.codes]
    made = found.column(column, 1, codes)
    assert made.values.tolist() == ["[0, 5)", "[5, 10)", "-8", None]
    assert made.is_missing.tolist() == [False, False, True, True]
    assert made.kind is Kind.CATEGORY
    assert found.column(column, 2, found.maps[2][column.codes]).values.tolist() == [HIDDEN] * 4


def test_released_cells_bring_no_other_value_along() -> None:
    schema = Schema({"job": ColumnSchema(value_labels={"baker": "Baker", "clerk": "Clerk"})})
    column = schema.apply(Table({"job": JOBS}))["job"]
    found = Levels(groups=[TRADES]).of(column, "job")
    made = found.column(column, 0, np.array([1, 1]))
    assert made.levels.tolist() == ["clerk"]
    assert dict(made.value_labels) == {"clerk": "Clerk"}
    assert found.column(column, 1, np.array([1])).levels.tolist() == ["office"]


@pytest.mark.parametrize("more", [[], [2.5], ["x"], [True]])
def test_a_cell_that_is_not_released_does_not_show(more: list, tmp_path) -> None:
    """Neither in how others are written nor in their order, for kinds that are declared."""
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "\n".join(map(str, [10, 9, *more])) + "\n\n")
    column = read(path, schema=Schema({"x": ColumnSchema(kind=Kind.CATEGORY)}))["x"]
    made = Levels().of(column, "x").column(column, 0, column.codes[:2].astype(np.int64))
    assert made.levels.tolist() == ["10", "9"]
    assert made.codes.tolist() == [0, 1]
    assert made.missing == ()


def test_numbers_are_written_by_their_values(tmp_path) -> None:
    written = []
    for cells in ("1.0\n2.0\n", "1\n2\n2.5\n"):
        (tmp_path / "in.csv").write_text(f"x\n{cells}")
        column = read(tmp_path / "in.csv", schema=Schema({"x": ColumnSchema(Kind.NUMERIC)}))["x"]
        made = Levels().of(column, "x").column(column, 0, column.codes[:2].astype(np.int64))
        write(Table({"x": made}), tmp_path / "out.csv", force=True)
        written.append((tmp_path / "out.csv").read_bytes())
    assert written[0] == written[1]


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"widths": [0]}, "protection.setting.range"),
        ({"widths": [float("nan")]}, "protection.setting.range"),
        ({"widths": [5, 12]}, "protection.setting.mismatch"),
        ({"widths": [5, 5]}, "protection.setting.mismatch"),
        ({"widths": [5], "groups": [TRADES]}, "protection.setting.conflict"),
    ],
)
def test_levels_that_do_not_nest_are_refused(declared: dict, says: str) -> None:
    with refused(says):
        Levels(**declared)


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ([{"craft": ["baker", "smith"]}], "data.value.undeclared"),
        ([TRADES, {"work": ["craft"]}], "protection.group.undeclared"),
        ([{"a": ["baker", "smith", "clerk"], "b": ["clerk"]}], "protection.group.duplicate"),
    ],
)
def test_groupings_that_do_not_fit_are_one_sentence(groups: list, says: str) -> None:
    with refused(says) as error:
        Levels(groups=groups).of(JOBS, "job")
    assert "clerk" not in str(error.value)


def test_widths_of_words_and_groups_of_dates_are_refused() -> None:
    with refused("data.column.type", column="job"):
        Levels([5]).of(JOBS, "job")
    dates = Table.from_frame({"d": np.array(["2020-01-01"], "M8[D]")})["d"]
    with refused("protection.column.unsupported", column="d"):
        Levels(groups=[TRADES]).of(dates, "d")


def test_a_hierarchy_that_takes_groups_apart_is_none() -> None:
    with pytest.raises(ValueError, match="apart"):
        Hierarchy((np.arange(2), np.array([0, 0]), np.array([0, 1])), (("a", "b"), ("x",), "yz"))
    with pytest.raises(ValueError, match="level 0"):
        Hierarchy((np.array([1, 0]),), (("a", "b"),))


@given(lattices())
def test_neighbours_and_nodes_of_a_lattice(drawn: tuple[Lattice, np.ndarray]) -> None:
    lattice, _ = drawn
    nodes = list(lattice.nodes())
    assert len(nodes) == len(set(nodes)) == lattice.n_nodes
    assert nodes[0] == (0,) * len(lattice.hierarchies)
    assert nodes[-1] == lattice.top
    assert lattice.predecessors(nodes[0]) == []
    for node in nodes[:50]:
        before = lattice.predecessors(node)
        assert set(before) == {
            other for other in nodes
            if sum(other) == sum(node) - 1 and all(map(int.__le__, other, node))
        }  # fmt: skip


@given(lattices())
def test_a_more_general_node_joins_classes_and_takes_none_apart(
    drawn: tuple[Lattice, np.ndarray],
) -> None:
    lattice, codes = drawn
    for node in list(lattice.nodes())[-20:]:
        classes, n = lattice.classes(codes, node)
        assert sorted(set(classes.tolist())) == list(range(n))
        made = lattice.generalise(codes, node)
        assert len(np.unique(made, axis=0)) == n
        for other in lattice.predecessors(node):
            finer, more = lattice.classes(codes, other)
            assert n <= more
            assert len(set(zip(finer.tolist(), classes.tolist(), strict=True))) == more


def test_classes_of_no_columns_and_of_no_rows() -> None:
    assert equivalence_classes(np.zeros((3, 0), np.int64), [])[1] == 1
    assert equivalence_classes(np.zeros((0, 2), np.int64), [4, 5])[1] == 0
