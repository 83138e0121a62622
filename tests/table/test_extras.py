"""Packages that are not installed are asked for in one sentence."""

from __future__ import annotations

import pytest

from caveat.errors import CaveatError
from caveat.table.source import load_extra


def test_what_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(CaveatError) as caught:
        load_extra("no_such_module", "no-such-package", "db", "PostgreSQL")
    assert str(caught.value) == (
        "PostgreSQL needs the package no-such-package, which is not installed; "
        "run: pip install 'caveat[db]'."
    )
