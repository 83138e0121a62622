"""Generators that are commands: what they are given, what they give back, and their limits."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from caveat.errors import CaveatError
from caveat.generators.contract import column_like
from caveat.showing import without_values
from caveat.table import Column, Kind, Missing, Table
from caveat.table.frames import workplace
from caveat.table.identifying import Origin

PAUSE = 0.25
"""Seconds between two looks at a command."""
LONGEST_LOG = 50_000_000
"""Bytes that a command may print."""
MEGABYTE = 1_000_000
ROUNDS = 100


@dataclass(frozen=True)
class Limits:
    """What a command may use.

    Parameters
    ----------
    seconds
        Wall time.
    megabytes
        Memory that all its processes hold together, in millions of bytes.
    cores
        Threads of its numerical libraries.
    """

    seconds: float = 3600
    megabytes: float = 8000
    cores: int = 1


@dataclass(frozen=True)
class Usage:
    """What a command took.

    Parameters
    ----------
    cpu_seconds
        Time on the processors, of all its processes that it waited for; None where the system does
        not say.
    peak_megabytes
        The most memory that its processes held together.
    wall_seconds
        Time from start to end.
    """

    cpu_seconds: float | None
    peak_megabytes: float
    wall_seconds: float


@dataclass(frozen=True)
class Ended:
    """How a command ended.

    Parameters
    ----------
    reason
        Why it failed; empty if it did not.
    usage
        What it took.
    code
        The reason for programs, as for :class:`CaveatError`; empty if it did not fail.
    """

    reason: str
    usage: Usage
    code: str


def run(
    command: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str], limits: Limits
) -> Ended:
    """Run a command in a folder until it ends or exceeds a limit.

    Its standard input is a pipe that nothing is written to: when it closes, Caveat is gone.
    """
    begun = time.monotonic()
    with log.open("wb") as printed:
        process = subprocess.Popen(
            list(command), cwd=folder, env=dict(environment), stdin=subprocess.PIPE,
            stdout=printed, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    watched = _Watched(process)
    try:
        reason, code = watched.until_the_end(limits, log, begun)
    finally:
        watched.end()
    taken = time.monotonic() - begun
    usage = Usage(watched.cpu_seconds, watched.peak / MEGABYTE, taken)
    if not reason and process.returncode:
        reason, code = _said(process.returncode), "generator.command.failed"
    return Ended(reason, usage, code)


class _Watched:
    """A process that was started, with everything that it starts itself."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.cpu_seconds: float | None = None
        self.peak = 0.0
        self.pause = 0.005

    def until_the_end(self, limits: Limits, log: Path, begun: float) -> tuple[str, str]:
        """Wait; return why it was ended before its time, with a code; empty if it was not."""
        while not self._is_over():
            self.peak = max(self.peak, float(sum(rss for _, rss in _session(self.process.pid))))
            if self.peak > limits.megabytes * MEGABYTE:
                what = f"it needed more memory than its limit of {limits.megabytes:,.0f} MB"
                return what, "generator.memory.too-large"
            if time.monotonic() - begun > limits.seconds:
                what = f"it did not end within its limit of {limits.seconds:,.0f} seconds"
                return what, "generator.command.timeout"
            if log.stat().st_size > LONGEST_LOG:
                return "it printed without end", "generator.log.too-large"
            time.sleep(self.pause)
            self.pause = min(PAUSE, self.pause * 1.5)  # short commands need not wait
        return "", ""

    def _is_over(self) -> bool:
        """Whether it has ended. Its number stays its own until all that it started has ended."""
        if self.process.returncode is None and hasattr(os, "waitid"):
            how = os.WEXITED | os.WNOHANG | os.WNOWAIT
            return os.waitid(os.P_PID, self.process.pid, how) is not None
        return self.process.returncode is not None or self._has_taken(os.WNOHANG)

    def _has_taken(self, how: int) -> bool:
        """Note how it ended and what it took; say whether it has ended."""
        if not hasattr(os, "wait4"):
            return self.process.poll() is not None
        pid, status, used = os.wait4(self.process.pid, how)
        if pid:
            self.process.returncode = os.waitstatus_to_exitcode(status)
            self.cpu_seconds = used.ru_utime + used.ru_stime
            # Its own account of its memory begins with ours, from which it was split off.
        return bool(pid)

    def end(self) -> None:
        """End what is left of it: the process, and all that stayed in its session."""
        if self.process.returncode is None:
            self._kill()
            if not self._has_taken(0):
                self.process.wait()
        if self.process.stdin is not None:
            with suppress(OSError):
                self.process.stdin.close()

    def _kill(self) -> None:
        if not hasattr(os, "killpg"):
            self.process.kill()
            return
        for _ in range(ROUNDS):  # one may have started another one meanwhile
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            left = [pid for pid, _ in _session(self.process.pid)]
            if not left:
                return
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)


