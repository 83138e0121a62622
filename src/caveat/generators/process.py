"""Generators that are commands: anything that reads a request and writes Parquet.

The command runs in a session of its own, in a private folder that is removed afterwards, with a
limit on its time and on the memory that all its processes hold together. What it prints goes to a
file, never to the terminal: other people's programs print records. Whatever goes wrong is one
sentence. It is not kept from the network: give it only what its makers may see.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from caveat.discreet import without_values
from caveat.errors import CaveatError
from caveat.generators.answer import AnswerError, read_answer
from caveat.generators.child import Ended, Limits, Usage, run
from caveat.generators.home import home
from caveat.generators.request import outputs, write_request
from caveat.table import Table
from caveat.table.frames import workplace
from caveat.table.identifying import Origin

__all__ = ["FittedProcess", "GeneratorError", "ProcessGenerator"]

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
