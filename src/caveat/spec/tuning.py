"""What a search for settings is told: the ``[tune]`` part of a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from caveat.errors import CaveatError, about
from caveat.generators import Setting, settings_of
from caveat.spec._kinds import frozen
from caveat.spec.entries import TUNE
from caveat.spec.limits import Limit, check_comparable, read_limits
from caveat.spec.question import Question
from caveat.utility.analyses import read_model

__all__ = ["TuneSpec"]


@dataclass(frozen=True)
class TuneSpec:
    """What is searched, and what must hold.

    Parameters
    ----------
    settings
        The settings to try.
    limits
        What a release must meet, on every seed.
    objective
        The measure of utility that should be as good as possible, on the mean over the seeds.
    question
        The scenario; its measures are the objective and those of the limits.
    seeds
        Releases per setting in the first round.
    fresh
        Releases of a finalist on fresh seeds.
    seed
        Root of all randomness.
    """

    settings: tuple[Setting, ...]
    limits: tuple[Limit, ...]
    objective: str
    question: Question
    seeds: int = 2
    fresh: int = 5
    seed: int = 0

    @classmethod
    def from_mapping(cls, content: Mapping[str, Any]) -> TuneSpec:
        """Read the ``[synthesis]`` and ``[tune]`` parts of a specification."""
        given = dict(content.get("tune", {}))
        for problem in TUNE.problems(given, ("tune",)):
            raise CaveatError(problem.what, do=problem.do, entry=problem.entry[1:])
        limits, objective = read_limits(given.pop("limits")), given.pop("objective")
        check_comparable(limits, has_control=False)  # a search fits all records
        for i, model in enumerate(given.get("models", ())):
            with about("models", i):
                read_model(model)
        settings = settings_of(content.get("synthesis", {}), given.pop("settings"))
        measures = tuple(dict.fromkeys([objective, *(limit.measure for limit in limits)]))
        circumstances = given.pop("scenario", {})
        rest = frozen({**given.pop("attacker", {}), **given})
        asked = {item.name: rest.pop(item.name) for item in fields(Question) if item.name in rest}
        question = Question(measures, circumstances=circumstances, **asked)
        return cls(tuple(settings), limits, objective, question, **rest)
