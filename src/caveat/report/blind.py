"""What each measure cannot see, and which properties it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from caveat.report.blocks import Block, Cell, Field, Grid, Heading, cell
from caveat.report.reading import Evidence, entry_of, is_reference, scenarios
from caveat.report.wording import DOES_NOT, does_not, upper

__all__ = ["blind_blocks"]

ALL_BUT_ONE = len(DOES_NOT) - 1
FIVE = f"A measure of risk should: {'; '.join(DOES_NOT.values())}."


def blind_blocks(evidence: Evidence) -> Iterator[Block]:
    """Return the measures of risk with their blind spots; those of one table alone are folded."""
    used = list(dict.fromkeys(m["measure"] for s in scenarios(evidence) for m in s["measurements"]))
    if not used:
        return
    yield Heading("What each measure cannot see", "blind-spots")
    compared = [name for name in used if not is_reference(evidence, name)]
    others = [name for name in used if is_reference(evidence, name)]
    if compared:
        yield _table(
            evidence,
            "Measures of risk used here: what they are compared with, what they cannot see, and "
            "which of five things they do not do on published counter-examples",
            compared,
        )
    if others:
        yield _table(evidence, "Numbers that describe one of the tables only", others, folded=True)


def _table(evidence: Evidence, caption: str, names: Sequence[str], folded: bool = False) -> Grid:
    return Grid(
        caption,
        [
            Field("Measure", wide=True),
            Field("Compared with", wide=True),
            Field("Cannot see", wide=True),
            Field("Does not", wide=True),
        ],
        [_row(evidence, name, names[:place]) for place, name in enumerate(names)],
        folded,
        (FIVE,) if any(len(_fails(evidence, name)) >= ALL_BUT_ONE for name in names) else (),
        "blind-spots",
    )


def _row(evidence: Evidence, name: str, before: Sequence[str]) -> list[Cell]:
    entry = entry_of(evidence, name)
    fails = _fails(evidence, name)
    return [
        cell(upper(entry.get("says", "") or name), None, name),
        cell(entry.get("baseline") or "–"),
        cell(_blind_spot(evidence, name, before)),
        cell(does_not(fails), len(fails), "", "1" if len(fails) >= ALL_BUT_ONE else ""),
    ]


def _fails(evidence: Evidence, name: str) -> Sequence[str]:
    fails: Sequence[str] = entry_of(evidence, name).get("fails", ())
    return fails


def _blind_spot(evidence: Evidence, name: str, before: Sequence[str]) -> str:
    """Return what a measure cannot see; what a measure before it has said is not said again."""
    text = str(entry_of(evidence, name).get("blind_spot", ""))
    for other in before:
        said = str(entry_of(evidence, other).get("blind_spot", ""))
        if said and text.startswith(f"{said} "):
            return f"As {other}. {text.removeprefix(said).strip()}"
    return text
