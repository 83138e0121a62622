"""The ledger: what was spent on promises about the same data, and the budget it may not exceed."""

from __future__ import annotations

import errno
import json
import math
import os
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_DOWN, Context
from pathlib import Path
from types import NoneType
from typing import Any

from caveat.documents import parse, read_bytes
from caveat.errors import CaveatError, commands_in
from caveat.privacy.noise import check_delta, check_epsilon, check_positive, epsilon_of, rho_of
from caveat.stopping import held, stop_if_told

__all__ = ["BUDGET", "RELEASE", "TABLE", "Budget", "Ledger", "Limit", "Spent"]


def append(path: Path, whole: int, lines: Sequence[str]) -> None:
    """Add lines after the last whole one, all of them or nothing, and force them to the disk.

    Parameters
    ----------
    path
        The file; it is made if it is not there.
    whole
        Length of what is whole in it; what follows is cut off.
    lines
        The lines, without their ends.
    """
    line = b"".join(text.encode() + b"\n" for text in lines)
    is_new = not path.exists()
    opened = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
    try:
        os.ftruncate(opened, whole)
        if whole:
            os.lseek(opened, whole - 1, os.SEEK_SET)
            if os.read(opened, 1) != b"\n":
                line = b"\n" + line  # somebody's editor has left the last end out
        try:
            os.lseek(opened, whole, os.SEEK_SET)
            if os.write(opened, line) != len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(opened)
        except OSError:
            os.ftruncate(opened, whole)
            raise
    finally:
        os.close(opened)
    if is_new and os.name != "nt":
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """See to it that also the name of a new file outlives the machine."""
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


# -------------------------------------------------------------------------------------------------
# A lock that must be had: held by one process, and given up by the system when that ends.
#
# Drafts of files have a lock of their own (``table/drafts.py``), which they can do without. Here
# a system or a network without locks is an error: two runs could spend the same budget.


fcntl: Any = None
with suppress(ImportError):  # Linux, macOS
    import fcntl
msvcrt: Any = None
with suppress(ImportError):  # Windows
    import msvcrt

PATIENCE = 600.0
"""Seconds that a run waits for another one."""

STEP = 0.02
BUSY = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock on a file, which is made if it is not there and stays.

    Nothing is in the file and it is never removed: who removes it takes the lock from somebody who
    has just opened it.
    """
    opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _wait(opened, path)
        yield
    finally:
        os.close(opened)  # which gives the lock up


def _wait(opened: int, path: Path) -> None:
    until = time.monotonic() + PATIENCE
    while not _try(opened, path):
        if time.monotonic() > until:
            raise CaveatError(
                f"another run has held the lock for {PATIENCE:.0f} seconds",
                where=str(path),
                do="let it end, and try again",
                code="privacy.lock.timeout",
            )
        time.sleep(STEP)


def _try(opened: int, path: Path) -> bool:
    """Take the lock if nobody has it."""
    try:
        if fcntl is not None:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        elif msvcrt is not None:
            msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)
        else:
            raise OSError(errno.ENOLCK, "no locks on this system")
    except OSError as error:
        if error.errno in BUSY:
            return False
        raise CaveatError(
            f"cannot be locked ({error.strerror})",
            where=str(path),
            do="put the ledger on a disk of this machine",
            code="privacy.lock.unsupported",
        ) from None
    return True


# -------------------------------------------------------------------------------------------------
# The ledger: what was spent on promises about the same data, over all releases.
#
# One file with a JSON object a line. A line is written after the noise was drawn and before
# anything that was made with it is: who has an output has its entry, and a run that is killed has
# spent nothing unless its line is whole. The file holds no data, but says what an office does
# with its data: it is for the inside.


BUDGET = "budget"
"""The kind of entry that spends; entries of other kinds are kept and cost nothing."""

TABLE = "table"
"""The kind of entry of a table that was published: what it shows everybody, and its checksum."""

RELEASE = "release"
"""The kind of entry of a release of microdata: what it is, of which data, and where it lies."""

Entry = dict[str, Any]

COST = ("rho", "epsilon", "delta", "what")
ROUNDING = 1e-9  # by so much, of the limit, a sum may be above it: digits, no privacy
LONGEST = 200  # characters of a name or a description

# The form of an entry of each kind; entries of other kinds may be anything. Each line of a long
# file is checked, while others wait: a library of schemas would take too long.
_FORMS: dict[str, dict[str, tuple[type, ...]]] = {
    BUDGET: {"rho": (int, float), "epsilon": (int, float), "delta": (int, float)},
    TABLE: {
        "columns": (list,),
        "sha256": (str,),
        "cells": (list, NoneType),
        "totals": (list, NoneType),
        "total": (int, float, NoneType),
        "rounded": (int, NoneType),
    },
    RELEASE: {
        "data": (str,),
        "evidence": (str,),
        "method": (str,),
        "folder": (str,),
        "files": (list,),
        "exact": (bool,),
        "reason": (str, NoneType),
        "targets": (list,),
        "private": (str, NoneType),
    },
}
_TEXTS = ("columns", "files", "targets")  # lists of texts
_DO = "take the file from a backup: without the entry too much would be spent"
BEGINNING = b'{"kind": "'
"""How a line begins that a run was writing when it was killed."""


@dataclass(frozen=True)
class Limit:
    """What all releases of the same data may spend together: (ε, δ)."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_delta(self.delta)


