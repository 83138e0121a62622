"""What a study is and gives back: numbers beside the printed ones, and pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
from numpy.typing import NDArray

from caveat.charts import COLOURS, FORMATS, Key, Rows, save, titled
from caveat.charts.style import GREY, PALE, dashed, draw
from caveat.table.drafts import check_outputs, make_folder

THEIRS = ("printed", "reference")
SPREAD = {"sd": "sd over releases {}", "±": "standard error {}", "off": "{} sd off"}
BESIDE = (*THEIRS, *SPREAD)
"""Headings that say nothing without the column before them."""


@dataclass(frozen=True)
class Grid:
    """A table to print: ours beside theirs.

    Parameters
    ----------
    title
        What it shows and which printed table it belongs to.
    header
        The names of the columns.
    rows
        The cells; numbers are printed as they are formatted here.
    note
        What should be known about it.
    why
        Why ours differ from the printed ones.
    """

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    why: str = ""

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The columns but the first, in groups that must stand together.

        Examples
        --------
        >>> Grid("", ("", "GCAP", "printed", "off", "no match"), ()).groups
        ((1, 2, 3), (4,))
        """
        found: list[tuple[int, ...]] = []
        for i, head in enumerate(self.header[1:], 1):
            if head in BESIDE and found:
                found[-1] += (i,)
            else:
                found.append((i,))
        return tuple(found)

    @property
    def where(self) -> str:
        """What its title begins with: the printed table."""
        return self.title.split(":")[0]

    @property
    def numbers(self) -> tuple[Number, ...]:
        """Every cell that stands together with a printed one, or with that of a reference.

        Examples
        --------
        >>> rows = (("NB", "47.4±2.8", "47.4±2.8", "0"), ("SVM", "", "49.9", ""))
        >>> grid = Grid("", ("", "R", "printed", "off"), rows)
        >>> [(number.what, number.printed, number.ours) for number in grid.numbers]
        [('NB, R', 47.4, 47.4), ('SVM, R', 49.9, None)]
        """
        found = []
        for row in self.rows:
            for first, *others in self.groups:
                beside = {self.header[i]: row[i] for i in others if row[i]}
                theirs = next((_leading(beside[head]) for head in THEIRS if head in beside), None)
                if theirs is not None:
                    why = ", ".join(SPREAD[head].format(beside[head]) for head in SPREAD if
                                    head in beside)  # fmt: skip
                    what, ours = f"{row[0]}, {self.header[first]}", _leading(row[first])
                    why = "as printed" if ours == theirs else why or self.why
                    found.append(Number(what, self.where, theirs, ours, why))
        return tuple(found)


def _leading(cell: str) -> float | None:
    """Return the number that a cell begins with.

    Examples
    --------
    >>> _leading("−1,473 ± 2"), _leading("< 0.2")
    (-1473.0, None)
    """
    found = re.match(r"[-+−]?[\d,]*\.?\d+", cell)
    return None if found is None else float(found[0].replace("−", "-").replace(",", ""))


@dataclass(frozen=True)
class Number:
    """A number that a paper prints, and ours.

    Parameters
    ----------
    what
        What is counted or estimated.
    where
        Where it is printed: "Table 2", "Sect. 4.1".
    printed
        The printed number.
    ours
        What the study computed; None when it cannot be computed here, and then *why* says why.
    why
        Why the two differ, or how near they have to be.
    """

    what: str
    where: str
    printed: float
    ours: float | None
    why: str = ""


@dataclass(frozen=True)
class StudyResult:
    """Tables to print, the pictures that were saved, and the printed numbers beside ours."""

    grids: tuple[Grid, ...]
    pictures: tuple[Path, ...] = ()
    remarks: tuple[str, ...] = ()
    numbers: tuple[Number, ...] = ()

    @property
    def beside(self) -> tuple[Number, ...]:
        """The printed numbers beside ours: named one by one, else those of the tables."""
        return self.numbers or tuple(number for grid in self.grids for number in grid.numbers)


@dataclass(frozen=True)
class Output:
    """Where pictures go.

    Parameters
    ----------
    folder
        The folder, made if it is not there; None when nothing is to be saved.
    force
        Whether files that exist may be replaced.
    read
        A folder of data sets, none of which is ever replaced.
    """

    folder: Path | None = None
    force: bool = False
    read: Path | None = None
    saved: list[Path] = field(default_factory=list)

    def check(self, names: Sequence[str]) -> None:
        """Refuse to start when a picture exists that may not be replaced."""
        if self.folder is not None:
            make_folder(self.folder, confidential=False)
            files = [self.folder / f"{name}.{ending}" for name in names for ending in FORMATS]
            data = () if self.read is None or not self.read.is_dir() else self.read.iterdir()
            check_outputs(files, force=self.force, inputs=data)

    def save(self, chart: Any, name: str) -> None:
        """Save an Altair chart as PNG, SVG and as HTML that needs no network."""
        if self.folder is None:
            return
        for ending in FORMATS:
            target = self.folder / f"{name}.{ending}"
            save(chart, target, force=self.force)
            self.saved.append(target)


