"""Columns that determine others: found in the data, and what those who know them can compute."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from tests.outputs.toys import is_spanned

from caveat import Table
from caveat.outputs.primary import Earlier, PrimaryRules, Reason
from caveat.outputs.publication import Publication, inner_cells, publish
from caveat.outputs.tables import Dependency, Hierarchy, Layout, compatible, dependencies

HIDDEN = PrimaryRules(least=3, zeros=True)


def publication(frame: dict, *by: tuple[str, ...], **options) -> Publication:
    layouts = [Layout("-".join(names), names) for names in by]
    return publish(inner_cells(Table.from_frame(frame), layouts, every=True, **options), HIDDEN)


def follows_for_an_informed_reader(done: Publication, worlds: list[dict]) -> list[str]:
    """Return primary cells that follow from the published ones, in words.

    Nothing of the package is used but the codes and values of cells: the unknowns are the
    combinations of codes that exist for the reader (`worlds`), the equations those of shown cells.
    """
    columns = []
    for cell in range(done.cells.n_cells):
        codes = {n: c for n, c in done.cells.codes(cell).items() if c != "Total"}
        columns.append([int(all(w[n] == c for n, c in codes.items())) for w in worlds])
    matrix = np.array(columns)
    shown = ~done.done.hidden
    found = []
    for cell in np.flatnonzero(done.done.primary & matrix.any(axis=1)):
        shares = np.linalg.lstsq(matrix[shown].T, matrix[cell])[0]
        exact = np.allclose(shares @ matrix[shown], matrix[cell], atol=1e-8)
        if not exact:
            ends = [
                linprog(sign * matrix[cell], A_eq=matrix[shown], b_eq=done.values[shown])
                for sign in (1, -1)
            ]
            assert [one.status for one in ends] in ([0, 0], [0, 3])
            exact = ends[1].status == 0 and -ends[1].fun - ends[0].fun < 0.5
        if exact:
            found.append(done.cells.words(int(cell)))
    return found


def nested_people(seed: int, levels: int = 2) -> tuple[dict, list[dict]]:
    """Return records with towns in counties, perhaps in states, and all that a reader thinks of."""
    rng = np.random.default_rng(seed)
    towns = {
        (f"s{s}", f"s{s}c{c}", f"s{s}c{c}t{t}")
        for s in range(1 if levels == 2 else 2)
        for c in range(rng.integers(2, 4))
        for t in range(rng.integers(1, 4))
    }
    places = np.array(sorted(towns))
    n = int(rng.integers(25, 120))
    rows = places[rng.choice(len(places), n, p=rng.dirichlet(np.ones(len(places)) * 2))]
    ill = rng.choice(["yes", "no", "unknown"], n, p=[0.25, 0.6, 0.15])
    names = ("state", "county", "town")[3 - levels :]
    frame = {name: rows[:, 3 - levels + i] for i, name in enumerate(names)} | {"ill": ill}
    seen = sorted({tuple(row) for row in rows[:, 3 - levels :].tolist()})
    worlds = [
        dict(zip(names, place, strict=True)) | {"ill": value}
        for place, value in product(seen, sorted(set(ill.tolist())))
    ]
    return frame, worlds


def test_county_less_town_is_no_hidden_town() -> None:
    counts = {("c1", "t1"): (1, 9), ("c1", "t2"): (12, 20), ("c2", "t3"): (15, 30),
              ("c2", "t4"): (11, 25)}  # fmt: skip
    rows = [
        (county, town, value)
        for (county, town), numbers in counts.items()
        for value, many in zip(("yes", "no"), numbers, strict=True)
        for _ in range(many)
    ]
    frame = dict(zip(("county", "town", "ill"), np.array(rows).T, strict=True))
    done = publication(frame, ("county", "ill"), ("town", "ill"))
    worlds = [
        {"county": county, "town": town, "ill": value}
        for county, town in counts
        for value in ("yes", "no")
    ]
    assert [str(one) for one in done.cells.nested] == ["town determines county"]
    primary = [done.cells.words(cell) for cell in np.flatnonzero(done.done.primary).tolist()]
    assert primary == ["ill yes, town t1"]
    assert follows_for_an_informed_reader(done, worlds) == []
    assert done.recovered == ()
    # Shown are the numbers of the county or of the other town, never both.
    shown = {done.cells.words(int(cell)) for cell in np.flatnonzero(~done.done.hidden)}
    assert not {"county c1, ill yes", "ill yes, town t2"} <= shown


SHAPES = {
    "two tables": (2, [("county", "ill"), ("town", "ill")]),
    "one table": (2, [("county", "town", "ill")]),
    "three levels": (3, [("state", "ill"), ("county", "ill"), ("town", "ill")]),
    "top and bottom": (3, [("state", "county", "ill"), ("town", "ill")]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_no_primary_cell_follows_where_columns_nest(shape: str) -> None:
    levels, by = SHAPES[shape]
    for seed in range(20 if levels == 2 else 6):
        frame, worlds = nested_people(seed, levels)
        done = publication(frame, *by)
        assert follows_for_an_informed_reader(done, worlds) == [], seed
        assert done.recovered == ()


def test_no_primary_cell_follows_where_a_town_lies_in_two_counties() -> None:
    tried = 0
    for seed in range(20):
        frame, worlds = nested_people(seed)
        towns, many = np.unique(frame["town"], return_counts=True)
        small = towns[(many >= 2) & (many <= 0.1 * many.sum())]
        if not len(small):
            continue
        mine = np.flatnonzero(frame["town"] == small[0])
        home = frame["county"][mine[0]]
        other = next(county for county in np.unique(frame["county"]) if county != home)
        frame["county"][mine[: len(mine) // 2]] = other
        worlds += [w | {"county": other} for w in worlds if w["town"] == small[0]]
        done = publication(frame, ("county", "ill"), ("town", "ill"))
        assert "town determines county" in map(str, done.cells.nested)
        assert follows_for_an_informed_reader(done, worlds) == [], seed
        tried += 1
    assert tried >= 5


@pytest.mark.parametrize("seed", range(6))
def test_no_primary_cell_follows_where_two_columns_determine_a_third(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 150
    name, state = rng.integers(0, 4, n), rng.integers(0, 3, n)
    frame = {
        "name": np.array(list("abcd"))[name],
        "state": np.array(list("xyz"))[state],
        "region": np.array(["p", "q", "r"])[(name + state) % 3],
        "ill": rng.choice(["yes", "no"], n, p=[0.2, 0.8]),
    }
    done = publication(frame, ("name", "state", "ill"), ("region", "ill"))
    assert Dependency(("name", "state"), "region") in done.cells.nested
    worlds = [
        {"name": "abcd"[a], "state": "xyz"[b], "region": "pqr"[(a + b) % 3], "ill": ill}
        for a, b, ill in product(range(4), range(3), ("yes", "no"))
    ]
    assert follows_for_an_informed_reader(done, worlds) == []


def test_sums_of_values_are_protected_against_contributors_who_know_the_counties() -> None:
    for seed in range(5):
        frame, worlds = nested_people(seed)
        rng = np.random.default_rng(seed)
        n = len(frame["ill"])
        frame |= {"pay": rng.gamma(1, 100, n).round() + 1, "firm": rng.integers(0, n // 3, n)}
        table = Table.from_frame(frame)
        layouts = [Layout("a", ("county", "ill")), Layout("b", ("town", "ill"))]
        inner = inner_cells(table, layouts, value="pay", contributor="firm", every=True)
        rules = PrimaryRules(least=2, p_percent=10, zeros=True)
        done = publish(inner, rules)
        assert (done.leaks, done.recovered) == ((), ())
        names = ("county", "town", "ill")
        matrix = np.array([
            [
                int(all(w[n] == c for n, c in done.cells.codes(cell).items() if c != "Total"))
                for w in worlds
            ]
            for cell in range(done.cells.n_cells)
        ])  # fmt: skip
        firms = {}
        for *place, firm in zip(*(frame[name] for name in names), frame["firm"], strict=True):
            firms.setdefault(tuple(place), set()).add(int(firm))
        alone = [firms.get(tuple(w[n] for n in names), set()) for w in worlds]
        in_cell = [
            set().union(*(f for f, m in zip(alone, row, strict=True) if m)) for row in matrix
        ]
        units = np.eye(len(worlds), dtype=int)
        for firm in set().union(*alone):
            own = [units[i] for i, who in enumerate(alone) if who == {firm}]
            known = [*matrix[~done.done.hidden], *own]
            for cell in np.flatnonzero(done.done.primary & matrix.any(axis=1)):
                if in_cell[cell] != {firm}:
                    assert not is_spanned(matrix[cell], known), (seed, firm, cell)


def trees(**codes: str) -> dict[str, Hierarchy]:
    return {name: Hierarchy.of(list(found)) for name, found in codes.items()}


def found_in(rows: list[str], counts: list[int] | None = None, **codes: str) -> list[str]:
    hierarchies = trees(**codes)
    nodes = np.array([
        [tree.codes.index(code) for tree, code in zip(hierarchies.values(), row, strict=True)]
        for row in rows
    ])  # fmt: skip
    many = np.ones(len(rows), np.int64) if counts is None else np.array(counts)
    return [str(one) for one in dependencies(nodes, many, hierarchies)]


def test_a_column_that_determines_another() -> None:
    assert found_in(["ax", "bx", "cy"], town="abc", county="xy") == ["town determines county"]
    assert found_in(["ax", "ay", "bx", "by"], town="ab", county="xy") == []
    # One county in all of the data says nothing.
    assert found_in(["ax", "bx"], town="ab", county="x") == []


def test_a_few_towns_may_lie_in_two_counties() -> None:
    rows, counts = ["ax", "bx", "cy", "dy", "dx"], [50, 40, 60, 8, 7]
    said = ["town determines county"]
    assert found_in(rows, counts, town="abcd", county="xy") == said
    # Nearly everybody in one county: towns without the other are no sign of a border.
    small = "abcdefghijkl"
    assert (
        found_in([f"{t}x" for t in small] + ["ay"], [5] * 12 + [1], town=small, county="xy") == []
    )
    # Too many people live in the town on the border.
    assert found_in(rows, [50, 40, 60, 18, 17], town="abcd", county="xy") == []


def test_two_columns_that_determine_a_third() -> None:
    rows = ["a0x", "a1y", "b0y", "b1x"]
    assert found_in(rows, [9, 9, 9, 9], one="ab", two="01", sum="xy") == [
        "two and sum determine one", "one and sum determine two", "one and two determine sum",
    ]  # fmt: skip
    # One record of each: any three columns would look so.
    assert found_in(rows, one="ab", two="01", sum="xy") == []


def test_levels_of_a_hierarchy_are_determined_too() -> None:
    schools = Hierarchy.of(["s1", "s2", "s3"], {"s1": "n", "s2": "n", "s3": "m"})
    hierarchies = {"town": Hierarchy.of(["a", "b"]), "school": schools}
    place = schools.codes.index
    nodes = np.array([[1, place("s1")], [1, place("s2")], [2, place("s3")]])
    found = dependencies(nodes, np.array([20, 20, 20]), hierarchies)
    assert found == (Dependency(("school",), "town"), Dependency(("town",), "school", 1))
    every = np.array([[t, place(s)] for t in (1, 2) for s in ("s1", "s2", "s3")])
    allowed = compatible(every, nodes[:1], hierarchies, found[1:])
    assert allowed.tolist() == [True, True, False, False, False, False]


def test_an_empty_cell_that_nesting_rules_out_stays_hidden() -> None:
    # All of one centre are ill and none of the other: that this is no law must not be told.
    frame = {"centre": ["a"] * 10 + ["b"] * 12, "ill": ["yes"] * 10 + ["no"] * 12}
    done = publication(frame, ("centre", "ill"))
    assert len(done.cells.nested) == 2
    empty = {"centre a, ill no", "centre b, ill yes"}
    primary = np.flatnonzero(done.done.primary)
    assert {done.cells.words(int(cell)) for cell in primary} == empty
    assert (done.reasons[primary] == Reason.ZERO).all()
    dense = done.cells.matrix.toarray().T
    assert not any(is_spanned(dense[cell], dense[~done.done.hidden]) for cell in primary)
    assert not any(one.low == one.high for one in done.intervals)


def test_what_is_published_earlier_counts_with_what_is_known_of_counties() -> None:
    frame, _ = nested_people(3)
    layouts = [Layout("a", ("county", "ill")), Layout("b", ("town", "ill"))]
    inner = inner_cells(Table.from_frame(frame), layouts, every=True)
    first = publish(inner_cells(Table.from_frame(frame), layouts[:1], every=True), HIDDEN)
    shown = np.zeros(inner.cells.n_cells, bool)
    names = {
        first.cells.words(cell): not first.done.hidden[cell] for cell in range(first.cells.n_cells)
    }
    for cell in inner.cells.members[0]:
        shown[cell] = names[inner.cells.words(int(cell))]
    done = publish(inner, HIDDEN, earlier=Earlier((0,), shown))
    _, worlds = nested_people(3)
    assert not done.done.hidden[shown].any()
    assert follows_for_an_informed_reader(done, worlds) == []
