"""Published experiments, rerun end to end and put beside the printed numbers."""

from caveat.studies import (
    attribute_baseline,
    buyer_beware,
    census,
    distance_filter,
    donut,
    dp_quantiles,
    drafts,
    explanations,
    guarded,
    households,
    isolation,
    know_your_data,
    language_models,
    leaf_merge,
    microsimulation,
    node_injection,
    outliers,
    promise,
    relational,
    settings,
    smart_meter,
    spectral,
    tables_risk,
    three_generators,
    weights,
)
from caveat.studies.study import Grid, Number, Study, StudyResult

__all__ = ["STUDIES", "Grid", "Number", "Study", "StudyResult"]

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        attribute_baseline.STUDY,
        buyer_beware.STUDY,
        census.STUDY,
        distance_filter.STUDY,
        donut.STUDY,
        dp_quantiles.STUDY,
        drafts.STUDY,
        explanations.STUDY,
        guarded.STUDY,
        households.STUDY,
        isolation.STUDY,
        know_your_data.STUDY,
        language_models.STUDY,
        leaf_merge.STUDY,
        microsimulation.STUDY,
        node_injection.STUDY,
        outliers.STUDY,
        promise.STUDY,
        relational.STUDY,
        settings.STUDY,
        smart_meter.STUDY,
        spectral.STUDY,
        tables_risk.STUDY,
        three_generators.STUDY,
        weights.STUDY,
    )
}
"""The studies by name; to add one is to write a module with an entry."""