@dataclass(frozen=True)
class Spent:
    """What one use of the data costs: either ρ, or ε with δ.

    Parameters
    ----------
    rho
        Of a mechanism with zero-concentrated differential privacy; these add up in ρ.
    epsilon, delta
        Of any other one, added plainly; δ may be 0.
    what
        A few words for those who read the ledger. Never a value of the data.

    Examples
    --------
    >>> Spent(rho=0.01, what="margins of the survey")
    Spent(rho=0.01, epsilon=None, delta=None, what='margins of the survey')
    """

    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    what: str = ""

    def __post_init__(self) -> None:
        if self.rho is not None and self.epsilon is None and self.delta is None:
            check_positive(self.rho, "rho", "give a rho above 0, such as 0.01")
        elif self.rho is None and self.epsilon is not None and self.delta is not None:
            check_epsilon(self.epsilon)
            if self.delta != 0:
                check_delta(self.delta)
        else:
            raise CaveatError(
                "a cost is either a rho or an epsilon with a delta",
                do="give one of the two",
                code="privacy.setting.conflict",
            )
        _check_words(self.what, "the description of a cost")

    def __str__(self) -> str:
        if self.rho is not None:
            return f"ρ = {self.rho:.4g}"
        return f"ε = {self.epsilon:.4g}, δ = {self.delta:.4g}"

    def to_dict(self) -> dict[str, float]:
        """Return the numbers as an entry holds them."""
        numbers = {"rho": self.rho, "epsilon": self.epsilon, "delta": self.delta}
        return {name: float(value) for name, value in numbers.items() if value is not None}


@dataclass(frozen=True)
class _Total:
    """The sums of what was spent."""

    rho: float
    epsilon: float
    delta: float

    def epsilon_at(self, delta: float) -> float:
        """Return the ε of everything at δ, of which the plain entries take theirs first."""
        left = delta - self.delta
        if left < -ROUNDING * delta:
            return math.inf
        if not self.rho:
            return self.epsilon
        return self.epsilon + epsilon_of(self.rho, left) if left > 0 else math.inf

    def left(self, cost: Spent, limit: Limit) -> str:
        """Return in words how much of the kind of a cost the limit still allows."""
        epsilon, delta = limit.epsilon - self.epsilon, limit.delta - self.delta
        if cost.rho is not None:
            allowed = rho_of(epsilon, delta) if epsilon > 0 and delta > 0 else 0.0
            return f"ρ = {_down(max(0.0, allowed - self.rho))} is left"
        spent = self.epsilon_at(limit.delta - (cost.delta or 0.0))
        if math.isinf(spent):
            spent = self.epsilon_at(limit.delta)
        epsilon = max(0.0, limit.epsilon - spent)
        return f"ε = {_down(epsilon)}, δ = {_down(max(0.0, delta))} is left"


