"""One row of a release explained: the attack made again, and a few other ways tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from caveat.attack.explain import explain
from caveat.attack.posterior import drawn_columns
from caveat.attack.priors import DEFAULT_PRIOR
from caveat.attack.strong import BEFORE
from caveat.attack.what_if import other_ways, what_if
from caveat.errors import CaveatError
from caveat.release.again import made_again
from caveat.release.collect import not_exact
from caveat.release.material import Material
from caveat.seeds import Stream, child_seed
from caveat.spec.spec import ReleaseSpec

__all__ = ["explain_row"]


def explain_row(
    spec: ReleaseSpec,
    row: int,
    *,
    folder: Path | None = None,
    targets: Sequence[str] | None = None,
    draws: int = 3,
    values: bool = False,
    threads: int | None = None,
    done: Callable[[float], None] | None = None,
) -> dict[str, Any]:
    """Return what a release gives away about one row of the original, ready for a page.

    Parameters
    ----------
    spec
        The specification of the release.
    row
        The row of the data file, counted from 1.
    folder
        Where the release is; ``[output]`` says it otherwise.
    targets
        Columns that the attacker wants to learn; by default the targets of all scenarios.
    draws
        Fresh releases in each other way that is tried; 0 tries none.
    values
        Whether values of the row are shown.
    threads
        Threads; all cores by default.
    done
        Called with the share of the work that has become ready.
    """
    material = made_again(spec, folder, threads)
    record = _position(material, row)
    plan, notes = material.plan, _notes(material)
    assert plan is not None
    asked = _targets(spec, material) if targets is None else tuple(targets)
    prior = next((s.prior for s in spec.scenarios if s.attacker == "strong"), DEFAULT_PRIOR)
    ready = done or (lambda _: None)
    found = explain(
        material.fitted, material.drawn, record, generator=plan, targets=asked, prior=prior,
        threads=threads, done=lambda share: ready(0.2 * share),
    )  # fmt: skip
    options = material.copies[0].setting.options
    ways = other_ways(plan, options, found) if draws else []
    tried = what_if(
        material.fitted, record, ways, targets=[b.target for b in found.beliefs], draws=draws,
        rows=material.drawn[0].n_rows, copies=len(material.drawn),
        seed=child_seed(material.seed, Stream.TRIES), prior=prior, threads=threads,
        done=lambda share: ready(0.8 * share),
    )  # fmt: skip
    return {
        **found.to_dict(values),
        "title": spec.release.title,
        "row": row,
        "prior": prior,
        "notes": notes,
        "tried": [one.to_dict() for one in tried],
    }


def _position(material: Material, row: int) -> int:
    """Return where a row of the file is among the fitted records."""
    if not 1 <= row <= material.original.n_rows:
        raise CaveatError(
            f"there is no row {row:,}",
            where="record",
            do=f"choose from 1 to {material.original.n_rows:,}",
            code="attack.record.unknown",
        )
    place = np.flatnonzero(material.rows == row - 1)
    if not len(place):
        raise CaveatError(
            f"row {row:,} was held out as a control: nothing was fitted on it, and the release "
            "depends on it in nothing",
            where="record",
            do="choose a row that the release was made from",
            code="release.row.unused",
        )
    return int(place[0])


def _notes(material: Material) -> list[str]:
    """Return what has to be said about the attack; refuse where it would not be exact."""
    steps = [step for step in material.copies[0].steps if step.name != "label"]
    plan = material.plan
    assert plan is not None
    reason = not_exact(drawn_columns(plan), steps)
    if reason is not None:
        raise CaveatError(
            f"{reason}",
            where="explain",
            do="explain a release without it",
            code="attack.probability.unsupported",
        )
    notes = [f"{BEFORE}"[0].upper() + f"{BEFORE}"[1:] + "."] if steps else []
    if len(material.drawn) > 1:
        notes.append(f"The {len(material.drawn)} tables of the release are taken together.")
    return notes


def _targets(spec: ReleaseSpec, material: Material) -> tuple[str, ...]:
    named = [name for scenario in spec.scenarios for name in scenario.targets or ()]
    released = material.columns()
    return tuple(name for name in dict.fromkeys(named) if name in released)
