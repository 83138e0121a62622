"""The same release with other settings of its trees: what less risk, or more utility, would cost.

Every run of one table tries three settings. The one of the release is measured as it was drawn.
The measures and their code are those of a search for settings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from caveat.attack.posterior import drawn_columns
from caveat.attack.work import PER_SECOND, STANDARD, Bound, allot, work_of
from caveat.errors import CaveatError
from caveat.generators import Setting
from caveat.notes import Note
from caveat.release.collect import TOO_MUCH, Done, not_exact, refusal
from caveat.release.collect_map import described_map, settings_tried
from caveat.release.collect_strong import ELSEWHERE
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.limits import Question, unit_of
from caveat.spec.scenarios import MapSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.methods.guarded import GUARDS
from caveat.tuning.bench import Point, Workbench, measure_settings
from caveat.tuning.tune import RiskUtilityMap

__all__ = ["SETTINGS", "collect_settings", "left_out", "seconds_of_settings"]

SETTINGS = "other settings"
"""The step of a run."""
RISK, UTILITY = "membershipShare", "S_pMSE two-way"
MOST_RECORDS = 1_000
"""Records that are attacked in each setting."""
PART = 10
"""Of the work on the membership of records in a run such a part is done for each setting."""
SECONDS, QUICK_SECONDS = 30.0, 10.0
"""A table on which it would take longer, on a small machine, is not synthesised again."""

GROUPS = Note("whole-groups", "groups are synthesised whole and attacked in whole releases only",
              public=True)  # fmt: skip
PROMISED = Note("budget", "each further release would spend budget of the guarantee", public=True)
NO_DIAL = Note("no-dial", "the release is not drawn from trees that have a dial", public=True)
TOO_LONG = Note("too-much-work", "to synthesise the table again would exceed the bound of a run",
                public=True)  # fmt: skip


def seconds_of_settings(rows: int, columns: int, bound: Bound) -> float:
    """Return about the seconds that it takes on a small machine; 0 if it would take too long."""
    cells, wide = rows * columns / 1e6, rows * columns**2 / 1e6
    seconds = 0.5 + 2 * (0.3 + 3.0 * cells + 0.03 * wide) + 3 * bound.members / PART / PER_SECOND
    return seconds if seconds <= (SECONDS if bound is STANDARD else QUICK_SECONDS) else 0.0


def left_out(reason: Note) -> dict[str, Any]:
    """Return the entry of the evidence where no other setting was tried, with the reason."""
    return {
        "scenario": "", "risk": RISK, "utility": UTILITY, "risk_unit": unit_of(RISK),
        "utility_unit": unit_of(UTILITY), "limit": None, "points": [], "reason": reason.to_dict(),
    }  # fmt: skip


def collect_settings(
    material: Material,
    spec: ReleaseSpec,
    threads: int | None,
    done: Done,
    bound: Bound = STANDARD,
) -> dict[str, Any]:
    """Measure the settings beside that of the release, or say why not.

    Guarded trees are tried in their three positions, plain ones beside guarded trees.
    """
    reason = _obstacle(material, spec, bound)
    if reason is not None:
        return left_out(reason)
    records = _records(material, bound)
    if not records:
        return left_out(TOO_MUCH)
    wanted = MapSpec(_tried(spec), "", RISK, UTILITY, seeds=1)
    settings, own = settings_tried(spec, wanted)
    question = Question(measures=(RISK, UTILITY), records=records)
    bench = Workbench(material.fitted, question)
    points: dict[str, Point] = {}

    def keep(point: Point, _: object) -> None:
        points[point.setting.key] = point
        done(1 / len(settings))

    try:
        keep(bench.measure_copy(own, material.copies[0], material.seed), None)
        others = [(one, (material.seed,)) for one in settings if one.key != own.key]
        measure_settings(bench, others, threads, keep)
    except CaveatError as error:
        return left_out(refusal(error))
    found = RiskUtilityMap(tuple(points[one.key] for one in settings), question)
    return {**described_map(found, wanted, own), "records": len(records)}


def _tried(spec: ReleaseSpec) -> dict[str, list[Any]]:
    """Return the settings that are tried."""
    if Setting(spec.options).method == "guarded":
        return {"guard": list(GUARDS)}
    return {"method": [Setting(spec.options).method, "guarded"], "guard": ["standard", "strong"]}


def _obstacle(material: Material, spec: ReleaseSpec, bound: Bound) -> Note | None:
    """Return why no other setting is tried, if none is."""
    if material.model is None:
        return ELSEWHERE
    if is_private(spec.synthesis):
        return PROMISED
    if not isinstance(material.model, Model):
        return GROUPS
    if Setting(spec.options).method not in ("cart", "guarded"):
        return NO_DIAL
    fitted = material.fitted
    if not seconds_of_settings(fitted.n_rows, len(fitted.names), bound):
        return TOO_LONG
    names = material.releases[0].names
    drawn = [name for name in drawn_columns(material.model.plan) if name in names]
    steps = [step for step in material.copies[0].steps if step.name != "label"]
    return not_exact(drawn, steps)


def _records(material: Material, bound: Bound) -> tuple[int, ...]:
    """Return the records that are attacked: of those that a run attacks, no more than fit."""
    assert isinstance(material.model, Model)
    n_rows = material.fitted.n_rows
    work = work_of(material.model, material.fitted)
    work = replace(work, preparation=0.0)  # bounded by the time of the fits
    (n,) = allot([work], min(n_rows, MOST_RECORDS), bound.members / PART)
    order = np.random.default_rng(child_seed(material.seed, Stream.RECORDS, 0)).permutation(n_rows)
    return tuple(int(row) for row in np.sort(order[:n]))
