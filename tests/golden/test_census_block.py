"""The block of Muralidhar and Ruggles (2024), Table 1: females 22 to 24, rebuilt by arithmetic."""

from __future__ import annotations

from caveat.attack.ordinary import Figure, random_matches, reconstruct

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
