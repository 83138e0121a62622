"""Codes with the codes above them: municipalities in counties, classes in divisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from caveat.discreet import without_values
from caveat.errors import CaveatError

__all__ = ["TOTAL", "Hierarchy"]

Ints = NDArray[np.int64]
TOTAL = "Total"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The codes of one column, from the total down.

    Attributes
    ----------
    codes
        The codes; the first is the total. Those below a code follow it.
    parent
        The position of the code above each; -1 for the total.
    leaves
        The position of each code that the data have, in the order in which they were given.
    """

    codes: tuple[str, ...]
    parent: Ints
    leaves: Ints

    __repr__ = without_values

    @classmethod
    def of(
        cls,
        found: Sequence[str],
        parents: Mapping[str, str] | None = None,
        *,
        total: str = TOTAL,
        column: str | None = None,
    ) -> Hierarchy:
        """Arrange the codes of the data under the codes above them.

        Parameters
        ----------
        found
            The distinct codes of the data.
        parents
            For a code the code above it; codes without one stand directly below the total.
        total
            What the total is called.
        column
            Of which column, for errors.

        Examples
        --------
        >>> tree = Hierarchy.of(["Bergen", "Oslo"], {"Bergen": "west", "Oslo": "east"})
        >>> tree.codes
        ('Total', 'west', 'Bergen', 'east', 'Oslo')
        >>> tree.depth.tolist()
        [0, 1, 2, 1, 2]
        """
        above = dict(parents or {})
        _check_circles(above, column)
        if total in above:
            raise CaveatError(
                "the total has a code above it",
                column=column,
                do="remove it",
                code="outputs.hierarchy.malformed",
            )
        inner = set(above.values())
        for code in found:
            if code in inner or code == total:
                raise CaveatError(
                    "a code of the data stands for others, as a total does",
                    column=column,
                    do="rename it, or remove what stands below it from the hierarchy",
                    code="outputs.code.conflict",
                )
        return cls(*_arranged(list(found), above, total))

    @cached_property
    def depth(self) -> Ints:
        """How far below the total each code stands."""
        out = np.zeros(len(self.codes), np.int64)
        for node in range(1, len(out)):
            out[node] = out[self.parent[node]] + 1
        return out

    @cached_property
    def at_depth(self) -> Ints:
        """For each depth and code: the code on the way to the total; -1 where there is none."""
        out = np.full((int(self.depth.max()) + 1, len(self.codes)), -1, np.int64)
        for node in range(len(self.codes)):
            here = node
            while here >= 0:
                out[self.depth[here], node] = here
                here = int(self.parent[here])
        return out


def _check_circles(above: Mapping[str, str], column: str | None) -> None:
    safe: set[str] = set()
    for code in above:
        path, on_it = [code], {code}
        while path[-1] in above and path[-1] not in safe:
            path.append(above[path[-1]])
            if path[-1] in on_it:
                circle = path[path.index(path[-1]) :]
                shown = " → ".join(circle[:5] + (["…", circle[-1]] if len(circle) > 5 else []))
                raise CaveatError(
                    f"the codes stand above each other in a circle: {shown}",
                    column=column,
                    do="give each code one above it that leads to the total",
                    code="outputs.hierarchy.malformed",
                )
            on_it.add(path[-1])
        safe.update(path)


def _arranged(
    found: list[str], above: Mapping[str, str], total: str
) -> tuple[tuple[str, ...], Ints, Ints]:
    """Return codes depth first, their parents and the positions of the leaves."""
    below: dict[str, dict[str, None]] = {total: {}}  # in order, and each once
    for code in found:
        while code != total:
            up = above.get(code, total)
            known = up in below
            below.setdefault(up, {})[code] = None
            if known:
                break
            code = up
    codes: list[str] = []
    parent: list[int] = []
    place: dict[str, int] = {}
    stack = [(total, -1)]
    while stack:
        code, at = stack.pop()
        place[code] = len(codes)
        codes.append(code)
        parent.append(at)
        stack += [(child, place[code]) for child in reversed(below.get(code, {}))]
    leaves = np.array([place[code] for code in found], np.int64)
    return tuple(codes), np.array(parent, np.int64), leaves
