"""Donut masking."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tests.refusals import refused

from caveat.protect import Area, donut
from caveat.table import Missing, Table, read, write
from caveat.table.coordinates import points_of

WEST, SOUTH = 350_000.0, 5_640_000.0


def town(n=2000, seed=1):
    rng = np.random.default_rng(seed)
    return Table.from_frame(
        {
            "e": WEST + 5000 * rng.random(n),
            "n": SOUTH + 5000 * rng.random(n),
            "home": rng.integers(0, n // 3, n),
        }
    )


def shift(before, after, x="e", y="n"):
    return points_of(after, x, y) - points_of(before, x, y)


def test_distances_and_directions_are_uniform():
    people = town(20_000)
    moved = shift(people, donut(people, "e", "n", 100, 400, seed=7).table)
    d, angle = np.hypot(*moved.T), np.arctan2(moved[:, 1], moved[:, 0])
    assert stats.kstest(d, stats.uniform(100, 300).cdf).pvalue > 0.01
    assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > 0.01
    assert abs(np.corrcoef(d, angle)[0, 1]) < 3 / np.sqrt(20_000)
    # Uniform in area is another distribution, and that test would see it.
    by_area = shift(people, donut(people, "e", "n", 100, 400, radial="area", seed=7).table)
    squares = np.hypot(*by_area.T) ** 2
    assert stats.kstest(squares, stats.uniform(1e4, 15e4).cdf).pvalue > 0.01
    assert stats.kstest(np.sqrt(squares), stats.uniform(100, 300).cdf).pvalue < 1e-9


def test_the_same_seed_gives_the_same_bytes(tmp_path):
    people = town(50)
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        done = donut(people, "e", "n", 100, 200, inside=[WEST, SOUTH, WEST + 5e3, SOUTH + 5e3],
                     seed=seed)  # fmt: skip
        write(done.table, tmp_path / f"{name}.csv")
    a, b, c = ((tmp_path / f"{name}.csv").read_bytes() for name in "abc")
    assert a == b != c
    # Nobody's place depends on how many others there are.
    first, alone = (
        points_of(donut(who, "e", "n", 100, 200, seed=3).table, "e", "n")[:10]
        for who in (people, people.take(slice(0, 10)))
    )
    assert (first == alone).all()


@settings(max_examples=60, deadline=None)
@given(
    r=st.tuples(st.floats(0, 500), st.floats(10, 500)),
    seed=st.integers(0, 2**64),
    whole=st.booleans(),
    area=st.sampled_from(["", "box", "triangle"]),
    radial=st.sampled_from(["distance", "area"]),
)
def test_no_point_leaves_its_ring_or_the_area(r, seed, whole, area, radial):
    r_min, r_max = r[0], r[0] + r[1]
    people = town(100, seed % 1000)
    if whole:
        frame = {name: points.round().astype(int) for name, points in
                 zip("en", points_of(people, "e", "n").T, strict=True)}  # fmt: skip
        people = Table.from_frame(frame)
    box = [WEST - 1, SOUTH - 1, WEST + 5001, SOUTH + 5001]
    inside = {"": None, "box": box, "triangle": [[WEST - 5000, SOUTH - 5000],
              [WEST + 20_000, SOUTH - 5000], [WEST - 5000, SOUTH + 20_000]]}[area]  # fmt: skip
    done = donut(people, "e", "n", r_min, r_max, inside=inside, radial=radial, seed=seed).table
    d = np.hypot(*shift(people, done).T)
    assert d.min() >= r_min - 1e-6
    assert d.max() <= r_max + 1e-6
    if inside is not None:
        assert Area.of(inside).contains(points_of(done, "e", "n")).all()
    assert done["e"].kind is people["e"].kind


def test_people_at_the_edge_find_the_spots_that_are_left():
    corner = Table.from_frame({"e": [0.5] * 500, "n": [0.5] * 500})
    # Of a ring of 100 to 200 m, a strip of 1 m by 100 m: less than one draw in 300.
    done = donut(corner, "e", "n", 100, 200, inside=[0, 0, 1, 300], degrees=False, seed=1)
    assert done.step.counts["redrawn"] > 480
    where = points_of(done.table, "e", "n")
    assert ((where[:, 0] >= 0) & (where[:, 0] <= 1)).all()
    # Distances are uniform, so the spots are denser near the hole: by 1 / distance.
    above = np.log(np.clip((where[:, 1] - 0.5) / 100, 1, 2)) / np.log(2)
    assert stats.kstest(above, "uniform").pvalue > 0.01


@pytest.mark.parametrize(
    ("r_min", "r_max", "inside"),
    [
        (100, 200, [1000, 1000, 2000, 2000]),  # too far away
        (100, 200, [-20, -20, 60, 60]),  # all of it within the hole
    ],
)
def test_a_ring_outside_the_area(r_min, r_max, inside):
    people = Table.from_frame({"e": [None, 0.5], "n": [None, 0.25]})
    with refused("protection.area.too-small", row=2, where="columns e and n"):
        donut(people, "e", "n", r_min, r_max, inside=inside, degrees=False)


def test_a_ring_around_the_area_is_found_out_by_trying():
    frame = [[[-300, -300], [300, -300], [300, 300], [-300, 300]],
             [[-250, -250], [250, -250], [250, 250], [-250, 250]]]  # fmt: skip
    area = Area((tuple(np.array(ring, dtype=float) for ring in frame),))
    people = Table.from_frame({"e": [0.5] * 200, "n": [0.25] * 200})
    with refused("protection.area.too-small", row=1, where="columns e and n"):
        donut(people, "e", "n", 100, 200, inside=area, degrees=False)


def test_households_move_together_and_in_every_release():
    people = town()
    one = donut(people, "e", "n", 100, 200, together="home", seed=5)
    moved = shift(people, one.table)
    homes = people["home"].values
    for home in set(homes):
        assert np.ptp(moved[homes == home], axis=0).max() < 1e-5
    moved = moved.round(3)
    assert len(np.unique(moved, axis=0)) == len(set(homes))
    # The same persons in another file, in another order: the same way.
    order = np.random.default_rng(2).permutation(people.n_rows)[:500]
    other = people.take(order)
    again = shift(other, donut(other, "e", "n", 100, 200, together="home", seed=5).table)
    assert np.allclose(again, moved[order], atol=1e-3)
    fresh = shift(people, donut(people, "e", "n", 100, 200, together="home", seed=6).table)
    assert not np.isclose(fresh, moved).any(axis=1).all()


def test_who_belongs_to_nobody_moves_alone():
    people = Table.from_frame({"e": [9e5] * 4, "n": [9e6] * 4, "home": ["a", "a", None, None]})
    moved = shift(people, donut(people, "e", "n", 100, 200, together="home", seed=1).table)
    assert len(np.unique(moved.round(6), axis=0)) == 3


def test_missing_places_stay_missing():
    people = Table.from_frame({"e": [9e5, None], "n": [9e6, None]})
    done = donut(people, "e", "n", 100, 200)
    assert done.table["e"].is_missing.tolist() == [False, True]
    assert dict(done.step.counts) == {"moved": 1, "missing": 1, "redrawn": 0}
    declared = {"e": people["e"].declare_missing([Missing(-9)])}
    coded = donut(people.with_columns(declared), "e", "n", 100, 200).table
    assert coded["e"].missing == declared["e"].missing
    nobody = Table.from_frame({"e": [1.5], "n": [2.5]}).take(slice(0, 0))
    assert donut(nobody, "e", "n", 100, 200).table.n_rows == 0


def test_files_keep_their_decimal_places(tmp_path):
    (tmp_path / "a.csv").write_text("e,n\n356000.25,5645000.5\n356100.50,5645000.0\n")
    people = read(tmp_path / "a.csv")
    write(donut(people, "e", "n", 10, 11, seed=2).table, tmp_path / "b.csv")
    texts = [line.split(",") for line in (tmp_path / "b.csv").read_text().splitlines()[1:]]
    assert {len(e.partition(".")[2]) for e, _ in texts} == {2}
    d = np.hypot(*shift(people, read(tmp_path / "b.csv")).T)
    assert ((d >= 10) & (d <= 11)).all()


def test_degrees_of_a_file_keep_their_decimal_places(tmp_path):
    pyproj = pytest.importorskip("pyproj")
    rng = np.random.default_rng(1)
    lines = [f"{6.8 + 0.3 * a:.4f},{50.8 + 0.3 * b:.4f}" for a, b in rng.random((300, 2))]
    (tmp_path / "a.csv").write_text("\n".join(["lon,lat", *lines]))
    people = read(tmp_path / "a.csv")
    done = donut(people, "lon", "lat", 100, 140, degrees=True, seed=1)
    assert done.step.counts["redrawn"] > 10  # four places are 11 m: some leave the ring
    old, new = (points_of(table, "lon", "lat") for table in (people, done.table))
    assert (new == new.round(4)).all()
    d = pyproj.Geod(ellps="WGS84").inv(*old.T, *new.T)[2]
    assert 99.9 < d.min() < d.max() < 140.2
    (tmp_path / "a.csv").write_text("lon,lat\n6.81,50.92\n6.82,50.93\n")
    with refused("protection.setting.too-small", where="columns lon and lat"):
        donut(read(tmp_path / "a.csv"), "lon", "lat", 100, 200, degrees=True)


def test_longitude_and_latitude_move_by_metres():
    pyproj = pytest.importorskip("pyproj")
    rng = np.random.default_rng(1)
    lon, lat = 6.8 + 0.3 * rng.random(3000), 50.8 + 0.3 * rng.random(3000)
    people = Table.from_frame({"lon": lon, "lat": lat})
    for epsg in (None, 25832):
        done = donut(people, "lon", "lat", 100, 200, degrees=True, epsg=epsg,
                     inside=[6.8, 50.8, 7.1, 51.1], seed=1)  # fmt: skip
        new = points_of(done.table, "lon", "lat")
        d = pyproj.Geod(ellps="WGS84").inv(lon, lat, *new.T)[2]
        assert 99.9 < d.min() < d.max() < 200.2  # a map is off by less than one in a thousand
        assert ((new >= [6.8, 50.8]) & (new <= [7.1, 51.1])).all()
        assert done.step.parameters["degrees"]
    with refused("place.unit.undeclared", where="columns lon and lat"):
        donut(people, "lon", "lat", 100, 200)


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"r_min": 300}, "protection.setting.range"),
        ({"r_min": -1}, "protection.setting.range"),
        ({"r_max": float("nan")}, "protection.setting.range"),
        ({"r_max": float("inf")}, "protection.setting.range"),
        ({"r_max": "200"}, "protection.setting.range"),
        ({"r_min": 0, "r_max": 0}, "protection.setting.range"),
        ({"radial": "square"}, "protection.setting.unknown"),
        ({"inside": "x"}, "protection.area.malformed"),
        ({"x": "gone"}, "data.column.unknown"),
        ({"together": "gone"}, "data.column.unknown"),
    ],
)
def test_what_cannot_be_done(told, says):
    arguments = {"x": "e", "y": "n", "r_min": 100, "r_max": 200, **told}
    with refused(says):
        donut(town(10), **arguments)


def test_a_ring_finer_than_the_numbers():
    people = Table.from_frame({"e": [356000], "n": [5645000]})
    with refused("protection.setting.too-small", where="columns e and n"):
        donut(people, "e", "n", 100, 101)
    assert "356000" not in repr(donut(people, "e", "n", 100, 200))


def test_two_rings_with_one_seed_do_not_give_the_places_back():
    """Ways that were alike but for their lengths would: true = A - (B - A) for twice the ring."""
    people = town()
    small, large = (
        donut(people, "e", "n", *ring, together="home", seed=5).table
        for ring in ((100, 200), (200, 400))
    )
    a, b = (points_of(moved, "e", "n") for moved in (small, large))
    off = np.hypot(*(a - (b - a) - points_of(people, "e", "n")).T)
    # Independent directions: 2 A - B is off by at least 2 * 100 - 400, and by 300 m on average.
    assert np.median(off) > 200
    assert (off < 1).mean() < 0.01
    again = donut(people, "e", "n", 100.0, 200.0, together="home", seed=5).table
    assert again == small


def test_a_place_goes_the_same_way_in_any_row():
    """Else whoever knows her own way in one file would know that of the same row of another."""
    people = town(200)
    back = np.arange(200)[::-1]
    there = shift(people, donut(people, "e", "n", 100, 200, seed=77).table)
    turned = people.take(back)
    again = shift(turned, donut(turned, "e", "n", 100, 200, seed=77).table)
    assert (there == again[back]).all()
    assert np.abs(there - again).max(axis=1).min() > 0
    # Neighbours in one house do not go together.
    house = Table.from_frame({"e": [WEST] * 3, "n": [SOUTH] * 3})
    ways = shift(house, donut(house, "e", "n", 100, 200, seed=77).table)
    assert len(np.unique(ways.round(6), axis=0)) == 3


def test_a_seed_that_is_not_given_is_nobodys():
    people = town(50)
    one, other = (donut(people, "e", "n", 100, 200) for _ in range(2))
    assert one.step.seed != other.step.seed
    assert one.step.seed is not None
    assert one.step.seed > 2**64
    assert one.table != other.table


@pytest.mark.parametrize("storage", ["float32", "arrow:float"])
def test_short_numbers_are_checked_as_they_are_written(storage, tmp_path):
    rng = np.random.default_rng(0)
    table = Table.from_frame(
        {
            "e": (400_000 + 20 * rng.random(3000)).astype(np.float32),
            "n": (5_600_000 + 20 * rng.random(3000)).astype(np.float32),
        }
    )
    if storage != "float32":
        frame = pa.table({name: pa.array(points, pa.float32()) for name, points in
                          zip("en", points_of(table, "e", "n").T, strict=True)})  # fmt: skip
        pq.write_table(frame, tmp_path / "short.parquet")
        table = read(tmp_path / "short.parquet")
    assert table["n"].storage == storage
    box = [400_000.1, 5_600_000.1, 400_019.9, 5_600_019.9]
    done = donut(table, "e", "n", 1, 10, inside=box, seed=9).table
    written = points_of(done, "e", "n")
    assert (written == written.astype(np.float32)).all()
    assert Area.of(box).contains(written).all()
    d = np.hypot(*shift(table, done).T)
    assert d.min() >= 1 - 1e-6
    assert d.max() <= 10 + 1e-6


def test_a_column_with_the_true_place_is_named():
    people = town(50)
    rest = {"old": people["e"], "lat": people["n"]}
    notes = donut(people.with_columns(rest), "e", "n", 100, 200, seed=1).step.notes
    assert [str(note) for note in notes] == [
        "old tells the true place and stays as it is: leave it out",
        "lat tells the true place and stays as it is: leave it out",
    ]
    assert donut(people, "e", "n", 100, 200, seed=1).step.notes == ()
