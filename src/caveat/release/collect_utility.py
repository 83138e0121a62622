"""What analysts can still do, as evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from caveat.errors import CaveatError
from caveat.intervals import Z95
from caveat.notes import Note
from caveat.release.collect import Done, held_to, limits_of, plain, refusal
from caveat.release.collect_structure import collect_structure
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.limits import Limit
from caveat.spec.spec import ReleaseSpec
from caveat.utility import BEST, MEASURES, Utility, check_rules, compare_pairs
from caveat.utility.analyses import ModelComparison
from caveat.utility.bars import bars_of
from caveat.utility.entries.associations import correlations_of
from caveat.utility.reference_pairs import RESAMPLES
from caveat.utility.regressions import agreement, automatic_models
from caveat.utility.weighting import weights_apart

__all__ = ["collect_utility", "measurements_of"]

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
