"""How far a run has come: the progress of steps as that of the whole."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from caveat.progress import Progress
from caveat.release.collect import Done

__all__ = ["Steps"]


class Steps:
    """Turns the progress of steps into that of the run.

    Parameters
    ----------
    weights
        About how long each step takes, beside the others.
    tell
        Hears of it.
    """

    def __init__(self, weights: Mapping[str, float], tell: Progress | None) -> None:
        self.weights = weights
        self.total = sum(weights.values())
        self.tell = tell
        self.lock = threading.Lock()  # columns are fitted side by side and report so
        self.before = 0.0
        self.current = 0.0

    def step(self, name: str) -> Done:
        """Begin a step; return what is called with the shares of it that become ready."""
        self.before += self.current
        self.current, inside = self.weights[name], 0.0

        def done(share: float) -> None:
            nonlocal inside
            with self.lock:
                inside = min(inside + share, 1.0)
                self._say(name, self.before + inside * self.weights[name])

        self._say(name, self.before)
        return done

    def _say(self, name: str, done: float) -> None:
        if self.tell is not None:
            self.tell(name, min(done / self.total, 1.0))