class Ledger:
    """A file of entries, to which one process at a time adds.

    Parameters
    ----------
    path
        The file, usually ``ledger.jsonl``. It is made by the first entry. Beside it lies an empty
        file with the ending ``.lock``.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> ledger = Ledger(Path(folder.name) / "ledger.jsonl")
    >>> cost = Spent(rho=0.01, what="margins of the survey")
    >>> with ledger.spending("survey 2026", cost, limit=Limit(1, 1e-6)):
    ...     pass  # draw the noise here, and write what was made of it afterwards
    >>> round(ledger.spent("survey 2026", 1e-6), 4)
    0.6217
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def entries(self, dataset: str | None = None) -> list[Entry]:
        """Return the entries in the order they were made, of all kinds.

        Parameters
        ----------
        dataset
            The name of the data; without it those of all. Names that differ only in letter
            case, in blanks or in the form of their characters are one name.
        """
        found, _ = self._read()
        if dataset is None:
            return found
        return [entry for entry in found if _is_of(entry, dataset)]

    def spent(self, dataset: str, delta: float) -> float:
        """Return the ε that all spending on the data comes to at δ.

        It is infinite if the entries with a δ of their own have used up this one.
        """
        return _total(self.entries(dataset)).epsilon_at(check_delta(delta))

    @contextmanager
    def spending(self, dataset: str, cost: Spent, *, limit: Limit) -> Iterator[None]:
        """Check that a cost is within the limit, and enter it when the block has ended well.

        Draw the noise inside the block, write anything made with it only after it. Nobody else can
        spend inside. After an error nothing was spent.

        Parameters
        ----------
        dataset
            The name of the data, the same for all releases of them.
        cost
            What the block costs.
        limit
            What all costs of these data may come to.
        """
        with self._alone(dataset) as (earlier, new):
            self._check(dataset, earlier, cost, limit)
            yield
            new.append(_entry(dataset, BUDGET, {"what": cost.what, **cost.to_dict()}))

    @contextmanager
    def publishing(self, dataset: str) -> Iterator[tuple[list[Entry], list[Entry]]]:
        """Give the tables that were published, and enter new ones when the block has ended well.

        Nobody else can publish inside, so that no two tables miss each other.

        Parameters
        ----------
        dataset
            The name of the data, the same for all tables of them.

        Yields
        ------
        tuple
            The earlier entries, and an empty list: what is put there is entered. An entry holds
            nothing that the table does not show.
        """
        with self._entering(dataset, TABLE) as found:
            yield found

    @contextmanager
    def releasing(self, dataset: str) -> Iterator[tuple[list[Entry], list[Entry]]]:
        """Give the releases of microdata, and enter a new one when the block has ended well.

        Nobody else can release inside, so that no two releases miss each other.

        Parameters
        ----------
        dataset
            The name of the data, the same for all releases of them.

        Yields
        ------
        tuple
            The earlier entries, and an empty list: what is put there is entered.
        """
        with self._entering(dataset, RELEASE) as found:
            yield found

    @contextmanager
    def _entering(self, dataset: str, kind: str) -> Iterator[tuple[list[Entry], list[Entry]]]:
        """Give the entries of a kind, and enter those that the block adds."""
        with self._alone(dataset) as (earlier, new):
            added: list[Entry] = []
            yield [entry for entry in earlier if entry["kind"] == kind], added
            new += [_entry(dataset, kind, content) for content in added]

    @contextmanager
    def _alone(self, dataset: str) -> Iterator[tuple[list[Entry], list[Entry]]]:
        """Hold the file: give its entries of the data, and write those that the block adds."""
        _check_words(dataset, "the name of the data")
        if not dataset.strip():
            raise CaveatError(
                "the data have no name",
                do="name the data whose budget is spent",
                code="privacy.name.empty",
            )
        path = self._place()
        # A file that is no ledger is left alone, without a lock beside it.
        earlier, _ = self._read()
        if self.path.is_symlink() and not earlier:
            do = "name the ledger itself"
            raise CaveatError(
                "this is a link to no ledger",
                where=str(self.path),
                do=do,
                code="privacy.ledger.refused",
            )
        with ExitStack() as stack:
            with self._writing():
                stack.enter_context(locked(path.with_name(f"{path.name}.lock")))
            found, whole = self._read()
            new: list[Entry] = []
            yield [entry for entry in found if _is_of(entry, dataset)], new
            if new:
                with held(), self._writing():
                    stop_if_told()
                    append(path, whole, [json.dumps(entry, allow_nan=False) for entry in new])

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn what the system says about writing into one sentence."""
        try:
            yield
        except OSError as error:
            raise CaveatError(
                f"cannot be written ({error.strerror})",
                where=str(self.path),
                do="check the folder's permissions and the free space",
                code="privacy.ledger.not-writable",
            ) from error

    def _place(self) -> Path:
        """Return the file that links lead to: all who spend must meet at one lock."""
        path = self.path.resolve()
        if path.is_dir():
            raise CaveatError(
                "this is a folder",
                where=str(self.path),
                do="name a file in it",
                code="privacy.ledger.type",
            )
        if not path.parent.is_dir():
            raise CaveatError(
                "its folder is not there",
                where=str(self.path),
                do="make it first",
                code="privacy.folder.absent",
            )
        return path

    def _check(self, dataset: str, earlier: Sequence[Entry], cost: Spent, limit: Limit) -> None:
        before, after = _total(earlier), _total([*earlier, {"kind": BUDGET, **cost.to_dict()}])
        if after.epsilon_at(limit.delta) <= limit.epsilon * (1 + ROUNDING):
            return
        spent = before.epsilon_at(limit.delta)
        said = f"ε = {spent:.4g}" if math.isfinite(spent) else f"δ = {before.delta:.4g}"
        raise CaveatError(
            f"{said} of the limit (ε = {limit.epsilon:.4g}, δ = {limit.delta:.4g}) is spent on "
            f"{dataset}, {before.left(cost, limit)}, and this needs {cost}",
            where=str(self.path),
            do="ask for less, or have the limit raised by those who set it",
            code="privacy.budget.refused",
        )

    def _read(self) -> tuple[list[Entry], int]:
        """Return the entries and the length of the file up to the last one."""
        if self.path.is_dir():
            raise CaveatError(
                "this is a folder",
                where=str(self.path),
                do="name a file in it",
                code="privacy.ledger.type",
            )
        if not self.path.exists():
            return [], 0
        content = read_bytes(self.path)
        *lines, last = content.split(b"\n")
        found = [self._parsed(line, number) for number, line in enumerate(lines, 1)]
        # Without its end the last line was torn, if it is no entry: nothing made with it is there.
        if last:
            try:
                found.append(self._parsed(last, len(lines) + 1))
            except CaveatError:
                begun = last.startswith(BEGINNING) or BEGINNING.startswith(last)
                if not (found or begun):
                    raise  # no run has begun to write it
                return found, len(content) - len(last)
        return found, len(content)

    def _parsed(self, line: bytes, number: int) -> Entry:
        try:
            entry = parse(line)
            if not isinstance(entry, dict) or not isinstance(entry["kind"], str):
                raise ValueError
            _check_form(entry)
            if entry["kind"] == BUDGET:
                _cost(entry)
        except (ValueError, KeyError, CaveatError):
            where = f"{self.path}, line {number}"
            raise CaveatError(
                "the entry is damaged", where=where, do=_DO, code="privacy.ledger.damaged"
            ) from None
        return entry