def _session(leader: int) -> Iterator[tuple[int, int]]:
    """Return the processes of a session with the bytes that each holds in memory."""
    if Path("/proc/self/stat").exists():
        yield from _from_proc(leader)
    elif os.name == "posix":
        yield from _from_ps(leader)


def _from_proc(leader: int) -> Iterator[tuple[int, int]]:
    page = os.sysconf("SC_PAGE_SIZE")
    for entry in os.listdir("/proc"):  # noqa: PTH208 - many times a second
        if entry.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name of the program, in brackets, may itself hold brackets and spaces.
                fields = Path("/proc", entry, "stat").read_bytes().rpartition(b")")[2].split()
                if int(fields[3]) == leader and fields[0] not in (b"Z", b"X"):
                    yield int(entry), int(fields[21]) * page


def _from_ps(leader: int) -> Iterator[tuple[int, int]]:
    listed: Any = subprocess.run(
        ["ps", "-A", "-o", "pid=,pgid=,rss="], capture_output=True, check=False, text=True
    )
    for line in listed.stdout.splitlines():
        pid, group, kilobytes = (int(part) for part in line.split())
        if group == leader:
            yield pid, kilobytes * 1024


def _said(code: int) -> str:
    if code < 0:
        with suppress(ValueError):
            return f"it was ended by the signal {signal.Signals(-code).name}"
    return f"it ended with code {code}"


# -------------------------------------------------------------------------------------------------
# The user's own folder: environments of generators, and the logs of those that failed.


VARIABLE = "CAVEAT_HOME"


def home() -> Path:
    """Return the folder: what the variable CAVEAT_HOME says, or else the platform's place.

    Examples
    --------
    >>> home().name
    'caveat'
    """
    said = os.environ.get(VARIABLE)
    if said:
        path = Path(said).expanduser()
        if not path.is_absolute():
            raise CaveatError(
                "the path of the folder is not absolute",
                where=VARIABLE,
                do="begin it with a /",
                code="generator.folder.malformed",
            )
        return path
    try:
        return _usual() / "caveat"
    except RuntimeError:
        raise CaveatError(
            "you have no home folder",
            do=f"name a folder for generators in {VARIABLE}",
            code="generator.folder.absent",
        ) from None


def _usual() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    told = os.environ.get("XDG_DATA_HOME", "")
    return Path(told) if told.startswith("/") else Path.home() / ".local" / "share"


# -------------------------------------------------------------------------------------------------
# What a generator in another process is given: the table as Parquet, and what to do as JSON.
#
# The format is small on purpose, so that a generator in any language can be put behind a script
# of a few lines. Kinds are ``category``, ``ordered``, ``integer``, ``number``, ``date`` and
# ``datetime``. Levels are text. A number that is missing is an empty cell, whatever the way it is
# missing; in columns of levels only the plain empty cell is, other ways to be missing are levels
# like any other.


