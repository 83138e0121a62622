"""Tables that programs can extend: what was added is seen, whatever is loaded."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.refusals import refused

from caveat.attack.registry import ATTACKS
from caveat.cli.reading import check_file
from caveat.protect.pipeline import PROTECTIONS
from caveat.registry import Registry, is_extended
from caveat.risk import MEASURES
from caveat.synthesis.methods import METHODS
from caveat.table.source import FORMATS
from caveat.utility import MEASURES as UTILITIES

TABLES: tuple[Registry[object], ...] = (
    MEASURES, UTILITIES, ATTACKS, METHODS, PROTECTIONS, FORMATS,
)  # fmt: skip


def test_what_is_built_in_is_no_extension() -> None:
    assert all(TABLES)
    assert not any(table.is_extended for table in TABLES)
    assert not is_extended()


@pytest.mark.parametrize("table", TABLES, ids=["risk", "utility", *"amrf"])
def test_an_entry_that_is_added_or_replaced_is_seen(
    table: Registry[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, entry = next(iter(table.items()))
    for name, value in (("more", entry), (first, object())):
        monkeypatch.setitem(table, name, value)
        assert table.is_extended
        assert is_extended()
        monkeypatch.undo()
        assert not table.is_extended


def test_an_entry_that_is_removed_is_seen() -> None:
    table = Registry({"a": 1})
    table.put("b", 2, built_in=True)
    assert not table.is_extended
    del table["a"]
    assert table.is_extended
    table["a"] = 1  # so that no test after this one sees it
    assert not is_extended()


def test_a_mistake_is_found_though_the_rooms_are_loaded(tmp_path: Path) -> None:
    path = tmp_path / "release.toml"
    path.write_text("[data]\npath = 'data.csv'\n[synthesis]\nmetod = 'cart'\n")
    with refused("spec.entry.unknown", where="release.toml, line 4"):
        check_file(path, "data", "synthesis")
