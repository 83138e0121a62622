"""What a study is, and what it gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caveat.charts import FORMATS, save
from caveat.table.drafts import check_outputs, make_folder

__all__ = ["Grid", "Number", "Output", "Study", "StudyResult"]

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
