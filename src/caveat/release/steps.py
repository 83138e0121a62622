"""How far a run has come: the progress of steps as that of the whole."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from caveat.progress import Progress
from caveat.release.collect import Done

__all__ = ["Steps", "plan_in_words"]

TRUSTED = 0.25  # the part of a step after which its own pace says how long it takes
LEAST = 0.1  # of the seconds of a step are always left, as long as it says nothing of itself
PRIOR = 5.0  # seconds at the usual pace that the pace of this machine is added to
EVERY = 1.0  # seconds between two beats
CREEP = 0.002  # the part of what is left by which the bar moves where the estimate has grown


class Steps:
    """Turns the progress of steps into that of the run, as a share of its time.

    What is left is what is left of the step that goes on, by its own pace as soon as it has one,
    and what those behind it usually take, by the pace of the steps that are finished. Between two
    reports of a step the share moves by the clock (`beat`), so that the time that is left is never
    an old one.

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
    >>> seconds = {"fit": 4.0, "write": 6.0}
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
        self.seconds = dict(seconds)
        self.tell = tell
        self.clock = clock
        self.lock = threading.Lock()  # columns are fitted side by side and report so
        self.begin: float | None = None  # of the first step
        self.share = 0.0
        self.now: tuple[str, float, float] | None = None  # the step, its begin and what is ready
        self.pace = 1.0  # seconds here for one that is expected
        self.spent, self.expected = PRIOR, PRIOR  # of finished steps
        self.announce: Callable[[str], None] | None = None

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Take other expectations of some steps, from the data that were read, and announce them.

        Before, nobody knows how large the data are: a file may be compressed, a table on a server.
        """
        self.seconds |= {name: time for name, time in seconds.items() if name in self.seconds}
        if self.announce is not None:
            self.announce(plan_in_words(self.seconds))

    def step(self, name: str) -> Done:
        """Begin a step; return what is called with the shares of it that become ready."""
        since = self.clock()
        self._finish(since)
        begin = self.begin = since if self.begin is None else self.begin
        self.now = name, since, 0.0
        inside = 0.0

        def done(share: float) -> None:
            nonlocal inside
            with self.lock:
                inside = min(inside + share, 1.0)
                self.now = name, since, inside
                self._report()

        self._say(name, since - begin, self.pace * self.seconds[name] + self._behind(name))
        return done

    def _finish(self, now: float) -> None:
        """Learn the pace of this machine from the step that is over."""
        if self.now is not None:
            name, since, _ = self.now
            self.spent += now - since
            self.expected += self.seconds[name]
            self.pace = self.spent / self.expected

    def beat(self) -> None:
        """Report by the clock alone, though the step has said nothing new."""
        with self.lock:
            if self.now is not None:
                self._report(creep=True)

    @contextmanager
    def announced(
        self, announce: Callable[[str], None] | None, every: float = EVERY
    ) -> Iterator[None]:
        """Announce the plan as soon as it is known, and report every second in the block."""
        self.announce = announce
        ended = threading.Event()

        def beats() -> None:
            while not ended.wait(every):
                self.beat()

        if self.tell is not None:
            threading.Thread(target=beats, daemon=True).start()
        try:
            yield
        finally:
            ended.set()

    def _behind(self, name: str) -> float:
        names = list(self.seconds)
        usual = sum(self.seconds[other] for other in names[names.index(name) + 1 :])
        return self.pace * usual

    def _report(self, creep: bool = False) -> None:
        assert self.now is not None and self.begin is not None  # noqa: PT018
        name, since, inside = self.now
        now = self.clock()
        left = self._left(name, now - since, inside)
        self._say(name, now - self.begin, left + self._behind(name), creep)

    def _left(self, name: str, gone: float, inside: float) -> float:
        """Return the seconds that a step still needs."""
        usual = self.pace * self.seconds[name]
        if not inside:
            return max(usual - gone, LEAST * usual)
        trust = min(inside / TRUSTED, 1.0)
        whole: float = usual ** (1 - trust) * (gone / inside) ** trust
        return whole * (1 - inside)

    def _say(self, name: str, gone: float, left: float, creep: bool = False) -> None:
        if self.tell is not None:
            share = gone / (gone + left) if gone else 0.0
            least = self.share + CREEP * (1 - self.share) if creep else self.share
            self.share = max(least, share)  # a bar that goes back is no bar
            self.tell(name, self.share)


def plan_in_words(seconds: Mapping[str, float]) -> str:
    """Return about how long the work takes, and its longer steps.

    Examples
    --------
    >>> plan_in_words({"read": 0.4, "fit": 8.2, "attack": 400})
    'about 7 min of one core: fit 8 s, attack 7 min'
    """
    long = [f"{name} {_in_words(time)}" for name, time in seconds.items() if time >= 1.0]
    return f"about {_in_words(sum(seconds.values()))} of one core: {', '.join(long)}"


def _in_words(seconds: float) -> str:
    return f"{max(seconds, 1):.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
