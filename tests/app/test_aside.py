"""Short work in a process of its own."""

from __future__ import annotations

import asyncio

import pytest
from tests.refusals import refused

from caveat.app import jobs


def test_a_mistake_of_the_user_comes_back_as_one(tmp_path):
    file = tmp_path / "release.toml"
    file.write_text("[release]\ntitle = 1\n")
    with refused("spec.entry.absent") as caught:
        asyncio.run(jobs.answer("settings", str(file)))
    assert caught.value.code == "spec.entry.absent"  # the first of its mistakes


def test_what_takes_too_long_is_ended(tmp_path):
    with refused("app.work.timeout"):
        asyncio.run(jobs.answer("settings", str(tmp_path / "release.toml"), limit=0.01))


def test_a_defect_is_none_of_the_user(monkeypatch, tmp_path):
    with pytest.raises(RuntimeError, match="nothing"):
        asyncio.run(jobs.answer("nothing", str(tmp_path)))
