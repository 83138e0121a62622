"""Utility: what an analyst can still do with the synthetic data."""

from caveat.utility import entries
from caveat.utility.analyses import (
    RULES,
    Coefficients,
    Combined,
    ModelComparison,
    combine,
    compare_model,
    overlap,
)
from caveat.utility.compare import (
    References,
    Result,
    Utility,
    compare,
    compare_linked,
    compare_pairs,
)
from caveat.utility.correlations import Associations, associations
from caveat.utility.pair import BEST, MEASURES, WeightedPair, find_measure, register
from caveat.utility.propensity import (
    Null,
    Propensity,
    expected_pmse,
    pairs_null,
    permutation_null,
    propensity,
)
from caveat.utility.regressions import Prediction, train_on_synthetic
from caveat.utility.stacked import Detection, detection
from caveat.utility.structure import (
    Composition,
    EditRule,
    RuleResult,
    check_rules,
    count_groups,
    within_groups,
)
from caveat.utility.tables import (
    CrossTable,
    Histogram,
    Tables,
    all_tables,
    count_statistics,
    cross_table,
    histogram,
)
from caveat.utility.variables import Variable, variables

__all__ = [
    "BEST",
    "MEASURES",
    "RULES",
    "Associations",
    "Coefficients",
    "Combined",
    "Composition",
    "CrossTable",
    "Detection",
    "EditRule",
    "Histogram",
    "ModelComparison",
    "Null",
    "Prediction",
    "Propensity",
    "References",
    "Result",
    "RuleResult",
    "Tables",
    "Utility",
    "Variable",
    "WeightedPair",
    "all_tables",
    "associations",
    "check_rules",
    "combine",
    "compare",
    "compare_linked",
    "compare_model",
    "compare_pairs",
    "count_groups",
    "count_statistics",
    "cross_table",
    "detection",
    "entries",
    "expected_pmse",
    "find_measure",
    "histogram",
    "overlap",
    "pairs_null",
    "permutation_null",
    "propensity",
    "register",
    "train_on_synthetic",
    "variables",
    "within_groups",
]
