"""``caveat places`` as it is met at the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat import read, write
from caveat.cli import app
from caveat.table import Table
from caveat.table.coordinates import points_of

WEST, SOUTH = 350_000.0, 5_640_000.0


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    rng = np.random.default_rng(1)
    n = 800
    east = rng.random(n)
    people = {
        "east": WEST + 1000 * east, "north": SOUTH + 1000 * rng.random(n),
        "sex": rng.choice(["f", "m"], n), "home": np.arange(n) // 2,
        "ill": np.where(rng.random(n) < east, "yes", "no"), "side": np.where(east < 0.5, "w", "e"),
    }  # fmt: skip
    write(Table.from_frame(people), tmp_path / "people.csv")
    homes = {"east": [WEST + 250, WEST + 750], "north": [SOUTH + 500] * 2, "people": [900, 100],
             "zone": ["left", "right"]}  # fmt: skip
    write(Table.from_frame(homes), tmp_path / "homes.csv")
    return tmp_path


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["places", "people.csv", *arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


NAMED = ("--x", "east", "--y", "north")
MOVE = (*NAMED, "--move", "100", "200", "--out", "moved.csv", "--seed", "1")


def test_places_are_moved_and_measured(here: Path) -> None:
    said = call(*MOVE, "--box", f"{WEST}", f"{SOUTH}", f"{WEST + 1000}", f"{SOUTH + 1000}")
    moved = points_of(read(here / "moved.csv"), "east", "north")
    d = np.hypot(*(moved - points_of(read(here / "people.csv"), "east", "north")).T)
    assert 100 <= d.min() <= d.max() <= 200
    assert (moved.min(axis=0) >= [WEST, SOUTH]).all()
    assert said.startswith("800 places moved by 100 to 200 m")
    assert "% among fewer than 3, below the 10 % that are tolerable" in said
    assert call(*NAMED, "moved.csv") == said  # measured again
    first = (here / "moved.csv").read_bytes()
    call(*MOVE, "--force")
    second = (here / "moved.csv").read_bytes()
    call(*MOVE[:-2], "--force")  # a seed of its own
    third = (here / "moved.csv").read_bytes()
    assert len({first, second, third}) == 3


def test_an_area_from_a_file(here: Path) -> None:
    corners = [[WEST, SOUTH], [WEST + 1000, SOUTH], [WEST + 1000, SOUTH + 1000],
               [WEST, SOUTH + 1000]]  # fmt: skip
    (here / "area.geojson").write_text(json.dumps({"type": "Polygon", "coordinates": [corners]}))
    call(*MOVE, "--inside", "area.geojson")
    moved = points_of(read(here / "moved.csv"), "east", "north")
    assert ((moved >= [WEST, SOUTH]) & (moved <= [WEST + 1000, SOUTH + 1000])).all()


def test_everything_that_can_be_measured(here: Path) -> None:
    said = call(*MOVE, "--same", "sex", "--together", "home", "--population", "homes.csv",
                "--count", "people", "--grid", "500", "--target", "ill=yes", "--zone", "zone",
                "--zones", "homes.csv", "--json", "all.json")  # fmt: skip
    assert "moved points with the same sex" in said
    assert "or more people" in said
    assert "of the records are in another zone" in said
    assert [word in said for word in ("left", "right", "prevalence")] == [True] * 3
    found = json.loads((here / "all.json").read_text())
    assert found["points"] == 800
    assert found["k"]["same"] == ["sex"]
    assert found["zones"]["zones"] == ["left", "right"]
    by_side = json.loads(call("moved.csv", *NAMED, "--target", "ill=yes", "--zone", "side",
                              "--json", "-"))  # fmt: skip
    assert by_side["zones"]["zones"] == ["e", "w"]
    squares = call("moved.csv", *NAMED, "--target", "ill=yes", "--cell", "200", "--k", "5")
    assert "smaller zones" in squares
    assert "among fewer than 5" in squares


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*NAMED,), "command.option.conflict"),
        ((*NAMED, "people.csv", "--move", "1", "2"), "command.option.conflict"),
        ((*NAMED, "--move", "1", "2"), "command.option.absent"),
        ((*NAMED, "people.csv", "--out", "x.csv"), "command.option.absent"),
        ((*NAMED, "people.csv", "--target", "ill=yes"), "command.option.absent"),
        ((*NAMED, "people.csv", "--zone", "side"), "command.option.absent"),
        ((*NAMED, "people.csv", "--target", "ill", "--zone", "side"), "command.option.malformed"),
        ((*NAMED, "people.csv", "--target", "ill=yes", "--cell", "9", "--zones", "homes.csv"),
         "command.option.absent"),
        ((*NAMED, "people.csv", "--count", "people"), "command.option.absent"),
        ((*NAMED, "people.csv", "--population", "homes.csv", "--count", "zone"),
         "data.column.type"),
        (("people.csv",), "data.column.unknown"),
        (("people.csv", "--x", "sex", "--y", "north"), "place.column.type"),
        ((*MOVE, "--move", "300", "200"), "protection.setting.range"),
        ((*MOVE, "--box", "0", "0", "1", "1"), "protection.area.too-small"),
        ((*MOVE, "--degrees"), "place.coordinate.range"),
        ((*MOVE, "--epsg", "25832"), "place.setting.conflict"),
    ],
)  # fmt: skip
def test_what_does_not_go(here: Path, arguments: tuple[str, ...], says: str) -> None:
    with refused(says):
        call(*arguments)
    assert not (here / "moved.csv").exists()


def test_a_population_with_holes(here: Path) -> None:
    (here / "homes.csv").write_text("east,north\n350000.5,5640000.5\n,\n")
    with refused("place.coordinate.absent", row=2, where="homes.csv"):
        call(*NAMED, "people.csv", "--population", "homes.csv")
