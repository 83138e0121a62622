"""Every command that compares two tables refuses the wrong one, or warns above its figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.refusals import refused
from typer.testing import CliRunner

from caveat.attack.registry import run_attack
from caveat.cli import app
from caveat.table import Table, write
from caveat.utility import compare

WARNING = "town: less than half of the synthetic cells have a value that occurs in the original"


def people(towns: str, seed: int, n: int = 120) -> Table:
    rng = np.random.default_rng(seed)
    return Table.from_frame(
        {
            "town": rng.choice(list(towns), n),
            "age": rng.integers(20, 60, n),
            "ill": rng.choice(["no", "yes"], n),
        }
    )


ORIGINAL, HALF, WRONG = people("UVW", 1), people("UXYZ", 2), people("XYZ", 3)
COMMANDS = {
    "audit": ["--keys", "town,age"],
    "compare": [],
    "attack inference": ["--keys", "town,age", "--target", "ill"],
}


def run(tmp_path: Path, command: str, release: Table) -> str:
    for name, table in (("original", ORIGINAL), ("release", release)):
        write(table, tmp_path / f"{name}.csv", force=True)
    files = [str(tmp_path / f"{name}.csv") for name in ("original", "release")]
    result = CliRunner().invoke(app, [*command.split(), *files, *COMMANDS[command]])
    if result.exception is not None:
        raise result.exception
    return " ".join(result.output.split())


@pytest.mark.parametrize("command", COMMANDS)
def test_the_warning_stands_above_the_figures(tmp_path: Path, command: str) -> None:
    text = run(tmp_path, command, HALF)
    place = text.index(f"WARNING: {WARNING}")
    assert place < text.index(
        {"audit": "baseline", "compare": "S_pMSE", "attack inference": "95 %"}[command]
    )
    assert "WARNING" not in run(tmp_path, command, people("UVW", 4))


@pytest.mark.parametrize("command", ["audit", "attack inference"])
def test_nothing_in_common_is_refused(tmp_path: Path, command: str) -> None:
    with refused("data.value.mismatch", column="town"):
        run(tmp_path, command, WRONG)


def test_measurements_of_utility_carry_the_warning() -> None:
    found = compare(ORIGINAL, HALF, measures=["KS", "total variation"], resamples=1)
    assert [w.startswith(WARNING) for w in found.warnings] == [True]
    assert all(found.warnings[0] in result.measurement.notes for result in found.results)
    assert found.warnings[0] in found.to_dict()["remarks"]
    with refused("data.value.mismatch", column="town"):
        compare(ORIGINAL, WRONG, targets=["town"], measures=["TSTR"])


def test_attacks_without_keys_need_one_common_column() -> None:
    found = run_attack("distances", ORIGINAL, WRONG)
    assert all("town: no synthetic cell" in one.result.notes[-1] for one in found)
    towns = ORIGINAL.select(["town"]), WRONG.select(["town"])
    with refused("data.table.mismatch"):
        run_attack("distances", *towns)