@dataclass(frozen=True)
class Study:
    """One published experiment.

    Parameters
    ----------
    name
        The name by which it is asked for.
    says
        What it shows, in one line.
    run
        Takes where pictures go and the folder of data sets (or None); returns the result.
    paper
        Whose experiment it is: "Perkonoja and Virta (2024)".
    takes
        How long it runs on two cores: "20 s".
    needs
        Files or extras that it needs: "nist_ma2019.csv"; empty when everything is built in.
    """

    name: str
    says: str
    run: Callable[[Output, Path | None], StudyResult]
    paper: str = ""
    takes: str = ""
    needs: str = ""


# -------------------------------------------------------------------------------------------------
# The printed numbers of a paper as a table: ours beside theirs.


def beside(title: str, numbers: Sequence[Number], note: str = "") -> Grid:
    """Return a table of numbers; empty where ours cannot be had.

    Examples
    --------
    >>> beside("", [Number("rows", "Sect. 3", 22910, 22910.0)]).rows
    (('rows', '22,910', '22,910'),)
    """
    rows = [
        (one.what, "" if one.ours is None else _text(one.ours), _text(one.printed))
        for one in numbers
    ]
    return Grid(title, ("what", "ours", "printed"), tuple(rows), note)


def _text(number: float) -> str:
    return f"{number:,.0f}" if number == round(number) else f"{number:.5g}"


# -------------------------------------------------------------------------------------------------
# The pictures of studies: Buyer Beware, and the promise beside the loss.


CELLS = ["".join(map(str, cell)) for cell in product((0, 1), repeat=4)]
UNIQUE = "1111"
ORIGINAL = "Original"

Counts = NDArray[np.int64]


def _unique(other: str) -> Any:
    """Return the colour of the unique record, and another for all others."""
    return alt.condition(alt.datum.cell == UNIQUE, alt.value(COLOURS[0]), alt.value(other))


def _bars_and_points(copies: Sequence[Counts], labels: bool = True) -> Any:
    """Return bars of the mean over the copies and one point per copy."""
    rows = [
        {"cell": cell, "count": int(count)}
        for counts in copies
        for cell, count in zip(CELLS, counts, strict=True)
    ]
    axis = alt.Axis(labels=labels, ticks=labels, labelAngle=-90)
    base = draw(rows).encode(x=alt.X("cell:N", title=None, axis=axis))
    top = alt.Scale(domain=[0, 125])
    bars = base.mark_bar().encode(
        y=alt.Y("mean(count):Q", title="records", scale=top), color=_unique(PALE)
    )
    points = base.mark_circle(size=7, opacity=0.5).encode(
        y=alt.Y("count:Q", scale=top), color=_unique(GREY)
    )
    return bars + points


def _side_by_side(panels: Mapping[str, Sequence[Counts]], width: int) -> Any:
    size = {"width": width, "height": 200}
    return alt.hconcat(
        *(
            _bars_and_points(copies).properties(title=name, **size)
            for name, copies in panels.items()
        )
    )


def frequencies(original: Counts, copies: Sequence[Counts]) -> Any:
    """Draw the original and ten releases side by side (Figures 1b and 2)."""
    releases = f"{len(copies)} releases: mean, and each one"
    return titled(
        _side_by_side({ORIGINAL: [original], releases: copies}, 300),
        "Records by combination of var1 to var4: the unique record 1111 comes back",
    )


