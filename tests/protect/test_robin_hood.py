"""Robin Hood: whom it masks, what that makes of each class, and what it refuses."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.refusals import refused

from caveat.protect.lattice import Lattice, Levels
from caveat.protect.levels import (
    attempts,
    choose_masked,
    effective_k,
    k_minimal,
    masked_outside,
    robin_hood,
)
from caveat.table import Column, Kind, Missing, Table, read, write

COUNTS = {("f", "A"): 40, ("f", "B"): 4, ("f", "C"): 3, ("m", "A"): 30, ("m", "B"): 12}
PEOPLE = Table.from_frame(
    {
        "sex": [sex for (sex, _), n in COUNTS.items() for _ in range(n)],
        "race": [race for (_, race), n in COUNTS.items() for _ in range(n)],
    }
)


@settings(max_examples=50)
@given(st.integers(1, 6), st.data())
def test_attempts_are_those_of_all_orders(size, data):
    """Against the mean place of the person over all orders that a strategy allows."""
    masked = data.draw(st.integers(0, size))
    outside = data.draw(st.integers(0, 4))
    hidden, seen = masked + outside, size - masked
    # The person is unmasked with chance seen / size, and equally likely in any place of her part.
    first = list(range(1, seen + 1)) if seen else []
    then = [seen + place for place in range(1, hidden + 1)]
    expected = (seen * np.mean(first) if first else 0) + (masked * np.mean(then) if masked else 0)
    found = attempts(size, masked, outside)
    assert found.unmasked_first == pytest.approx(expected / size)
    assert (effective_k(size, masked, outside) + 1) / 2 == pytest.approx(found.unmasked_first)
    assert found.unmasked_first <= min(found.masked_first, found.mixed) + 1e-12
    if seen:
        assert found.chances[0] == pytest.approx(1 / size)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 60))
def test_no_fewer_would_do(size, masked, k):
    masked = min(masked, size)
    outside = masked_outside(size, masked, k)
    assert effective_k(size, masked, outside) >= min(k, size) - 1e-9
    assert effective_k(size, masked, outside) >= k - 1e-9
    if outside:
        assert effective_k(size, masked, outside - 1) < k


def test_everybody_has_the_effective_k():
    done = robin_hood(PEOPLE, "race", {"sex": Levels()}, k_target=15, k_initial=3, seed=4)
    counts = dict(done.step.counts)
    assert counts["sex: level"] == counts["race: level"] == 0
    assert counts["classes below k_target"] == 3
    assert counts["classes that stay below"] == 0
    assert counts["smallest class"] == 3
    assert counts["smallest effective k"] >= 15
    assert counts["masked"] == (done.table["race"].values == "?").sum() > 0
    # By hand from the table itself: A + C D / A.
    masked = np.array(done.table["race"].values == "?")
    sex, race = PEOPLE["sex"].values, PEOPLE["race"].values
    for (one, group), size in COUNTS.items():
        inside = int((masked & (sex == one) & (race == group)).sum())
        outside = int((masked & (sex == one)).sum()) - inside
        if size < 15:
            assert size + inside * outside / size >= 15
            assert 1 <= inside <= size / 2


def test_masked_cells_are_missing_and_nothing_else_changes(tmp_path):
    done = robin_hood(PEOPLE, "race", {"sex": {}}, k_target=15, seed=4)
    column = done.table["race"]
    assert Missing("?", "masked") in column.missing
    kept = ~column.is_missing
    assert column.values[kept].tolist() == PEOPLE["race"].values[kept].tolist()
    assert done.table["sex"] == PEOPLE["sex"]
    write(done.table, tmp_path / "masked.csv")
    assert (read(tmp_path / "masked.csv")["race"].values == "?").sum() == column.is_missing.sum()
    assert robin_hood(PEOPLE, "race", {"sex": {}}, k_target=15, seed=4).table == done.table
    assert robin_hood(PEOPLE, "race", {"sex": {}}, k_target=15, seed=5).table != done.table


def test_values_that_were_missing_are_a_group_of_their_own():
    race = [None if value == "C" else value for value in PEOPLE["race"].values.tolist()]
    table = Table.from_frame({"sex": PEOPLE["sex"].values, "race": race})
    done = robin_hood(table, "race", {"sex": {}}, k_target=15)
    assert done.step.counts["smallest effective k"] >= 15
    assert len(done.table["race"].missing) == 2


def test_what_cannot_be_reached_is_told():
    table = Table.from_frame({"sex": list("f" * 8 + "m" * 30), "race": list("AAAABBBB" + "A" * 30)})
    done = robin_hood(table, "race", {"sex": Levels(hides=False)}, k_target=10)
    assert done.step.counts["classes that stay below"] == 2  # women have no large class
    assert done.step.counts["masked"] == 0
    assert [note.code for note in done.step.notes] == ["first-attempt", "stay-below"]
    assert "2 classes stay below" in done.step.notes[1]


def test_shares_of_the_majority_are_kept_in_sum():
    """Two small classes of three: each needs 10 of the 12, so the first leaves no room."""
    alike = np.repeat([0, 1, 2], [3, 3, 12])
    without = np.zeros(18, np.int64)
    whole = choose_masked(alike, without, 6, of_majority=1, of_minority=0.5)
    assert whole.failed == ()
    assert whole.masked.sum() == 1 + 9 + 1
    assert whole.effective_k.min() >= 6
    half = choose_masked(alike, without, 6, of_majority=0.5, of_minority=0.5)
    assert half.failed == (0, 1)
    assert not half.masked.any()


def test_the_least_general_levels_are_found():
    """Against all nodes, one by one."""
    rng = np.random.default_rng(3)
    table = Table.from_frame(
        {"age": rng.integers(20, 60, 80), "sex": rng.choice(list("fm"), 80, p=[0.7, 0.3])}
    )
    levels = {"age": Levels(widths=[5, 10, 20]), "sex": Levels()}
    lattice = Lattice(tuple(one.of(table[name], name) for name, one in levels.items()))
    codes = np.stack([table[name].codes.astype(np.int64) for name in levels], axis=1)
    as_it_is = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    before = as_it_is[2][as_it_is[1].ravel()]
    losses = {}
    for node in itertools.product(range(5), range(3 - 1)):
        made = lattice.generalise(codes, node)
        _, place, counts = np.unique(made, axis=0, return_inverse=True, return_counts=True)
        if counts.min() >= 5:
            losses[node] = np.log2(counts[place.ravel()] / before).mean()
    node, loss = k_minimal(codes, lattice, 5)
    assert loss == pytest.approx(min(losses.values()))
    assert losses[node] == pytest.approx(loss)


def test_generalised_columns_are_written_as_groups():
    table = Table.from_frame({"age": [*range(20, 40)], "race": list("AB" * 10)})
    done = robin_hood(table, "race", {"age": Levels(widths=[10])}, k_target=5, k_initial=5)
    assert set(done.table["age"].values.tolist()) == {"[20, 30)", "[30, 40)"}
    assert done.step.counts["masked"] == 0
    assert done.step.counts["age: level"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k_initial": 1}, "protection.setting.range"),
        ({"k_target": 2}, "protection.setting.range"),
        ({"of_minority": 0}, "protection.setting.range"),
        ({"of_majority": 1.5}, "protection.setting.range"),
        ({"levels": {}}, "protection.key.absent"),
        ({"levels": {"race": {}}}, "protection.key.absent"),
        ({"levels": {"sex": {"width": [3]}}}, "protection.setting.type"),
        ({"levels": {"sex": Levels(hides=False)}, "k_initial": 4}, "protection.limit.failed"),
        ({"attribute": "age"}, "data.column.unknown"),
    ],
)
def test_what_is_refused(change, message):
    how = {"attribute": "race", "levels": {"sex": {}}, "k_target": 15, **change}
    with refused(message):
        robin_hood(PEOPLE, **how)


def test_attributes_that_cannot_be_masked():
    numbers = Table.from_frame({"sex": list("ffmm"), "race": [1.5, 2, 3, 4]})
    with refused("data.column.type", column="race"):
        robin_hood(numbers, "race", {"sex": {}}, k_target=2, k_initial=2)
    marked = Table.from_frame({"sex": list("ffmm"), "race": list("A?A?")})
    with refused("protection.value.conflict", column="race"):
        robin_hood(marked, "race", {"sex": {}}, k_target=2, k_initial=2)
    with refused("data.table.empty", where="robin_hood"):
        robin_hood(PEOPLE.take(np.arange(0)), "race", {"sex": {}}, k_target=5)
    with refused("protection.setting.range"):
        effective_k(2, 3, 1)


def test_codes_of_categories_may_be_numbers(tmp_path):
    """A category whose levels are whole numbers is masked with text among them."""
    coded = Column(np.repeat([0, 1], [20, 4]), np.array([1, 2]), Kind.CATEGORY)
    table = Table.from_frame({"sex": list("f" * 24)}).with_columns({"race": coded})
    done = robin_hood(table, "race", {"sex": {}}, k_target=8)
    write(done.table, tmp_path / "masked.csv")
    lines = (tmp_path / "masked.csv").read_text().split()
    assert {line.split(",")[1] for line in lines[1:]} == {"1", "2", "?"}