VERSION = 1
KINDS = {
    Kind.NUMERIC: "number",
    Kind.INTEGER: "integer",
    Kind.ORDERED: "ordered",
    Kind.DATE: "date",
    Kind.DATETIME: "datetime",
}


def outputs(copies: int) -> list[str]:
    """Return the names of the files that the generator is to write, beside the request."""
    return [f"synthetic-{number}.parquet" for number in range(1, copies + 1)]


def write_request(
    folder: Path, table: Table, seed: int, rows: int, copies: int, settings: Mapping[str, Any]
) -> Path:
    """Write table and request into a folder; return the path of the request."""
    arrays = {name: _array(column) for name, column in table.columns.items()}
    pq.write_table(pa.table(arrays), folder / "data.parquet")
    request = {
        "version": VERSION,
        "data": "data.parquet",
        "schema": [{"name": name, **_described(column)} for name, column in table.columns.items()],
        "seed": seed,
        "rows": rows,
        "copies": copies,
        "settings": dict(settings),
        "out": outputs(copies),
    }
    path = folder / "request.json"
    path.write_text(
        json.dumps(request, ensure_ascii=False, indent=1, default=str), encoding="utf-8"
    )
    return path


def plain_missing(column: Column) -> int | None:
    """Return the code of an empty cell: the plain way, or else the most frequent one."""
    if not column.missing:
        return None
    n = len(column.levels)
    plain = [n + j for j, way in enumerate(column.missing) if way == Missing()]
    return plain[0] if plain else n + int(np.argmax(column.counts[n:]))


def level_texts(column: Column) -> list[str | None]:
    """Return the text of every code of a column of levels; None for the plain empty cell."""
    ways = [None if way.code is None else _text(way.code) for way in column.missing]
    return [*(_text(value) for value in column.levels.tolist()), *ways]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else str(value)


def _array(column: Column) -> pa.Array:
    """Return the cells in the type that the kind promises."""
    missing = column.is_missing
    if not column.kind.is_number:
        return pa.array(level_texts(column), pa.string()).take(pa.array(column.codes))
    blank = np.zeros(1, column.levels.dtype)
    padded = np.append(column.levels, np.repeat(blank, len(column.missing)))
    values = padded[column.codes]
    if values.dtype.kind == "M":
        values = values.astype("datetime64[us]")
    return pa.array(values, mask=missing)


def _described(column: Column) -> dict[str, Any]:
    kind = KINDS.get(column.kind, "category")
    ways = [{"code": _plain(way.code), "label": way.label} for way in column.missing]
    about: dict[str, Any] = {"kind": kind, "missing": ways}
    if not column.kind.is_number:
        about["levels"] = [text for text in level_texts(column) if text is not None]
    elif len(column.levels):
        about["low"], about["high"] = _plain(column.levels.min()), _plain(column.levels.max())
        if column.kind is Kind.NUMERIC:
            about["decimals"] = _decimals(column)
    return about


def _plain(value: Any) -> Any:
    """Return a value that JSON can hold."""
    value = value.item() if isinstance(value, np.number) else value
    if value is None or isinstance(value, str | int) or (value == value and type(value) is float):
        return value
    return str(value)


def _decimals(column: Column) -> int | None:
    """Return the digits after the point that every value has at most; None if they are many."""
    digits = range(7)
    return next((d for d in digits if np.array_equal(column.levels, column.levels.round(d))), None)


# -------------------------------------------------------------------------------------------------
# What a generator in another process gave back: checked, and made a table like the original.


LARGEST = 2**53
"""Whole numbers up to here are exact as floating point."""


class AnswerError(Exception):
    """A generator returned something that is not a table like the original.

    Parameters
    ----------
    what
        What is wrong, without any value.
    column, row
        Where, if it is about one column or one cell.
    code
        As for :class:`CaveatError`.
    """

    def __init__(
        self, what: str, column: str | None = None, row: int | None = None, *, code: str
    ) -> None:
        super().__init__(what)
        self.what, self.column, self.row, self.code = what, column, row, code


