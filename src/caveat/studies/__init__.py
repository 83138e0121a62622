"""Published experiments, rerun end to end and put beside the printed numbers."""

from caveat.studies import (
    attribute_baseline,
    buyer_beware,
    distance_filter,
    dp_quantiles,
    drafts,
    guarded,
    households,
    promise,
    register,
    settings,
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
        distance_filter.STUDY,
        dp_quantiles.STUDY,
        drafts.STUDY,
        guarded.STUDY,
        households.STUDY,
        promise.STUDY,
        register.STUDY,
        settings.STUDY,
        tables_risk.STUDY,
        three_generators.STUDY,
        weights.STUDY,
    )
}
"""The studies by name; to add one is to write a module with an entry."""
