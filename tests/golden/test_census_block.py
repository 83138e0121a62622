"""The block of Muralidhar and Ruggles (2024), Table 1: females 22 to 24, rebuilt by arithmetic."""

from __future__ import annotations

import math

import pytest

from caveat.outputs.blocks import Figure, random_matches, reconstruct, system
from caveat.outputs.reconstruction import rebuild, surest

RACES = ("White", "Black", "AIAN", "Asian", "NHPI", "Other", "Two+")
P12A_G = (44, 0, 0, 5, 0, 1, 0)
P8 = (377, 10, 1, 80, 0, 6, 9)
P9 = (355, 9, 1, 80, 0, 2, 8)


def block(**change):
    by_race = {**dict(zip(RACES, P12A_G, strict=True)), **change}
    hispanic = [total - other for total, other in zip(P8, P9, strict=True)]
    return [
        Figure({}, sum(by_race.values())),
        *(Figure({"race": race}, n) for race, n in by_race.items()),
        Figure({"ethnicity": "H"}, 2),
        Figure({"race": "White", "ethnicity": "NH"}, 43),
        *(
            Figure({"race": race, "ethnicity": "H"}, n, at_most=True)
            for race, n in zip(RACES, hispanic, strict=True)
        ),
    ]


def test_the_printed_block_has_one_solution():
    found = reconstruct({"race": RACES, "ethnicity": ("H", "NH")}, block())
    assert found.unique
    assert found.complete
    assert len(found.solutions) == 1
    assert found.certain == {
        ("White", "H"): 1,
        ("White", "NH"): 43,
        ("Asian", "NH"): 5,
        ("Other", "H"): 1,
    }
    assert found.certain_share == 1
    assert len(found.records()) == 50
    # Four different records among fifty: a random pairing with names gets 4 right on average.
    assert random_matches(found.records()) == 4 / 50


def test_without_the_bounds_of_the_whole_block_it_is_open():
    """The second Hispanic may then be any of the five Asians, or the Other."""
    figures = [figure for figure in block() if not figure.at_most]
    found = reconstruct({"race": RACES, "ethnicity": ("H", "NH")}, figures)
    assert not found.unique
    assert len(found.solutions) == 2
    assert found.certain == {("White", "H"): 1, ("White", "NH"): 43}
    assert found.certain_share == (44 + 4) / 50


def test_the_printed_block_is_rebuilt_from_every_start():
    attributes = {"race": RACES, "ethnicity": ("H", "NH")}
    found = rebuild(system(attributes, block()), times=20)
    assert (found == reconstruct(attributes, block()).solutions[0]).all()
    # Without the bounds both solutions are met, and no other.
    figures = [figure for figure in block() if not figure.at_most]
    assert len({tuple(one) for one in rebuild(system(attributes, figures), times=20)}) == 2


def test_unknowns_of_all_blocks():
    """Sex, single years of age, combinations of races, ethnicity in 6,207,027 occupied blocks."""
    assert 6_207_027 * math.prod((2, 103, 63, 2)) == 161_109_592_812


@pytest.mark.parametrize(
    ("epsilon", "printed"), [(0.01, 1.01), (0.1, 1.11), (4.2, 67), (39.91, 215125935915741000)]
)
def test_what_epsilon_promises(epsilon, printed):
    """Table 2: the odds of anything may grow by e^epsilon."""
    growth = math.exp(epsilon)
    assert growth == pytest.approx(printed, rel=0.006)
    prior = 1e-20
    sure = surest(prior, epsilon)
    assert sure / (1 - sure) / (prior / (1 - prior)) == pytest.approx(growth)


def test_misprints_of_the_table():
    """32,860 stands at 10.6 and is that of 10.4; 325,215,956 stands at 19.61 and is of 19.6."""
    assert round(math.exp(10.4)) == 32_860
    assert round(math.exp(10.6), 1) == 40_134.8
    assert round(math.exp(19.6)) == 325_215_956
    assert round(math.exp(19.61)) == 328_484_431
