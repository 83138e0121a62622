"""An audit against the wrong file is refused, or says so; empty cells are one missing value."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.refusals import refused

from caveat.errors import CaveatError
from caveat.risk import audit
from caveat.table import read


def people(n: int = 60, towns: str = "UVW", start: int = 20) -> dict[str, list[Any]]:
    rng = np.random.default_rng(n)
    return {
        "town": rng.choice(list(towns), n).tolist(),
        "age": (start + np.arange(n) % 40).tolist(),
        "ill": rng.choice(["no", "yes"], n).tolist(),
    }


@pytest.mark.parametrize(
    ("release", "column"),
    [(people(towns="XYZ"), "town"), (people(start=1000), "age")],
)
def test_no_common_value_of_a_key_is_an_error(release: dict[str, list[Any]], column: str) -> None:
    for keys, targets in ((["town", "age"], ["ill"]), (["ill"], [column]), (["ill"], None)):
        with refused("data.value.mismatch"):
            audit(people(), [people(50), release], keys=keys, targets=targets)
    with pytest.raises(CaveatError) as error:
        audit(people(), release, keys=["town", "age"], targets=["ill"])
    assert not {*"UVWXYZ"} & {*str(error.value).split()}  # names columns, not values


def test_a_wrong_control_is_an_error() -> None:
    with refused("data.value.mismatch", column="town"):
        audit(people(), people(50), keys=["town"], targets=["ill"], control=people(towns="XYZ"))


def test_few_values_that_are_all_held_out_do_not_stop_an_audit() -> None:
    """Three people have the illness at all, and those who are held out have other ones."""
    blank: list[Any] = [None] * 57
    original = {**people(), "rare": [*blank, "gout", "gout", "yaws"]}
    control = {**people(), "rare": [*blank, None, "scurvy", None]}
    found = audit(original, original, keys=["age"], targets=["rare"], control=control)
    assert found["DiSCO", "rare"].value is not None


def test_less_than_half_in_common_is_carried_by_every_result() -> None:
    release = people(towns="UXYZ")
    found = audit(people(), release, keys=["town", "age"], targets=["ill"])
    warning = (
        "town: less than half of the synthetic cells have a value that occurs in the original: "
        "is it the right file?"
    )
    assert found.warnings == (warning,)
    assert str(found).startswith(f"WARNING: {warning}\n")
    assert all(warning in row.result.notes for row in found.rows)
    assert warning in found.to_dict()["differences"]
    other = audit(people(), release, keys=["age"], targets=["ill"])
    assert not any(warning in row.result.notes for row in other.rows)


def test_a_smoothed_release_is_measured() -> None:
    rng = np.random.default_rng(1)
    original = people(200)
    smooth = {**original, "age": (np.array(original["age"]) + rng.normal(0, 0.4, 200)).tolist()}
    found = audit(original, smooth, keys=["town"], targets=["age"])
    assert found.warnings == ()
    assert found["DiSCO", "age"].value == 0


def test_quoted_empty_cells_of_eusilc(shared: Path, tmp_path: Path) -> None:
    """R quotes texts, so that a child's empty citizenship is two quotation marks in its files."""
    path = shared / "data" / "laeken_eusilc.csv"
    columns = ["db040", "hsize", "age", "rb090", "pb220a"]
    with path.open(encoding="utf-8", newline="") as lines:
        rows = [[row[name] for name in columns] for row in csv.DictReader(lines)]
    quoted = tmp_path / "quoted.csv"
    numbers = ("hsize", "age")
    with quoted.open("w", encoding="utf-8") as out:
        for row in [columns, *rows]:
            cells = [
                cell if name in numbers and row is not columns else f'"{cell}"'
                for name, cell in zip(columns, row, strict=True)
            ]
            out.write(",".join(cells) + "\n")
    original, release = read(path), read(quoted)
    assert '""' in quoted.read_text("utf-8")
    asked: dict[str, Any] = {"keys": columns[:4], "targets": ["pb220a"]}
    bare, other = audit(original, original, **asked), audit(original, release, **asked)
    for name in ("DiSCO", "Dorig", "repU"):
        target = None if name == "repU" else "pb220a"
        assert other.each(name, target)[0].value == bare.each(name, target)[0].value
    assert bare["DiSCO", "pb220a"].value == pytest.approx(0.757335, abs=1e-6)  # 57 if "" is a level
    swapped = audit(release, original, **asked)
    assert swapped["DiSCO", "pb220a"].value == bare["DiSCO", "pb220a"].value
    excluded = audit(original, release, **asked, exclude_levels={"pb220a": [""]})
    assert excluded["DiSCO", "pb220a"].value < bare["DiSCO", "pb220a"].value
