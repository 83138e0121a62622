"""The command line: parse, call, print. Commands that are read together share a module.

Nothing large is loaded with this module: who stops the program while its libraries are loaded
wants to see no traceback either.
"""

from __future__ import annotations

import atexit
import errno
import os
import signal
import sys
from typing import TYPE_CHECKING, Any, NoReturn

from caveat import stopping
from caveat.cli import limited
from caveat.stopping import is_memory_short

if TYPE_CHECKING:
    from caveat.cli.commands import app

__all__ = ["app", "main"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def __getattr__(name: str) -> Any:
    if name == "app":
        from caveat.cli.commands import app

        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main() -> None:
    """Run the command line: exit 2 for a mistake of the user's, 1 for a defect of ours.

    A command that is told to stop exits with 128 and the number of the signal, as shells do: 130
    after Ctrl-C, 143 after the signal that ends a job. One that needs more memory than the system
    allows it exits with 2 as well.
    """
    limited.run_limited(_obey_signals, stopping.SIGNALS)


def _obey_signals() -> None:
    """Run the command line, and stop when a signal says so."""
    try:
        with stopping.obey():
            try:
                _run()
            except BaseException as error:
                if stopping.told() is not None:
                    _end_stopped(error)
                raise
            finally:
                # Nothing is left to clear up while the interpreter ends.
                atexit.register(_stop_plainly)
    except (stopping.Stopped, KeyboardInterrupt) as error:
        _end_stopped(error)


def _run() -> None:
    """Call the command and turn what goes wrong into a sentence."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a name that the terminal cannot show is no defect
            stream.reconfigure(errors="backslashreplace")
    from caveat.errors import CaveatError

    try:
        from caveat.cli import app
        from caveat.table.source import hide_password

        # No message, log or file can show a password that is not there.
        sys.argv[1:] = [before + hide_password(text) for before, text in map(_option, sys.argv[1:])]
        for argument in sys.argv[1:]:
            if not argument.isascii() and _is_odd(argument):
                raise CaveatError(
                    "this is not UTF-8",
                    where=argument,
                    do="rename the file",
                    code="command.argument.malformed",
                )
        _check_here()
        app()
    except CaveatError as error:
        from caveat.cli import console

        console.error(error.with_codes)
        sys.exit(2)
    except (SystemExit, KeyboardInterrupt, stopping.Stopped):
        raise
    except BaseException as error:  # what a library panics with is no ordinary exception
        stopping.stop_if_told()
        _end_with(error)


def _end_with(error: BaseException) -> NoReturn:
    """Say what went wrong, and exit."""
    if is_memory_short(error):
        limited.say_shortage()
        sys.exit(2)
    from caveat.cli import console

    if isinstance(error, OSError) and error.errno in FULL:
        console.error(f"the output cannot be written ({error.strerror}); make room for it.")
        sys.exit(2)
    import traceback

    log = limited.defect_log()
    traceback.print_exception(error, file=log)
    print("caveat: this is a defect in Caveat; please report it with the lines above", file=log)
    sys.exit(1)


def _end_stopped(error: BaseException) -> NoReturn:
    """Say that the command was stopped, and leave at once."""
    if limited.is_stopped_by_library():
        limited.say_shortage()
        os._exit(2)
    stopping.end(_last_words(error))


def _check_here() -> None:
    """Refuse to work in a folder that was removed: no name can be seen from there."""
    from pathlib import Path

    from caveat.errors import CaveatError

    try:
        Path.cwd()
    except OSError:
        raise CaveatError(
            "the current folder is gone", do="change to another one", code="command.folder.absent"
        ) from None


def _option(argument: str) -> tuple[str, str]:
    """Return the name of an option, if its value stands behind it, and the value."""
    name, equals, value = argument.partition("=")
    if name.startswith("--") and equals:
        return name + equals, value
    short = argument.startswith("-") and not argument.startswith("--")
    return (argument[:2], argument[2:]) if short else ("", argument)


def _is_odd(argument: str) -> bool:
    try:
        argument.encode()
    except UnicodeEncodeError:
        return True
    return False


def _last_words(error: BaseException) -> str:
    notes = getattr(error, "__notes__", None)
    # A table on a server is not on this disk.
    there = [
        str(path)
        for path in stopping.WRITTEN
        if os.path.lexists(path) or str(path).startswith("postgresql:")
    ]
    if notes:
        return f"interrupted; {notes[0]}"
    if there:
        return f"interrupted; complete before that: {', '.join(there)}"
    return "interrupted; nothing was written"


def _stop_plainly() -> None:
    for sign in stopping.SIGNALS:
        signal.signal(sign, signal.SIG_DFL)
