"""What a search for settings is told: the ``[tune]`` part of a specification."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from caveat.errors import CaveatError, about
from caveat.generators import Setting, settings_of
from caveat.spec._kinds import frozen
from caveat.spec.entries import CIRCUMSTANCES, TUNE
from caveat.spec.limits import Limit, check_comparable, read_limits
from caveat.spec.question import Question
from caveat.synthesis.methods.guarded import GUARDS
from caveat.utility.analyses import read_model

__all__ = ["TuneSpec"]

OBJECTIVE = "S_pMSE two-way"


@dataclass(frozen=True)
class TuneSpec:
    """What is searched, and what must hold.

    What ``[tune]`` does not say comes from the specification of the release: keys, targets and
    limits from the scenarios, limits and models from ``[utility]``.

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
        """Read the parts of a specification that a search needs."""
        given = dict(content.get("tune", {}))
        for problem in TUNE.problems(given, ("tune",)):
            raise CaveatError(
                problem.what, do=problem.do, entry=problem.entry[1:], code=problem.code
            )
        given = {**_of_the_release(content, given), **given}
        limits, objective = read_limits(given.pop("limits")), given.pop("objective")
        check_comparable(limits, has_control=False)  # a search fits all records
        for i, model in enumerate(given.get("models", ())):
            with about("models", i):
                read_model(model)
        tried = dict(given.pop("settings"))
        if content.get("protect"):
            tried.setdefault("protect", [content["protect"]])
        settings = settings_of(content.get("synthesis", {}), tried)
        measures = tuple(dict.fromkeys([objective, *(limit.measure for limit in limits)]))
        circumstances = given.pop("scenario", {})
        rest = frozen({**given.pop("attacker", {}), **given})
        asked = {item.name: rest.pop(item.name) for item in fields(Question) if item.name in rest}
        question = Question(measures, circumstances=circumstances, **asked)
        return cls(tuple(settings), limits, objective, question, **rest)


def _of_the_release(content: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the rest of a specification says about entries of the search."""
    by = {
        attacker: [s for s in content.get("scenario", ()) if _is_of(s, attacker)]
        for attacker in ("release", "strong")
    }
    limited = [s for s in by["release"] if s.get("limits")]
    if len(limited) > 1 and "limits" not in given:
        raise CaveatError(
            "several scenarios of an attacker with keys have limits, and a search is about one",
            where="tune",
            do="write keys and limits in [tune]",
            code="tune.limit.conflict",
        )
    utility, known = content.get("utility", {}), (limited or by["release"] or [{}])[0]
    found: dict[str, Any] = {"objective": OBJECTIVE, "models": utility.get("models", ())}
    if "keys" not in given:  # whoever names keys describes the attacker
        found |= {key: known[key] for key in ("keys", "targets") if key in known}
        found["scenario"] = {name: known[name] for name in CIRCUMSTANCES if name in known}
    limits = [part.get("limits", {}) for part in (known, *by["strong"], utility)]
    found["limits"] = {name: most for part in limits for name, most in part.items()}
    if not given.get("limits", found["limits"]):
        raise CaveatError(
            "no limit is named",
            where="tune",
            do="add limits to a [[scenario]]",
            code="tune.limit.absent",
        )
    sought = [name for s in by["strong"] for name in s.get("targets", ())]
    if sought and "targets" not in {**found, **given} and "attacker" not in given:
        found["attacker"] = {"unknown": list(dict.fromkeys(sought))}
    if "settings" not in given:
        if content.get("synthesis", {}).get("method", "guarded") != "guarded":
            raise CaveatError(
                "no setting is named",
                where="tune",
                do="add [tune.settings], as in cp = [1e-8, 0.05]",
                code="tune.setting.absent",
            )
        found["settings"] = {"guard": list(GUARDS)}
    return found


def _is_of(scenario: Mapping[str, Any], attacker: str) -> bool:
    """Whether a scenario is about single records and this attacker."""
    alone = "unit" not in scenario and "table" not in scenario
    return alone and scenario.get("attacker", "release") == attacker
