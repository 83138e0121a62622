"""Limits on memory: how much the process may use, and how its lack is recognised.

Nothing large is loaded with this module: it is used where memory is short.
"""

from __future__ import annotations

import errno

__all__ = ["GIGABYTE", "allowed_bytes", "is_memory_short", "reports_shortage", "shortage"]

GIGABYTE = 2**30
# How libraries report it, in an exception or on standard error before they abort.
WORDS = (
    "memory allocation", "allocate", "malloc", "bad_alloc", "out of memory", "memoryerror",
    "failed to map segment", "can't start new thread", "thread creation failed",
    "resource temporarily unavailable",
)  # fmt: skip


def allowed_bytes(*, addresses: bool = False) -> int | None:
    """Return the memory that the system allows the process; None for no limit.

    Parameters
    ----------
    addresses
        Whether only the limit on address space counts (``ulimit -v``), and not the one on data
        (``ulimit -d``).
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return None
    which = (resource.RLIMIT_AS,) if addresses else (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [resource.getrlimit(one)[0] for one in which]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def reports_shortage(text: str) -> bool:
    """Return whether the words of a library say that it got no memory."""
    text = text.lower()
    return any(words in text for words in WORDS)


def is_memory_short(error: BaseException) -> bool:
    """Return whether an error, or what caused it, is a lack of memory."""
    each: BaseException | None = error
    while each is not None:
        if isinstance(each, MemoryError) or reports_shortage(str(each)):
            return True
        if isinstance(each, OSError) and each.errno == errno.ENOMEM:
            return True
        each = each.__cause__ or each.__context__
    return False


def shortage(least: int = 0) -> str:
    """Return the sentence for a command that needs more memory than there is.

    Parameters
    ----------
    least
        The bytes that every command needs, if not even those are allowed.
    """
    allowed = allowed_bytes()
    if allowed is None:
        return (
            "the memory of this machine is not enough for this command; use fewer rows or columns, "
            "or a larger machine."
        )
    more = f"{least / GIGABYTE:,.3g} GB or more" if least else "more, or use fewer rows or columns"
    return (
        f"the memory that the shell allows (ulimit: {allowed / GIGABYTE:,.3g} GB) is not enough "
        f"for this command; allow {more}."
    )
