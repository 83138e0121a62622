"""Tables of other rooms, on which their commands are tried."""

from __future__ import annotations

from tests.risk.conftest import golden, sixteen
from tests.utility.conftest import people

__all__ = ["golden", "people", "sixteen"]
