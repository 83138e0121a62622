"""Foreign formats and databases, read in a child process with limits on time and memory.

Workbooks, Parquet, SPSS, Stata and SAS files and databases are parsed by libraries that a damaged
file can bring down, that a small file can make reserve all memory, and that a query without an end
keeps busy for ever. All of that happens to a child here, and the user reads one sentence.

The child is this module, run by the same interpreter. It gets one task a line (JSON), and returns
messages: the length of a JSON document, the document, and the arrays that it lists. Nothing that it
returns is executed. Columns are sent as codes and levels as soon as they are encoded, so that cells
are held by the child only, and codes by this process only. The child ends when its input does.
"""

from __future__ import annotations

import atexit
import json
import math
import os
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from caveat.errors import CaveatError, CaveatWarning
from caveat.stopping import GIGABYTE, allowed_bytes, is_memory_short, reports_shortage
from caveat.table.code_files import column_of, dictionary_state
from caveat.table.drafts import positive_number
from caveat.table.source import DATABASE, FORMATS, Format, source_of, without_password
from caveat.table.table import Column, Table

__all__ = [
    "GIGABYTES",
    "SECONDS",
    "Limits",
    "limits_of",
    "list_parts",
    "read_in_child",
    "read_labels",
    "serve",
]

SECONDS = "CAVEAT_READ_SECONDS"
"""The variable with the number of seconds that one table may take."""
GIGABYTES = "CAVEAT_READ_GIGABYTES"
"""The variable with the memory that reading one table may take."""

USUAL_SECONDS, BYTES_A_SECOND = 300.0, 1e6
LEAST_GIGABYTES, SHARE = 4.0, 0.5  # of the memory of the machine
LONGEST = 1e8  # seconds: three years, which every clock can count
LARGE = 64 << 20  # bytes of codes and levels after which a child is not used again
PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from caveat.table.child import serve; serve()"
)

Keep = Callable[[str, Column], Column]


@dataclass(frozen=True)
class Limits:
    """The limits of one task.

    Parameters
    ----------
    seconds
        Time on the clock.
    gigabytes
        Memory of the child.
    imposed
        Whether the system imposes the limit on memory, and not Caveat.
    """

    seconds: float
    gigabytes: float
    imposed: bool = False

    def too_long(self) -> CaveatError:
        """Return the error of a task that took more time."""
        return CaveatError(
            f"it was not read within {self.seconds:,.4g} seconds",
            do="check the table, view or query for an endless recursion; if you trust it, set the "
            f"environment variable {SECONDS} to a larger number",
            code="data.file.timeout",
        )

    def too_large(self) -> CaveatError:
        """Return the error of a task that took more memory."""
        if self.imposed:
            return CaveatError(
                f"to read it takes more than the {self.gigabytes:,.3g} GB of memory that the shell "
                "allows (ulimit)",
                do="allow more, or read fewer columns or rows",
                code="memory.limit.too-small",
            )
        return CaveatError(
            f"to read it takes more than {self.gigabytes:,.3g} GB of memory",
            do="read fewer columns or rows; if you trust it, set the environment variable "
            f"{GIGABYTES} to a larger number",
            code="memory.limit.too-small",
        )


def read_in_child(path: Path, suffix: str, columns: Sequence[str] | None, keep: Keep) -> Table:
    """Read a table of a foreign format; see :func:`caveat.table.files.read`.

    Parameters
    ----------
    path, suffix, columns
        As the reader of the format takes them.
    keep
        A function called with the name and the content of each column, which returns the column
        that the table is to hold.
    """
    return cast(Table, _run("read", path, suffix, None if columns is None else list(columns), keep))


def list_parts(path: Path) -> list[str]:
    """Return the sheets of a workbook that are not empty, or the tables of a database."""
    return cast(list[str], _run("parts", path, "", None, None))


def read_labels(path: Path, suffix: str) -> list[tuple[str, dict[str, str], dict[str, str]]]:
    """Return the value labels and the missing codes in the header of a file."""
    found = _run("labels", path, suffix, None, None)
    return [(name, values, missing) for name, values, missing in found]


def _do(task: str, path: Path, suffix: str, columns: list[str] | None, keep: Keep) -> Any:
    """Carry out a task in this process."""
    source = source_of(path)
    if task == "labels":
        return list(resolve_name(FORMATS[suffix].labels)(path, suffix))
    if task == "parts":
        assert source is not None
        listing = "database:tables_of" if source.is_database else "_excel:sheets_of"
        return resolve_name(f"caveat.table.{listing}")(path)
    form = FORMATS.get(suffix, DATABASE)
    if form.by_column:
        return resolve_name(form.read)(path, suffix, columns, keep)
    table: Table = resolve_name(form.read)(path, suffix, columns)
    return table.with_columns({name: keep(name, table[name]) for name in table})


