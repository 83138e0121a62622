"""Tables with very many columns: pairs are bounded, and the report says so."""

from __future__ import annotations

import io
import time

import numpy as np
import pytest
from rich.console import Console

from caveat.cli.look import MOST_COLUMNS, show
from caveat.findings import arithmetic, derived, look


def noise(columns: int, rows: int, seed: int = 0) -> dict[str, np.ndarray]:
    values = np.random.default_rng(seed).integers(1, 100, (columns, rows))
    return {f"c{i}": cells for i, cells in enumerate(values)}


def test_from_few_rows_no_relation_is_told_and_none_is_looked_for(monkeypatch):
    """What is found with 29 rows is what is found without the searches."""

    def searched(*_):
        raise AssertionError("pairs of columns were looked at")

    x = np.arange(29)
    frame = {"a": x, "b": x + 1, "c": 2 * x + 1, "d": np.where(x < 15, "low", "high")}
    assert look(frame).about("order") == ()
    for module, search in (
        (arithmetic, "find_identities"),
        (derived, "find_dependencies"),
        (derived, "find_orders"),
        (derived, "find_implications"),
    ):
        monkeypatch.setattr(module, search, searched)
    start = time.process_time()
    found = look(noise(10_000, 5))
    assert time.process_time() - start < 200
    assert len(found.columns) == 10_000
    assert found.about("sampled-columns") == ()


@pytest.mark.parametrize(
    ("module", "name"), [(arithmetic, "find_identities"), (derived, "find_dependencies")]
)
def test_with_29_rows_the_searches_find_nothing(module, name):
    """So that leaving them out loses nothing."""
    from caveat.table import Table

    x = np.arange(29) % 10
    table = Table.from_frame({"a": x, "b": 2 * x, "c": x // 2, "d": x + x // 2})
    assert getattr(module, name)(table, list(table)) == []


def test_pairs_of_very_many_columns_are_sampled_and_the_report_says_so(monkeypatch):
    monkeypatch.setattr(derived, "MOST_COLUMNS", 10)
    monkeypatch.setattr(arithmetic, "MOST_COLUMNS", 5)
    frame = noise(21, 60)
    frame["c2"] = frame["c0"] + 1000  # the 1st and the 3rd column are in the sample of 10 of 21
    frame["c3"] = frame["c1"] + 1000  # the 2nd and the 4th are not
    found = look(frame)
    (note,) = found.about("sampled-columns")
    assert note.message == (
        "pairs were compared in a sample of 10 of 21 columns; "
        "sums and products were tried in a sample of 5 of 10 numeric columns."
    )
    assert [f.columns for f in found.about("arithmetic")] == [("c2", "c0")]
    assert look(frame).to_dict() == found.to_dict()


def test_ordinary_tables_are_looked_at_whole():
    frame = noise(arithmetic.MOST_COLUMNS // 4, 60)
    frame["total"] = frame["c1"] + frame["c20"]
    found = look(frame)
    assert found.about("sampled-columns") == ()
    assert [set(f.columns) for f in found.about("arithmetic")] == [{"total", "c1", "c20"}]


def test_sample_is_even_whole_if_small_and_has_both_ends():
    assert derived.sample_columns("abc", 3) == ["a", "b", "c"]
    assert derived.sample_columns(range(101), 5) == [0, 25, 50, 75, 100]


def test_the_terminal_lists_the_first_columns_and_counts_the_others():
    profile = look(noise(MOST_COLUMNS + 7, 5))
    console = Console(width=80, record=True, file=io.StringIO())
    show(profile, "wide.csv", every=True, to=console)
    text = console.export_text()
    assert "… and 7 further columns; --json lists them all" in text
    assert f"c{MOST_COLUMNS - 1} " in text
    assert f"c{MOST_COLUMNS} " not in text
