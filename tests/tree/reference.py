"""The trees of the R package rpart that lie beside the project, as arguments for the engine."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from caveat.tree import Control, Predictors


class Prepared(NamedTuple):
    codes: np.ndarray
    n_levels: int
    ordered: bool
    levels: np.ndarray


def load_prepared(folder: Path) -> dict[str, Prepared]:
    """Read the columns as synthpop handed them to rpart."""
    with (folder / "prepared.csv").open(newline="") as file:
        lines = list(csv.reader(file))
    names, body = lines[0], np.array(lines[1:])
    columns = {}
    for entry in json.loads((folder / "index.json").read_text())["columns"]:
        text = body[:, names.index(entry["name"])]
        numeric = entry["type"] == "numeric"
        levels = np.unique(text.astype(float)) if numeric else np.array(entry["levels"])
        place = {level: code for code, level in enumerate(levels.tolist())}
        found = text.astype(float).tolist() if numeric else text.tolist()
        codes = np.array([place[value] for value in found], np.uint16)
        columns[entry["name"]] = Prepared(codes, len(levels), numeric, levels)
    return columns


def arguments(case: dict[str, Any], prepared: dict[str, Prepared]) -> dict[str, Any]:
    """Return the arguments of `grow` for one case."""
    rows = None
    if case["rows"]:
        column = prepared[case["rows"]["column"]]
        rows = np.flatnonzero(column.codes == column.levels.tolist().index(case["rows"]["equals"]))
    columns = [prepared[name] for name in case["predictors"]]
    response = prepared[case["response"]]
    return {
        "predictors": Predictors(*([column[i] for column in columns] for i in range(3))),
        "response_codes": response.codes,
        "n_levels": response.n_levels,
        "values": response.levels if case["type"] == "anova" else None,
        "rows": rows,
    }


def control_of(fit: dict[str, Any]) -> Control:
    """Return the stopping rules of one fit."""
    return Control(fit["minbucket"], fit["minsplit"], fit["cp"], fit["maxdepth"])