def _name_of(dataset: str) -> str:
    """Return a name in the one form of all its spellings: letter case and blanks do not count.

    Examples
    --------
    >>> {_name_of(text) for text in ("Survey 2026", "survey  2026 ", "ＳＵＲＶＥＹ 2026")}
    {'survey 2026'}
    """
    text = unicodedata.normalize("NFKC", dataset).casefold()
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _is_of(entry: Entry, dataset: str) -> bool:
    """Whether an entry is about the data of a name: one budget, however the name is spelled."""
    name = entry.get("dataset")
    return isinstance(name, str) and _name_of(name) == _name_of(dataset)


def _entry(dataset: str, kind: str, content: Entry) -> Entry:
    return {
        "kind": kind,
        "dataset": dataset,
        **content,
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        # Not imported: the package opens its rooms when they are asked for, and this is one.
        "version": sys.modules["caveat"].__version__,
    }


def _check_form(entry: Entry) -> None:
    """Raise ValueError unless an entry has the fields of its kind in their types."""
    form = _FORMS.get(entry["kind"])
    if form is None:
        return
    for name, kinds in {**form, "dataset": (str,), "what": (str,)}.items():
        if name in entry and type(entry[name]) not in kinds:
            raise ValueError(name)
        if name in _TEXTS and not all(isinstance(text, str) for text in entry.get(name, ())):
            raise ValueError(name)
    if "dataset" not in entry:
        raise ValueError("dataset")


