"""The printed block comes out whole, and every rule for a person found counts what it says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from caveat.studies import STUDIES
from caveat.studies.census import SOLUTION, People, block, matched, people, run_census
from caveat.studies.study import Output


@pytest.fixture(scope="module")
def result():
    return run_census(Output(), blocks=2_000)


def test_the_printed_block(result):
    numbers = [n for n in result.numbers if n.where == "Table 1"]
    assert len(numbers) == 16
    assert all(n.ours == n.printed for n in numbers)
    assert sum(map(sum, SOLUTION.values())) == 50
    assert block().unique
    assert "without P8 and P9 2 do, and 96% of the 50 records" in result.grids[0].note


def test_what_epsilon_promises(result):
    table = {n.what: n for n in result.numbers if n.where == "Table 2"}
    for epsilon in ("0.01", "0.1", "4.2", "39.91"):
        number = table[f"e to the {epsilon}"]
        assert number.ours == pytest.approx(number.printed, rel=0.006)
    assert table["e to the 10.6"].ours == pytest.approx(40_134.8, abs=0.05)
    assert table["e to the 10.6"].printed == round(math.exp(10.4))
    assert table["e to the 19.61"].ours == pytest.approx(328_484_431, abs=1)
    assert table["e to the 19.61"].printed == round(math.exp(19.6))


def test_counts_and_shares(result):
    numbers = {n.what: n for n in result.numbers}
    assert numbers["cells of the bottom-up approach"].ours == 161_109_592_812
    assert numbers["blocks rebuilt whole, per cent"].ours == pytest.approx(88.0, abs=0.05)
    assert numbers["'putative' but not unique, points"].ours == pytest.approx(79.6)
    assert numbers["'confirmed' in all, per cent"].ours == pytest.approx(75.66)
    # Blocks differ a lot: the shares of 2,000 of them are good to a point or two.
    assert numbers["unique by sex and age group, per cent"].ours == pytest.approx(17.4, abs=2)
    assert numbers["'putative', per cent"].ours == pytest.approx(97, abs=0.5)
    assert numbers["'confirmed' among the 'putative', per cent"].ours == pytest.approx(78, abs=5)


def test_ten_equal_people_are_all_confirmed_and_nobody_is_found():
    """The example of Sect. 2.3: any name fits any of the ten, and one is right by chance."""
    ten = People(np.zeros(10, np.int64), np.zeros(10, np.int64), np.zeros(10, np.int64))
    found = matched(ten, covered=1.0)
    assert (found.putative, found.confirmed, found.by_file) == (1, 1, 1)
    assert (found.unique, found.provable, found.chance) == (0, 0, 0.1)


def test_people_who_are_all_different():
    one = People(np.arange(10), np.zeros(10, np.int64), np.arange(10) % 2)
    found = matched(one, covered=1.0)
    assert (found.confirmed, found.unique, found.provable, found.chance) == (1, 1, 1, 1)
    assert found.by_file == 0.5
    assert matched(one, covered=0.0).confirmed == 0


def test_two_groups_of_equal_size_are_confirmed_half_of_the_time():
    n = 4_000
    mixed = People(np.zeros(n, np.int64), np.zeros(n, np.int64), np.arange(n) % 2)
    # A random pairing: the standard error of the share is about half of 1/sqrt(n).
    assert matched(mixed, covered=1.0).confirmed == pytest.approx(0.5, abs=0.04)


def test_keys_name_the_block_the_sex_and_the_age():
    some = people(50)
    assert (some.keys // 46 == some.block).all()
    assert set(some.block) == set(range(50))
    assert some.group.max() < 14


def test_it_is_in_the_list(result):
    assert STUDIES["census"].takes
    assert any("must not be confirmed" in remark for remark in result.remarks)
