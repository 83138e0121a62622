"""Linear algebra uses one thread as long as anybody fits columns, and as many as before after."""

from __future__ import annotations

from threadpoolctl import threadpool_info

from caveat.synthesis.fitting import one_thread_each


def most() -> int:
    return max((found["num_threads"] for found in threadpool_info()), default=1)


def test_the_last_one_restores_what_was() -> None:
    before = most()
    first, second = one_thread_each(), one_thread_each()
    first.__enter__()
    assert most() == 1
    second.__enter__()
    first.__exit__(None, None, None)
    assert most() == 1
    second.__exit__(None, None, None)
    assert most() == before
