"""Cases run one by one in a child process, where a crash, a hang or too much memory is a result.

A case is anything that can be pickled. A check is a function at the top of a module: what it
returns is kept if it is text, a ``CaveatError`` is a refusal, anything else it raises is a failure.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from caveat.errors import CaveatError

__all__ = ["FACTOR", "Outcome", "failures", "flipped", "iter_cases", "run_cases"]

#: How many times the short run of `make test`; `make fuzz` sets it.
FACTOR = float(os.environ.get("CAVEAT_FUZZ", "1"))
SECONDS = 20.0  # of the processor, so that other work on the machine is not a hang
PATIENCE = 30  # times as many on the clock: a case that waits for nothing ends too
BYTES = 4 << 30
GUARD = 4 * BYTES  # addresses, not bytes in use
START = 120.0  # to import everything, on a machine with other work

Case = tuple[str, Any]
"""What the case is called, and what the check gets."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended: accepted, refused, or failed by traceback, crash, hang or memory."""

    name: str
    verdict: str
    detail: str = ""

    @property
    def failed(self) -> bool:
        return self.verdict not in ("accepted", "refused")


def run_cases(check: Callable[[Any], object], cases: Iterable[Case]) -> list[Outcome]:
    """Run a check on every case; a child that dies or hangs is replaced."""
    return list(iter_cases(check, cases))


def iter_cases(
    check: Callable[[Any], object], cases: Iterable[Case], seconds: float = SECONDS
) -> Iterator[Outcome]:
    """Yield the same one by one, each case with so many seconds of the processor."""
    rest = iter(cases)
    case = next(rest, None)
    while case is not None:
        with _child(check) as (process, pipe):
            while case is not None:
                name, content = case
                pipe.send(content)
                outcome = _answer(name, process, pipe, seconds)
                yield outcome
                case = next(rest, None)
                if outcome.verdict in ("hang", "crash"):
                    break


def failures(outcomes: Iterable[Outcome]) -> str:
    """Return the cases that failed, one after the other, ready to be printed."""
    return "\n".join(f"{o.name}: {o.verdict}\n{o.detail}" for o in outcomes if o.failed)


def flipped(content: bytes, rng: Any, most: int = 8) -> bytes:
    """Damage bytes as disks, editors and attackers do: flip, cut, repeat, insert, overwrite."""
    out = bytearray(content)
    for _ in range(int(rng.integers(1, most + 1))):
        at = int(rng.integers(0, len(out) + 1))
        length = int(2 ** rng.uniform(0, 8))
        match int(rng.integers(0, 6)):
            case 0 if at < len(out):
                out[at] ^= 1 << int(rng.integers(0, 8))
            case 1:
                del out[at : at + length]
            case 2:
                out[at:at] = out[at : at + length]
            case 3:
                out[at:at] = rng.bytes(length)
            case 4:
                out[at : at + 4] = bytes([int(rng.choice([0, 255]))]) * len(out[at : at + 4])
            case _ if at:
                del out[at:]
    return bytes(out)


@contextmanager
def _child(check: Callable[[Any], object]) -> Iterator[tuple[Any, Connection]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, check, BYTES), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(START):
            raise TimeoutError("the child does not start")
        ours.recv()
        yield process, ours
    finally:
        ours.close()
        process.kill()
        process.join()


def _answer(name: str, process: Any, pipe: Connection, seconds: float) -> Outcome:
    try:
        start, end = _processor_seconds(process.pid), time.monotonic() + PATIENCE * seconds
        while not pipe.poll(0.5):
            used = _processor_seconds(process.pid) - start
            if used > seconds or time.monotonic() > end:
                return Outcome(name, "hang", f"no answer after {used:.1f} s of the processor")
        return Outcome(name, *pipe.recv())
    except EOFError:
        process.join()
        return Outcome(name, "crash", f"the process ended with {process.exitcode}")


def _processor_seconds(pid: int) -> float:
    """Return how long a process and its ended children have computed."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it is gone, which the pipe says too
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def _serve(pipe: Connection, check: Callable[[Any], object], most: int) -> None:
    # Addresses are not memory: the threads of polars and pyarrow reserve 4 GB of them and touch a
    # tenth. So what is measured is memory in use, and the limit on addresses only ends a flood.
    resource.setrlimit(resource.RLIMIT_AS, (GUARD, GUARD))
    pipe.send("ready")
    while True:
        try:
            content = pipe.recv()
        except EOFError:
            return
        _forget_peak()
        verdict = _verdict(check, content)
        peak = _peak()
        pipe.send(("memory", f"{peak:,} bytes in use") if peak > most else verdict)


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def _peak() -> int:
    """Return the most memory in use since it was forgotten, here or in a child of this process."""
    status = Path("/proc/self/status").read_text()
    own = int(status.partition("VmHWM:")[2].split()[0])
    return 1024 * max(own, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)


def _verdict(check: Callable[[Any], object], content: Any) -> tuple[str, str]:
    try:
        result = check(content)
    except CaveatError as error:
        return "refused", str(error)
    except MemoryError:
        return "memory", traceback.format_exc()
    except BaseException:
        return "traceback", traceback.format_exc()
    return "accepted", result if isinstance(result, str) else ""