def read_answer(path: Path, original: Table, rows: int) -> Table:
    """Return the table that a generator wrote, on the schema of the original.

    The order of the columns does not matter. In a column of levels every value must be one that the
    original has. Numbers may be any finite numbers, and are rounded in columns of whole numbers;
    dates may be any in the calendar. An empty cell is the column's plain way to be missing, and is
    refused where the original has no missing cell.
    """
    if not path.exists():
        raise AnswerError("it ended without writing a table", code="generator.answer.absent")
    try:
        answer = pq.read_table(path)
    except (pa.ArrowException, OSError, ValueError):
        raise AnswerError(
            "what it wrote is not a table in Parquet", code="generator.answer.malformed"
        ) from None
    _check_columns(answer.column_names, original)
    if answer.num_rows != rows:
        raise AnswerError(
            f"it returned {answer.num_rows:,} rows where {rows:,} were asked for",
            code="generator.row.mismatch",
        )
    columns = {}
    for name, column in original.columns.items():
        whole = answer.column(name)
        if pa.types.is_dictionary(whole.type):
            whole = whole.cast(whole.type.value_type)
        columns[name] = _column(whole.combine_chunks(), column, name)
    return Table(columns, backend=original.backend)


def _check_columns(names: list[str], original: Table) -> None:
    for name in original:
        if name not in names:
            raise AnswerError("it did not return this column", name, code="generator.column.absent")
    if len(names) > len(original.names):
        extra = len(names) - len(original.names)
        raise AnswerError(
            f"it returned {extra:,} columns that the original has not",
            code="generator.column.too-many",
        )


def _column(cells: Any, original: Column, name: str) -> Column:
    try:
        if not original.kind.is_number:
            return _of_levels(cells, original, name)
        return _of_numbers(cells, original, name)
    except (pa.ArrowException, CaveatError, OverflowError, ValueError, TypeError):
        raise AnswerError(
            f"its values are no {_words(original.kind)}", name, code="generator.value.type"
        ) from None


def _words(kind: Kind) -> str:
    return {Kind.DATE: "dates", Kind.DATETIME: "dates"}.get(
        kind, "numbers" if kind.is_number else "levels"
    )


def _of_levels(cells: Any, original: Column, name: str) -> Column:
    if pa.types.is_boolean(cells.type):
        cells = pa.array(["True", "False"]).take(pc.if_else(cells, 0, 1))
    elif pa.types.is_floating(cells.type):  # written as 1 where it is 1.0
        texts = pc.cast(cells, pa.string())
        cells = pc.if_else(pc.is_nan(cells), pa.scalar(None, pa.string()), texts)
    places = {text: code for code, text in enumerate(level_texts(original)) if text is not None}
    empty = plain_missing(original)
    texts = pc.cast(cells, pa.string()).dictionary_encode()
    known = [places.get(text, -1) for text in texts.dictionary.to_pylist()]
    codes = np.array([*known, -2])[np.asarray(texts.indices.fill_null(len(known)))]
    if (codes == -1).any():
        n = int((codes == -1).sum())
        row = int(np.argmax(codes == -1)) + 1
        raise AnswerError(
            f"{n:,} of its cells hold a level that the original has not",
            name,
            row,
            code="generator.level.unknown",
        )
    return original.with_codes(_fill(codes, codes == -2, empty, name))


def _fill(
    codes: NDArray[Any], gaps: NDArray[np.bool_], empty: int | None, name: str
) -> NDArray[Any]:
    """Return codes with the code of an empty cell in the gaps."""
    if empty is None and gaps.any():
        n, row = int(gaps.sum()), int(np.argmax(gaps)) + 1
        raise AnswerError(
            f"{n:,} cells are empty or NaN, and the original has none",
            name,
            row,
            code="generator.value.absent",
        )
    return np.where(gaps, 0 if empty is None else empty, codes)


