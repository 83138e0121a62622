"""All figures of synthpop's ``disclosure()`` at once, from codes, equal to R to rounding error."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from caveat.risk.exclusions import Counted, Rules, count
from caveat.table.cells import Joint, cross, key_cells
from caveat.table.table import Codes

__all__ = ["Disclosure", "denominators", "disclosure", "disclosure_of_codes", "matched"]


class Disclosure(NamedTuple):
    """The columns that synthpop prints; shares, ``None`` where nothing can be divided.

    With exclusions the four identity figures follow synthpop: they are counted in the table that is
    left, so they move with the target. ``UiO`` … ``repU`` in ``MEASURES`` do not.
    """

    UiO: float | None
    UiS: float | None
    UiOiS: float | None
    repU: float | None  # noqa: N815  (names of the field)
    Dorig: float | None
    Dsyn: float | None
    iS: float | None  # noqa: N815
    DiS: float | None
    DiSCO: float | None
    DiSDiO: float | None
    max_denom: int
    mean_denom: float | None
    baseCAPd: float | None  # noqa: N815
    CAPd: float | None
    CAPs: float | None
    DCAP: float | None
    TCAP: float | None


def disclosure_of_codes(
    original_keys: Sequence[Codes],
    original_target: Codes,
    synthetic_keys: Sequence[Codes],
    synthetic_target: Codes,
    n_levels: Sequence[int],
) -> Disclosure:
    """Return the figures for one pair of tables whose codes mean the same.

    Parameters
    ----------
    original_keys, synthetic_keys
        One array of codes per key.
    original_target, synthetic_target
        Codes of the target.
    n_levels
        Number of codes of each key, then of the target.

    Examples
    --------
    >>> import numpy as np
    >>> key, target = np.array([0, 0, 1, 2]), np.array([0, 1, 1, 0])
    >>> found = disclosure_of_codes([key], target, [key], target, [3, 2])
    >>> found.UiO, found.repU, found.DiSCO, found.DCAP
    (0.5, 0.5, 0.5, 0.75)
    """
    (ours, theirs), n_cells = key_cells([original_keys, synthetic_keys], n_levels[:-1])
    return disclosure(cross(ours, original_target, theirs, synthetic_target, n_cells, n_levels[-1]))


def disclosure(
    joint: Joint, rules: Rules | None = None, tables: Counted | None = None
) -> Disclosure:
    """Return the figures of a joint table, with exclusions as synthpop applies them."""
    n_d, n_s = int(joint.d.sum()), int(joint.s.sum())
    tables = tables or count(joint, rules)
    d_cell, s_cell = joint.by_cell(tables.original), joint.by_cell(tables.synthetic)
    unique = d_cell == 1
    largest, mean = denominators(joint, tables, rules)

    def share(total: float, n: int) -> float | None:
        return float(total) / n if n else None

    # As in synthpop, shares are taken after exclusion, and presence in the synthetic table before.
    p_d = tables.original / np.maximum(joint.spread(d_cell), 1)
    p_s = tables.synthetic / np.maximum(joint.spread(s_cell), 1)
    return Disclosure(
        UiO=share(unique.sum(), n_d),
        UiS=share((s_cell == 1).sum(), n_s),
        UiOiS=share((unique & (joint.s_cell > 0)).sum(), n_d),
        repU=share((unique & (s_cell == 1)).sum(), n_d),
        Dorig=share(tables.Dorig.sum(), n_d),
        Dsyn=share(tables.Dsyn.sum(), n_s),
        iS=share(tables.iS.sum(), n_d),
        DiS=share(tables.DiS.sum(), n_d),
        DiSCO=share(tables.DiSCO.sum(), n_d),
        DiSDiO=share(tables.DiSDiO.sum(), n_d),
        max_denom=largest,
        mean_denom=mean,
        baseCAPd=share((joint.d_target.astype(float) ** 2).sum() / n_d, n_d) if n_d else None,
        CAPd=share((p_d * tables.original).sum(), n_d),
        CAPs=share((p_s * tables.synthetic).sum(), n_s),
        DCAP=share((p_s * tables.original).sum(), n_d),
        TCAP=share(tables.DiSCO.sum(), matched(joint, tables)),
    )


def denominators(
    joint: Joint, tables: Counted, rules: Rules | None = None
) -> tuple[int, float | None]:
    """Return the largest and the mean number of records in the cells counted by DiSCO.

    The records are those of the original, as in synthpop, or those of the synthetic table, as in
    the text that introduces the measure: ``rules.denominator``.
    """
    counted = tables.DiSCO > 0
    if not counted.any():
        return 0, None
    seen = rules is not None and rules.denominator == "synthetic"
    sizes = (joint.s if seen else tables.DiSCO)[counted]
    return int(sizes.max()), float(sizes.mean())


def matched(joint: Joint, tables: Counted) -> int:
    """Return how many original records have keys that occur in the release, after exclusions."""
    present = joint.spread(joint.by_cell(tables.synthetic) > 0).astype(bool)
    return int(tables.original[present].sum())
