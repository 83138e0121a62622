"""``caveat app``: what is refused before anything is served; the rest is in tests/app."""

from __future__ import annotations

import socket

from tests.refusals import refused

from caveat.cli import run
from caveat.errors import CaveatError


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with refused("app.folder.absent"):
        run.serve(tmp_path / "nothing")


def test_only_this_machine_reaches_it_and_a_port_that_is_taken_is_refused():
    with run._bound(None) as first:
        host, port = first.getsockname()
        assert host == "127.0.0.1"
        with refused("app.port.conflict", where="--port 8765"):
            run._bound(port)
        with run._bound(None) as second:  # another one that is free
            assert second.getsockname()[1] != port


def test_who_opens_the_address_at_once_is_not_refused():
    with run._bound(None) as bound, socket.create_connection(bound.getsockname(), 5) as here:
        assert here.getpeername() == bound.getsockname()


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    def missing(module, package, extra, purpose):
        raise CaveatError(
            f"{purpose} needs {package}",
            do=f"pip install 'caveat[{extra}]'",
            code="test.thing.failed",
        )

    monkeypatch.setattr(run, "load_extra", missing)
    with refused("test.thing.failed"):
        run.serve(tmp_path)
