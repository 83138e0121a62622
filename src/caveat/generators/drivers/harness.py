"""Runs in the environment of a generator: reads a request, calls a driver, writes Parquet.

It knows nothing of Caveat: the standard library, pandas and pyarrow are all there is. A driver has
one function, ``generate(frame, schema, seed, rows, copies, settings)``, which returns a list of
frames; and it may say ``FILL_MISSING`` (it takes no empty cells) and ``DATES_AS_NUMBERS``.

Drivers never see names of columns or levels: columns are c0, c1, … and levels v0, v1, …, so that
no name can trip a generator, be taken for code, or be printed into a log.
"""

from __future__ import annotations

import importlib.util
import json
import os
import random
import signal
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

EMPTY = "empty"
"""The level in place of an empty cell."""
GAPS = "_gaps"
"""End of the name of the column that says where a number is missing."""


def main() -> None:
    """Do what the request says."""
    driver_path, request_path = Path(sys.argv[1]), Path(sys.argv[2])
    threading.Thread(target=_end_with_caveat, daemon=True).start()
    # Drivers are called what they drive: their folder must not be searched for modules.
    sys.path[:] = [path for path in sys.path if Path(path or ".").resolve() != driver_path.parent]
    request = json.loads(request_path.read_text(encoding="utf-8"))
    folder, seed = request_path.parent, request["seed"]
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - what the generators draw from
    original = pd.read_parquet(folder / request["data"])
    work = Work(request["schema"], original, _load(driver_path))
    for name, made in zip(request["out"], work.generate(request), strict=True):
        draft = folder / f"{name}.draft"
        made.to_parquet(draft, index=False)
        draft.replace(folder / name)


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"driver_{path.stem}", path)
    driver = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(driver)
    return driver


def _end_with_caveat() -> None:
    """End when the pipe closes: whoever asked is gone."""
    while os.read(0, 1024):  # not sys.stdin, whose lock would be held to the end
        pass
    if hasattr(os, "killpg") and os.getpid() == os.getpgid(0):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


class Work:
    """A table as a driver sees it, and the way back."""

    def __init__(self, schema: list[dict[str, Any]], original: pd.DataFrame, driver: ModuleType):
        self.columns, self.original, self.driver = schema, original, driver
        self.fills = getattr(driver, "FILL_MISSING", False)
        self.dates = getattr(driver, "DATES_AS_NUMBERS", False)
        self.schema: list[dict[str, Any]] = []
        self.frame = pd.DataFrame(index=range(len(original)))
        self.constant: dict[str, Any] = {}
        for number, column in enumerate(schema):
            self._add(f"c{number}", column, original[column["name"]])

    def _add(self, name: str, column: dict[str, Any], cells: pd.Series) -> None:
        if cells.nunique(dropna=False) < 2:  # there is nothing to learn, and many stumble over it
            self.constant[name] = None if cells.isna().all() else cells.iloc[0]
            return
        about = {**column, "name": name}
        if "levels" in column:
            texts = _codes(len(column["levels"]))
            cells = cells.map(dict(zip(column["levels"], texts, strict=True))).astype(object)
            cells = cells.where(cells.notna(), EMPTY if self.fills else None)
            about["levels"] = texts
        elif column["kind"] in ("date", "datetime"):
            cells = pd.to_datetime(cells).astype("datetime64[ns]")
            if self.dates:
                unit = "D" if column["kind"] == "date" else "s"
                gaps = cells.isna()
                cells = cells.astype(f"datetime64[{'s' if unit == 'D' else unit}]").astype("int64")
                cells = (cells // 86400 if unit == "D" else cells).astype(float).mask(gaps)
                cells = cells if gaps.any() else cells.astype("int64")
                about["kind"] = "integer"
        else:
            cells = cells.astype(float) if cells.isna().any() else cells
        self.frame[name] = cells.to_numpy()
        if "levels" in column:
            self.frame[name] = self.frame[name].astype(object)
        self.schema.append(about)
        if self.fills and cells.isna().any():
            self._fill(name)

    def _fill(self, name: str) -> None:
        """Put a typical number into the gaps, and say in a column of its own where they were."""
        gaps = self.frame[name].isna()
        filled = self.frame[name].fillna(self.frame[name].median())
        whole = bool((filled == filled.round()).all())
        self.frame[name] = filled.astype("int64") if whole else filled
        self.frame[name + GAPS] = gaps.map({True: "v1", False: "v0"}).astype(object)
        levels = {"name": name + GAPS, "kind": "category", "levels": ["v0", "v1"], "missing": []}
        self.schema.append(levels)

    def generate(self, request: dict[str, Any]) -> list[pd.DataFrame]:
        """Return tables with the columns of the original."""
        rows, copies = request["rows"], request["copies"]
        made = [pd.DataFrame(index=range(rows)) for _ in range(copies)]
        if len(self.frame.columns):
            settings = (request["seed"], rows, copies, request["settings"])
            made = self.driver.generate(self.frame.copy(), self.schema, *settings)
        return [self._back(frame, rows) for frame in made]

    def _back(self, made: pd.DataFrame, rows: int) -> pd.DataFrame:
        found = {}
        for number, column in enumerate(self.columns):
            name = f"c{number}"
            if name in self.constant:
                found[column["name"]] = pd.Series([self.constant[name]] * rows)
                continue
            cells = made[name].reset_index(drop=True)
            if "levels" in column:
                texts = dict(zip(_codes(len(column["levels"])), column["levels"], strict=True))
                cells = cells.astype(object)
                cells = cells.where(cells.notna() & (cells != EMPTY), None)
                # What is not a level of ours stays what it is, and is refused by who asked.
                cells = cells.map(lambda value, texts=texts: texts.get(value, value))
            else:
                gaps = made[name + GAPS].reset_index(drop=True) if name + GAPS in made else None
                cells = self._number(cells, column, None if gaps is None else gaps == "v1")
            found[column["name"]] = cells
        return pd.DataFrame(found)

    def _number(
        self, cells: pd.Series, column: dict[str, Any], gaps: pd.Series | None
    ) -> pd.Series:
        if self.dates and column["kind"] in ("date", "datetime"):
            low, high = (pd.Timestamp(column[end]) for end in ("low", "high"))
            unit = "D" if column["kind"] == "date" else "s"
            cells = pd.to_datetime(cells.astype(float).round(), unit=unit).clip(low, high)
        elif column["kind"] in ("integer", "number"):
            cells = pd.to_numeric(cells)
        return cells if gaps is None else cells.mask(gaps)


def _codes(n: int) -> list[str]:
    """Return short names for levels, in their order."""
    width = len(str(max(n - 1, 0)))
    return [f"v{number:0{width}d}" for number in range(n)]


if __name__ == "__main__":
    main()
