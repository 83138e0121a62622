"""Fixtures for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadlines: the first call of a kernel compiles it. A landing must not hang on a lucky draw, so
# CI tries the same examples every time; everybody else looks for new ones.
settings.register_profile("caveat", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("caveat")

# Workers that compile the same kernels side by side have no use for more processes.
os.environ["CAVEAT_COMPILE_ALONE"] = "1"

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of data and reference values that may lie beside the project."""
    if not SHARED.is_dir():
        pytest.skip("../shared (data and reference values) is not here")
    return SHARED