def limits_of(path: Path) -> Limits:
    """Return the limits that the user set, or the usual ones for a file of this size."""
    source, size = source_of(path), 0
    place = path if source is None else Path(source.place)
    with suppress(OSError):
        files = place.iterdir() if place.is_dir() else [place]
        size = sum(file.stat().st_size for file in files)
    seconds = positive_number(SECONDS, USUAL_SECONDS + size / BYTES_A_SECOND)
    gigabytes = positive_number(GIGABYTES, _usual_gigabytes())
    allowed = (allowed_bytes() or math.inf) / GIGABYTE
    return Limits(seconds, min(gigabytes, allowed), allowed <= gigabytes)


def _usual_gigabytes() -> float:
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / GIGABYTE
    except (AttributeError, OSError, ValueError):  # not a Unix
        memory = 0.0
    return max(LEAST_GIGABYTES, SHARE * memory)


# -------------------------------------------------------------------------------------------------
# This side

_IDLE: list[_Child] = []
"""The child that is ready for another task, if there is one."""


def _run(task: str, path: Path, suffix: str, columns: list[str] | None, keep: Keep | None) -> Any:
    """Have a task done by a child, and return what it found."""
    limits = limits_of(path)
    if not Path(sys.executable or "").name.lower().startswith("python"):
        try:  # inside another program there is no interpreter to start
            return _do(task, path, suffix, columns, keep or (lambda _, column: column))
        except MemoryError:
            raise limits.too_large() from None
    child = _take()
    fine = False
    try:
        with child.until(limits.seconds):
            child.send(_task(task, path, suffix, columns, limits))
            result = child.receive(limits, keep)
        fine = True
        return result
    finally:
        # A process that has met anything odd is not trusted with another file.
        if fine and child.received < LARGE and not _IDLE:
            _IDLE.append(child)
        else:
            child.end()


def _task(
    task: str, path: Path, suffix: str, columns: list[str] | None, limits: Limits
) -> dict[str, Any]:
    source = source_of(path)
    place = str(path)
    if source is not None and not source.is_file:  # with the password, which no argument shows
        place = f"{source.address}{'#' if source.part else ''}{source.part}"
    folder = None
    with suppress(OSError):
        folder = str(Path.cwd())
    return {
        "task": task,
        "path": place,
        "suffix": suffix,
        "format": FORMATS.get(suffix),  # perhaps one that only this process has registered
        "columns": columns,
        "folder": folder,
        "environment": dict(os.environ),
        "limits": asdict(limits),
    }


def _take() -> _Child:
    """Return a child that waits for a task."""
    try:
        child = _IDLE.pop()
    except IndexError:
        return _Child()
    if child.process.poll() is None:
        return child
    child.end()
    return _Child()


class _Child:
    """A process that carries out tasks, one at a time."""

    def __init__(self) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115, of the process: it has no name
        self.expired = False
        self.received = 0
        command = [sys.executable, "-P", "-c", PROGRAM, json.dumps(sys.path)]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # nothing is computed there
        )

    @contextmanager
    def until(self, seconds: float) -> Iterator[None]:
        """End the process if what is done inside takes longer."""
        timer = threading.Timer(min(seconds, LONGEST), self._expire)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self.expired = True
        self.process.kill()

    def end(self) -> None:
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            with suppress(OSError):
                cast(Any, stream).close()
        self.process.wait()

    def send(self, task: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):  # a process that is gone is seen when it is listened to
            self.process.stdin.write(json.dumps(task).encode() + b"\n")
            self.process.stdin.flush()

    def receive(self, limits: Limits, keep: Keep | None) -> Any:
        """Return the result of a task; raise what went wrong with it."""
        columns: dict[str, Column] = {}
        while True:
            try:
                message, arrays = self._message(limits.gigabytes * GIGABYTE)
            except EOFError:
                raise self._death(limits) from None
            except (ValueError, TypeError, LookupError):
                raise _crashed() from None
            if "column" in message:
                assert keep is not None
                columns[message["column"]] = keep(message["column"], _column(message, arrays))
                continue
            for text in message.get("warnings", ()):
                warnings.warn(text, CaveatWarning, stacklevel=6)
            if "backend" in message:
                return Table(columns, message["backend"])
            if "value" in message:
                return message["value"]
            raise _error(message, limits)

    def _message(self, most: float) -> tuple[dict[str, Any], list[NDArray[Any]]]:
        (length,) = struct.unpack("<Q", self._exactly(8, most).tobytes())
        message = json.loads(self._exactly(length, most).tobytes())
        arrays = []
        for type_, count in message["arrays"]:
            dtype = np.dtype(type_)
            if dtype.kind not in "biufM":
                raise ValueError("no type that columns have")
            arrays.append(self._exactly(count * dtype.itemsize, most).view(dtype))
        return message, arrays

    def _exactly(self, size: int, most: float) -> NDArray[np.uint8]:
        assert self.process.stdout is not None
        if not 0 <= size <= most:
            raise ValueError("no message of a reader")
        found = np.empty(size, np.uint8)
        if size and cast(Any, self.process.stdout).readinto(found) < size:
            raise EOFError
        self.received += size
        return found

    def _death(self, limits: Limits) -> CaveatError:
        """Return what to say of a process that ended without a result."""
        code = self.process.wait()
        self.errors.seek(max(0, self.errors.seek(0, os.SEEK_END) - (1 << 16)))
        said = self.errors.read().decode(errors="replace")
        if self.expired or code == -getattr(signal, "SIGXCPU", code + 1):
            return limits.too_long()
        killed = code == -getattr(signal, "SIGKILL", code + 1)  # by the system: memory is short
        if killed or reports_shortage(said):
            return limits.too_large()
        return _crashed()