def _cost(entry: Entry) -> Spent:
    return Spent(**{name: entry[name] for name in COST if name in entry})


def _total(entries: Sequence[Entry]) -> _Total:
    costs = [_cost(entry) for entry in entries if entry["kind"] == BUDGET]
    return _Total(
        rho=math.fsum(cost.rho or 0.0 for cost in costs),
        epsilon=math.fsum(cost.epsilon or 0.0 for cost in costs),
        delta=math.fsum(cost.delta or 0.0 for cost in costs),
    )


def _check_words(text: object, what: str) -> None:
    if not isinstance(text, str) or len(text) > LONGEST or commands_in(text):
        raise CaveatError(
            f"{what} is no line of text",
            do=f"give at most {LONGEST} characters in one line",
            code="privacy.text.malformed",
        )


def _down(number: float) -> str:
    """Return three digits of a number, not rounded up: so much can be had."""
    digits = Context(prec=3, rounding=ROUND_DOWN)
    return f"{float(digits.create_decimal_from_float(number * (1 + ROUNDING))):.3g}"


# -------------------------------------------------------------------------------------------------
# A budget: where spending is written down, and how much of it there may be.


@dataclass(frozen=True)
class Budget:
    """Where spending is written down, and how much of it there may be.

    Parameters
    ----------
    ledger
        The file.
    dataset
        The name of the data: all releases of the same data share one budget.
    limit
        What they may cost together; None for what just one of them costs.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     budget = Budget(Path(folder) / "ledger.jsonl", "survey", Limit(2, 1e-6))
    ...     with budget.spending(Spent(rho=0.01), alone=Limit(1, 1e-9)):
    ...         pass  # the noise is drawn here
    ...     round(Ledger(budget.ledger).spent("survey", 1e-6), 3)
    0.622
    """

    ledger: str | Path
    dataset: str
    limit: Limit | None = None

    def spending(self, cost: Spent, *, alone: Limit) -> AbstractContextManager[None]:
        """Return the block in which noise of a cost is drawn.

        Parameters
        ----------
        cost
            What the block costs.
        alone
            The limit if the budget has none.
        """
        limit = alone if self.limit is None else self.limit
        return Ledger(self.ledger).spending(self.dataset, cost, limit=limit)
