"""What the commands share: progress where no terminal shows it."""

from __future__ import annotations

import time

import pytest
from rich.progress import Progress

from caveat.cli import console


def test_a_log_gets_a_line_from_time_to_time(monkeypatch, capsys):
    monkeypatch.setattr(console, "EVERY", 0.05)
    with console.progress() as bar:
        task = bar.add_task("fitting", total=4)
        bar.advance(task, 1)
        begin, said = time.monotonic(), ""
        while said.count("\n") < 2:
            said += capsys.readouterr().err
            assert time.monotonic() < begin + 300
    lines = (said + capsys.readouterr().err).splitlines()
    assert len(lines) <= (time.monotonic() - begin) / 0.05 + 2
    assert lines[0].startswith("fitting: 25 %")


@pytest.mark.parametrize("how", ["short", "disabled", "done"])
def test_no_line_where_nothing_is_to_be_said(monkeypatch, capsys, how: str):
    monkeypatch.setattr(console, "EVERY", 0.05 if how != "short" else 600.0)
    with console.progress(disable=how == "disabled") as bar:
        task = bar.add_task("fitting", total=1)
        bar.advance(task, 1 if how == "done" else 0.5)
        time.sleep(0.15)
    assert capsys.readouterr().err == ""


def test_the_time_that_is_left_grows_while_nothing_becomes_ready():
    now = [100.0]
    bar = Progress(get_time=lambda: now[0])
    bar.add_task("attack", total=1.0)
    (task,) = bar.tasks
    assert console._seconds_left(task) is None
    now[0] += 30
    bar.update(task.id, completed=0.75)
    assert console._seconds_left(task) == pytest.approx(10)
    now[0] += 90  # still at three quarters
    assert console._seconds_left(task) == pytest.approx(40)
    assert console._TimeLeft().render(task).plain == "0:00:40"