def _crashed() -> CaveatError:
    return CaveatError(
        "the reader of this format crashed: the file is damaged",
        do="check how it was made",
        code="data.file.damaged",
    )


def _column(message: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> Column:
    codes, *rest = arrays
    if rest:
        return column_of(codes, rest[0], message)
    levels = np.empty(len(message["levels"]), dtype=object)
    levels[:] = message["levels"]
    return column_of(codes, levels, message)


def _error(message: Mapping[str, Any], limits: Limits) -> BaseException:
    if "error" in message:
        return CaveatError(**message["error"])
    if "system" in message:
        return OSError(*message["system"])
    if "memory" in message:
        return limits.too_large()
    return RuntimeError(f"the reader failed with {message['defect']}")


def _forget() -> None:
    """Leave the child to the process that started it."""
    for child in _IDLE:
        child.process.returncode = 0
    _IDLE.clear()


def _end_idle() -> None:
    while _IDLE:
        _IDLE.pop().end()


atexit.register(_end_idle)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


# -------------------------------------------------------------------------------------------------
# The other side


def serve() -> None:
    """Carry out tasks until the input ends: the program of the child."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: whoever started it is told too
    out = os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(2, 1)  # a library that prints does not disturb
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    while True:
        _answer(json.loads(tasks.get()), out)


def _listen(tasks: queue.SimpleQueue[bytes]) -> None:
    for line in sys.stdin.buffer:
        tasks.put(line)
    os._exit(0)


def _answer(task: Mapping[str, Any], out: BinaryIO) -> None:
    """Send the result of a task, or what went wrong."""

    def keep(name: str, column: Column) -> Column:
        state = dictionary_state(column)
        arrays = [column.codes]
        if column.levels.dtype != object:
            arrays.append(column.levels)
            state["levels"] = None
        _send(out, {"column": name, **state}, *arrays)
        return column.take(slice(0, 0)).compact()

    try:
        _settle(task)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", CaveatWarning)
            path = without_password(task["path"])
            if task["format"] is not None:
                FORMATS[task["suffix"]] = Format(*task["format"])
            found = _do(task["task"], path, task["suffix"], task["columns"], keep)
        said = [str(each.message) for each in caught if issubclass(each.category, CaveatWarning)]
        result = {"backend": found.backend} if isinstance(found, Table) else {"value": found}
        _send(out, {**result, "warnings": said})
    except CaveatError as error:
        _send(out, {"error": error.parts})
    except OSError as error:
        short = is_memory_short(error)
        _send(out, {"memory": True} if short else {"system": [error.errno, error.strerror]})
    except BaseException as error:
        if is_memory_short(error):
            _send(out, {"memory": True})
            return
        # Where it happened, and not what it says, which may hold values of records.
        places = "".join(traceback.format_tb(error.__traceback__))
        _send(out, {"defect": f"{type(error).__name__}\n{places}"})


def _send(out: BinaryIO, message: Mapping[str, Any], *arrays: NDArray[Any]) -> None:
    listed = [[array.dtype.str, len(array)] for array in arrays]
    head = json.dumps({**message, "arrays": listed}).encode()
    out.write(struct.pack("<Q", len(head)) + head)
    for array in arrays:
        out.write(cast(Any, np.ascontiguousarray(array).view(np.uint8)))
    out.flush()


def _settle(task: Mapping[str, Any]) -> None:
    """Take on the folder, the environment and the limits of a task."""
    if task["folder"] is not None:
        os.chdir(task["folder"])
    if dict(os.environ) != task["environment"]:
        os.environ.clear()
        os.environ.update(task["environment"])
    try:
        import resource
    except ImportError:  # Windows: there is the clock
        return
    # Threads count together; the clock of the other side stops them earlier, if it is there.
    seconds = min(task["limits"]["seconds"], LONGEST)
    cpu = time.process_time() + seconds * (os.cpu_count() or 1) + 1
    limits = {
        resource.RLIMIT_DATA: task["limits"]["gigabytes"] * GIGABYTE,
        resource.RLIMIT_CPU: cpu,
    }
    for which, most in limits.items():
        _, hard = resource.getrlimit(which)
        most = int(min(most, 2**62 if hard == resource.RLIM_INFINITY else hard))
        with suppress(ValueError, OSError):  # a system that has no such limit
            resource.setrlimit(which, (most, hard))
