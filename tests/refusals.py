"""What a test asks of an error: its code and its place. The words may change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from caveat.errors import CaveatError


@contextmanager
def refused(code: str, **place: Any) -> Iterator[pytest.ExceptionInfo[CaveatError]]:
    """Expect a mistake with this code, and with these values of where, column, row or entry."""
    with pytest.raises(CaveatError) as caught:
        yield caught
    assert caught.value.code == code
    for name, value in place.items():
        assert getattr(caught.value, name) == value, name
