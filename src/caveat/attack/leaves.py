"""Where a record falls: of each column the leaf that it lies in, and who lies there with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from caveat.synthesis import Model, Plan
from caveat.synthesis.coding import ORDINARY
from caveat.synthesis.column_model import Cells, ColumnModel, inputs_of, without_unknown
from caveat.synthesis.fitting import predictors_of
from caveat.synthesis.methods.guarded import Guarded, Stratified, predictor_codes
from caveat.synthesis.methods.trees import Cart
from caveat.synthesis.model import recoded
from caveat.table import Table

__all__ = ["Leaf", "leaves_of"]

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Leaf:
    """The leaf of one record in the tree of one column.

    Parameters
    ----------
    column
        The column that is drawn from the leaf.
    is_kind
        Whether the tree is the one that decides what sort of cell it is: a number, or which special
        or missing value.
    guarded
        Whether the shares of the leaf back off to those above it.
    size, alike
        Records in the leaf, this one among them; and those that have its value there, of a number
        of a guarded tree its cell.
    released, released_alike
        Rows of the release that were drawn from this leaf, and those that got this value.
    path
        The columns that are asked on the way to it, each once.
    """

    column: str
    is_kind: bool
    guarded: bool
    size: int
    alike: int
    released: int
    released_alike: int
    path: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the same for JSON."""
        return {**asdict(self), "path": list(self.path)}


def leaves_of(
    model: Model, original: Table, record: int, releases: Sequence[Table]
) -> tuple[Leaf, ...]:
    """Return the leaves of a record, column by column, as far as columns are drawn from trees.

    Parameters
    ----------
    model
        The generator, fitted on the original.
    original
        The original, on the dictionaries of the model.
    record
        Position of the record, from 0.
    releases
        The released copies.
    """
    ours = {n: Cells(m.coding, codes=original[n].codes) for n, m in model.columns.items()}
    theirs = [_released(model, release) for release in releases]
    found: list[Leaf] = []
    for name, column in model.columns.items():
        found += _of_column(model.plan, name, column, ours, theirs, record)
    return tuple(found)


def _released(model: Model, release: Table) -> dict[str, Cells]:
    return {
        name: without_unknown(recoded(column, release, name))
        for name, column in model.columns.items()
        if name in release and column.entry.settings.method != "derived"
    }


def _of_column(
    plan: Plan,
    name: str,
    column: ColumnModel,
    ours: Mapping[str, Cells],
    theirs: Sequence[Mapping[str, Cells]],
    record: int,
) -> Iterator[Leaf]:
    names = predictors_of(plan, name)
    for fitted, is_kind in ((column.kinds, True), (column.values, False)):
        if fitted is None:
            continue
        stratum = None
        if isinstance(fitted, Stratified):
            inputs = inputs_of(ours, names, _length(ours[name]))
            stratum = int(inputs.parts[inputs.last].codes[record])
            fitted = fitted.models.get(stratum) or fitted.models[-1]
        if not isinstance(fitted, Cart | Guarded):
            continue
        own = _Fallen.of(fitted, column, name, ours, names, is_kind, stratum)
        if not own.takes_part[record]:
            continue
        leaf, value = own.leaves[record], own.response[record]
        here = own.takes_part & (own.leaves == leaf)
        drawn = [_Fallen.of(fitted, column, name, c, names, is_kind, stratum) for c in theirs]
        there = [each.takes_part & (each.leaves == leaf) for each in drawn]
        parts = _names_of_parts(ours, names)
        yield Leaf(
            name,
            is_kind,
            isinstance(fitted, Guarded),
            int(here.sum()),
            int((here & (own.response == value)).sum()),
            sum(int(each.sum()) for each in there),
            sum(int((w & (d.response == value)).sum()) for d, w in zip(drawn, there, strict=True)),
            tuple(dict.fromkeys(parts[i] for i in _asked(fitted, int(leaf)))),
        )


@dataclass(frozen=True, eq=False, repr=False)
class _Fallen:
    """Rows in the leaves of one tree: who takes part, in which leaf, with which value."""

    takes_part: NDArray[np.bool_]
    leaves: Ints
    response: Ints

    @classmethod
    def of(
        cls,
        fitted: Cart | Guarded,
        column: ColumnModel,
        name: str,
        rows: Mapping[str, Cells],
        names: Sequence[str],
        is_kind: bool,
        stratum: int | None,
    ) -> _Fallen:
        cells = rows[name]
        inputs = inputs_of(rows, names, _length(cells))
        takes_part = np.ones(inputs.n_rows, bool)
        for condition, _ in column.fixed:
            takes_part &= ~condition.holds({n: c.column for n, c in rows.items()})
        if stratum is not None:
            takes_part = takes_part & (inputs.parts[inputs.last].codes == stratum)
        if not cells.coding.is_number:
            response = _codes(cells)
        else:
            split = cells.as_numbers()
            kinds = np.zeros(inputs.n_rows, np.int64) if split.kinds is None else split.kinds
            response = kinds
            if not is_kind:
                takes_part = takes_part & (kinds == ORDINARY)
                response = _numbers(fitted, column, split)
        leaves = (
            fitted.tree.apply(predictor_codes(inputs))
            if isinstance(fitted, Guarded)
            else fitted.tree.apply(inputs.predictors).astype(np.int64)
        )
        return cls(takes_part, leaves, np.asarray(response, np.int64))


def _numbers(fitted: Cart | Guarded, column: ColumnModel, cells: Cells) -> NDArray[Any]:
    """Return the numbers as the tree has them: places in the dictionary, or cells of a range."""
    assert cells.numbers is not None
    if isinstance(fitted, Guarded) and fitted.points is not None:
        return np.asarray(fitted.points.grid.cell_of(cells.numbers))
    known = column.coding.numbers
    place = np.minimum(np.searchsorted(known, cells.numbers), len(known) - 1)
    return np.where(known[place] == cells.numbers, place, -1)


def _asked(fitted: Cart | Guarded, leaf: int) -> list[int]:
    """Return the predictors on the way from the root to a leaf."""
    if isinstance(fitted, Guarded):
        guarded = fitted.tree
        asked, node = [], int(guarded.parent[leaf]) if leaf else -1
        while node >= 0:
            first = guarded.candidates.first
            asked.append(int(np.searchsorted(first, guarded.candidate[node], "right")) - 1)
            node = int(guarded.parent[node]) if node else -1
        return asked[::-1]
    tree = fitted.tree
    above = np.full(tree.n_nodes, -1)
    inner = np.flatnonzero(tree.feature >= 0)
    above[tree.left[inner]] = above[tree.right[inner]] = inner
    asked, node = [], int(above[tree.leaf_nodes[leaf]])
    while node >= 0:
        asked.append(int(tree.feature[node]))
        node = int(above[node])
    return asked[::-1]


def _names_of_parts(cells: Mapping[str, Cells], names: Sequence[str]) -> list[str]:
    """Return whose parts the predictors are, in the order of `inputs_of`."""
    whole = [name for name in names if len(cells[name].parts) == 1]
    return whole + [name for name in names if len(cells[name].parts) == 2 for _ in range(2)]


def _codes(cells: Cells) -> NDArray[Any]:
    assert cells.codes is not None
    return cells.codes


def _length(cells: Cells) -> int:
    held = cells.numbers if cells.codes is None else cells.codes
    assert held is not None
    return len(held)
