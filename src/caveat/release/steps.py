"""How far a run has come: the progress of steps as that of the whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from caveat.progress import Progress
from caveat.release.collect import Done

__all__ = ["Steps"]

TRUSTED = 0.25  # the part of a step after which its own pace says how long it takes
LEAST = 0.1  # of the seconds of a step are always left, as long as it says nothing of itself


class Steps:
    """Turns the progress of steps into that of the run, as a share of its time.

    What is left is what is left of the step that goes on, by its own pace as soon as it has one,
    and what those behind it usually take.

    Parameters
    ----------
    seconds
        About how long each step takes, in order.
    tell
        Hears of it.
    clock
        Tells the time.

    Examples
    --------
    >>> now = iter([0.0, 2.0, 4.0])
    >>> said = []
    >>> seconds = {"fit": 2.0, "write": 6.0}
    >>> steps = Steps(seconds, lambda *told: said.append(told), lambda: next(now))
    >>> done = steps.step("fit")
    >>> done(0.5)  # two seconds for a half: two more, and six for the rest
    >>> _ = steps.step("write")
    >>> said
    [('fit', 0.0), ('fit', 0.2), ('write', 0.4)]
    """

    def __init__(
        self,
        seconds: Mapping[str, float],
        tell: Progress | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.seconds = seconds
        self.tell = tell
        self.clock = clock
        self.lock = threading.Lock()  # columns are fitted side by side and report so
        self.begin: float | None = None  # of the first step
        self.share = 0.0

    def step(self, name: str) -> Done:
        """Begin a step; return what is called with the shares of it that become ready."""
        names = list(self.seconds)
        behind = sum(self.seconds[other] for other in names[names.index(name) + 1 :])
        since, inside = self.clock(), 0.0
        begin = self.begin = since if self.begin is None else self.begin

        def done(share: float) -> None:
            nonlocal inside
            with self.lock:
                inside = min(inside + share, 1.0)
                now = self.clock()
                left = self._left(name, now - since, inside)
                self._say(name, now - begin, left + behind)

        self._say(name, since - begin, self.seconds[name] + behind)
        return done

    def _left(self, name: str, gone: float, inside: float) -> float:
        """Return the seconds that a step still needs."""
        usual = self.seconds[name]
        if not inside:
            return max(usual - gone, LEAST * usual)
        trust = min(inside / TRUSTED, 1.0)
        whole: float = usual ** (1 - trust) * (gone / inside) ** trust
        return whole * (1 - inside)

    def _say(self, name: str, gone: float, left: float) -> None:
        if self.tell is not None:
            share = gone / (gone + left) if gone else 0.0
            self.share = max(self.share, share)  # a bar that goes back is no bar
            self.tell(name, self.share)
