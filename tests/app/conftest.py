"""A server and a browser for the tests that go through the pages."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from tests.app.browsing import AppBrowser, served


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("app")


@pytest.fixture(scope="module")
def address(folder):
    process, found = served(folder)
    yield found
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=300)[0]
    assert "Traceback" not in said


@pytest.fixture(scope="module")
def here(address):
    return address.partition("/?")[0]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    found = AppBrowser(tmp_path_factory.mktemp("profile"))
    yield found
    found.close()


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    chosen = os.environ.get("CAVEAT_PICTURES")
    found = Path(chosen) if chosen else tmp_path_factory.mktemp("pictures")
    found.mkdir(parents=True, exist_ok=True)
    return found
