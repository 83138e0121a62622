"""What analysts can rely on, for page one: correlations, regressions, and pairs not to trust.

None of these figures depends on the number of records, as the propensity scores of the annex do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from caveat.report.blocks import Block, Cell, Field, Grid, cell
from caveat.report.numbers import count, number, percent
from caveat.report.reading import Evidence
from caveat.report.wording import column_cell

__all__ = ["Reading", "correlations_reading", "in_words", "reliance"]

Reading = Literal["all", "most", "some", "few", "unknown"]

KEPT = "correlations kept"
RATIO, OVERLAP = "coefficient ratio", "interval overlap"
# The rows of the table, in words.
SAYS = {
    KEPT: "Correlations kept",
    f"automatic {RATIO}": "Coefficients of automatic regressions, relative to the original's",
    f"automatic {OVERLAP}": "Overlap of their confidence intervals, as 1,000 records give them",
    RATIO: "Coefficients, relative to the original's",
    OVERLAP: "Overlap of confidence intervals, as 1,000 records give them",
}
# Shares of the correlations from which on all, most and some of them are said to be kept.
ALL, MOST, SOME = 0.975, 0.8, 0.5
WORST = 5
IN_WORDS = {
    "all": "Nearly all correlations of the original are kept",
    "most": "Most correlations of the original are kept",
    "some": "Only some correlations of the original are kept",
    "few": "Most correlations of the original are lost",
}


def reliance(evidence: Evidence) -> list[Block]:
    """Return what analysts can rely on: a table, and the pairs of columns not to trust.

    Empty where nothing of it was measured.
    """
    found = [m for m in evidence["utility"].get("measurements", ()) if m["measure"] in SAYS]
    held = [m for m in found if m["value"] is not None]
    if not held:
        return []
    blocks: list[Block] = [
        Grid(
            _caption(evidence),
            [Field("What is compared", wide=True), Field("Release", numeric=True),
             Field("Fresh sample", numeric=True), Field("Independent columns", numeric=True)],
            [_row(m) for m in held],
            name="reliance",
        )
    ]  # fmt: skip
    pairs = evidence["utility"].get("associations", ())
    if pairs:
        blocks.append(_pairs(evidence, pairs))
    return blocks


def correlations_reading(evidence: Evidence) -> Reading:
    """Return how many of the correlations are kept; of several tables in the worst one."""
    values = [
        m["value"]
        for m in evidence["utility"].get("measurements", ())
        if m["measure"] == KEPT and m["value"] is not None
    ]
    if not values:
        return "unknown"
    worst = min(values)
    return (
        "all" if worst >= ALL else "most" if worst >= MOST else "some" if worst >= SOME else "few"
    )


def in_words(evidence: Evidence) -> str:
    """Return what analysts can rely on in sentences; "" where it was not measured."""
    reading = correlations_reading(evidence)
    if reading == "unknown":
        return ""
    told = []
    for name, what in (
        (KEPT, "correlations kept"),
        (f"automatic {RATIO}", "coefficients relative to the original's"),
    ):
        measured = [m for m in evidence["utility"]["measurements"]
                    if m["measure"] == name and m["value"] is not None]  # fmt: skip
        if measured:
            m = min(measured, key=lambda m: m["value"])
            fresh = "" if m["resample"] is None else f", {percent(m['resample'])} in a fresh sample"
            told.append(f"{what} {percent(m['value'])}{fresh}")
    return f"{IN_WORDS[reading]} ({'; '.join(told)})."


def _caption(evidence: Evidence) -> str:
    reading = correlations_reading(evidence)
    return (
        f"What analysts can rely on. {IN_WORDS[reading]}."
        if reading in IN_WORDS
        else ("What analysts can rely on")
    )


def _row(m: Mapping[str, Any]) -> list[Cell]:
    def share(field: str) -> Cell:
        value = m.get(field)
        return cell(number(value, m["measure"], "share"), value)

    says = SAYS[m["measure"]] + (f": {m['model']}" if m.get("model") else "")
    of = f", {m['table']}" if m.get("table") else ""
    counted = next((n["parameters"] for n in m["notes"] if n["code"] == "pairs-kept"), None)
    small = str(m["measure"])
    if counted is not None:
        small = f"{counted['kept']:,} of {counted['pairs']:,} pairs of columns"
    return [cell(f"{says}{of}", None, small), share("value"), share("resample"),
            share("independent")]  # fmt: skip


def _pairs(evidence: Evidence, pairs: Any) -> Grid:
    worst = pairs[:WORST]
    which = count(len(worst), "pair") if len(worst) == len(pairs) else f"the {len(worst)} worst"

    def value(one: Mapping[str, Any], side: str) -> Cell:
        shown = one[side]
        if shown is None:
            return cell("–")
        return cell(f"{shown:.2f}".replace("-", "−").replace("−0.00", "0.00"), shown)

    return Grid(
        f"Pairs of columns not to trust: {which}",
        [Field("Column"), Field("With"), Field("Original", numeric=True),
         Field("Release", numeric=True)],
        [
            [
                column_cell(evidence, one["names"][0]),
                column_cell(evidence, one["names"][1], one["coefficient"]),
                value(one, "original"),
                value(one, "synthetic"),
            ]
            for one in worst
        ],
        name="distrusted",
    )  # fmt: skip
