"""Published experiments, rerun end to end and put beside the printed numbers."""

from caveat.studies import (
    attribute_baseline,
    buyer_beware,
    census,
    language_models,
    node_injection,
    outliers,
    promise,
    relational,
    settings,
    spectral,
    weights,
)
from caveat.studies.study import Grid, Number, Study, StudyResult

__all__ = ["STUDIES", "Grid", "Number", "Study", "StudyResult"]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        attribute_baseline.STUDY,
        buyer_beware.BUYER_BEWARE_STUDY,
        census.CENSUS_STUDY,
        settings.DISTANCE_FILTER_STUDY,
        settings.DONUT_STUDY,
        weights.DP_QUANTILES_STUDY,
        census.DRAFTS_STUDY,
        node_injection.EXPLANATIONS_STUDY,
        promise.GUARDED_STUDY,
        relational.HOUSEHOLDS_STUDY,
        outliers.ISOLATION_STUDY,
        buyer_beware.KNOW_YOUR_DATA_STUDY,
        language_models.LANGUAGE_MODELS_STUDY,
        language_models.LEAF_MERGE_STUDY,
        census.MICROSIMULATION_STUDY,
        node_injection.NODE_INJECTION_STUDY,
        outliers.OUTLIERS_STUDY,
        promise.PROMISE_STUDY,
        relational.RELATIONAL_STUDY,
        settings.SETTINGS_STUDY,
        spectral.SMART_METER_STUDY,
        spectral.SPECTRAL_STUDY,
        promise.TABLES_RISK_STUDY,
        buyer_beware.THREE_GENERATORS_STUDY,
        weights.WEIGHTS_STUDY,
    )
}
"""The studies by name; to add one is to write a module with an entry."""
