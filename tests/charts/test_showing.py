"""The two ways to show a chart, its colours, and that files are whole."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.charts.specs import rows_of, spec_of, values
from tests.refusals import refused

import caveat
from caveat.charts import (
    ATTACKERS_KEY,
    COLOURS,
    CONFIG,
    FORMATS,
    SIDES_KEY,
    distribution,
    distributions,
    on_page,
    save,
    scores,
    titled,
    two_way,
)


@pytest.fixture
def bars():
    return scores([{"name": "age", "value": 2.0}])


@pytest.fixture
def panel():
    return distribution([{"label": "a", "original": 40.0, "synthetic": 60.0}], False)


def test_on_a_page_a_chart_takes_the_room_there_is(bars) -> None:
    spec = on_page(bars)
    assert spec["width"] == "container"
    assert spec["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert spec["height"] == 18
    # The page says once what all charts look like, and has the title and the key in its own words.
    assert not {"config", "title", "background"} & set(spec)
    assert re.fullmatch(r"https://vega.github.io/schema/vega-lite/v\d\.json", spec["$schema"])


def test_cells_keep_their_size_on_a_page() -> None:
    spec = on_page(two_way(["a", "b"], {("a", "b"): 2.0}, {}))
    assert spec["width"] == {"step": 19}
    assert "autosize" not in spec


def test_alone_it_has_a_title_a_key_and_the_same_look(bars) -> None:
    spec = spec_of(titled(bars, "Scores", ["one line", "another"], ATTACKERS_KEY))
    assert (spec["title"]["text"], spec["title"]["subtitle"]) == ("Scores", ["one line", "another"])
    look = spec["config"]
    assert look["background"] == "white"
    assert all(look[name] == CONFIG[name] for name in ("font", "axis", "legend"))
    signs = spec["layer"][-1]["encoding"]
    words = [text for _, _, text in ATTACKERS_KEY]
    assert [row["words"] for row in rows_of(spec, "words")] == words
    assert all(signs[part]["scale"]["domain"] == words for part in ("fill", "stroke", "shape"))
    assert signs["stroke"]["scale"]["range"] == [colour for _, colour, _ in ATTACKERS_KEY]
    # Only the sign of the control is hollow.
    assert [c == "white" for c in signs["fill"]["scale"]["range"]] == [False, False, True, False]


def test_a_grid_has_its_key_above_it(panel) -> None:
    spec = spec_of(titled(distributions([], {"sex": panel}), "Distributions", key=SIDES_KEY))
    key, grid = spec["vconcat"]
    assert key["encoding"]["fill"]["scale"]["range"] == list(COLOURS)
    assert values(grid, "text") == ["sex"]


@pytest.mark.parametrize("kind", FORMATS)
def test_files(kind: str, bars, tmp_path: Path) -> None:
    chart = titled(bars, "Scores", key=SIDES_KEY)
    path = tmp_path / f"chart.{kind}"
    save(chart, path)
    content = path.read_bytes()
    start = {"html": b"<!DOCTYPE html>", "svg": b"<svg", "png": b"\x89PNG"}[kind]
    assert start in content[:200]
    if kind == "html":  # nothing is fetched when it is opened
        assert b'src="http' not in content
    if kind == "svg":
        assert all(f">{word}<".encode() in content for word in ("Scores", "age", "synthetic"))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    with refused("command.output.exists"):
        save(chart, path)


def test_other_formats_are_refused(bars, tmp_path: Path) -> None:
    with refused("chart.format.unknown"):
        save(bars, tmp_path / "chart.gif")


def linear(colour: str) -> np.ndarray:
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


# Linear RGB as dichromats see it (Viénot, Brettel, Mollon 1999; tritan after Brettel 1997).
SEEN = {
    "protan": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deutan": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
    "tritan": [[1, 0.14461, -0.14461], [0, 0.85924, 0.14076], [0, 0.85924, 0.14076]],
}


def test_colours_survive_grey_and_colour_blindness() -> None:
    ours, theirs = (linear(colour) for colour in COLOURS)
    weights = np.array([0.2126, 0.7152, 0.0722])
    dark, light = sorted(float(weights @ c) for c in (ours, theirs))
    assert (light + 0.05) / (dark + 0.05) > 3  # the contrast that WCAG asks of graphics
    for matrix in SEEN.values():
        a, b = (np.clip(np.array(matrix) @ c, 0, 1) for c in (ours, theirs))
        lights = sorted(float(weights @ c) for c in (a, b))
        assert (lights[1] + 0.05) / (lights[0] + 0.05) > 2.5


def test_charts_are_drawn_in_one_room() -> None:
    source = Path(caveat.__file__).parent
    draws = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if re.search(r"^\s*(import|from) (altair|vl_convert)", path.read_text("utf-8"), re.M)
    }
    elsewhere = {path for path in draws if not path.startswith("charts/")}
    # A study has pictures that nobody else draws, in the style of the room.
    assert elsewhere == {"studies/study.py"}
