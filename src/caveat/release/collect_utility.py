"""As evidence: what analysts can still do, and the map of risk and utility around it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from caveat.attack.posterior import drawn_columns
from caveat.attack.targets import PER_SECOND, STANDARD, Bound, allot, work_of
from caveat.errors import CaveatError
from caveat.generators import Setting
from caveat.notes import Z95, Note
from caveat.release.collect import TOO_MUCH, Done, held_to, limits_of, not_exact, plain, refusal
from caveat.release.collect_strong import ELSEWHERE
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.limits import Limit, Question, unit_of
from caveat.spec.scenarios import MapSpec
from caveat.spec.spec import ReleaseSpec
from caveat.synthesis import Model
from caveat.synthesis.margins.promise import is_private
from caveat.synthesis.methods import Settings
from caveat.synthesis.methods.guarded import GUARDS
from caveat.tuning.bench import Point, Workbench, measure_settings
from caveat.tuning.tune import RiskUtilityMap, risk_utility_map
from caveat.utility import BEST, MEASURES, Utility, WeightedPair, check_rules, compare_pairs
from caveat.utility.analyses import ModelComparison
from caveat.utility.compare import RESAMPLES
from caveat.utility.entries.tables import correlations_of
from caveat.utility.pair import weights_apart
from caveat.utility.regressions import agreement, automatic_models
from caveat.utility.structure import (
    compositions,
    group_counts,
    groups_in,
    one_value,
    size_agreement,
    size_column,
    size_shares,
    within_groups,
)
from caveat.utility.variables import bars_of

MOST_MEMBERS = 12  # groups with more are counted together


def collect_structure(pair: WeightedPair) -> dict[str, Any]:
    """Return what is behind the measures of structure, column by column.

    It has shares of the original's groups, large ones among them: it is internal.
    """
    counts, size = group_counts(pair), size_column(pair)
    return {
        "key": groups_in(pair).said.key,
        "original": counts.original,
        "synthetic": counts.synthetic,
        "sizes": [
            {"members": members, "original": ours, "synthetic": theirs}
            for members, ours, theirs in size_shares(pair, MOST_MEMBERS)
        ],
        "largest": MOST_MEMBERS,
        "size_column": None
        if size is None
        else {"name": size, "right": size_agreement(pair, size)[1]},
        "one_value": [{"name": name, "share": share} for name, share in one_value(pair).items()],
        "compositions": [
            {"name": name, "distance": distance}
            for name, distance in pair.once("compositions", lambda: compositions(pair)).items()
        ],
        "within": [
            {"name": name, "original": ours, "synthetic": theirs}
            for name, (ours, theirs) in pair.once("within", lambda: within_groups(pair)).items()
        ],
    }


# -------------------------------------------------------------------------------------------------
# What analysts can still do, as evidence.


QUICK_ROWS = 2_000  # that models are fitted to in a quick comparison
MOST_ASSOCIATIONS = 50  # pairs not to trust that are named
KEPT, INDEPENDENT = "correlations kept", "independent columns"
NAMED = ("coefficient ratio", "interval overlap")
AUTOMATIC = tuple(f"automatic {name}" for name in NAMED)


def collect_utility(
    material: Material, spec: ReleaseSpec, done: Done, *, quick: bool = False
) -> dict[str, Any]:
    """Compare the released tables with the fitted records, beside values to judge this by.

    A quick comparison fits models to fewer rows and draws fewer resamples.
    """
    column = spec.synthesis.get("weights") or None
    weights = weights_apart(material.fitted, column)[1]
    pairs, groups = material.pairs, material.members
    models: list[str] = []
    refused: dict[str, Note] = {}
    for model in spec.utility.models:
        # A model that cannot be fitted to the release is a finding, not the end of the run.
        try:
            compare_pairs(
                pairs, models=[model], measures=[], resamples=0, weights=weights, groups=groups
            )
            models.append(model)
        except CaveatError as error:
            refused[model] = refusal(error)
    jobs = max(len(spec.utility.measures), 1)
    found = compare_pairs(
        pairs,
        models=models,
        targets=spec.utility.targets,
        rules=dict(spec.utility.rules),
        measures=spec.utility.measures,
        seed=child_seed(material.seed, Stream.RESAMPLES),
        resamples=1 if quick else RESAMPLES,
        model_rows=QUICK_ROWS if quick else None,
        weights=weights,
        control_weights=None
        if material.control is None
        else weights_apart(material.control, column)[1],
        groups=groups,
        progress=lambda *_: done(1 / jobs),
    )
    return {
        "limits": limits_of(spec.utility.limits),
        "measurements": [
            *measurements_of(found, spec.utility.limits),
            *_without_model(refused, spec),
        ],
        "variables": _variables(found),
        "pairs": _pairs(found),
        "associations": _associations(found),
        "models": [_model(model) for model in found.models],
        "regressions": _regressions(found),
        "rules": _rules(found, spec),
        # Rows of several tables hang on each other as collect_tables says.
        **(
            {}
            if groups is None or material.table
            else {"structure": collect_structure(found.first)}
        ),
        "remarks": [*found.remarks, *(f"{model}: {why}" for model, why in refused.items())],
    }


def measurements_of(found: Utility, limits: Sequence[Limit]) -> list[dict[str, Any]]:
    """Return what was measured as the evidence holds it."""
    entries = []
    for result in found.results:
        measure, whole = result.measure, result.measurement
        _, _, about = result.label.partition(": ")
        chance = result.copies[0].details.get(INDEPENDENT)
        entries.append(
            {
                "measure": measure.name,
                "label": result.label,
                "model": about or None,
                "value": result.value,
                "interval": None if whole.interval is None else list(whole.interval),
                "copies": [copy.value for copy in result.copies],
                "resample": plain(result.references.resample),
                "second_copy": plain(result.references.second_copy),
                "control": plain(result.references.control),
                **({} if chance is None else {"independent": plain(chance)}),
                "best": BEST[measure.name],
                "unit": measure.unit,
                **held_to(limits, measure.name, result.value),
                "notes": plain(whole.notes),
            }
        )
    return entries


def _without_model(refused: dict[str, Note], spec: ReleaseSpec) -> list[dict[str, Any]]:
    """Return the measures of models that could not be fitted, with the reason."""
    names = [name for name in spec.utility.measures if "model" in MEASURES[name].needs]
    return [
        {
            "measure": name,
            "label": f"{name}: {model}",
            "model": model,
            "value": None,
            "interval": None,
            "copies": [],
            "resample": None,
            "second_copy": None,
            "control": None,
            "best": BEST[name],
            "unit": MEASURES[name].unit,
            **held_to(spec.utility.limits, name, None),
            "notes": plain([why]),
        }
        for model, why in refused.items()
        for name in names
    ]


def _variables(found: Utility) -> list[dict[str, Any]]:
    pair = found.first
    one_way = {names[0]: value for names, value in found.tables(1).ranked()}
    several = len(pair.names) > 1
    in_pairs = found.tables(2).variable_scores() if several else {}
    return [
        {
            "name": variable.name,
            "kind": variable.kind,
            "S_pMSE": one_way.get(variable.name),
            "in_pairs": in_pairs.get(variable.name),
            "total_variation": plain(variable.total_variation),
            "vanished": variable.vanished,
            "missing_similarity": plain(variable.missing_similarity),
            "ordered": pair.original[variable.name].kind.has_order,
            "groups": [
                {"label": label, "original": ours, "synthetic": theirs}
                for label, ours, theirs in bars_of(pair, variable.name)
            ],
        }
        for variable in found.variables
    ]


def _pairs(found: Utility) -> list[dict[str, Any]]:
    """Return all two-way tables, the worst first, those without a value last."""
    if len(found.first.names) < 2:
        return []
    tables = found.tables(2)
    ranked = tables.ranked()
    known = {names for names, _ in ranked}
    undefined = [(names, None) for names in tables.tables if names not in known]
    return [{"names": list(names), "S_pMSE": value} for names, value in [*ranked, *undefined]]


def _associations(found: Utility) -> list[dict[str, Any]]:
    """Return the pairs of columns not to trust, the worst first; none if that was not measured."""
    if not any(result.measure.name == KEPT for result in found.results):
        return []
    return [
        {
            "names": list(relation.names),
            "coefficient": relation.coefficient,
            "original": relation.original,
            "synthetic": relation.synthetic,
        }
        for relation in correlations_of(found.first).not_kept()[:MOST_ASSOCIATIONS]
    ]


def _regressions(found: Utility) -> list[dict[str, Any]]:
    """Return how the regressions that were compared fare, the automatic ones first."""
    pair, measured = found.first, [r for r in found.results if r.value is not None]
    automatic = any(r.measure.name in AUTOMATIC for r in measured)
    named = [r.label.partition(": ")[2] for r in measured if r.measure.name in NAMED]
    models = [(model, True) for model in automatic_models(pair)] if automatic else []
    models += [(model, False) for model in dict.fromkeys(named)]
    return [{**agreement(pair, model).to_dict(), "automatic": rule} for model, rule in models]


def _model(model: ModelComparison) -> dict[str, Any]:
    rows = []
    left_out = []
    for row in model.coefficients.rows():
        ours, theirs = Z95 * row["original_se"], Z95 * row["synthetic_se"]
        numbers = {
            "original": row["original"],
            "original_low": row["original"] - ours,
            "original_high": row["original"] + ours,
            "synthetic": row["synthetic"],
            "synthetic_low": row["synthetic"] - theirs,
            "synthetic_high": row["synthetic"] + theirs,
            "standardised": row["standardised"],
            "overlap": row["overlap"],
        }
        if not all(math.isfinite(value) for value in numbers.values()):
            left_out.append(row["term"])
            continue
        same = {key: bool(row[key]) for key in ("same_sign", "same_significance")}
        rows.append({"term": row["term"], **numbers, **same})
    notes = list(model.notes)
    if left_out:
        says = "{n} coefficients have no finite standard error"
        notes.append(Note("no-standard-error", says, n=len(left_out)))
    return {
        "formula": model.formula,
        "family": model.family,
        "n_original": model.n_original,
        "n_synthetic": float(model.n_synthetic),
        "mean_overlap": plain(model.mean_overlap),
        "lack_of_fit": plain(model.lack_of_fit),
        "df": model.df,
        "coefficients": rows,
        "notes": plain(notes),
    }


def _rules(found: Utility, spec: ReleaseSpec) -> list[dict[str, Any]]:
    results = check_rules(found.first, spec.utility.rules)
    return [
        {
            "name": name,
            "original": result.original,
            "synthetic": result.synthetic,
            "independent": result.chance,
            "original_n": result.original_n,
            "synthetic_n": result.synthetic_n,
        }
        for name, result in results.items()
    ]


# -------------------------------------------------------------------------------------------------
# The map of risk and utility around the release, as evidence.


def collect_map(
    material: Material, spec: ReleaseSpec, wanted: MapSpec, threads: int | None, done: Done
) -> dict[str, Any]:
    """Measure the settings of the map, and that of the release among them."""
    scenario = next(one for one in spec.scenarios if one.name == wanted.scenario)
    settings, chosen = settings_tried(spec, wanted)
    question = Question(
        measures=(wanted.risk, wanted.utility),
        keys=scenario.keys,
        targets=scenario.targets,
        circumstances=scenario.circumstances,
        models=spec.utility.models,
        unknown=scenario.targets if scenario.attacker == "strong" else None,
        prior=scenario.prior,
    )
    found = risk_utility_map(
        material.fitted, settings, question, seeds=wanted.seeds,
        seed=child_seed(material.seed, Stream.MAP), threads=threads, done=done,
    )  # fmt: skip
    return described_map(found, wanted, chosen, scenario.limits)


def described_map(
    found: RiskUtilityMap, wanted: MapSpec, chosen: Setting, limits: Sequence[Limit] = ()
) -> dict[str, Any]:
    """Return a map as the evidence holds it.

    Parameters
    ----------
    found, wanted
        What was measured, and what was asked for.
    chosen
        The setting of the release.
    limits
        The limits of the scenario.
    """
    best = found.pareto(wanted.risk, wanted.utility)
    limit = next((one for one in limits if one.measure == wanted.risk), None)
    return {
        "scenario": wanted.scenario,
        "risk": wanted.risk,
        "utility": wanted.utility,
        "risk_unit": unit_of(wanted.risk),
        "utility_unit": unit_of(wanted.utility),
        "limit": None if limit is None else limit.to_dict()["most"],
        "points": [
            {
                "setting": str(point.setting),
                **({"setting_is_public": True} if point.setting.is_public else {}),
                "seeds": len(point.values),
                "risk_mean": point.mean(wanted.risk),
                "risk_worst": point.worst(wanted.risk),
                "utility_mean": point.mean(wanted.utility),
                "utility_worst": point.worst(wanted.utility),
                "pareto": is_best,
                "chosen": point.setting.key == chosen.key,
                **curve,
            }
            for point, is_best, curve in zip(found.points, best, found.curves(), strict=True)
        ],
    }


def settings_tried(spec: ReleaseSpec, wanted: MapSpec) -> tuple[list[Setting], Setting]:
    """Return the settings of the map and which of them is the release's own.

    Protections are those of the release unless the map varies them. What the release leaves at its
    default is written out, so that the two can be compared.
    """
    usual = {k: v for k, v in asdict(Settings()).items() if k in wanted.settings and v is not None}
    base: Mapping[str, Any] = {**usual, **spec.options}
    steps = tuple(spec.protect)
    settings = wanted.all_settings(base)
    if "protect" not in wanted.settings:
        settings = [replace(setting, protect=steps) for setting in settings]
    shown = settings[0].shown
    chosen = Setting(Setting(base).used, steps, shown)
    if chosen.key not in {setting.key for setting in settings}:
        settings.append(chosen)
    return settings, chosen


# -------------------------------------------------------------------------------------------------
# The same release with other settings of its trees: what less risk, or more utility, would cost.
#
# Every run of one table tries three settings. The one of the release is measured as it was drawn.
# The measures and their code are those of a search for settings.


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
