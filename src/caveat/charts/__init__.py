"""Every picture once, in one style, from plain numbers.

A chart function takes numbers and names and returns an Altair chart without a title. It is shown in
one of two ways: ``on_page`` makes it part of the report's page, as wide as the page leaves room;
``titled`` gives it a title and its key, so that it can stand alone and be saved.
"""

from caveat.charts.marks import (
    ATTACKERS_KEY,
    CERTAINTY_KEY,
    FOREST_KEY,
    PROMISED_KEY,
    associations,
    attackers,
    certainty,
    coefficients,
    distribution,
    distributions,
    histogram,
    missing_cells,
    promised,
    propensity_scores,
    scores,
    two_way,
)
from caveat.charts.plane import MAP_KEY, map_key, risk_utility
from caveat.charts.style import (
    COLOURS,
    CONFIG,
    FORMATS,
    SIDES_KEY,
    Key,
    Rows,
    on_page,
    save,
    scripts,
    titled,
)

__all__ = [
    "ATTACKERS_KEY",
    "CERTAINTY_KEY",
    "COLOURS",
    "CONFIG",
    "FOREST_KEY",
    "FORMATS",
    "MAP_KEY",
    "PROMISED_KEY",
    "SIDES_KEY",
    "Key",
    "Rows",
    "associations",
    "attackers",
    "certainty",
    "coefficients",
    "distribution",
    "distributions",
    "histogram",
    "map_key",
    "missing_cells",
    "on_page",
    "promised",
    "propensity_scores",
    "risk_utility",
    "save",
    "scores",
    "scripts",
    "titled",
    "two_way",
]
