"""The ledger: sums, refusals, damage, and what is left when processes compete or are killed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.refusals import refused

import caveat
from caveat import CaveatError
from caveat.privacy import TABLE, Ledger, Limit, Spent, epsilon_of, rho_of

LIMIT = Limit(1, 1e-6)
ALL = rho_of(1, 1e-6)


@pytest.fixture
def book(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.jsonl")


def spend(book: Ledger, cost: Spent, limit: Limit = LIMIT, dataset: str = "survey") -> None:
    with book.spending(dataset, cost, limit=limit):
        pass


def lines(book: Ledger) -> list[str]:
    return book.path.read_text("utf-8").splitlines()


def test_an_entry_says_what_was_spent_when_and_by_which_version(book: Ledger) -> None:
    spend(book, Spent(rho=0.01, what="margins, one copy"))
    spend(book, Spent(epsilon=0.25, delta=1e-7, what="Poisson counts"))
    first, second = map(json.loads, lines(book))
    times = [datetime.fromisoformat(entry.pop("time")) for entry in (first, second)]
    assert all(time.utcoffset() == timedelta(0) for time in times)
    assert abs(times[1] - datetime.now(UTC)) < timedelta(minutes=1)
    same = {"kind": "budget", "dataset": "survey", "version": caveat.__version__}
    assert first == {**same, "what": "margins, one copy", "rho": 0.01}
    assert second == {**same, "what": "Poisson counts", "epsilon": 0.25, "delta": 1e-7}


def test_rho_adds_up_and_is_converted_at_the_delta_that_is_left(book: Ledger) -> None:
    assert book.spent("survey", 1e-6) == 0
    spend(book, Spent(rho=0.004))
    spend(book, Spent(rho=0.006))
    assert book.spent("survey", 1e-6) == pytest.approx(epsilon_of(0.01, 1e-6))
    spend(book, Spent(epsilon=0.125, delta=4e-7))
    assert book.spent("survey", 1e-6) == pytest.approx(0.125 + epsilon_of(0.01, 6e-7))
    spend(book, Spent(epsilon=0.125, delta=0))
    assert book.spent("survey", 1e-6) == pytest.approx(0.25 + epsilon_of(0.01, 6e-7))
    assert book.spent("survey", 3e-7) == float("inf")
    assert book.spent("another", 1e-6) == 0


def test_all_of_a_budget_can_be_spent_and_no_more(book: Ledger) -> None:
    for _ in range(10):
        spend(book, Spent(rho=ALL / 10))
    with pytest.raises(CaveatError):
        spend(book, Spent(rho=ALL / 1000))
    plain = Limit(0.3, 0.3)
    for _ in range(3):
        spend(book, Spent(epsilon=0.1, delta=0.1), plain, "another")
    with pytest.raises(CaveatError):
        spend(book, Spent(epsilon=1e-6, delta=0), plain, "another")
    assert len(book.entries("survey")) == 10
    assert len(book.entries("another")) == 3
    assert len(book.entries()) == 13


def test_a_refusal_says_what_is_spent_what_is_left_and_what_to_do(book: Ledger) -> None:
    spend(book, Spent(rho=0.01))
    with pytest.raises(CaveatError) as found:
        spend(book, Spent(rho=0.02))
    assert str(found.value) == (
        f"{book.path}: ε = 0.6217 of the limit (ε = 1, δ = 1e-06) is spent on survey, "
        "ρ = 0.0143 is left, and this needs ρ = 0.02; "
        "ask for less, or have the limit raised by those who set it."
    )
    spend(book, Spent(rho=0.0143))


def test_a_refusal_of_a_plain_cost(book: Ledger) -> None:
    spend(book, Spent(epsilon=0.5, delta=9e-7))
    with pytest.raises(CaveatError, match=re.escape("ε = 0.5, δ = 1e-07 is left, and this needs")):
        spend(book, Spent(epsilon=0.6, delta=1e-8))
    with pytest.raises(CaveatError, match=re.escape("this needs ε = 0.1, δ = 2e-07;")):
        spend(book, Spent(epsilon=0.1, delta=2e-7))
    with pytest.raises(CaveatError, match=re.escape("δ = 9e-07 of the limit (ε = 1, δ = 1e-09)")):
        spend(book, Spent(rho=1e-6), Limit(1, 1e-9))
    assert len(book.entries()) == 1


def test_after_an_error_nothing_was_spent(book: Ledger) -> None:
    for error in (ZeroDivisionError, KeyboardInterrupt, OSError):
        with (
            pytest.raises(error),
            book.spending("survey", Spent(rho=ALL), limit=LIMIT),
        ):
            raise error
    assert book.entries() == []
    spend(book, Spent(rho=ALL))


def test_inside_the_block_nothing_is_entered_yet(book: Ledger) -> None:
    with book.spending("survey", Spent(rho=ALL), limit=LIMIT):
        assert not book.path.exists()
        assert book.entries() == []
    assert len(book.entries()) == 1


def test_a_torn_last_line_is_ignored_and_cut_off(book: Ledger) -> None:
    spend(book, Spent(rho=0.001))
    (whole,) = lines(book)
    for end in ("{", whole[:-1], '{"kind": "budget"', "\0\0\0"):
        book.path.write_text(f"{whole}\n{end}", encoding="utf-8")
        assert len(book.entries()) == 1
        spend(book, Spent(rho=0.002))
        assert [json.loads(line)["rho"] for line in lines(book)] == [0.001, 0.002]


def test_an_entry_whose_line_end_an_editor_has_dropped_counts(book: Ledger) -> None:
    spend(book, Spent(rho=0.001))
    book.path.write_bytes(book.path.read_bytes().rstrip(b"\n"))
    assert len(book.entries()) == 1
    spend(book, Spent(rho=0.002))
    assert [json.loads(line)["rho"] for line in lines(book)] == [0.001, 0.002]


@pytest.mark.parametrize(
    "damage",
    [
        "", "{", "[]", "17", "no entry", '{"kind": 3}', '{"dataset": "survey"}', "\0\0",
        '{"kind": "budget"}', '{"kind": "budget", "dataset": "survey"}',
        '{"kind": "budget", "rho": 0.1}',
        '{"kind": "budget", "dataset": "survey", "rho": -0.1}',
        '{"kind": "budget", "dataset": "survey", "rho": NaN}',
        '{"kind": "budget", "dataset": "survey", "rho": "0.1"}',
        '{"kind": "budget", "dataset": "survey", "rho": 0.1, "epsilon": 1, "delta": 0}',
        '{"kind": "budget", "dataset": "survey", "epsilon": 1}',
        '{"kind": "budget", "dataset": "survey", "rho": 0.1, "what": 3}',
    ],
)  # fmt: skip
def test_damage_in_the_middle_is_an_error_that_names_the_line(book: Ledger, damage: str) -> None:
    spend(book, Spent(rho=0.001))
    (whole,) = lines(book)
    content = f"{whole}\n{damage}\n{whole}\n"
    book.path.write_text(content, encoding="utf-8")
    says = r"ledger\.jsonl, line 2: the entry is damaged; take the file from a backup"
    with pytest.raises(CaveatError, match=says):
        book.entries()
    with pytest.raises(CaveatError, match=says):
        spend(book, Spent(rho=0.001))
    assert book.path.read_text("utf-8") == content


def test_entries_of_other_kinds_are_kept_and_cost_nothing(book: Ledger) -> None:
    other = '{"kind": "release", "dataset": "survey", "rho": 99, "files": ["a.csv"]}'
    book.path.write_text(f'{other}\n{{"kind": "new"}}\n', encoding="utf-8")
    assert book.spent("survey", 1e-6) == 0
    spend(book, Spent(rho=ALL))
    assert lines(book)[0] == other
    assert [entry["kind"] for entry in book.entries("survey")] == ["release", "budget"]
    assert [entry["kind"] for entry in book.entries()] == ["release", "new", "budget"]


def test_a_link_leads_to_the_same_ledger_and_the_same_lock(book: Ledger, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "elsewhere" / "link.jsonl"
    link.symlink_to(book.path)
    spend(book, Spent(rho=ALL / 2))
    spend(Ledger(link), Spent(rho=ALL / 2))
    with refused("privacy.budget.refused"):
        spend(book, Spent(rho=ALL))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "elsewhere", "ledger.jsonl", "ledger.jsonl.lock",
    ]  # fmt: skip


# --- Wrong input -------------------------------------------------------------------------------


def test_the_path_is_a_folder_or_in_no_folder(tmp_path: Path) -> None:
    with refused("privacy.ledger.type"):
        spend(Ledger(tmp_path), Spent(rho=0.1))
    with refused("privacy.ledger.type"):
        Ledger(tmp_path).entries()
    with refused("privacy.folder.absent"):
        spend(Ledger(tmp_path / "no" / "ledger.jsonl"), Spent(rho=0.1))
    assert Ledger(tmp_path / "no" / "ledger.jsonl").entries() == []


def refuse(*_: object) -> int:
    raise PermissionError(13, "Permission denied")


def test_a_folder_that_cannot_be_written(book: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for an administrator, whom no permissions stop."""
    spend(book, Spent(rho=0.001))
    monkeypatch.setattr(os, "open", refuse)
    with (
        refused("privacy.ledger.not-writable"),
        book.spending("survey", Spent(rho=0.001), limit=LIMIT),
    ):
        pytest.fail("went on without a lock")
    assert len(book.entries()) == 1


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="an administrator may write anywhere"
)
def test_a_read_only_folder(book: Ledger) -> None:
    book.path.parent.chmod(0o500)
    try:
        with pytest.raises(CaveatError, match="cannot be written"):
            spend(book, Spent(rho=0.001))
    finally:
        book.path.parent.chmod(0o700)


