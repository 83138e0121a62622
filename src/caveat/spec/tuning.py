"""What a search for settings is told: the ``[tune]`` part of a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from caveat.attack.priors import DEFAULT_PRIOR
from caveat.errors import CaveatError
from caveat.generators import Setting, settings_of
from caveat.spec.limits import Limit, kind_of, read_limits
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
        known = {"keys", "targets", "limits", "objective", "settings", "models", "attacker",
                 "seeds", "fresh", "seed", "scenario"}  # fmt: skip
        unknown = sorted(set(given) - known)
        if unknown:
            raise CaveatError(
                f"{unknown[0]!r} is no part of it",
                where="tune",
                do=f"use {', '.join(sorted(known))}",
            )
        for name in ("limits", "objective", "settings"):
            if name not in given:
                raise CaveatError(
                    f"{name} is missing", where="tune", do="see the docs page on tune"
                )
        limits, objective = read_limits(given["limits"]), given["objective"]
        if kind_of(objective) != "utility":
            raise CaveatError(
                f"{objective} is a measure of risk", where="tune, objective", do="limit it instead"
            )
        for name in ("seeds", "fresh"):
            if not isinstance(given.get(name, 2), int) or given.get(name, 2) < 1:
                raise CaveatError("it must be a whole number, 1 or more", where=f"tune, {name}")
        attacker = dict(given.get("attacker", {}))
        if set(attacker) - {"records", "unknown", "prior", "simulations"}:
            raise CaveatError(
                "an attacker has records, unknown, prior and simulations",
                where="tune, attacker",
                do="mend it",
            )
        simulations = attacker.get("simulations", 50)
        if not isinstance(simulations, int) or simulations < 2:
            raise CaveatError(
                "it must be a whole number, 2 or more", where="tune, attacker, simulations"
            )
        for model in given.get("models", ()):
            read_model(model)
        records = attacker.get("records", 5)
        question = Question(
            measures=tuple(dict.fromkeys([objective, *(limit.measure for limit in limits)])),
            keys=tuple(given.get("keys", ())),
            targets=tuple(given["targets"]) if "targets" in given else None,
            circumstances=dict(given.get("scenario", {})),
            models=tuple(given.get("models", ())),
            records=tuple(records) if isinstance(records, list) else records,
            unknown=tuple(attacker["unknown"]) if "unknown" in attacker else None,
            prior=attacker.get("prior", DEFAULT_PRIOR),
            simulations=simulations,
        )
        return cls(
            tuple(settings_of(content.get("synthesis", {}), given["settings"])),
            limits,
            objective,
            question,
            given.get("seeds", 2),
            given.get("fresh", 5),
            given.get("seed", 0),
        )
