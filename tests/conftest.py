"""Fixtures for all tests."""

from __future__ import annotations

from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and reference values that may lie beside the project."""
    if not SHARED.is_dir():
        pytest.skip("../shared (data and reference values) is not here")
    return SHARED
