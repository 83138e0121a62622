"""A table from the file to the report, as a new user goes: look, starter, quick run, report."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.tables import frame_of

import caveat
from caveat.release import Outcome, Release

__all__ = ["passage", "passage_in_words"]


def passage(name: str, folder: Path) -> dict[str, Any]:
    """Carry a table of the corpus through; return what is written about it."""
    frame_of(name).to_csv(folder / "data.csv", index=False)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = caveat.read(folder / "data.csv")
        spec = folder / "release.toml"
        spec.write_text(caveat.starter(caveat.look(table), "data.csv"), "utf-8")
        outcome = Release.from_toml(spec).run(threads=1, quick=True, anyway=True)
    seconds = time.process_time() - start
    assert (outcome.folder / "inside" / "report.html").stat().st_size > 1_000
    rows, columns = table.n_rows, len(table.names)
    return {"rows": rows, "columns": columns, "seconds": round(seconds, 2), **_measured(outcome)}


def _measured(outcome: Outcome) -> dict[str, Any]:
    """Return what a reader of page one wants to know first."""
    found = [m for s in outcome.evidence["scenarios"] for m in s["measurements"]]
    found += outcome.evidence["utility"]["measurements"]
    values = {m["measure"]: m["value"] for m in found}
    # Of several targets the one that held-out people are least like.
    above = [m["value"] - m["control"] for m in found
             if m["measure"] == "DiSCO" and None not in (m["value"], m["control"])]  # fmt: skip
    measured = {
        "members known": values.get("membershipShare"),
        "DiSCO above control": max(above, default=None),
        "correlations kept": values.get("correlations kept"),
    }
    return {name: None if v is None else round(v, 4) for name, v in measured.items()}


def passage_in_words(name: str) -> str:
    """Return the same as one line of JSON, for a process of its own."""
    with TemporaryDirectory() as folder:
        return json.dumps(passage(name, Path(folder)))