def _of_numbers(cells: Any, original: Column, name: str) -> Column:
    values, gaps = _dates(cells) if original.levels.dtype.kind == "M" else _numbers(cells)
    codes = _fill(np.zeros(len(values), np.int64), gaps, plain_missing(original), name)
    if not len(original.levels):  # nothing but missing cells: any value is as new as any other
        codes = np.where(gaps, codes, -1)
    if values.dtype.kind == "f":
        bad = ~gaps & ~np.isfinite(values)
        if bad.any():
            raise AnswerError(
                "a number is not finite",
                name,
                int(np.argmax(bad)) + 1,
                code="generator.value.infinite",
            )
        if original.kind is Kind.INTEGER:
            if (np.abs(values[~gaps]) > LARGEST).any():
                raise AnswerError(
                    "a whole number is too large", name, code="generator.value.too-large"
                )
            values = np.where(gaps, 0, np.rint(values)).astype(np.int64)
    if original.kind is Kind.NUMERIC:
        values = values.astype(np.float64)
    return column_like(original, values.astype(original.levels.dtype, copy=False), codes)


def _numbers(cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    if not pa.types.is_integer(cells.type):
        cells = pc.cast(cells, pa.float64())
    gaps = np.asarray(cells.is_null(nan_is_null=True))
    return np.asarray(cells.fill_null(0)), gaps


def _dates(cells: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    moments = pc.cast(cells, pa.timestamp("us"), safe=False)
    gaps = np.asarray(moments.is_null())
    return np.asarray(moments.fill_null(0)).astype("datetime64[us]"), gaps


# -------------------------------------------------------------------------------------------------
# Generators that are commands: anything that reads a request and writes Parquet.
#
# The command runs in a session of its own, in a private folder that is removed afterwards, with a
# limit on its time and on the memory that all its processes hold together. What it prints goes to
# a file, never to the terminal: other people's programs print records. Whatever goes wrong is one
# sentence. It is not kept from the network: give it only what its makers may see.


LAST = 1_000_000
"""Bytes of the log of a failure that are kept."""
PASSED = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "SYSTEMROOT", "R_HOME", "R_LIBS", "R_LIBS_USER",
          "LD_LIBRARY_PATH")  # fmt: skip
"""Parts of the environment that a command sees; tokens and passwords may be among the others."""
SEED_LIMIT = 2**31 - 1
"""Seeds are below it: many generators take no larger ones."""


class GeneratorError(CaveatError):
    """A generator failed: a row with its reason in a comparison, never the end of it.

    Parameters
    ----------
    what
        The reason.
    name
        The generator.
    log
        The file with what it printed; as confidential as the data.
    do
        What the user can do about it.
    column, row
        Where, if it is about one column or one cell.
    code
        As for :class:`CaveatError`.
    """

    def __init__(
        self,
        what: str,
        *,
        name: str,
        code: str,
        log: Path | None = None,
        do: str | None = None,
        column: str | None = None,
        row: int | None = None,
    ) -> None:
        told = None if log is None else f"what it printed is in {log}"
        advice = "; ".join(part for part in (do, told) if part)
        where = f"generator {name}"
        super().__init__(what, where=where, do=advice or None, column=column, row=row, code=code)
        self.log = log


@dataclass(frozen=True)
class ProcessGenerator:
    """A generator in another process.

    Parameters
    ----------
    name
        What it is called in tables and messages.
    command
        The program and its arguments; the path of the request is added. No shell is involved.
    settings
        What the generator is told beside data, seed and size.
    is_seeded
        Whether the same seed gives the same tables.
    limits
        Of time, memory and cores.
    environment
        Further variables of its environment.
    origin
        Where the values of its tables come from, by the declaration of its recipe. Of a command
        without one nothing is certain: its tables count as copied.
    """

    name: str
    command: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_seeded: bool = True
    limits: Limits = field(default_factory=Limits)
    environment: Mapping[str, str] = field(default_factory=dict)
    origin: Origin = Origin.COPIED

    def fit(self, table: Table, seed: int) -> FittedProcess:
        """Keep the table: a process has no memory, so it fits and samples in one go."""
        if not table.n_rows:
            raise CaveatError(
                "the table has no rows",
                do="give a table with at least one record",
                code="data.table.empty",
            )
        return FittedProcess(self, table, seed)


@dataclass(frozen=True)
class FittedProcess:
    """A command and the table it will be given.

    Parameters
    ----------
    generator
        The command.
    table
        The original.
    seed
        Seed of the fit and of all copies.
    usage
        What each run took, the last one last.
    """

    generator: ProcessGenerator
    table: Table
    seed: int
    usage: list[Usage] = field(default_factory=list)

    __repr__ = without_values

    def sample(self, rows: int | None = None, copies: int = 1) -> list[Table]:
        """Run the command once: it fits, and makes all copies.

        Raises
        ------
        GeneratorError
            If it fails, exceeds a limit, or returns something else than was asked for.
        """
        wanted = self.table.n_rows if rows is None else rows
        with workplace() as folder:
            return self._run_in(folder, wanted, copies)

    def _run_in(self, folder: Path, rows: int, copies: int) -> list[Table]:
        made, log = self.generator, folder / "log"
        seed = self.seed % SEED_LIMIT
        request = write_request(folder, self.table, seed, rows, copies, made.settings)
        command = (*made.command, str(request))
        ended = self._start(command, folder, log)
        self.usage.append(ended.usage)
        if ended.reason:
            raise GeneratorError(
                ended.reason, name=made.name, log=_kept(log, made.name), code=ended.code
            )
        try:
            return [read_answer(folder / name, self.table, rows) for name in outputs(copies)]
        except AnswerError as error:
            kept = _kept(log, made.name)
            raise GeneratorError(
                error.what,
                name=made.name,
                log=kept,
                column=error.column,
                row=error.row,
                code=error.code,
            ) from None

    def _start(self, command: Sequence[str], folder: Path, log: Path) -> Ended:
        made = self.generator
        try:
            return run(command, folder, log, _environment(made, folder), made.limits)
        except (FileNotFoundError, NotADirectoryError):
            what, do = "its command is not there", "check the path of the program"
            code = "generator.command.absent"
        except PermissionError:
            what, do = "its command may not be run", "make the program executable"
            code = "generator.command.failed"
        except OSError as error:
            what, do = f"its command cannot be run ({error.strerror})", "check the program"
            code = "generator.command.failed"
        raise GeneratorError(what, name=made.name, do=do, code=code)


def _environment(made: ProcessGenerator, folder: Path) -> dict[str, str]:
    """Return what the command sees: temporary files in its folder, hashes the same every time."""
    passed = {name: os.environ[name] for name in PASSED if name in os.environ}
    cores = str(made.limits.cores)
    threads = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
               "POLARS_MAX_THREADS", "LOKY_MAX_CPU_COUNT")  # fmt: skip
    private = {"TMPDIR": str(folder), "HOME": str(folder), "PYTHONHASHSEED": "0"}
    return {**passed, **private, **dict.fromkeys(threads, cores), **made.environment}


def _kept(log: Path, name: str) -> Path | None:
    """Keep the end of the log of a failure where only the user can read it."""
    with suppress(OSError, CaveatError):
        content = log.read_bytes()[-LAST:]
        if not content.strip():
            return None
        folder = home() / "logs"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        plain = re.sub(r"\W+", "-", name, flags=re.ASCII)[:40]
        stamp = time.strftime("%Y%m%d-%H%M%S")
        handle, path = tempfile.mkstemp(".log", f"{plain}-{stamp}-", folder)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        return Path(path)
    return None