def test_a_disk_that_is_full_leaves_the_ledger_as_it_was(
    book: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    spend(book, Spent(rho=0.001))
    before, real = book.path.read_bytes(), os.write
    monkeypatch.setattr(os, "write", lambda opened, line: real(opened, line[:10]))
    with refused("privacy.ledger.not-writable"):
        spend(book, Spent(rho=0.001))
    assert book.path.read_bytes() == before


def test_an_error_of_the_block_is_not_said_to_be_the_ledgers(book: Ledger) -> None:
    with (
        pytest.raises(FileNotFoundError),
        book.spending("survey", Spent(rho=0.001), limit=LIMIT),
    ):
        Path("nowhere/file").read_text("utf-8")


@pytest.mark.parametrize(
    "cost",
    [
        {}, {"epsilon": 1}, {"delta": 1e-6}, {"rho": 1, "epsilon": 1}, {"rho": 1, "delta": 1e-6},
        {"rho": 1, "epsilon": 1, "delta": 1e-6},
    ],
)  # fmt: skip
def test_a_cost_is_of_one_kind(cost: dict[str, float]) -> None:
    with refused("privacy.setting.conflict"):
        Spent(**cost)  # type: ignore[arg-type]


@pytest.mark.parametrize("rho", [0, -1, float("nan"), float("inf")])
def test_a_cost_is_above_0(rho: float) -> None:
    with refused("privacy.setting.range"):
        Spent(rho=rho)


@pytest.mark.parametrize("delta", [-1e-9, 1, 2, float("nan")])
def test_the_delta_of_a_cost(delta: float) -> None:
    with refused("privacy.setting.range"):
        Spent(epsilon=1, delta=delta)


@pytest.mark.parametrize("words", ["two\nlines", "x" * 201, "\x1b[2J"])
def test_words_are_one_line(book: Ledger, words: str) -> None:
    with refused("privacy.text.malformed"):
        Spent(rho=1, what=words)
    with refused("privacy.text.malformed"):
        spend(book, Spent(rho=0.001), dataset=words)
    with refused("privacy.name.empty"):
        spend(book, Spent(rho=0.001), dataset=" ")


def test_words_in_any_language_come_back(book: Ledger) -> None:
    spend(book, Spent(rho=0.001, what="Haushalte, Übung"), dataset="調査 2026")
    assert book.entries("調査 2026")[0]["what"] == "Haushalte, Übung"
    assert repr(book) == f"Ledger({str(book.path)!r})"


# --- Several processes -------------------------------------------------------------------------

ONE = """
import sys, time
from caveat import CaveatError
from caveat.privacy import Ledger, Limit, Spent
print("ready", flush=True)
sys.stdin.readline()
try:
    with Ledger(sys.argv[1]).spending("survey", Spent(rho=0.012), limit=Limit(1, 1e-6)):
        time.sleep(0.2)
    print("spent")
except CaveatError as error:
    print(error.what)
"""


def test_two_processes_cannot_both_spend_the_last(book: Ledger) -> None:
    spend(book, Spent(rho=0.01))  # 0.0143 is left: enough for one of them
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", ONE, str(book.path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(3)
    ]  # fmt: skip
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write("\n")
        run.stdin.flush()
    said = [run.communicate()[0].strip() for run in runs]
    refused = "ρ = 0.00235 is left, and this needs ρ = 0.012"
    assert said.count("spent") == 1
    assert sum(text.endswith(refused) for text in said) == 2
    assert len(book.entries()) == 2


