"""Spectral anonymisation: singular vectors disturbed one by one (Perkonoja and Virta 2024).

X − 1m' = U D V'; each column of U is permuted (P), given random signs (J), or turned by a random
orthogonal matrix (O), and the product is taken again. Means and covariances survive approximately.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from caveat.errors import CaveatError
from caveat.notes import Note
from caveat.protect.record import Protected, Step
from caveat.protect.values import Floats, complete_matrix, with_numbers
from caveat.seeds import rng_of
from caveat.table import Table

__all__ = ["disturb", "spectral"]

Way = Literal["P", "J", "O"]
REFLECTED = Note(
    "reflected",
    "J releases reflections of the original rows: a share of about 2^-p are exact copies, and all "
    "2^p candidates of any row can be listed from the release itself; not for release",
)


def disturb(points: Floats, way: Way, rng: np.random.Generator) -> Floats:
    """Return disturbed points.

    A random orthogonal matrix times a unit vector is a random point of the sphere; so O draws
    normal numbers and scales them to length 1, at a cost of n times p.
    """
    mean = points.mean(axis=0)
    u, d, vt = np.linalg.svd(points - mean, full_matrices=False)
    if way == "P":
        u = rng.permuted(u, axis=0)
    elif way == "J":
        u = u * rng.choice([-1.0, 1.0], size=u.shape)
    elif way == "O":
        normal = rng.standard_normal((len(points), len(d)))
        u = normal / np.linalg.norm(normal, axis=0)
    else:
        raise CaveatError(
            f"there is no way {way!r}",
            where="spectral",
            do="use P, J or O",
            code="protection.setting.unknown",
        )
    return np.asarray(u * d @ vt + mean)


def spectral(
    synthetic: Table, columns: Sequence[str], *, way: Way = "O", seed: int = 0
) -> Protected:
    """Disturb numbers so that means and covariances stay about the same.

    Parameters
    ----------
    synthetic
        The release. The other columns are kept as they stand, but the rows of the disturbed ones
        no longer belong to them: their dependence is lost.
    columns
        Numbers without missing cells.
    way
        "P" permutes the singular vectors (the mean stays exactly), "J" changes signs, "O" turns
        them: what is left is a normal sample with about the same mean and covariance.
    seed
        Seed of the draws.

    Notes
    -----
    Ranges are not kept: negative incomes can appear. Columns of whole numbers are rounded. There is
    no formal guarantee.
    """
    points = complete_matrix(synthetic, columns, "spectral anonymisation")
    if len(points) < 2:
        raise CaveatError(
            "spectral anonymisation needs two rows or more",
            where="spectral",
            code="data.record.too-few",
        )
    rng = rng_of(seed)
    disturbed = disturb(points, way, rng)
    notes: tuple[Note, ...] = ()
    if way == "J":
        disturbed = rng.permutation(disturbed)
        notes = (REFLECTED,)
    out = {name: with_numbers(synthetic[name], disturbed[:, j]) for j, name in enumerate(columns)}
    step = Step(
        "spectral",
        {"columns": list(columns), "way": way},
        {"rows": len(points), "columns": len(columns)},
        seed,
        notes=notes,
    )
    return Protected(synthetic.with_columns(out), step)
