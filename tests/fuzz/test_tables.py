"""Hostile but valid tables through the whole of the work: a result or a refusal in words."""

from __future__ import annotations

import json
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.fuzz.harness import FACTOR, failures, run_cases
from tests.fuzz.tables import hostile_tables

import caveat
from caveat.attack.registry import ATTACKS, run_attack
from caveat.errors import CaveatError
from caveat.release import Release
from caveat.synthesis import load, save
from caveat.synthesis.margins.promise import words_of
from caveat.table import Column, Table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
OPTIONS = {
    "keys": lambda names, half: names[:half],
    "second": lambda names, half: names[half:],
    "target": lambda names, half: names[-1],
    "columns": lambda names, half: min(2, len(names)),
    "n_attacks": lambda names, half: 20,
}
"""The options that an attack needs, from the columns of the release."""
ORDINARY = [name for name, attack in ATTACKS.items() if attack.attacker == "ordinary"]
SMOOTHING = ("density", "kernel", "spline")
RUNS = 25
"""One table of so many goes through a whole run."""
SAMPLE = range(0, 1_000, 113)
"""The tables of the short run: 113 is prime to the numbers of makers, methods and formats."""


def use(case: tuple[Any, int]) -> None:
    """Do with a table what users do; a step that is refused does not end the others."""
    frame, number = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table.from_frame(frame)
        _look(table)
        for options in _settings(table, number):
            _attempt(lambda o=options: _synthesise(table, number, o))  # type: ignore[misc]
        if number % RUNS == 0:
            _attempt(lambda: _release(table))


def _attempt(step: Callable[[], object]) -> None:
    with suppress(CaveatError):
        step()


def _settings(table: Table, number: int) -> list[dict[str, Any]]:
    declared = {name: _declare(column) for name, column in table.columns.items()}
    private = {"method": "margins", "epsilon": 1.0, "delta": 1e-6, "columns": declared}
    other = (
        {"method": "cart", "smoothing": SMOOTHING[number // 6 % 3]},
        {"method": "guarded", "groups": table.names[number // 6 % len(table.names)]},
        {"method": "margins"},
        {"method": "forest", "trees": 2},
        {"method": ("normal", "normrank")[number // 6 % 2]},
        {"method": "cart", "weights": table.names[-1]},
    )[number % 6]
    return [{"method": "cart"}, {"method": "guarded"}, private, other]


def _declare(column: Column) -> dict[str, Any]:
    """Return a range of a hundred steps, or words; no value that is missing is among them."""
    levels = column.levels
    if column.kind.is_number and levels.dtype.kind != "M" and len(levels) > 1:
        low, high = column.numbers[[0, -1]].tolist()
        return {"range": [low, high, (high - low) / 100], "bins": 8, "missing": [""]}
    words = dict.fromkeys(words_of(levels[:50]))
    return {"levels": [word for word in words if word] or ["none"], "missing": [""]}


def _look(table: Table) -> None:
    profile = caveat.look(table)
    str(profile)
    profile._repr_html_()
    caveat.starter(profile)


def _synthesise(table: Table, number: int, options: dict[str, Any]) -> None:
    model = caveat.Synthesizer(seed=number, threads=1, anyway=True, **options).fit(table)
    str(model.plan)
    release = model.tables()[0]
    release.to_frame()
    model.log_prob(release)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "m.caveat"
        save(model, file)
        assert load(file).tables()[0].columns == release.columns
        _attempt(lambda: _write(release, Path(folder), number))
    _measure(table, release, model, number)


def _measure(table: Table, release: Table, model: Any, number: int) -> None:
    names = [name for name in release if name in table]
    if not names:
        return
    half = len(names) // 2
    targets = names[-1:] if number % 5 == 0 else []
    _attempt(lambda: str(caveat.compare(table, release, targets=targets, resamples=2)))
    if half:
        _attempt(lambda: str(caveat.audit(table, release, keys=names[:half], targets=names[half:])))
    few = np.arange(0, table.n_rows, max(table.n_rows // 4, 1)).tolist()
    strong = {"generator": model, "threads": 1}
    _attempt(lambda: caveat.membership(table, release, records=few, **strong))
    target = names[number % len(names)]
    _attempt(lambda: caveat.attributes(table, release, target, records=few[:2], **strong))
    name = ORDINARY[number % len(ORDINARY)]
    needed = {option.name for option in ATTACKS[name].options} & {*OPTIONS}
    options = {option: OPTIONS[option](names, half) for option in needed}
    control = {"control": table} if name == "membership" else {}
    _attempt(lambda: run_attack(name, table, release, **options, **control))


def _write(release: Table, folder: Path, number: int) -> None:
    file = folder / ("x.csv", "x.parquet", "x.sav", "x.xlsx")[number % 4]
    caveat.write(release, file)
    caveat.read(file)


def _release(table: Table) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        caveat.write(table, folder / "x.parquet")
        keys, target = table.names[:-1], table.names[-1]
        (folder / "release.toml").write_text(
            '[data]\npath = "x.parquet"\n[[scenario]]\nname = "neighbour"\n'
            f"keys = {json.dumps(list(keys or [target]))}\ntargets = {json.dumps([target])}\n"
            '[output]\nfolder = "out"\n',
            "utf-8",
        )
        Release.from_toml(folder / "release.toml").run()


def test_hostile_tables_have_results_or_are_refused_in_words():
    numbers = SAMPLE if FACTOR <= 1 else range(int(50 * FACTOR))
    found = run_cases(use, hostile_tables(numbers))
    assert not failures(found), failures(found)
    counts = Counter(outcome.verdict for outcome in found)
    assert counts["accepted"] > 10 * counts["refused"]