# Spends in a loop; notes before each block that it begins, and after it writes its output.
LOOP = """
import os, random, signal, sys, time
from pathlib import Path
from caveat.privacy import Ledger, Limit, Spent
folder, kills = Path(sys.argv[1]), int(sys.argv[2])
def spend_on(child):
    begun = os.open(folder / "begun", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for turn in range(10**6):
        name = f"{child}-{turn}"
        os.write(begun, f"{name}\\n".encode())
        cost = Spent(rho=1e-9, what=name)
        with Ledger(folder / "ledger.jsonl").spending("survey", cost, limit=Limit(1, 1e-6)):
            pass
        (folder / f"out-{name}").touch()
# Once before all: the libraries that it needs are loaded then, and not by each child anew.
with Ledger(folder / "first.jsonl").spending("x", Spent(rho=1e-9, what="x"), limit=Limit(1, 1e-6)):
    pass
for kill in range(kills):
    children = [f"{kill}-{which}" for which in "ab"]
    running = []
    for child in children:
        number = os.fork()
        if not number:
            spend_on(child)
        running.append(number)
    time.sleep(random.uniform(0, 0.06))
    for number in running:
        os.kill(number, signal.SIGKILL)
        assert os.WTERMSIG(os.waitpid(number, 0)[1]) == signal.SIGKILL
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_kills_neither_lose_nor_invent_spending(book: Ledger) -> None:
    """Fifty times two processes that spend side by side are killed at any moment."""
    folder = book.path.parent
    subprocess.run([sys.executable, "-c", LOOP, str(folder), "50"], check=True, timeout=300)
    entries = [entry["what"] for entry in book.entries("survey")]
    begun = (folder / "begun").read_text("utf-8").split()
    outputs = {path.name.removeprefix("out-") for path in folder.glob("out-*")}
    assert len(entries) > 50
    assert len(set(entries)) == len(entries)
    assert outputs <= set(entries) <= set(begun)
    # Each killed process has at most one entry whose output it could not write any more.
    assert len(entries) - len(outputs) <= 100
    # Nobody holds the lock, and the next one can spend; no line is torn in the middle.
    spend(book, Spent(rho=1e-9, what="after"))
    assert [json.loads(line)["what"] for line in lines(book)] == [*entries, "after"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize("call", ["ftruncate", "write", "fsync"])
@pytest.mark.parametrize("when", ["before", "half", "after"])
def test_a_death_at_every_step_of_writing(book: Ledger, call: str, when: str) -> None:
    """At the very moments that random kills seldom meet."""
    script = f"""