def margins(original: Counts) -> Any:
    """Draw the two values of each of the four variables (Figure 1a)."""
    rows: Rows = [
        {"variable": name, "value": str(value), "count": count}
        for name, both in margin_counts(original).items()
        for value, count in enumerate(both)
    ]
    bars = (
        draw(rows)
        .mark_bar(color=PALE)
        .encode(
            x=alt.X("value:N", title=None, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("count:Q", title="records"),
            column=alt.Column("variable:N", title=None),
        )
    )
    return titled(
        bars.properties(width=110, height=180),
        "Records by value of each variable: nothing is to be seen of the unique record",
    )


def margin_counts(counts: Counts) -> dict[str, tuple[int, int]]:
    """Return how many records have 0 and 1 in each of the four variables."""
    cells = np.array([[int(value) for value in cell] for cell in CELLS])
    return {
        f"var{j + 1}": (int(counts[cells[:, j] == 0].sum()), int(counts[cells[:, j] == 1].sum()))
        for j in range(4)
    }


def sensitivity(releases: Mapping[str, Sequence[Counts]]) -> Any:
    """Draw ten releases for each setting as small multiples (Figure A.1)."""
    panels = []
    for name, copies in releases.items():
        unique = [int(counts[15]) for counts in copies]
        title = alt.TitleParams(
            name,
            subtitle=f"1111 in {min(unique)} to {max(unique)} records",
            fontSize=11,
            subtitleFontSize=9,
            subtitleColor=GREY,
        )
        panel = _bars_and_points(list(copies))
        panels.append(panel.properties(width=165, height=95, title=title))
    return titled(
        alt.concat(*panels, columns=3),
        "Ten releases for each setting: below minbucket 75 and cp 0.05 the record stands out",
        "bars: mean; points: single releases",
    )


def worlds(counts: Counts, released: Sequence[Counts]) -> Any:
    """Draw ten releases from each of the 16 worlds as small multiples (Figure 3)."""
    panels = []
    for world, cell in enumerate(CELLS):
        seen = int((counts[world][:, 15] > 0).sum())
        title = alt.TitleParams(
            f"last record {cell}",
            subtitle=f"1111 in {seen} of {len(counts[world])} releases",
            fontSize=11,
            subtitleFontSize=9,
            subtitleFontWeight="bold" if seen else "normal",
            subtitleColor=GREY,
        )
        panel = _bars_and_points(list(counts[world]), labels=world >= 12)
        panels.append(panel.properties(width=165, height=95, title=title))
    shown = sum(int(one[15] > 0) for one in released)
    return titled(
        alt.concat(*panels, columns=4),
        "The attack: ten releases from each of the 16 worlds the last record may make",
        f"1111 is in {shown} of the {len(released)} published releases: only one "
        "world can have made those. Bars: mean; points: single releases",
    )


def remedies(original: Counts, releases: Mapping[str, Sequence[Counts]]) -> Any:
    """Draw the releases of the two remedies beside the original (Figure 4)."""
    return titled(
        _side_by_side({ORIGINAL: [original], **releases}, 230),
        "Remedies: larger leaves or stronger pruning hide the unique record among others",
    )


def sweeps(rows: Sequence[tuple[str, float, float, float, float]]) -> Any:
    """Draw the posterior of 1111 over minbucket and over cp, beside Figure A.1."""
    panels = []
    for name in ("minbucket", "cp"):
        part: Rows = [
            {"value": f"{value:g}", "mean": float(mean), "largest": float(largest)}
            for setting, value, _, mean, largest in rows
            if setting == name
        ]
        order = [row["value"] for row in part]
        base = draw(part).encode(
            x=alt.X("value:N", sort=order, title=name, axis=alt.Axis(labelAngle=0)),
            y=alt.Y("mean:Q", title="posterior of 1111", scale=alt.Scale(domain=[0, 1])),
        )
        ranges = base.mark_rule(color=PALE).encode(y2="largest:Q")
        points = base.mark_point(filled=True, opacity=1, size=60, color=COLOURS[0])
        prior = dashed(1 / 16, along="y")
        panels.append((ranges + points + prior).properties(width=280, height=200))
    return titled(
        alt.hconcat(*panels),
        "The strong attacker on ten fresh releases",
        "points: mean; lines up to the largest; dashed: the prior 1/16",
    )


def promises(panels: Mapping[str, Rows], curves: Key, ticks: Sequence[float]) -> Any:
    """Return curves over the claimed ε, on logarithmic axes, a panel for each table."""
    axis = alt.Axis(values=list(ticks), format="~g", grid=True, gridColor="#eceef0")
    colours = alt.Scale(domain=[entry[2] for entry in curves], range=[entry[1] for entry in curves])
    drawn = []
    for title, rows in panels.items():
        base = draw(rows).encode(
            x=alt.X("epsilon:Q", title="claimed ε", axis=axis,
                    scale=alt.Scale(type="log", domain=[0.08, 12])),
            y=alt.Y("loss:Q", title="ε", axis=axis,
                    scale=alt.Scale(type="log", domain=[ticks[0], 12])),
            color=alt.Color("curve:N", scale=colours, legend=None),
        )  # fmt: skip
        both = base.mark_line(strokeWidth=1.5) + base.mark_point(filled=True, opacity=1, size=45)
        drawn.append(both.properties(width=270, height=240, title=title))
    says = f"claimed and found over the claimed ε; bounds below {ticks[0]:g} are drawn there"
    return titled(alt.hconcat(*drawn), "The promise beside the loss", says, curves)
