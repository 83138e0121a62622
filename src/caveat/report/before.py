"""Earlier releases of the same data, in one line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from caveat.report.numbers import count, percent
from caveat.report.reading import Evidence
from caveat.report.wording import called

__all__ = ["released_before"]


def released_before(evidence: Evidence, *, short: bool = False) -> Iterator[tuple[str, str]]:
    """Say that the same data were released before, and what that comes to; nothing if not.

    Parameters
    ----------
    evidence
        The evidence; of the external version earlier releases are no part.
    short
        Whether only the number that rises most is told.
    """
    found = evidence.get("earlier_releases")
    if not found or not (found["releases"] or found["other_data"]):
        return
    n, other = found["releases"], found["other_data"]
    times = "once" if n == 1 else f"{n:,} times"
    text = f"These data were released {times} before." if n else "Not these data, by the ledger."
    told = _told(evidence, found)
    if told:
        most = max(told, key=lambda one: one[0])[1]
        text += (
            f" By all {found['together'] + 1:,} releases together the strong attacker is nearly "
            f"certain (0.9 or more) {most if short else '; '.join(words for _, words in told)}."
        )
        parts = (found["membership"], *found["targets"])
        fitted = evidence["release"]["fitted_rows"] or 0
        if not short and any(one["records"] < fitted for one in parts):
            text += (
                " These are records chosen once for all releases of the data, not those that the "
                "attackers of this report are tried on: numbers differ for that reason."
            )
    elif n:
        text += " What the releases tell together is not added up."
    left_out = len(found["left_out"])
    if left_out and told:
        text += f" {count(left_out, 'release')} could not be added."
    if other:
        are = "is" if other == 1 else "are"
        text += f" {count(other, 'release')} under the same name {are} of other data and not added."
    yield "Released before", f"{text} Details: remarks of the run." if short else text


def _told(evidence: Evidence, found: Mapping[str, Any]) -> list[tuple[float, str]]:
    """Return of whom she is sure by all releases and by this one alone, with how much is added."""
    if found["membership"] is None:
        return []
    parts = [("that they were in the data", found["membership"])]
    parts += [(f"of {called(evidence, one['target'])}", one) for one in found["targets"]]
    told = []
    for what, one in parts:
        together, alone = one["together"]["share"], one["alone"]["share"]
        words = (
            f"{what} for {percent(together)} of {count(one['records'], 'record')} (by this release "
            f"alone {percent(alone)})"
        )
        told.append((together - alone, words))
    return told