import os, sys
from caveat.privacy import Ledger, Limit, Spent
real = os.{call}
def dying(opened, *rest):
    if {when!r} == "half" and rest and isinstance(rest[0], bytes):
        rest = (rest[0][:20],)
    if {when!r} != "before":
        real(opened, *rest)
    os._exit(9)
os.{call} = dying
with Ledger(sys.argv[1]).spending("survey", Spent(rho=0.002), limit=Limit(1, 1e-6)):
    pass
"""
    spend(book, Spent(rho=0.001))
    done = subprocess.run([sys.executable, "-c", script, str(book.path)], check=False)
    assert done.returncode == 9
    is_whole = call == "fsync" or (call == "write" and when == "after")
    assert [entry["rho"] for entry in book.entries()] == [0.001, *[0.002] * is_whole]
    spend(book, Spent(rho=0.003))
    found = [json.loads(line)["rho"] for line in lines(book)]
    assert found == [0.001, *[0.002] * is_whole, 0.003]


def test_published_tables_are_kept_and_cost_nothing(book: Ledger) -> None:
    with book.publishing("survey") as (earlier, new):
        assert earlier == []
        new += [{"what": "a.csv", "sha256": "a"}, {"what": "b.csv", "sha256": "b"}]
    spend(book, Spent(rho=0.01))
    with book.publishing("survey") as (earlier, new):
        assert [(entry["kind"], entry["what"]) for entry in earlier] == [
            (TABLE, "a.csv"), (TABLE, "b.csv"),
        ]  # fmt: skip
        assert set(earlier[0]) == {"kind", "dataset", "what", "sha256", "time", "version"}
    with book.publishing("another") as (earlier, _):
        assert earlier == []
    assert book.spent("survey", 1e-6) == pytest.approx(0.6217, abs=1e-4)
    assert len(book.entries("survey")) == 3


def test_after_an_error_nothing_was_published(book: Ledger) -> None:
    with suppress(ZeroDivisionError), book.publishing("survey") as (_, new):
        new.append({"what": "a.csv"})
        raise ZeroDivisionError
    assert book.entries() == []


def test_releases_are_entered_and_cost_nothing(book: Ledger) -> None:
    spend(book, Spent(rho=0.004))
    with book.releasing("survey") as (earlier, new):
        assert earlier == []
        new.append({"what": "first", "data": "abc"})
    with book.publishing("survey") as (tables, _):
        assert tables == []
    with book.releasing("survey") as (earlier, new):
        assert [entry["what"] for entry in earlier] == ["first"]
    with suppress(ZeroDivisionError), book.releasing("survey") as (_, new):
        new.append({"what": "second"})
        raise ZeroDivisionError
    assert [entry["kind"] for entry in book.entries("survey")] == ["budget", "release"]
    assert book.spent("survey", 1e-6) == pytest.approx(epsilon_of(0.004, 1e-6))


def test_spellings_of_a_name_are_one_budget(book: Ledger) -> None:
    for name in ("d", "D", " d ", "ｄ"):
        spend(book, Spent(rho=ALL / 4), dataset=name)
    assert len(book.entries("D ")) == 4
    assert book.spent("d", 1e-6) == pytest.approx(1)
    with refused("privacy.budget.refused"):
        spend(book, Spent(rho=ALL / 4), dataset="d  ")
    spend(book, Spent(rho=ALL / 4), dataset="e")
    assert [entry["dataset"] for entry in book.entries()] == ["d", "D", " d ", "ｄ", "e"]


def test_a_ledger_with_several_spellings_is_read_as_one_sum(book: Ledger) -> None:
    lines = [
        {"kind": "budget", "dataset": name, "rho": ALL / 2} for name in ("Straße 1", "STRASSE 1")
    ]
    book.path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert book.spent("strasse  1", 1e-6) == pytest.approx(1)


@pytest.mark.parametrize(
    "entry",
    [{"kind": "budget", "dataset": "d", "rho": "1"}, {"kind": "budget", "dataset": ["d"], "rho": 1},
     {"kind": "release", "dataset": "d", "targets": 3}, {"kind": "release", "private": "x"},
     {"kind": "release", "dataset": "d", "private": {"a": 1}},
     {"kind": "table", "dataset": "d", "cells": 3}, {"kind": ["budget"]}],
)  # fmt: skip
def test_an_entry_of_another_shape_is_damaged(entry: dict[str, object], book: Ledger) -> None:
    book.path.write_text(json.dumps(entry) + "\n")
    with refused("privacy.ledger.damaged"):
        book.entries()


@pytest.mark.parametrize("content", [None, b"", b"token-without-an-end", b"one\ntwo\n", b"{}"])
def test_a_link_to_a_file_that_is_no_ledger_changes_nothing(
    content: bytes | None, tmp_path: Path
) -> None:
    folder, other = tmp_path / "received", tmp_path / "other"
    folder.mkdir()
    if content is not None:
        other.write_bytes(content)
    (folder / "ledger.jsonl").symlink_to(other)
    with pytest.raises(CaveatError):
        spend(Ledger(folder / "ledger.jsonl"), Spent(rho=0.001))
    assert (other.read_bytes() if other.exists() else None) == content
    assert not (tmp_path / "other.lock").exists()


def test_a_file_that_is_no_ledger_is_not_cut_off(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"without an end")
    with refused("privacy.ledger.damaged"):
        spend(Ledger(tmp_path / "token"), Spent(rho=0.001))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"without an end"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes on this system")
def test_a_pipe_is_not_waited_for(book: Ledger) -> None:
    os.mkfifo(book.path)
    with pytest.raises(CaveatError):
        book.entries()
